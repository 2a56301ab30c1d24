//! `veridiff lab checklist pipeline`.

use std::path::PathBuf;

use serde_json::json;

use crate::args::backend::BackendArgs;
use veridiff::cli::{
    args::choice,
    progress,
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    SuiteError,
    ask::side_by_side,
    checklist::{
        Checklist, ReviewCase,
        build::Asker,
        judge::prompts,
        pipeline::{Merged, Settings, Step, by_construction, run_one, split},
    },
    lines,
};

/// Arguments of `veridiff lab checklist pipeline`.
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
    /// Take these languages only
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    language: Vec<String>,
    /// Ask first whether a description holds threats, personal data or credentials, and leave it out if it does
    #[arg(long)]
    screen: bool,
    /// Add a clean case for each other one of this share: the code as it was accepted
    #[arg(long, value_name = "0 to 1", default_value_t = 0.0)]
    clean: f64,
    /// Keep at most this share of the cases for a test, whole repositories and groups at a time: `split` of each case says train or test
    #[arg(long, value_name = "0 to 1")]
    test: Option<f64>,
    /// The longest description and file together
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().max_bytes)]
    max_bytes: usize,
    /// What chance follows from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// So many clean cases of what was accepted, of the cases that come first by chance.
fn clean_cases(cases: &[ReviewCase], share: f64, seed: u64) -> Vec<(ReviewCase, Checklist)> {
    // each a group of its own for the draw, so that it is one of single cases
    let single: Vec<ReviewCase> =
        cases.iter().map(|case| ReviewCase { id: case.id.clone(), ..ReviewCase::default() }).collect();
    let drawn = split(&single, share, seed);
    let path = |case: &ReviewCase| case.extra.get("path").and_then(|path| path.as_str()).unwrap_or("file").to_owned();
    cases.iter().zip(drawn).filter(|(_, is)| *is).filter_map(|(case, _)| by_construction(case, &path(case))).collect()
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    for (name, share) in [("--clean", Some(args.clean)), ("--test", args.test)] {
        if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(UsageError::error(format!("`{name} {share}` is no share"), "give a number from 0 to 1"));
        }
    }
    let prompts = args.backend.prompts(prompts())?;
    let mut all: Vec<Merged> = lines::read(&args.merged)?;
    let mut place = 0..;
    all.retain(|_| place.next().is_some_and(|place| args.backend.bounds.has(place)));
    std::fs::create_dir_all(&args.dir).map_err(|source| SuiteError::Write { path: args.dir.clone(), source })?;
    let at = |name: &str| args.dir.join(name);
    let opened = args.backend.open(&at("pipeline"))?;
    let asker = Asker { recorder: &opened.recorder, prompts: &prompts, seed: args.seed };
    let settings = Settings {
        until: args.until,
        max_bytes: args.max_bytes,
        deleak: !args.keep_leaks,
        languages: args.language.clone(),
        screen: args.screen,
    };
    let bar = progress::work(all.len(), "pull requests");
    let outcomes = side_by_side(all.len(), opened.concurrency, |i| {
        let outcome = run_one(&asker, &all[i], &settings);
        bar.inc(1);
        outcome
    });
    drop(bar);
    if opened.ends_here(args.backend.bounds)? {
        return Ok(if opened.n_failed() > 0 { Exit::SomeRowsFailed } else { Exit::Done });
    }
    opened.write_costs(&at("cost.json"))?;
    let kept = || outcomes.iter().filter(|outcome| outcome.dropped.is_none());
    let mut cases: Vec<ReviewCase> = kept().filter_map(|outcome| outcome.case.clone()).collect();
    let mut lists: Vec<Checklist> = kept().filter_map(|outcome| Some(outcome.made.as_ref()?.list.clone())).collect();
    let added = match args.until {
        Step::Checklist => clean_cases(&cases, args.clean, args.seed),
        _ => Vec::new(),
    };
    for (case, list) in added {
        cases.push(case);
        lists.push(list);
    }
    if let Some(share) = args.test {
        let is_test = split(&cases, share, args.seed);
        for (case, is_test) in cases.iter_mut().zip(is_test) {
            case.extra.insert("split".into(), if is_test { "test" } else { "train" }.into());
        }
    }
    lines::write(&at("cases.jsonl"), &cases)?;
    lines::write(&at("checklists.jsonl"), &lists)?;
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
