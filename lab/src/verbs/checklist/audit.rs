//! `veridiff lab checklist audit`.

use std::path::PathBuf;

use super::{FileArgs, VerdictArgs, WeightArgs};
use crate::args::{book::BookArgs, resamples::ResampleArgs};
use veridiff::cli::{
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    checklist::{
        audit::{Rating, Row, audit, drawn, survey},
        tables::audit_book,
    },
    lines,
};

/// Arguments of `veridiff lab checklist audit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    verdicts: VerdictArgs,
    #[command(flatten)]
    weights: WeightArgs,
    /// Write so many items beside reviews to the sheet, as many of each verdict as there are, for people to label
    #[arg(long, value_name = "N", requires = "sheet", conflicts_with = "survey")]
    draw: Option<usize>,
    /// The sheet: with --draw it is written; without, its labels are compared with the verdicts (1: the review asks for the item, 0: it does
    /// not)
    #[arg(long, value_name = "FILE")]
    sheet: Option<PathBuf>,
    /// Ratings of statements such as the paper's A1 to C4, 1 to 5: {"rater", "case", "ratings": {"A1": 4, …}} a line
    #[arg(long, value_name = "FILE")]
    survey: Option<PathBuf>,
    /// Where the comparison goes, for `report --audit` to read (.json)
    #[arg(long, value_name = "FILE", requires = "sheet", conflicts_with = "draw")]
    result: Option<PathBuf>,
    #[command(flatten)]
    resamples: ResampleArgs,
    #[command(flatten)]
    book: BookArgs,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if args.sheet.is_none() && args.survey.is_none() {
        return Err(UsageError::error(
            "there is nothing to audit by",
            "draw a sheet by --draw N --sheet FILE, or name a --survey",
        ));
    }
    let mut files = args.files.read()?;
    args.weights.weigh(&mut files.lists);
    let verdicts = args.verdicts.read()?;
    let (lists, reviews) = (&files.lists, &files.reviews);
    if let Some((n, path)) = args.draw.zip(args.sheet.as_ref()) {
        if path.exists() {
            let problem = format!("`{}` is there already, and may have labels", path.display());
            return Err(UsageError::error(problem, "name another file for the sheet"));
        }
        let rows = drawn(lists, reviews, &verdicts, n, args.resamples.seed)?;
        lines::write(path, &rows)?;
        note(&format!(
            "{} items beside reviews in {}: label each 1 or 0, and run this again without --draw",
            rows.len(),
            path.display()
        ));
        return Ok(Exit::Done);
    }
    let audited = match &args.sheet {
        None => None,
        Some(path) => {
            let sheet: Vec<Row> = lines::read(path)?;
            Some(audit(lists, reviews, &verdicts, &sheet, args.resamples.resamples, args.resamples.seed)?)
        }
    };
    let statements = match &args.survey {
        None => Vec::new(),
        Some(path) => survey(&lines::read::<Rating>(path)?),
    };
    if let Some((path, audit)) = args.result.as_deref().zip(audited.as_ref()) {
        lines::write_value(path, audit)?;
    }
    args.book.show(&audit_book(audited.as_ref(), &statements))?;
    Ok(Exit::Done)
}
