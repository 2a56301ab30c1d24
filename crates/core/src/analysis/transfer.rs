//! Trained on the rows with one value of a column, tested on those with another.

use super::kind::{Analysis, Kind, add_notes};
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, transfer};

pub(super) const KIND: Kind = Kind { key: "transfer", what: "transfer", unasked: |_, _| None };

/// What is learnt on the rows with one value of a column is worth on those with another; its result is a
/// [`Transfer`](veridiff_detector::Transfer). It is made only when asked for.
#[derive(Debug, Clone)]
pub struct Transfers {
    /// The column, which must be one of the rows' [`by`](LabelledRows::by).
    pub column: String,
}

impl Analysis for Transfers {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        let transfer = transfer(rows, &self.column, evaluation.settings)?;
        if transfer.figures.is_empty() {
            let column = &self.column;
            add_notes(
                evaluation,
                vec![format!(
                    "no value of `{column}` has rows of both classes to train on, so nothing is said of transfer"
                )],
            );
        }
        evaluation.analyses.put(KIND.key, transfer);
        Ok(())
    }
}
