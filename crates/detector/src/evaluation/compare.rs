//! Sets of features against each other: the same rows, the same folds, a paired test.

use serde::Serialize;

use crate::{
    DetectorError, EvalSettings, Figure, Interval, LabelledRows, LikelihoodFit, MeanFigure, Scored, StepDirection,
    Stepwise, auc_difference_interval,
    evaluation::evaluate::usable_folds,
    evaluation::predictions::{Predictor, by_generator, out_of_fold},
    fit_maximum_likelihood, paired_delong,
    statistics::distributions::holm,
    stepwise,
};
use veridiff_table::catalogue::{Catalogue, FamilyEntry};

/// A set of features that is compared with others under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSet {
    /// The name of the set, as it was given.
    pub name: String,
    /// Its columns among the rows' features, ascending, each once.
    pub columns: Vec<usize>,
}

/// A set of features as a predictor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetEvaluation {
    /// The name of the set, as it was given.
    pub name: String,
    /// The columns of its features.
    pub features: Vec<String>,
    /// Penalised logistic regression over them, out of fold; the figures in sample are beside.
    pub overall: Figure,
    /// Mean of the AUCs within generators, out of fold.
    pub within_generators: MeanFigure,
}

/// Two sets compared by the AUCs of their out-of-fold scores.
///
/// The test holds for these scores: how much the scores of other training rows would differ, it does not know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairTest {
    /// The name of the first set.
    pub first: String,
    /// The name of the second set.
    pub second: String,
    /// AUC of the first minus that of the second; null when the rows have one class only.
    pub difference: Option<f64>,
    /// Its standard error by DeLong, with groups.
    pub standard_error: Option<f64>,
    /// The 95% interval of the difference by DeLong, with groups.
    pub interval: Option<Interval>,
    /// The 95% interval of the difference by the bootstrap over groups.
    pub bootstrap_interval: Option<Interval>,
    /// Difference over standard error.
    pub z: Option<f64>,
    /// Two-sided, of no difference.
    pub p: Option<f64>,
    /// The same, by Holm's method for all pairs with one.
    pub p_holm: Option<f64>,
}

/// Sets of features compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The sets, in the order in which they were given.
    pub sets: Vec<SetEvaluation>,
    /// One entry for every pair of sets, in their order.
    pub pairs: Vec<PairTest>,
}

/// The sets that the paper compares, as far as the features make them: all, those that need a reference text and those
/// that do not; and each family that has some. A set that equals an earlier one is left out.
pub fn standard_sets(feature_names: &[String], catalogue: &Catalogue) -> Vec<NamedSet> {
    let of = |name: &str, keep: &dyn Fn(&str) -> bool| NamedSet {
        name: name.to_owned(),
        columns: (0..feature_names.len()).filter(|&column| keep(&feature_names[column])).collect(),
    };
    let mut sets = vec![
        of("all", &|_| true),
        of("reference-based", &|name| catalogue.needs_reference(name)),
        of("reference-free", &|name| !catalogue.needs_reference(name)),
    ];
    let is_of = |name: &str, family: &FamilyEntry| catalogue.family_of(name) == Some(family);
    let families = catalogue.families().iter().map(|family| of(family.name, &|name| is_of(name, family)));
    sets.extend(families);
    let mut distinct: Vec<NamedSet> = Vec::new();
    for set in sets {
        if !set.columns.is_empty() && distinct.iter().all(|other| other.columns != set.columns) {
            distinct.push(set);
        }
    }
    distinct
}

