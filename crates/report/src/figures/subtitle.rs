//! What stands under a picture's title.

use crate::describe::{count, judges_detector};
use veridiff_detector::Evaluation;

/// For a picture that shows scores: how many rows, how they were scored, and the scorer that its names leave out.
pub fn subtitle(evaluation: &Evaluation, scorer: Option<&str>) -> String {
    format!("{}; {}{}", short_sample(evaluation), short_procedure(evaluation), self::scorer(scorer))
}

/// For a picture: how many rows.
pub fn short_sample(evaluation: &Evaluation) -> String {
    format!("n = {}, {} hallucinated", count(evaluation.n), count(evaluation.n_positive))
}

/// For a picture whose names leave out the scorer that they have in common: that scorer.
pub fn scorer(scorer: Option<&str>) -> String {
    scorer.map_or_else(String::new, |scorer| format!("; metrics @{scorer}"))
}

/// For a picture: how it was made.
fn short_procedure(evaluation: &Evaluation) -> String {
    if judges_detector(evaluation) {
        return "the detector as it is".to_owned();
    }
    format!("out of fold, {} folds, groups whole", evaluation.settings.n_folds)
}
