//! What captions say of the rows and the procedure.

use veridiff_detector::{Evaluation, Learner, PredictorKind};

/// A count with thousands set apart.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Whether a fitted detector is judged.
pub fn judges_detector(evaluation: &Evaluation) -> bool {
    evaluation.predictors.iter().any(|predictor| predictor.kind == PredictorKind::Detector)
}

/// What makes one prediction of several metrics.
pub fn learner(learner: Learner) -> &'static str {
    learner.title()
}

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

/// For a caption: how many rows of what.
pub fn sample(evaluation: &Evaluation) -> String {
    let share = 100.0 * evaluation.n_positive as f64 / evaluation.n.max(1) as f64;
    let generators = match evaluation.generators.len() {
        0 => String::new(),
        n => format!(", {}", counted(n, "generator", "generators")),
    };
    format!(
        "n = {} rows, {} hallucinated ({share:.0}%), {}{generators}.",
        count(evaluation.n),
        count(evaluation.n_positive),
        counted(evaluation.n_groups, "group (diff)", "groups (diffs)"),
    )
}

/// For a picture: how it was made.
fn short_procedure(evaluation: &Evaluation) -> String {
    if judges_detector(evaluation) {
        return "the detector as it is".to_owned();
    }
    format!("out of fold, {} folds, groups whole", evaluation.settings.n_folds)
}

/// For a caption: how scores were made.
pub fn procedure(evaluation: &Evaluation) -> String {
    let settings = &evaluation.settings;
    if judges_detector(evaluation) {
        return format!("The detector as it is, nothing trained here; seed {}.", settings.bootstrap.seed);
    }
    let learner = match settings.learner {
        Learner::Logistic => format!("{}, L2 penalty {}", learner(settings.learner), settings.l2),
        other => learner(other).to_owned(),
    };
    format!(
        "Out of fold: {} folds, once, groups kept whole; {learner}; seed {}.",
        settings.n_folds, settings.bootstrap.seed
    )
}

/// For a caption: what intervals are.
pub fn intervals(evaluation: &Evaluation) -> String {
    match evaluation.settings.bootstrap.n_resamples {
        0 => "No intervals (no bootstrap resamples).".to_owned(),
        n => format!("Intervals: 95%, percentiles of {} bootstrap resamples of whole groups.", count(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_readable() {
        assert_eq!([0, 7, 999, 1000, 1_234_567].map(count), ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "row", "rows") + &counted(2, "row", "rows"), "1 row2 rows");
    }
}
