//! Cross-validation with folds drawn many times, and what each family of features adds.
//!
//! One draw of the folds moves an AUC by a hundredth; a mean over ten draws hardly. How much another sample of diffs would move it
//! is another question, which the intervals answer: they resample groups.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::Serialize;

use crate::{
    Bootstrap, DetectorError, EvalSettings, Interval, LabelledRows, NamedSet, Scored, auc_interval,
    evaluation::evaluate::usable_folds,
    evaluation::predictions::{Predictions, Predictor, fold_splits, new_generator_splits, pool},
    roc_auc,
    statistics::roc::{mean, mean_difference_interval},
};
use veridiff_table::catalogue::Catalogue;

/// A figure over all repeats, each with folds of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepeatedFigure {
    /// Mean over the repeats; null if none has it.
    pub mean: Option<f64>,
    /// Its 95% bootstrap interval over groups.
    pub interval: Option<Interval>,
    /// The lowest figure that a repeat has.
    pub least: Option<f64>,
    /// The highest figure that a repeat has.
    pub most: Option<f64>,
}

/// A set of features on all repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepeatedSet {
    /// The name of the set, as it was given.
    pub name: String,
    /// The columns of its features.
    pub features: Vec<String>,
    /// AUC over all rows, out of fold.
    pub pooled: RepeatedFigure,
    /// Mean of the AUCs within generators, out of fold.
    pub within_generators: RepeatedFigure,
    /// The same, of generators and diffs left out of training; null with fewer than two generators.
    pub leave_one_generator_out: Option<RepeatedFigure>,
    /// The mean within generators, where there are any, else the AUC over all rows, minus that of the first set, repeat by repeat;
    /// null for the first set.
    pub change: Option<RepeatedFigure>,
}

/// Sets of features on folds drawn many times, each repeat's the same for all sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repeats {
    /// How often the folds were drawn, with seeds from the settings' on.
    pub n_repeats: usize,
    /// The sets, in the order in which they were given.
    pub sets: Vec<RepeatedSet>,
}

/// All features; then each family left out, and each alone. With several models each one's families are apart.
pub fn ablation_sets(feature_names: &[String], catalogue: &Catalogue) -> Vec<NamedSet> {
    let models: BTreeSet<&str> = feature_names.iter().filter_map(|name| Some(name.split_once('@')?.1)).collect();
    let family_of = |name: &str| {
        let family = catalogue.family_of(name).map_or("other", |family| family.name);
        match name.split_once('@') {
            Some((_, model)) if models.len() > 1 => format!("{family}@{model}"),
            _ => family.to_owned(),
        }
    };
    let family_of_column: Vec<String> = feature_names.iter().map(|name| family_of(name)).collect();
    let mut families = family_of_column.clone();
    families.sort_unstable();
    families.dedup();
    let columns = |keep: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..feature_names.len()).filter(|&column| keep(&family_of_column[column])).collect()
    };
    let mut sets = vec![NamedSet { name: "all".to_owned(), columns: columns(&|_| true) }];
    if families.len() > 1 {
        sets.extend(
            families.iter().map(|f| NamedSet { name: format!("without {f}"), columns: columns(&|own| own != f) }),
        );
        sets.extend(
            families.iter().map(|f| NamedSet { name: format!("{f} alone"), columns: columns(&|own| own == f) }),
        );
    }
    sets
}

/// What one set gives on one repeat.
struct Repeat {
    out_of_fold: Predictions,
    /// Where two generators or more are known.
    new_generators: Option<Predictions>,
}

/// Scores of some rows with what the AUC needs beside them; a stratum of a mean.
struct Stratum {
    scores: Vec<f64>,
    labels: Vec<bool>,
    groups: Vec<usize>,
}

impl Stratum {
    fn new(rows: &LabelledRows, predictions: &Predictions) -> Self {
        Stratum {
            scores: predictions.scores.clone(),
            labels: predictions.labels(rows),
            groups: rows.groups.of_rows(&predictions.rows),
        }
    }

    fn scored(&self) -> Scored<'_> {
        Scored { scores: &self.scores, labels: &self.labels, groups: &self.groups }
    }

    fn auc(&self) -> Option<f64> {
        roc_auc(&self.scores, &self.labels)
    }
}

/// Of every repeat the strata whose AUCs' mean is its figure.
type Strata = Vec<Vec<Stratum>>;

/// All rows, of every repeat.
fn pooled<'a>(rows: &LabelledRows, repeats: impl Iterator<Item = &'a Predictions>) -> Strata {
    repeats.map(|predictions| vec![Stratum::new(rows, predictions)]).collect()
}

/// The generators with both classes, of every repeat.
fn within<'a>(rows: &LabelledRows, repeats: impl Iterator<Item = &'a Predictions>) -> Strata {
    let generators = rows.generator_names();
    let of = |predictions: &Predictions| -> Vec<Stratum> {
        let of_generator =
            |generator: &String| predictions.only(|row| rows.generators[row].as_ref() == Some(generator));
        let strata = generators.iter().map(|generator| Stratum::new(rows, &of_generator(generator)));
        strata.filter(|stratum| stratum.auc().is_some()).collect()
    };
    repeats.map(of).collect()
}

/// One figure a repeat, and the interval of their mean.
fn summary(of_repeat: &[Option<f64>], interval: Option<Interval>) -> RepeatedFigure {
    let known = || of_repeat.iter().flatten().copied();
    let (least, most) = (known().min_by(f64::total_cmp), known().max_by(f64::total_cmp));
    RepeatedFigure { mean: mean(known()), interval: interval.filter(|_| known().next().is_some()), least, most }
}

