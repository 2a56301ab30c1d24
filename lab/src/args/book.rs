//! Tables on stdout, and as a folder.

use std::path::PathBuf;

use veridiff::cli::{
    args::{OUTPUT, choice},
    terminal::{note, print},
};
use veridiff_report::{
    TableFormat, note_lines,
    pages::{Book, write_report},
};

/// How tables are shown.
#[derive(Debug, clap::Args)]
pub struct BookArgs {
    /// How the tables are printed
    #[arg(long, value_parser = choice::<TableFormat>(TableFormat::NAMES), default_value_t = TableFormat::Text,
          help_heading = OUTPUT)]
    format: TableFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format", help_heading = OUTPUT)]
    json: bool,
    /// Write the whole report to this folder too: index.html, and every table as Markdown, CSV, LaTeX and JSON
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
}

impl BookArgs {
    /// Prints the tables, and writes the folder where one is wanted.
    pub fn show(&self, book: &Book) -> anyhow::Result<()> {
        if let Some(folder) = &self.out {
            let files = book.files()?;
            write_report(folder, &files)?;
            note(&format!("written to {}: {} files, to be read from index.html", folder.display(), files.len()));
        }
        let format = if self.json { TableFormat::Json } else { self.format };
        print(&book.page(format))?;
        if format == TableFormat::Csv {
            note_lines(&book.notes).for_each(|line| note(&line));
        }
        Ok(())
    }
}
