//! The forms in which tables are printed.

use serde::Serialize;

use veridiff_text::{named, printable::printable};

/// The form in which tables are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Text in aligned columns, for a terminal.
    Text,
    /// Markdown: tables with headings.
    Md,
    /// Comma-separated values, one line for each predictor and set of rows, with every figure in full.
    Csv,
    /// LaTeX `tabular` environments with the rules of booktabs.
    Latex,
    /// One JSON object with everything in full.
    Json,
}

named!(TableFormat, "format", "text" => Text, "md" => Md, "csv" => Csv, "latex" => Latex, "json" => Json);

/// Figures and names as JSON that a person can read, two blanks a level, with a line feed at the end.
pub fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("figures and names always serialise");
    text.push('\n');
    text
}

/// The notes, one a line (not wrapped); a note that is not a warning says that it is a note.
pub fn note_lines(notes: &[String]) -> impl Iterator<Item = String> {
    notes.iter().map(|note| {
        let note = printable(note);
        if note.starts_with("warning:") { note } else { format!("note: {note}") }
    })
}
