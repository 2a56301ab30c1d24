//! An evaluation in every format.
//!
//! Text, Markdown and LaTeX are for reading and round; CSV (one line per predictor and set of rows) and JSON hold every figure
//! in full. Names from the input are stripped of control characters before they reach a terminal.

use std::fmt::Write;

use super::evaluation_csv::evaluation_csv;
use crate::{
    format::{TableFormat, json, note_lines},
    grid::Grid,
    views::{legend, printed_tables},
};
use veridiff_detector::Evaluation;

/// An evaluation as a whole page in the given format. CSV has no place for the notes: print them elsewhere.
pub fn evaluation_page(evaluation: &Evaluation, format: TableFormat) -> String {
    let tables = printed_tables(evaluation);
    let grids = tables.iter().map(|table| &table.grid);
    match format {
        TableFormat::Json => json(evaluation),
        TableFormat::Csv => evaluation_csv(evaluation),
        TableFormat::Text => {
            let mut page = grids.map(Grid::to_text).collect::<Vec<_>>().join("\n");
            page.push('\n');
            for line in legend(evaluation).lines().map(str::to_owned).chain(note_lines(&evaluation.notes)) {
                let _ = writeln!(page, "{line}");
            }
            page
        }
        TableFormat::Md => {
            let mut page = grids.map(Grid::to_markdown).collect::<Vec<_>>().join("\n");
            let _ = write!(page, "\n{}", legend(evaluation));
            for note in note_lines(&evaluation.notes) {
                let _ = write!(page, "\n- {note}");
            }
            page.push('\n');
            page
        }
        TableFormat::Latex => {
            let mut page = grids.map(Grid::to_latex).collect::<Vec<_>>().join("\n");
            for line in legend(evaluation).lines().map(str::to_owned).chain(note_lines(&evaluation.notes)) {
                let _ = writeln!(page, "% {line}");
            }
            page
        }
    }
}
