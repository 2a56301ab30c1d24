//! `veridiff lab checklist build`.

use std::path::PathBuf;

use crate::args::backend::{BackendArgs, costs_beside};
use veridiff::cli::{args::choice, progress, terminal::note, verbs::Exit};
use veridiff_suites::{
    ask::side_by_side,
    checklist::{
        ReviewCase,
        build::{Asker, Mode, build},
        judge::prompts,
    },
    lines,
};

/// Arguments of `veridiff lab checklist build`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cases, one JSON object a line
    #[arg(long, value_name = "FILE")]
    cases: PathBuf,
    /// What checklists are made of: compare (the code and what was accepted in its place), review (a review that somebody wrote),
    /// direct (the change alone)
    #[arg(long, value_name = "MODE", value_parser = choice::<Mode>(Mode::NAMES), default_value_t = Mode::Review)]
    mode: Mode,
    #[command(flatten)]
    backend: BackendArgs,
    /// Leave mentions of the accepted version in
    #[arg(long)]
    keep_leaks: bool,
    /// Leave points out of which nothing stands in the code
    #[arg(long)]
    drop_ungrounded: bool,
    /// What chance follows from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The checklists (.jsonl)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let prompts = args.backend.prompts(prompts())?;
    let mut cases: Vec<ReviewCase> = lines::read(&args.cases)?;
    let mut place = 0..;
    cases.retain(|_| place.next().is_some_and(|place| args.backend.bounds.has(place)));
    let opened = args.backend.open(&args.output)?;
    let asker = Asker { recorder: &opened.recorder, prompts: &prompts, seed: args.seed };
    let bar = progress::work(cases.len(), "cases");
    let made = side_by_side(cases.len(), opened.concurrency, |i| {
        let made = build(&asker, &cases[i], args.mode, !args.keep_leaks, args.drop_ungrounded);
        bar.inc(1);
        made
    });
    drop(bar);
    if opened.ends_here(args.backend.bounds)? {
        return Ok(if opened.n_failed() > 0 { Exit::SomeRowsFailed } else { Exit::Done });
    }
    opened.write_costs(&costs_beside(&args.output))?;
    lines::write(&args.output, made.iter().filter_map(|made| made.as_ref().ok()).map(|made| &made.list))?;
    let failed: Vec<String> = cases
        .iter()
        .zip(&made)
        .filter_map(|(case, made)| Some(format!("{}: {}", case.id, made.as_ref().err()?)))
        .collect();
    failed.iter().take(3).for_each(|line| note(line));
    let n_dropped: usize = made.iter().flatten().map(|made| made.n_dropped).sum();
    note(&format!(
        "{} checklists in {}, {n_dropped} points left out, {} cases failed",
        cases.len() - failed.len(),
        args.output.display(),
        failed.len()
    ));
    Ok(if failed.is_empty() { Exit::Done } else { Exit::SomeRowsFailed })
}
