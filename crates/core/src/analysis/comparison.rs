//! Sets of features against each other.

use super::kind::{Analysis, Kind, is_fitted_here};
use crate::families::catalogue::CATALOGUE;
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, NamedSet, compare_sets, standard_sets};

pub(super) const KIND: Kind = Kind {
    key: "comparison",
    what: "comparison of sets",
    unasked: |evaluation, rows| {
        let sets = standard_sets(&rows.feature_names, &CATALOGUE);
        (is_fitted_here(evaluation) && sets.len() > 1).then(|| Box::new(Compare { sets }) as Box<dyn Analysis>)
    },
};

/// Compares sets of features on the folds of the evaluation; its result is a [`Comparison`](veridiff_detector::Comparison).
/// Unasked, a report with more than one of the [`standard_sets`] compares them.
#[derive(Debug, Clone)]
pub struct Compare {
    /// The sets, in the order of their rows.
    pub sets: Vec<NamedSet>,
}

impl Analysis for Compare {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        let comparison = compare_sets(rows, &self.sets, evaluation.settings)?;
        evaluation.analyses.put(KIND.key, comparison);
        Ok(())
    }
}
