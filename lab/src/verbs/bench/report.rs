//! `veridiff lab bench aacr report`.

use std::path::PathBuf;

use crate::args::{book::BookArgs, resamples::ResampleArgs};
use veridiff::cli::{terminal::UsageError, verbs::Exit};
use veridiff_suites::{
    aacr::{
        dataset::Dataset,
        figures::{Settings, report},
        matching::{Pair, Scope},
        predictions::Prediction,
        tables::book,
    },
    lines,
};

/// Arguments of `veridiff lab bench aacr report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the run, in which `match` was
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// How many lines a pair may be apart; each number gives figures of its own
    #[arg(long, value_name = "LINES,…", value_delimiter = ',', default_values = ["0", "1"])]
    gap: Vec<u64>,
    /// Leave references of these writers out: a model's own comments say nothing of what it finds
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    own: Vec<String>,
    /// Count references of these categories only
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    category: Vec<String>,
    /// How much more recall counts than precision in F-beta
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0)]
    beta: f64,
    /// Draw whole repositories for the intervals, in place of pull requests
    #[arg(long)]
    by_repo: bool,
    /// Add what the published evaluators make of the same comments, faults included, and the published rows
    #[arg(long)]
    compat: bool,
    #[command(flatten)]
    resamples: ResampleArgs,
    #[command(flatten)]
    book: BookArgs,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if !(args.beta > 0.0 && args.beta.is_finite()) {
        return Err(UsageError::error(format!("`--beta {}` is no weight", args.beta), "give a number above 0"));
    }
    let dataset = Dataset::read(&args.run)?;
    let at = |name: &str| args.run.join(name);
    let predictions: Vec<Prediction> = lines::read(&at("predictions.jsonl"))?;
    let pairs: Vec<Pair> = lines::read(&at("pairs.jsonl"))?;
    let settings = Settings {
        gaps: args.gap.clone(),
        scope: Scope { own: args.own.iter().cloned().collect(), categories: args.category.iter().cloned().collect() },
        beta: args.beta,
        by_repo: args.by_repo,
        resamples: args.resamples.resamples,
        seed: args.resamples.seed,
        compat: args.compat,
    };
    let (report, matches) = report(&dataset, &predictions, &pairs, &settings)?;
    lines::write(&at("matches.jsonl"), &matches)?;
    lines::write_value(&at("metrics.json"), &report)?;
    args.book.show(&book(&report, Vec::new()))?;
    Ok(Exit::Done)
}
