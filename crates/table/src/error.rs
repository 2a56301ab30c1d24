//! What can go wrong with tables and journals.

use std::{io, path::PathBuf};

/// What can go wrong with a table or a journal.
///
/// Fields are named as in the messages, and described where the message leaves a question: `path` is the file at fault, `row` counts
/// from 1, a CSV header left out, and `line` from 1; `column` is a column's name and `value` what stands in its cell; `left` and
/// `right` are two tables as the caller names them; `source` is the error of the system or of the format's decoder.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum TableError {
    /// A file name that does not say which format.
    #[error("`{path}` does not end in one of .parquet, .csv, .jsonl")]
    UnknownFormat { path: PathBuf },
    /// The system refuses to read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    /// The system refuses to write; what was at `path` before is untouched.
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
    /// A Parquet file that is damaged, cut short or something else.
    #[error("`{path}` is not a readable Parquet file")]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    /// The decoder gave up on a damaged Parquet file without saying why.
    #[error("`{path}` is damaged: the Parquet decoder cannot make sense of it")]
    ParquetDamaged { path: PathBuf },
    /// A CSV file whose records do not fit its header.
    #[error("`{path}` is not a readable CSV file")]
    Csv { path: PathBuf, source: csv::Error },
    /// A line that is not a JSON object.
    #[error("`{path}` line {line} is not a JSON object")]
    Json { path: PathBuf, line: usize, source: serde_json::Error },
    /// A sidecar that does not hold what we write there.
    #[error("`{path}`, which holds the column types and provenance of the table beside it, cannot be read")]
    Sidecar { path: PathBuf, source: serde_json::Error },
    /// Two columns have the same name, so that neither can be asked for.
    #[error("`{path}` has two columns named `{}`", shown(column))]
    DuplicateColumn { path: PathBuf, column: String },
    /// Rows without a single key, which no table can hold.
    #[error("{n_rows} rows have not one column between them")]
    NoColumns { n_rows: usize },
    /// A column's texts are together longer than a column can be, 2 GiB.
    #[error("column `{}` has {n_bytes} bytes of text, and a table holds 2147483647 of a column", shown(column))]
    TooMuchText { column: String, n_bytes: usize },
    /// Lists of numbers go into Parquet only.
    #[error("`{path}` cannot hold `{}`, which has many numbers a row", shown(column))]
    ListColumn { path: PathBuf, column: String },
    /// A column of a type that is neither number, boolean nor text.
    #[error("`{path}` column `{}` has the type {got}, expected a number, a boolean or text", shown(column))]
    ColumnType {
        path: PathBuf,
        column: String,
        /// The column's type as Arrow names it.
        got: String,
    },
    /// A cell holds a number that is not finite, which no feature may be.
    #[error("`{path}` row {row}, column `{}` is {value}, expected a finite number or nothing", shown(column))]
    NotFinite {
        path: PathBuf,
        row: usize,
        column: String,
        /// `NaN`, `inf` or `-inf`.
        value: String,
    },
    /// A cell that its column's recorded type does not allow.
    #[error("`{path}` row {row}, column `{}` is `{}`, expected {expected}", shown(column), shown(value))]
    Cell {
        path: PathBuf,
        row: usize,
        column: String,
        value: String,
        /// What the sidecar promises.
        expected: &'static str,
    },
    /// A column that is not there; `columns` has the nearest names first.
    #[error("no column `{column}`; there are: {}", list(columns))]
    MissingColumn {
        column: String,
        /// The names there are, the nearest first.
        columns: Vec<String>,
    },
    /// Numbers asked of a column that holds something else.
    #[error("row {row}, column `{}` is `{}`, expected a number", shown(column), shown(value))]
    NotANumber {
        column: String,
        /// The first such row, from 1.
        row: usize,
        value: String,
    },
    /// Tables of different runs or settings cannot be put together.
    #[error("`{left}` and `{right}` come from different settings: {}", differences(different, left, right))]
    Provenance {
        left: String,
        right: String,
        /// Where their metadata differ.
        different: Vec<KeyDifference>,
    },
    /// Tables with different columns cannot be put under each other.
    #[error("`{left}` and `{right}` have different columns: {}", differences(different, left, right))]
    Columns {
        left: String,
        right: String,
        /// The columns that one of them lacks.
        different: Vec<KeyDifference>,
    },
    /// Two tables of the same rows say different things of one.
    #[error("`{left}` and `{right}` differ in row {row} of the first: {}", differences(different, left, right))]
    Disagree {
        left: String,
        right: String,
        /// In the first table, from 1.
        row: usize,
        /// The column, and what each of them has there.
        different: Vec<KeyDifference>,
    },
    /// A value that must be unique, twice.
    #[error("{column} `{}` is in `{left}` row {left_row} and in `{right}` row {right_row}", shown(value))]
    Duplicate {
        /// `id` or `row`.
        column: &'static str,
        value: String,
        left: String,
        left_row: usize,
        /// The table with the second.
        right: String,
        right_row: usize,
    },
    /// A row without the value that names or places it.
    #[error("`{table}` row {row} has no `{column}`")]
    Unnamed {
        table: String,
        row: usize,
        /// `id` or `row`.
        column: &'static str,
    },
    /// A journal is there already.
    #[error("the journal `{path}` of an earlier run is still there")]
    JournalExists { path: PathBuf },
    /// A journal that another process writes to.
    #[error("another process is writing to the journal `{path}`")]
    JournalBusy { path: PathBuf },
    /// A file that is not a journal.
    #[error("`{path}` is not a journal of this program")]
    NotAJournal { path: PathBuf },
    /// A journal of a run with other settings.
    #[error("the journal `{path}` was written with other settings: {}", differences(different, "journal", "this run"))]
    JournalHeader {
        path: PathBuf,
        /// Where the journal (`left`) and this run (`right`) differ.
        different: Vec<KeyDifference>,
    },
    /// A journal with columns of something that the run leaves out.
    #[error("the journal `{path}` has columns that this run leaves out, of {}", list(missing))]
    JournalGroups {
        path: PathBuf,
        /// Names of the groups of columns that the journal has and the run leaves out.
        missing: Vec<String>,
    },
    /// A row that has no text under `id`, by which a journal tells rows apart.
    #[error("`{path}` line {line} has no text under `id`")]
    JournalRow { path: PathBuf, line: usize },
}

