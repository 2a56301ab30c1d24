//! What every analysis has.

use std::fmt;

use veridiff_detector::{DetectorError, Evaluation, LabelledRows, PredictorKind};

/// An analysis with its options, ready to be made.
pub trait Analysis: fmt::Debug {
    /// What kind of analysis it is.
    fn kind(&self) -> &'static Kind;

    /// Makes it of the rows that were evaluated, under the settings of the evaluation, and adds its result to
    /// [`Evaluation::analyses`] and what a reader should know to the notes.
    ///
    /// # Errors
    /// Those of the statistics behind it.
    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError>;
}

/// A kind of analysis that `eval` can be asked for.
#[derive(Debug)]
pub struct Kind {
    /// Its key in the JSON of an evaluation.
    pub key: &'static str,
    /// What a sentence calls such an analysis, such as `overlap of tops`.
    pub what: &'static str,
    /// The analysis that a report has where none of this kind was asked for; none if the rows do not allow it, or if it is
    /// made only when asked for.
    pub unasked: fn(&Evaluation, &LabelledRows) -> Option<Box<dyn Analysis>>,
}

/// Whether the learner was fitted on the rows themselves; if not, a detector fitted before is judged.
pub(super) fn is_fitted_here(evaluation: &Evaluation) -> bool {
    evaluation.predictors.iter().all(|predictor| predictor.kind != PredictorKind::Detector)
}

/// Adds the notes that the evaluation does not have yet.
pub(super) fn add_notes(evaluation: &mut Evaluation, notes: Vec<String>) {
    for note in notes {
        if !evaluation.notes.contains(&note) {
            evaluation.notes.push(note);
        }
    }
}
