//! `veridiff fit`.

use std::path::PathBuf;

use anyhow::Context;

use super::{
    Outcome,
    rows::{FigureArgs, RowArgs, print},
};
use crate::{
    Error,
    detector::{FitSettings, fit_detector},
    report::tables::{Format, fit_page},
};

/// Arguments of `veridiff fit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Where the detector goes (JSON)
    #[arg(long, value_name = "FILE", default_value = "detector.json")]
    output: PathBuf,
    #[command(flatten)]
    figures: FigureArgs,
    /// Print the detector and its figures as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let table = args.rows.table()?;
    let rows = args.rows.labelled(&table, &[])?;
    let settings = FitSettings {
        eval: args.figures.settings(),
        where_clauses: args.rows.clauses.clone(),
        table: table.metadata().clone(),
    };
    let fit = fit_detector(&rows, settings).map_err(Error::from).with_context(|| args.rows.place())?;
    fit.detector.write(&args.output).map_err(Error::from)?;
    print(&fit_page(&fit, if args.json { Format::Json } else { Format::Text }))?;
    if !args.json {
        print(&format!("written to        {}\n", args.output.display()))?;
    }
    Ok(Outcome::Done)
}
