//! All features in one regression without a penalty.

use super::kind::{Analysis, Kind, add_notes, is_fitted_here};
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, coefficients};

pub(super) const KIND: Kind = Kind {
    key: "coefficients",
    what: "table of coefficients",
    unasked: |evaluation, _| is_fitted_here(evaluation).then(|| Box::new(Coefficients) as Box<dyn Analysis>),
};

/// Fits all features by maximum likelihood on all rows; its result is a [`LikelihoodFit`](veridiff_detector::LikelihoodFit).
#[derive(Debug, Clone, Copy)]
pub struct Coefficients;

impl Analysis for Coefficients {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        let fit = coefficients(rows)?;
        add_notes(evaluation, fit.notes());
        evaluation.analyses.put(KIND.key, fit);
        Ok(())
    }
}
