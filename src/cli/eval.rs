//! `veridiff eval`.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{
    Outcome,
    rows::{FigureArgs, RowArgs, print},
};
use crate::{
    Error,
    detector::{Detector, Evaluation, apply_detector, evaluate, labelled_rows},
    report::tables::{Format, evaluation_page, note_lines},
};

/// Arguments of `veridiff eval`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Judge this fitted detector, as it is, instead of fitting on the table's own folds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["features", "l2", "folds"])]
    detector: Option<PathBuf>,
    #[command(flatten)]
    figures: FigureArgs,
    /// How the tables are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the tables to this folder too: eval.md, eval.csv, eval.tex, eval.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let detector = args.detector.as_deref().map(Detector::read).transpose().map_err(Error::from)?;
    let table = args.rows.table()?;
    let settings = args.figures.settings();
    let evaluation = match &detector {
        Some(detector) => {
            let rows = labelled_rows(&table, &detector.feature_names()).with_context(|| args.rows.place())?;
            apply_detector(detector, &rows, settings)
        }
        None => evaluate(&args.rows.labelled(&table)?, settings),
    };
    let evaluation = evaluation.map_err(Error::from).with_context(|| args.rows.place())?;
    if let Some(folder) = &args.out {
        write_pages(&evaluation, folder)?;
    }
    let format = if args.json { Format::Json } else { args.format };
    print(&evaluation_page(&evaluation, format))?;
    if format == Format::Csv {
        warn(&evaluation);
    }
    Ok(Outcome::Done)
}

fn write_pages(evaluation: &Evaluation, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    for (format, name) in
        [(Format::Md, "eval.md"), (Format::Csv, "eval.csv"), (Format::Latex, "eval.tex"), (Format::Json, "eval.json")]
    {
        let path = folder.join(name);
        std::fs::write(&path, evaluation_page(evaluation, format))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

/// CSV has no place for notes.
#[expect(clippy::print_stderr, reason = "stdout is data")]
fn warn(evaluation: &Evaluation) {
    for line in note_lines(&evaluation.notes) {
        eprintln!("{line}");
    }
}