impl TableError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        use TableError::*;
        let text = match self {
            UnknownFormat { .. } => "the ending chooses the format: .parquet is smallest and keeps types exactly",
            Read { source, .. } if source.kind() == io::ErrorKind::NotFound => "check the path",
            Write { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "make room on that disk or choose another place; nothing that was there before is lost"
            }
            Write { .. } => "choose a folder that exists and that you may write to; nothing that was there is lost",
            Parquet { .. } | ParquetDamaged { .. } => "write it again from its source; it may be cut short",
            Csv { .. } => "every record needs as many fields as the header, in UTF-8, quotes closed",
            Json { .. } => "mend or remove that line; each line holds one JSON object in UTF-8",
            Sidecar { .. } => "remove that file to have the types guessed and go on without provenance",
            DuplicateColumn { .. } => "rename or remove one of them",
            NoColumns { .. } => "each row needs at least an `id`",
            TooMuchText { .. } => "leave that column out, or have a table for each part of the rows",
            ListColumn { .. } => "give the output a name that ends in .parquet",
            ColumnType { .. } => "convert or drop that column",
            NotFinite { .. } => "leave the cell empty (null) where there is no value",
            Cell { .. } => "mend the cell, or remove the `.meta.json` file beside the table to have the types guessed",
            MissingColumn { .. } => "names are case-sensitive; a feature's column is `<feature>@<scorer>`",
            NotANumber { .. } => "mend that cell, leave it empty where there is no value, or choose a numeric column",
            Provenance { .. } => "put together only shards of one run; score the others again with the same settings",
            Columns { .. } => "put together only tables of one kind",
            Disagree { .. } => "put beside each other only tables of one file of samples; score the other one again",
            Duplicate { .. } => "give each shard once, and only shards of one input",
            Unnamed { .. } | JournalRow { .. } => "each row needs its own",
            JournalExists { .. } => "go on where it stopped with --resume, or start anew with --overwrite",
            JournalBusy { .. } => "wait until that run ends, or choose another output",
            NotAJournal { .. } => "choose another output, or move that file away",
            JournalHeader { .. } => "resume with the settings of that run, or start anew with --overwrite",
            JournalGroups { .. } => {
                "resume with all that the earlier run had, and more if you like; or start anew with --overwrite"
            }
            Read { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// One key on which two sides differ; `None` where a side lacks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDifference {
    /// The key of the metadata, or the name of the column.
    pub key: String,
    /// The value that the first side has under the key.
    pub left: Option<String>,
    /// The value that the second side has under the key.
    pub right: Option<String>,
}

fn differences(all: &[KeyDifference], left: &str, right: &str) -> String {
    let side = |value: &Option<String>| value.as_ref().map_or("missing".to_owned(), |value| format!("{value:?}"));
    let one = |KeyDifference { key, left: l, right: r }: &KeyDifference| {
        let key = shown(key);
        format!("`{key}` is {} in {left} and {} in {right}", side(l), side(r))
    };
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Text out of a file for a message: no control characters, which a terminal would obey, and not endless.
fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown = String::new();
    for character in text.chars().take(LONGEST) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ")
}