fn figure(strata: &Strata, bootstrap: Bootstrap) -> RepeatedFigure {
    let of_repeat: Vec<Option<f64>> =
        strata.iter().map(|strata| mean(strata.iter().filter_map(Stratum::auc))).collect();
    let all: Vec<Scored> = strata.iter().flatten().map(Stratum::scored).collect();
    summary(&of_repeat, auc_interval(&all, bootstrap))
}

/// The strata's figure minus that of the first set's; both have the same rows, since which rows a fold can predict depends on its
/// labels alone.
fn change(strata: &Strata, first: &Strata, bootstrap: Bootstrap) -> RepeatedFigure {
    let of_repeat: Vec<Option<f64>> = strata
        .iter()
        .zip(first)
        .map(|(own, first)| mean(own.iter().zip(first).filter_map(|(own, first)| Some(own.auc()? - first.auc()?))))
        .collect();
    let pairs: Vec<(Scored, &[f64])> = strata
        .iter()
        .flatten()
        .zip(first.iter().flatten())
        .map(|(own, first)| (own.scored(), first.scores.as_slice()))
        .collect();
    summary(&of_repeat, mean_difference_interval(&pairs, bootstrap))
}

/// Judges sets of features by folds drawn `n_repeats` times, with the seeds from the settings' on (which the trees are grown with
/// too). The first set is what the others are compared with.
///
/// # Errors
/// Those of [`evaluate`](crate::evaluate).
pub fn repeat_folds(
    rows: &LabelledRows,
    sets: &[NamedSet],
    n_repeats: usize,
    settings: EvalSettings,
) -> Result<Repeats, DetectorError> {
    let seeded = |repeat: usize| {
        let seed = settings.bootstrap.seed.wrapping_add(repeat as u64);
        EvalSettings { bootstrap: Bootstrap { seed, ..settings.bootstrap }, ..settings }
    };
    let folds = (0..n_repeats).map(|repeat| usable_folds(rows, seeded(repeat))).collect::<Result<Vec<_>, _>>()?;
    let has_generators = rows.generator_names().len() > 1;
    let jobs: Vec<(usize, usize)> =
        (0..sets.len()).flat_map(|set| (0..n_repeats).map(move |repeat| (set, repeat))).collect();
    let run = |&(set, repeat): &(usize, usize)| -> Result<Repeat, DetectorError> {
        let (predictor, settings) = (Predictor::Combination(&sets[set].columns), seeded(repeat));
        let splits = fold_splits(&folds[repeat], settings.n_folds);
        let out_of_fold = pool(rows, predictor, splits, settings)?;
        let splits = new_generator_splits(rows, &folds[repeat], settings.n_folds);
        let new_generators = if has_generators { Some(pool(rows, predictor, splits, settings)?) } else { None };
        Ok(Repeat { out_of_fold, new_generators })
    };
    let done = jobs.par_iter().map(run).collect::<Result<Vec<_>, _>>()?;
    let strata: Vec<(Strata, Strata)> = done
        .chunks(n_repeats.max(1))
        .map(|repeats| {
            let out_of_fold = || repeats.iter().map(|repeat| &repeat.out_of_fold);
            (pooled(rows, out_of_fold()), within(rows, out_of_fold()))
        })
        .collect();
    let bootstrap = settings.bootstrap;
    let evaluated = (0..sets.len()).into_par_iter().map(|set| {
        let (own, first) = (&strata[set], &strata[0]);
        let repeats = &done[set * n_repeats..(set + 1) * n_repeats];
        let new_generators = || repeats.iter().filter_map(|repeat| repeat.new_generators.as_ref());
        let named = own.1.iter().any(|strata| !strata.is_empty());
        let compared = if named { (&own.1, &first.1) } else { (&own.0, &first.0) };
        RepeatedSet {
            name: sets[set].name.clone(),
            features: sets[set].columns.iter().map(|&column| rows.feature_names[column].clone()).collect(),
            pooled: figure(&own.0, bootstrap),
            within_generators: figure(&own.1, bootstrap),
            leave_one_generator_out: has_generators.then(|| figure(&within(rows, new_generators()), bootstrap)),
            change: (set > 0).then(|| change(compared.0, compared.1, bootstrap)),
        }
    });
    Ok(Repeats { n_repeats, sets: evaluated.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_left_out_once_and_stands_alone_once() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let sets = |list: &[&str]| {
            let sets = ablation_sets(&names(list), &crate::toy::catalogue());
            sets.into_iter().map(|set| (set.name, set.columns)).collect::<Vec<_>>()
        };
        let want = |sets: &[(&str, &[usize])]| {
            sets.iter().map(|(name, columns)| (name.to_string(), columns.to_vec())).collect::<Vec<_>>()
        };
        assert_eq!(
            sets(&["logprob@m", "ground_words", "entropy@m", "mine"]),
            want(&[
                ("all", &[0, 1, 2, 3]),
                ("without grounding", &[0, 2, 3]),
                ("without other", &[0, 1, 2]),
                ("without uncertainty", &[1, 3]),
                ("grounding alone", &[1]),
                ("other alone", &[3]),
                ("uncertainty alone", &[0, 2]),
            ])
        );
        assert_eq!(sets(&["logprob@m", "entropy@m"]), want(&[("all", &[0, 1])]));
        let of_two = sets(&["logprob@m", "logprob@n", "ground_words"]);
        assert_eq!(of_two[1].0, "without grounding");
        assert_eq!(of_two[2], ("without uncertainty@m".to_owned(), vec![1, 2]));
    }
}
