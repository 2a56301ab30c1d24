//! `veridiff lab checklist report`.

use super::{FileArgs, VerdictArgs, WeightArgs};
use crate::args::{book::BookArgs, resamples::ResampleArgs};
use veridiff::cli::{terminal::UsageError, verbs::Exit};
use veridiff_suites::{
    SuiteError,
    checklist::{
        audit::Audit,
        figures::{Report, Settings, Study, report},
        reward::RewardSpec,
        tables::book,
    },
    lines,
};

/// Arguments of `veridiff lab checklist report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    verdicts: VerdictArgs,
    #[command(flatten)]
    weights: WeightArgs,
    /// The weight of changes with something to raise in the published score
    #[arg(long, value_name = "0 to 1", default_value_t = Settings::default().lambda)]
    lambda: f64,
    /// What `audit --result` wrote of this judge
    #[arg(long, value_name = "FILE")]
    audit: Option<std::path::PathBuf>,
    #[command(flatten)]
    resamples: ResampleArgs,
    #[command(flatten)]
    book: BookArgs,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let mut files = args.files.read()?;
    let weights = args.weights.weigh(&mut files.lists);
    let verdicts = args.verdicts.read()?;
    let study = Study { lists: &files.lists, reviews: &files.reviews, cases: &files.cases, verdicts: &verdicts };
    let settings = Settings {
        lambda: args.lambda,
        reward: RewardSpec::default(),
        resamples: args.resamples.resamples,
        seed: args.resamples.seed,
    };
    let source = args.verdicts.verdicts.file_name().unwrap_or_default().to_string_lossy();
    let report = Report { weights, ..report(&study, &settings)? };
    let audit = args.audit.as_deref().map(|path| audited(path, &report.judge)).transpose()?;
    args.book.show(&book(&report, &source, audit.as_ref()))?;
    Ok(Exit::Done)
}

/// An audit of the judge that is reported.
fn audited(path: &std::path::Path, judge: &str) -> anyhow::Result<Audit> {
    let unreadable = |error: serde_json::Error| SuiteError::Form {
        path: path.to_owned(),
        why: error.to_string(),
        hint: "name the file that `checklist audit --result` wrote".to_owned(),
    };
    let audit: Audit = serde_json::from_str(&lines::text(path)?).map_err(unreadable)?;
    match audit.judge == judge {
        true => Ok(audit),
        false => {
            let problem = format!("the audit is of `{}`, the verdicts are of `{judge}`", audit.judge);
            Err(UsageError::error(problem, "audit the judge that is reported"))
        }
    }
}