/// Compares sets of features by what logistic regression makes of them on the folds of [`evaluate`](crate::evaluate).
///
/// # Errors
/// Those of [`evaluate`](crate::evaluate).
pub fn compare_sets(
    rows: &LabelledRows,
    sets: &[NamedSet],
    settings: EvalSettings,
) -> Result<Comparison, DetectorError> {
    let folds = usable_folds(rows, settings)?;
    let predictions = sets
        .iter()
        .map(|set| out_of_fold(rows, Predictor::Combination(&set.columns), &folds, settings))
        .collect::<Result<Vec<_>, _>>()?;
    let evaluated = sets.iter().zip(&predictions).map(|(set, predictions)| SetEvaluation {
        name: set.name.clone(),
        features: set.columns.iter().map(|&column| rows.feature_names[column].clone()).collect(),
        overall: predictions.figure(rows, settings.bootstrap),
        within_generators: by_generator(rows, predictions, settings.bootstrap).0,
    });
    let evaluated = evaluated.collect();
    let mut pairs = Vec::new();
    for (i, first) in predictions.iter().enumerate() {
        for (j, second) in predictions.iter().enumerate().skip(i + 1) {
            // which rows a fold can predict depends on its labels alone, so both have the same rows
            let (labels, groups) = (first.labels(rows), rows.groups.of_rows(&first.rows));
            let scored = Scored { scores: &first.scores, labels: &labels, groups: &groups };
            let test = paired_delong(scored, &second.scores);
            pairs.push(PairTest {
                first: sets[i].name.clone(),
                second: sets[j].name.clone(),
                difference: test.map(|test| test.difference),
                standard_error: test.map(|test| test.standard_error),
                interval: test.and_then(|test| test.interval),
                bootstrap_interval: auc_difference_interval(scored, &second.scores, settings.bootstrap),
                z: test.and_then(|test| test.z),
                p: test.and_then(|test| test.p),
                p_holm: None,
            });
        }
    }
    let tested: Vec<usize> = (0..pairs.len()).filter(|&i| pairs[i].p.is_some()).collect();
    let adjusted = holm(&tested.iter().filter_map(|&i| pairs[i].p).collect::<Vec<_>>());
    tested.iter().zip(adjusted).for_each(|(&i, p)| pairs[i].p_holm = Some(p));
    Ok(Comparison { sets: evaluated, pairs })
}

/// How often a feature was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// The feature's column in the table.
    pub feature: String,
    /// Whether it was chosen on all rows.
    pub on_all_rows: bool,
    /// On how many folds' training rows it was chosen.
    pub n_folds: usize,
}

/// A stepwise choice with what it is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepwiseEvaluation {
    /// What is chosen when all rows take part.
    pub choice: Stepwise,
    /// The procedure out of fold, chosen and fitted (with the penalty) on the training folds; in sample beside it.
    pub overall: Figure,
    /// Mean of the AUCs within generators, out of fold.
    pub within_generators: MeanFigure,
    /// Every feature chosen at least once: a choice that changes with the folds explains little.
    pub chosen: Vec<Chosen>,
}

/// Chooses features by steps on all rows, and judges the procedure by choosing anew within each training fold.
///
/// # Errors
/// Those of [`evaluate`](crate::evaluate).
pub fn evaluate_stepwise(
    rows: &LabelledRows,
    direction: StepDirection,
    settings: EvalSettings,
) -> Result<StepwiseEvaluation, DetectorError> {
    let folds = usable_folds(rows, settings)?;
    let choice = stepwise(rows.features.view(), &rows.feature_names, &rows.labels, &rows.groups.of_row, direction)?;
    let predictions = out_of_fold(rows, Predictor::Stepwise(direction), &folds, settings)?;
    let chosen = rows.feature_names.iter().enumerate().map(|(column, feature)| Chosen {
        feature: feature.clone(),
        on_all_rows: choice.selected.contains(feature),
        n_folds: predictions.chosen.iter().filter(|&&c| c == column).count(),
    });
    let chosen = chosen.filter(|chosen| chosen.on_all_rows || chosen.n_folds > 0).collect();
    Ok(StepwiseEvaluation {
        overall: predictions.figure(rows, settings.bootstrap),
        within_generators: by_generator(rows, &predictions, settings.bootstrap).0,
        choice,
        chosen,
    })
}

/// All features in one fit without a penalty; see [`fit_maximum_likelihood`].
///
/// # Errors
/// Those of [`fit_maximum_likelihood`].
pub fn coefficients(rows: &LabelledRows) -> Result<LikelihoodFit, DetectorError> {
    fit_maximum_likelihood(rows.features.view(), &rows.feature_names, &rows.labels, &rows.groups.of_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_sets_are_distinct_and_not_empty() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let sets = |list: &[&str]| {
            let sets = standard_sets(&names(list), &crate::toy::catalogue());
            sets.into_iter().map(|set| (set.name, set.columns)).collect::<Vec<_>>()
        };
        let want = |sets: &[(&str, &[usize])]| {
            sets.iter().map(|(name, columns)| (name.to_string(), columns.to_vec())).collect::<Vec<_>>()
        };
        assert_eq!(
            sets(&["logprob@m", "bleu4", "attr_source@m", "nli_entailment@n", "extra"]),
            want(&[
                ("all", &[0, 1, 2, 3, 4]),
                ("reference-based", &[1, 3]),
                ("reference-free", &[0, 2, 4]),
                ("uncertainty", &[0]),
                ("attribution", &[2]),
            ])
        );
        assert_eq!(sets(&["logprob@m", "entropy@m"]), want(&[("all", &[0, 1])]));
    }
}
