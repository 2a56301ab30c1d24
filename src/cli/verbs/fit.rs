//! `veridiff fit`.

use std::path::PathBuf;

use anyhow::Context;

use super::Exit;
use crate::cli::{
    args::{
        choice,
        rows::{FigureArgs, RowArgs},
    },
    terminal::print,
};
use veridiff_detector::{CalibrationMethod, DecisionRule, Domain, FitSettings, Gaps, fit_detector};
use veridiff_report::{TableFormat, pages::fit_page};

/// What `fit` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff fit --input table.parquet -o detector.json
  veridiff fit --input table.parquet -o careful.json --verdicts precision=0.8,0.9    # abstains between";

/// Arguments of `veridiff fit`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Where the detector goes (JSON)
    #[arg(short, long, value_name = "FILE", default_value = "detector.json")]
    output: PathBuf,
    #[command(flatten)]
    figures: FigureArgs,
    /// How probabilities are calibrated, on rows that the regression did not see
    #[arg(long, value_parser = choice::<CalibrationMethod>(CalibrationMethod::NAMES), default_value_t)]
    calibration: CalibrationMethod,
    /// How `check` reaches its verdicts: accuracy, one threshold; precision=P[,Q], a share P of the texts called unsupported and
    /// Q of those called supported are right, and it abstains between; false-alarms=F,Q, at most a share F of the supported texts
    /// is called unsupported; cost=FALSE_ALARM:MISS[:ABSTAIN], the cheapest
    #[arg(long, value_name = "RULE", default_value_t)]
    verdicts: DecisionRule,
    /// Print the detector and its figures as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let table = args.rows.table()?;
    let gaps = Gaps::of(args.figures.learner);
    let rows = args.rows.labelled(&table, &[], gaps)?;
    let settings = FitSettings {
        eval: args.figures.settings(),
        where_clauses: args.rows.clauses.clone(),
        table: table.metadata().clone(),
        domain: Domain::new(&table)?,
        calibration: args.calibration,
        rule: args.verdicts,
    };
    let fit = fit_detector(&rows, settings).with_context(|| args.rows.place())?;
    fit.detector.write(&args.output)?;
    print(&fit_page(&fit, if args.json { TableFormat::Json } else { TableFormat::Text }))?;
    if !args.json {
        print(&format!("written to        {}\n", args.output.display()))?;
    }
    Ok(Exit::Done)
}
