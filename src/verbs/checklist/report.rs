//! `veridiff checklist report`.

use super::{FileArgs, VerdictArgs};
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
    #[command(flatten)]
    verdicts: VerdictArgs,
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
    let verdicts = args.verdicts.read()?;
    let study = Study { lists: &files.lists, reviews: &files.reviews, cases: &files.cases, verdicts: &verdicts };
    let settings = Settings {
        lambda: args.lambda,
        reward: RewardSpec::default(),
        resamples: args.resamples.resamples,
        seed: args.resamples.seed,
    };
    let source = args.verdicts.verdicts.file_name().unwrap_or_default().to_string_lossy();
    args.book.show(&book(&report(&study, &settings)?, &source))?;
    Ok(Exit::Done)
}
