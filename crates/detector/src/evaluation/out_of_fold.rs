//! Folds and out-of-fold scores as data, for who wants to go on with them elsewhere.

use crate::{
    DetectorError, EvalSettings, LabelledRows, NamedSet, StepDirection,
    evaluation::evaluate::usable_folds,
    evaluation::predictions::{Predictor, out_of_fold},
};

/// What one set of features gives each row; `None` for rows of a fold whose training rows have one class only.
#[derive(Debug, Clone, PartialEq)]
pub struct SetScores {
    /// The name of the set, as it was given.
    pub name: String,
    /// Its features; none where they are chosen anew in each fold.
    pub features: Vec<String>,
    /// Probability of being hallucinated, by the fit on the other folds.
    pub scores: Vec<Option<f64>>,
    /// Whether that is at or above the threshold of the training folds.
    pub called: Vec<Option<bool>>,
    /// Probability by the fit on all rows.
    pub in_sample: Vec<Option<f64>>,
    /// Whether that is at or above the threshold of all rows.
    pub called_in_sample: Vec<Option<bool>>,
}

/// The folds of an evaluation and what its learner gives each row.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldScores {
    /// For every row the fold, from 0, in which it is tested.
    pub folds: Vec<usize>,
    /// The scores of every set of features, in the order in which the sets were given.
    pub sets: Vec<SetScores>,
}

/// Scores rows by each set of features, and by a stepwise choice if a direction is given, on the folds of
/// [`evaluate`](crate::evaluate).
///
/// # Errors
/// Those of [`evaluate`](crate::evaluate).
pub fn fold_scores(
    rows: &LabelledRows,
    sets: &[NamedSet],
    stepwise: Option<StepDirection>,
    settings: EvalSettings,
) -> Result<FoldScores, DetectorError> {
    let folds = usable_folds(rows, settings)?;
    let score = |name: &str, columns: &[usize], predictor: Predictor| -> Result<SetScores, DetectorError> {
        let predictions = out_of_fold(rows, predictor, &folds, settings)?;
        let (in_sample, called_in_sample) = predictions.in_sample.as_ref().map_or((&[][..], &[][..]), |(s, c)| (s, c));
        Ok(SetScores {
            name: name.to_owned(),
            features: columns.iter().map(|&column| rows.feature_names[column].clone()).collect(),
            scores: spread(rows.len(), &predictions.rows, &predictions.scores),
            called: spread(rows.len(), &predictions.rows, &predictions.flagged),
            in_sample: spread(rows.len(), &predictions.rows, in_sample),
            called_in_sample: spread(rows.len(), &predictions.rows, called_in_sample),
        })
    };
    let mut scored = sets
        .iter()
        .map(|set| score(&set.name, &set.columns, Predictor::Combination(&set.columns)))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(direction) = stepwise {
        scored.push(score("stepwise", &[], Predictor::Stepwise(direction))?);
    }
    Ok(FoldScores { folds, sets: scored })
}

/// Values of some rows as one entry for every row.
fn spread<T: Copy>(n_rows: usize, rows: &[usize], values: &[T]) -> Vec<Option<T>> {
    let mut all = vec![None; n_rows];
    rows.iter().zip(values).for_each(|(&row, &value)| all[row] = Some(value));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bootstrap, compare_sets, roc_auc, toy};

    #[test]
    fn the_figures_of_a_comparison_follow_from_the_scores() {
        let rows = toy::two_features(60);
        let labels = &rows.labels;
        let settings = EvalSettings {
            n_folds: 4,
            l2: 1.0,
            learner: crate::Learner::Logistic,
            bootstrap: Bootstrap { n_resamples: 0, seed: 3 },
        };
        let sets =
            [NamedSet { name: "both".into(), columns: vec![0, 1] }, NamedSet { name: "b".into(), columns: vec![1] }];
        let got = fold_scores(&rows, &sets, Some(StepDirection::Both), settings).unwrap();
        assert!(got.folds.iter().all(|fold| *fold < 4) && got.folds.len() == rows.len());
        assert_eq!(got.sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["both", "b", "stepwise"]);
        let want = compare_sets(&rows, &sets, settings).unwrap();
        for (set, want) in got.sets.iter().zip(&want.sets) {
            assert_eq!(set.features, want.features);
            let scores: Vec<f64> = set.scores.iter().map(|score| score.unwrap()).collect();
            assert_eq!(roc_auc(&scores, labels), want.overall.auc);
            let in_sample: Vec<f64> = set.in_sample.iter().map(|score| score.unwrap()).collect();
            assert_eq!(roc_auc(&in_sample, labels), want.overall.in_sample.unwrap().auc);
            let called = set.called.iter().filter(|called| **called == Some(true)).count();
            assert_eq!(called, want.overall.n_flagged);
        }
    }
}
