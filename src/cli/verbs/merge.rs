//! `veridiff merge`: the tables of a run's shards become the table of the run; those of several runs over the same rows, one table.

use std::path::PathBuf;

use super::Exit;
use crate::cli::terminal::{note, print};
use veridiff_core::Error;
use veridiff_table::{BesideSummary, MergeSummary, Table};

/// What `merge` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff merge 1.parquet 2.parquet 3.parquet -o table.parquet     # the shards of one run
  veridiff merge --beside scored.parquet judged.parquet -o all.parquet";

/// Arguments of `veridiff merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The tables (.parquet, .csv or .jsonl): shards in any order, or with --beside the one whose rows count first
    #[arg(required = true, value_name = "TABLE")]
    inputs: Vec<PathBuf>,
    /// Put the tables beside each other: the first one's rows with the columns of all, by `id`, such as `score`'s and `judge`'s
    #[arg(long)]
    beside: bool,
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
    let tables = args
        .inputs
        .iter()
        .map(|path| Ok((path.display().to_string(), Table::read(path)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut fields = if args.beside {
        let (joined, summary) = Table::beside(&tables)?;
        joined.write(&args.output)?;
        tell_beside(&args, &summary);
        serde_json::to_value(&summary)?
    } else {
        let (merged, summary) = Table::merge(&tables)?;
        merged.write(&args.output)?;
        tell(&args, &summary);
        serde_json::to_value(&summary)?
    };
    if args.json {
        fields["output"] = args.output.display().to_string().into();
        print(&format!("{fields}\n"))?;
    }
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
    if !summary.missing_shards.is_empty() {
        let missing = summary.missing_shards.join(", ");
        note(&format!("warning: of the run's shards none of the tables is {missing}: the table is not whole"));
    } else if let Some(missing @ 1..) = summary.n_missing_rows {
        note(&format!("note: {missing} rows of the input are in none of the tables; is a shard missing?"));
    }
}

/// Tells a person, on stderr, what the joined table is and which rows some tables lack.
fn tell_beside(args: &Args, summary: &BesideSummary) {
    let BesideSummary { n_rows, n_columns, n_lacking, n_left_out } = summary;
    note(&format!("{}: {n_rows} rows, {n_columns} columns", args.output.display()));
    for ((path, n_lacking), n_left_out) in args.inputs[1..].iter().zip(n_lacking).zip(n_left_out) {
        if n_lacking + n_left_out > 0 {
            let path = path.display();
            note(&format!(
                "note: {n_lacking} of the rows are not in {path}, and {n_left_out} of its rows are left out"
            ));
        }
    }
}
