//! `veridiff checklist report`.

use std::path::PathBuf;

use super::{FileArgs, verdicts};
use crate::{
    args::{book::BookArgs, resamples::ResampleArgs},
    verbs::Exit,
};
use veridiff_suites::checklist::{
    figures::{Settings, Study, report},
    reward::RewardSpec,
    tables::book,
};

/// Arguments of `veridiff checklist report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// The verdicts that `checklist score` wrote
    #[arg(long, value_name = "FILE")]
    verdicts: PathBuf,
    /// The judge, where the file has several
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    /// The weight of changes with something to raise in the published score
    #[arg(long, value_name = "0 to 1", default_value_t = Settings::default().lambda)]
    lambda: f64,
    #[command(flatten)]
    resamples: ResampleArgs,
    #[command(flatten)]
    book: BookArgs,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let files = args.files.read()?;
    let verdicts = verdicts(&args.verdicts, args.judge.as_deref())?;
    let study = Study { lists: &files.lists, reviews: &files.reviews, cases: &files.cases, verdicts: &verdicts };
    let settings = Settings {
        lambda: args.lambda,
        reward: RewardSpec::default(),
        resamples: args.resamples.resamples,
        seed: args.resamples.seed,
    };
    let source = args.verdicts.file_name().unwrap_or_default().to_string_lossy();
    args.book.show(&book(&report(&study, &settings)?, &source))?;
    Ok(Exit::Done)
}
