//! What an evaluation is asked beside its figures: which analyses there are, and which of them a report has unasked.
//!
//! An analysis is one file of this folder: its options, the constants that its defaults are made of, and the call into the
//! statistics. [`KINDS`] lists them in the order in which they are made and stand in the JSON of an evaluation. How an
//! analysis is shown is one file of the report's `views`.

mod coefficients;
mod comparison;
mod joint;
mod kind;
mod overlap;
mod repeats;
mod stepwise;
mod transfer;

pub use coefficients::Coefficients;
pub use comparison::Compare;
pub use joint::{Joint, joint_columns};
pub use kind::{Analysis, Kind};
pub use overlap::{MAX_OVERLAP_FEATURES, TOP_SHARE, Tops, overlap_columns};
pub use repeats::{ABLATION_REPEATS, Repeat};
pub use stepwise::Steps;
pub use transfer::Transfers;

use veridiff_detector::{DetectorError, Evaluation, LabelledRows};
use veridiff_table::{Table, TableError};
use veridiff_text::chain::one_line;

/// Every kind of analysis, in the order in which they are made.
pub const KINDS: [&Kind; 7] = [
    &comparison::KIND,
    &coefficients::KIND,
    &stepwise::KIND,
    &overlap::KIND,
    &joint::KIND,
    &repeats::KIND,
    &transfer::KIND,
];

/// Makes the analyses that were `asked` for, and, for a report, those it has unasked, in the order of [`KINDS`]. An unasked
/// one that cannot be made becomes a note that says why.
///
/// # Errors
/// Those of the first analysis that was asked for and cannot be made.
pub fn add_analyses(
    evaluation: &mut Evaluation,
    rows: &LabelledRows,
    asked: &[Box<dyn Analysis>],
    for_report: bool,
) -> Result<(), DetectorError> {
    for kind in KINDS {
        let mut of_kind = asked.iter().filter(|analysis| analysis.kind().key == kind.key).peekable();
        if of_kind.peek().is_none() && for_report {
            let failed = (kind.unasked)(evaluation, rows).and_then(|unasked| unasked.add_to(evaluation, rows).err());
            if let Some(error) = failed {
                evaluation.notes.push(format!("warning: the report has no {}: {}", kind.what, one_line(&error)));
            }
        }
        of_kind.try_for_each(|analysis| analysis.add_to(evaluation, rows))?;
    }
    Ok(())
}

/// Columns by whose values a report gives figures unasked: what kind of hallucination, in which language.
pub const REPORT_COLUMNS: [&str; 2] = ["label_type", "language"];

/// The most values of a column by which a report or a notebook gives figures unasked.
const MAX_REPORT_VALUES: usize = 60;

/// Those of [`REPORT_COLUMNS`] that a table has, with at least one value and at most 60.
///
/// # Errors
/// [`TableError`] if such a column holds no texts.
pub fn report_columns(table: &Table) -> Result<Vec<&'static str>, TableError> {
    let mut columns = Vec::new();
    for column in REPORT_COLUMNS.into_iter().filter(|column| table.column_names().contains(column)) {
        let mut values = table.strings(column)?;
        values.retain(|value| value.as_ref().is_some_and(|value| !value.is_empty()));
        values.sort_unstable();
        values.dedup();
        if (1..=MAX_REPORT_VALUES).contains(&values.len()) {
            columns.push(column);
        }
    }
    Ok(columns)
}
