//! What sentences say of figures, rows and the procedure.

use veridiff_detector::{Evaluation, Interval, Learner, PredictorKind, Repeats};

/// A count with thousands set apart.
pub(crate) fn count(n: usize) -> String {
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

/// A count with its noun in the right number: `1 row`, `2 rows`.
pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// An AUC with two decimals and its interval behind it; `without` stands for none.
pub(crate) fn auc(auc: Option<f64>, interval: Option<Interval>, without: &str) -> String {
    match (auc, interval) {
        (Some(auc), Some(Interval { low, high })) => format!("{auc:.2} [{low:.2}, {high:.2}]"),
        (Some(auc), None) => format!("{auc:.2}"),
        (None, _) => without.to_owned(),
    }
}

/// Whether a fitted detector is judged.
pub(crate) fn judges_detector(evaluation: &Evaluation) -> bool {
    evaluation.predictors.iter().any(|predictor| predictor.kind == PredictorKind::Detector)
}

/// What makes one prediction of several metrics.
pub(crate) fn learner(learner: Learner) -> &'static str {
    learner.title()
}

/// For a caption: how many rows of what.
pub(crate) fn sample(evaluation: &Evaluation) -> String {
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

/// For a caption: how scores were made.
pub(crate) fn procedure(evaluation: &Evaluation) -> String {
    let settings = &evaluation.settings;
    if judges_detector(evaluation) {
        return format!("The detector as it is, nothing trained here; seed {}.", settings.bootstrap.seed);
    }
    let learner = match settings.learner {
        Learner::Logistic => format!("{}, L2 penalty {}", learner(settings.learner), settings.l2),
        other => learner(other).to_owned(),
    };
    let draw = match evaluation.analyses.get::<Repeats>() {
        Some(repeats) => {
            format!("; the first of {} draws of the folds, whose means are a table below", repeats.n_repeats)
        }
        None => String::new(),
    };
    format!(
        "Out of fold: {} folds, groups kept whole; {learner}; seed {}{draw}.",
        settings.n_folds, settings.bootstrap.seed
    )
}

/// For a caption: what intervals are.
pub(crate) fn intervals(evaluation: &Evaluation) -> String {
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
