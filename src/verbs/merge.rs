//! `veridiff merge`: the tables of a run's shards become the table of the run.

use std::path::PathBuf;

use super::Exit;
use crate::terminal::{note, print};
use veridiff_core::Error;
use veridiff_table::{MergeSummary, Table};

/// What `merge` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff merge 1.parquet 2.parquet 3.parquet -o table.parquet";

/// Arguments of `veridiff merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shards' tables (.parquet, .csv or .jsonl), in any order
    #[arg(required = true, value_name = "TABLE")]
    inputs: Vec<PathBuf>,
    /// Where the merged table goes; the ending (.parquet, .csv, .jsonl) chooses the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print what was merged to stdout as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    Table::check_output(&args.output)?;
    let shards = args
        .inputs
        .iter()
        .map(|path| Ok((path.display().to_string(), Table::read(path)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let (merged, summary) = Table::merge(&shards)?;
    merged.write(&args.output)?;

    if args.json {
        let mut fields = serde_json::to_value(&summary)?;
        fields["output"] = args.output.display().to_string().into();
        print(&format!("{fields}\n"))?;
    }
    tell(&args, &summary);
    Ok(Exit::Done)
}

/// Tells a person, on stderr, what the merged table is and what may be wrong with it.
fn tell(args: &Args, summary: &MergeSummary) {
    let MergeSummary { n_rows, n_columns, .. } = summary;
    let (n_tables, output) = (args.inputs.len(), args.output.display());
    note(&format!("merged {n_tables} tables into {output}: {n_rows} rows, {n_columns} columns"));
    if !summary.ordered && summary.n_rows > 0 {
        note("note: no column `row`, so the rows stay in the order given");
    }
    if let Some(missing @ 1..) = summary.n_missing_rows {
        note(&format!("note: {missing} rows of the input are in none of the tables; is a shard missing?"));
    }
}
