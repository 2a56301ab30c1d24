//! Features chosen by steps.

use super::kind::{Analysis, Kind, add_notes, is_fitted_here};
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, StepDirection, evaluate_stepwise};

pub(super) const KIND: Kind = Kind {
    key: "stepwise",
    what: "stepwise choice",
    unasked: |evaluation, _| {
        let steps = Steps { direction: StepDirection::Both };
        is_fitted_here(evaluation).then(|| Box::new(steps) as Box<dyn Analysis>)
    },
};

/// Chooses features by steps that lower Akaike's criterion, on all rows and anew within each training fold; its result is a
/// [`StepwiseEvaluation`](veridiff_detector::StepwiseEvaluation). Unasked, a report steps in both directions.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    /// Whether features are added, removed, or both.
    pub direction: StepDirection,
}

impl Analysis for Steps {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        let stepwise = evaluate_stepwise(rows, self.direction, evaluation.settings)?;
        add_notes(evaluation, stepwise.choice.notes());
        evaluation.analyses.put(KIND.key, stepwise);
        Ok(())
    }
}
