//! `veridiff checklist pipeline`.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    args::{backend::BackendArgs, choice},
    progress,
    terminal::note,
    verbs::Exit,
};
use veridiff_suites::{
    SuiteError,
    ask::side_by_side,
    checklist::{
        build::Asker,
        judge::prompts,
        pipeline::{Merged, Settings, Step, run_one},
    },
    lines,
};

/// Arguments of `veridiff checklist pipeline`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pull requests that were merged, one JSON object a line: id, path, description, before, merged
    #[arg(long, value_name = "FILE")]
    merged: PathBuf,
    /// The folder that cases and checklists go to
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The last step: filter, instruct, pseudo, checklist
    #[arg(long, value_name = "STEP", value_parser = choice::<Step>(Step::NAMES), default_value_t = Step::Checklist)]
    until: Step,
    #[command(flatten)]
    backend: BackendArgs,
    /// Leave mentions of the accepted version in, as the paper does
    #[arg(long)]
    keep_leaks: bool,
    /// The longest description and file together
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().max_bytes)]
    max_bytes: usize,
    /// What chance follows from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let prompts = args.backend.prompts(prompts())?;
    let all: Vec<Merged> = lines::read(&args.merged)?;
    std::fs::create_dir_all(&args.dir).map_err(|source| SuiteError::Write { path: args.dir.clone(), source })?;
    let at = |name: &str| args.dir.join(name);
    let opened = args.backend.open(&at("pipeline"))?;
    let asker = Asker { recorder: &opened.recorder, prompts: &prompts, seed: args.seed };
    let settings = Settings { until: args.until, max_bytes: args.max_bytes, deleak: !args.keep_leaks };
    let bar = progress::work(all.len(), "pull requests");
    let outcomes = side_by_side(all.len(), opened.concurrency, |i| {
        let outcome = run_one(&asker, &all[i], &settings);
        bar.inc(1);
        outcome
    });
    drop(bar);
    let kept = || outcomes.iter().filter(|outcome| outcome.dropped.is_none());
    lines::write(&at("cases.jsonl"), kept().filter_map(|outcome| outcome.case.as_ref()))?;
    lines::write(&at("checklists.jsonl"), kept().filter_map(|outcome| Some(&outcome.made.as_ref()?.list)))?;
    let dropped = all.iter().zip(&outcomes).filter_map(|(merged, outcome)| {
        let (step, reason) = outcome.dropped.as_ref()?;
        Some(json!({ "id": merged.id, "step": step.name(), "reason": reason, "failed": outcome.failed }))
    });
    lines::write(&at("dropped.jsonl"), dropped)?;
    lines::write_value(&at("prompts.json"), &prompts.hashes())?;
    let n_failed = outcomes.iter().filter(|outcome| outcome.failed).count();
    note(&format!(
        "{} of {} pull requests are cases in {}; {} left out, {n_failed} failed",
        kept().count(),
        all.len(),
        args.dir.display(),
        all.len() - kept().count() - n_failed
    ));
    Ok(if n_failed > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}
