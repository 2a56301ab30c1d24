//! `veridiff lab prevalence`: how often each outcome is, by generator.

use super::{Exit, agree::FileArgs};
use veridiff::cli::{
    args::choice,
    terminal::{note, print},
};
use veridiff_annotation::prevalence;
use veridiff_annotation::prevalence_page;
use veridiff_report::TableFormat;

/// What `prevalence` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab prevalence ann.jsonl bob.jsonl --settled both.jsonl";

/// Arguments of `veridiff lab prevalence`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// How the tables are printed
    #[arg(long, value_parser = choice::<TableFormat>(TableFormat::NAMES), default_value_t = TableFormat::Text)]
    format: TableFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let (settled, notes) = args.files.read()?.settle();
    let format = if args.json { TableFormat::Json } else { args.format };
    print(&prevalence_page(&prevalence(&settled), &notes, format))?;
    if format == TableFormat::Csv {
        notes.iter().for_each(|line| note(&format!("note: {line}")));
    }
    Ok(Exit::Done)
}
