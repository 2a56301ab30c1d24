//! How well scores separate two classes: ROC-AUC with ties, its bootstrap interval over groups, accuracy.
//!
//! Positive (`true`) is *hallucinated* throughout, and a higher score means more likely positive.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Area under the ROC curve of `scores` (finite) for `labels`, between 0 and 1.
///
/// The Mann-Whitney statistic: the share of (positive, negative) pairs in which the positive one scores higher, ties
/// counting one half. `None` when either class is absent.
///
/// # Panics
/// If the lengths differ.
pub fn roc_auc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    assert_eq!(scores.len(), labels.len(), "one label per score");
    RankedRows::new(scores, labels, &vec![0; scores.len()]).auc(&[1])
}

/// Rows in the order of their scores, ready for the AUC under many group weights.
struct RankedRows {
    /// (group, positive, first of a run of equal scores), ascending by score.
    rows: Vec<(u32, bool, bool)>,
}

impl RankedRows {
    fn new(scores: &[f64], labels: &[bool], groups: &[usize]) -> Self {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let mut previous = None;
        let rows = order
            .into_iter()
            .map(|i| {
                // `!=` and not bit equality: 0.0 and -0.0 are one score
                let starts_run = previous != Some(scores[i]);
                previous = Some(scores[i]);
                (groups[i] as u32, labels[i], starts_run)
            })
            .collect();
        Self { rows }
    }

    /// The AUC when every row of group g counts `weights[g]` times; `None` when a class has no weight. O(n).
    fn auc(&self, weights: &[u32]) -> Option<f64> {
        // Twice the number of pairs won, so that a half is an integer; exact below 2^64.
        let (mut won_twice, mut negatives_below, mut positives) = (0u64, 0u64, 0u64);
        let (mut run_positives, mut run_negatives) = (0u64, 0u64);
        for &(group, positive, starts_run) in &self.rows {
            if starts_run {
                won_twice += run_positives * (2 * negatives_below + run_negatives);
                negatives_below += run_negatives;
                positives += run_positives;
                (run_positives, run_negatives) = (0, 0);
            }
            let weight = u64::from(weights[group as usize]);
            if positive { run_positives += weight } else { run_negatives += weight }
        }
        won_twice += run_positives * (2 * negatives_below + run_negatives);
        let (negatives, positives) = (negatives_below + run_negatives, positives + run_positives);
        (negatives > 0 && positives > 0).then(|| won_twice as f64 / (2.0 * negatives as f64 * positives as f64))
    }
}

/// How intervals are drawn by resampling groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bootstrap {
    /// Number of resamples; 0 makes no interval.
    pub n_resamples: usize,
    /// Seed of the generator; the same seed draws the same groups for every predictor, so they can be compared.
    pub seed: u64,
}

/// A 95% percentile interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end: the 2.5% quantile of the resamples.
    pub low: f64,
    /// The upper end: the 97.5% quantile of the resamples.
    pub high: f64,
}

/// Scores, labels and groups of one set of rows: three slices of one length.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// Higher means more likely positive; finite.
    pub scores: &'a [f64],
    /// The label of each row; true is positive.
    pub labels: &'a [bool],
    /// Which group each row belongs to, any numbers.
    pub groups: &'a [usize],
}

/// 95% bootstrap interval of the mean, over `strata`, of the AUC within each; one stratum gives the plain AUC's.
///
/// Whole groups are drawn with replacement, as many as there are, for all strata together: rows of one group share
/// their diff, and drawing rows singly would pretend to more evidence than there is. A stratum that a resample leaves
/// with one class is left out of that resample. `None` when fewer than half the resamples give a figure, or when there
/// are fewer than two groups.
///
/// # Panics
/// If the slices of a stratum differ in length.
pub(crate) fn auc_interval(strata: &[Scored], bootstrap: Bootstrap) -> Option<Interval> {
    resampled(strata, bootstrap, |aucs| mean(aucs.iter().flatten().copied()))
}

/// 95% bootstrap interval of the AUC of `scored` minus that of `other` scores of the same rows, whole groups drawn as by
/// [`auc_interval`]; `None` likewise.
///
/// # Panics
/// If the slices differ in length.
pub(crate) fn auc_difference_interval(scored: Scored, other: &[f64], bootstrap: Bootstrap) -> Option<Interval> {
    resampled(&[scored, Scored { scores: other, ..scored }], bootstrap, |aucs| Some(aucs[0]? - aucs[1]?))
}

/// 95% bootstrap interval of the mean, over `strata`, of the AUC of the first scores minus that of the second scores of the same
/// rows; whole groups drawn as by [`auc_interval`], `None` likewise.
///
/// # Panics
/// If the slices of a stratum differ in length.
pub(crate) fn mean_difference_interval(strata: &[(Scored, &[f64])], bootstrap: Bootstrap) -> Option<Interval> {
    let both: Vec<Scored> =
        strata.iter().flat_map(|&(scored, other)| [scored, Scored { scores: other, ..scored }]).collect();
    let difference = |pair: &[Option<f64>]| Some(pair[0]? - pair[1]?);
    resampled(&both, bootstrap, |aucs| mean(aucs.chunks(2).filter_map(difference)))
}

/// The percentile interval of a figure of the strata's AUCs over resamples of groups.
fn resampled(
    strata: &[Scored],
    bootstrap: Bootstrap,
    figure: impl Fn(&[Option<f64>]) -> Option<f64>,
) -> Option<Interval> {
    let mut present: Vec<usize> = strata.iter().flat_map(|s| s.groups).copied().collect();
    present.sort_unstable();
    present.dedup();
    if present.len() < 2 {
        return None;
    }
    let ranked: Vec<RankedRows> = strata
        .iter()
        .map(|s| {
            assert!(
                s.scores.len() == s.labels.len() && s.scores.len() == s.groups.len(),
                "one label and group a score"
            );
            let compact: Vec<usize> = s.groups.iter().map(|g| present.partition_point(|p| p < g)).collect();
            RankedRows::new(s.scores, s.labels, &compact)
        })
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(bootstrap.seed);
    let mut weights = vec![0u32; present.len()];
    let mut figures = Vec::with_capacity(bootstrap.n_resamples);
    for _ in 0..bootstrap.n_resamples {
        weights.fill(0);
        for _ in 0..present.len() {
            weights[rng.random_range(0..present.len())] += 1;
        }
        figures.extend(figure(&ranked.iter().map(|rows| rows.auc(&weights)).collect::<Vec<_>>()));
    }
    if figures.is_empty() || 2 * figures.len() < bootstrap.n_resamples {
        return None;
    }
    figures.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&figures, 0.025), high: quantile(&figures, 0.975) })
}

/// The arithmetic mean; `None` of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The `q` quantile of ascending, non-empty values, linear between neighbours (Hyndman and Fan's type 7).
///
/// # Panics
/// If there are no values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// A cut: rows that score at least `value` are called positive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Threshold {
    /// The cut, finite.
    pub value: f64,
    /// Accuracy on the rows it was chosen on.
    pub accuracy: f64,
}

/// The cut with the highest accuracy on these rows; between equals, the highest, which calls fewest rows positive.
///
/// Cuts lie midway between neighbouring scores; calling all rows positive or none is allowed. `None` of no rows.
///
/// # Panics
/// If the lengths differ.
pub(crate) fn best_threshold(scores: &[f64], labels: &[bool]) -> Option<Threshold> {
    assert_eq!(scores.len(), labels.len(), "one label per score");
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let highest = scores[*order.first()?];
    // Lowering the cut from above every score: nothing is positive, every negative row is right.
    let mut correct = labels.iter().filter(|positive| !**positive).count();
    let (mut best, mut best_correct) = (highest.next_up(), correct);
    for (position, &i) in order.iter().enumerate() {
        if labels[i] {
            correct += 1
        } else {
            correct -= 1
        }
        let value = match order.get(position + 1) {
            Some(&next) if scores[next] == scores[i] => continue,
            Some(&next) => between(scores[next], scores[i]),
            None => scores[i],
        };
        if correct > best_correct {
            (best, best_correct) = (value, correct);
        }
    }
    Some(Threshold { value: best, accuracy: best_correct as f64 / scores.len() as f64 })
}

/// A number in `(low, high]`, midway where the floating-point grid allows; `low < high`.
fn between(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    if middle > low { middle } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_counts_pairs_and_halves_ties() {
        // positives 0.8 0.4 0.4, negatives 0.4 0.1: pairs won 2 + (0.5 + 1) + (0.5 + 1) = 5 of 6
        let labels = [true, true, false, true, false];
        assert_eq!(roc_auc(&[0.8, 0.4, 0.4, 0.4, 0.1], &labels), Some(5.0 / 6.0));
        assert_eq!(roc_auc(&[1.0; 5], &labels), Some(0.5));
        assert_eq!(roc_auc(&[0.0, -0.0], &[true, false]), Some(0.5));
        assert_eq!(roc_auc(&[2.0, 1.0], &[true, false]), Some(1.0));
        assert_eq!(roc_auc(&[1.0, 2.0], &[true, false]), Some(0.0));
        assert_eq!(roc_auc(&[1.0, 2.0], &[true, true]), None);
        assert_eq!(roc_auc(&[], &[]), None);
    }

    #[test]
    fn weights_equal_repeated_rows() {
        let scores = [0.1, 0.5, 0.5, 0.9];
        let labels = [false, true, false, true];
        let weighted = RankedRows::new(&scores, &labels, &[0, 1, 2, 3]).auc(&[2, 1, 3, 1]);
        let repeated = roc_auc(&[0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.9], &[false, false, true, false, false, false, true]);
        assert_eq!(weighted, repeated);
    }

    #[test]
    fn the_interval_resamples_groups_and_not_rows() {
        // 8 groups of 100 copies of one row: as many independent facts as groups.
        let of_group = [
            (0.9, true),
            (0.2, true),
            (0.8, true),
            (0.6, true),
            (0.7, false),
            (0.1, false),
            (0.3, false),
            (0.5, false),
        ];
        let scores: Vec<f64> = (0..800).map(|i| of_group[i / 100].0).collect();
        let labels: Vec<bool> = (0..800).map(|i| of_group[i / 100].1).collect();
        let groups: Vec<usize> = (0..800).map(|i| i / 100).collect();
        let rows: Vec<usize> = (0..800).collect();
        let bootstrap = Bootstrap { n_resamples: 500, seed: 7 };
        let width = |groups: &[usize]| {
            let interval = auc_interval(&[Scored { scores: &scores, labels: &labels, groups }], bootstrap).unwrap();
            interval.high - interval.low
        };
        // Standard errors differ by sqrt(100) = 10; a factor 4 is safe on both sides.
        assert!(width(&groups) > 4.0 * width(&rows), "{} against {}", width(&groups), width(&rows));
        assert_eq!(width(&groups), width(&groups), "the same seed gives the same interval");
    }

    #[test]
    fn a_difference_of_two_scores_is_resampled_together() {
        let scores: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 61)).collect();
        let labels: Vec<bool> = (0..60).map(|i| i * 37 % 61 > 30 || i % 9 == 0).collect();
        let groups: Vec<usize> = (0..60).map(|i| i / 2).collect();
        let scored = Scored { scores: &scores, labels: &labels, groups: &groups };
        let bootstrap = Bootstrap { n_resamples: 300, seed: 1 };
        let same = auc_difference_interval(scored, &scores, bootstrap).unwrap();
        assert_eq!((same.low, same.high), (0.0, 0.0), "apart, two intervals would not cancel");
        let noise: Vec<f64> = (0..60).map(|i| f64::from(i * 7 % 11)).collect();
        let better = auc_difference_interval(scored, &noise, bootstrap).unwrap();
        let worse = auc_difference_interval(Scored { scores: &noise, ..scored }, &scores, bootstrap).unwrap();
        assert!(better.low > 0.0 && worse.high < 0.0, "{better:?} {worse:?}");
    }

    #[test]
    fn no_interval_without_two_groups_or_two_classes() {
        let bootstrap = Bootstrap { n_resamples: 100, seed: 0 };
        let (scores, labels) = ([0.1, 0.9], [false, true]);
        assert_eq!(auc_interval(&[Scored { scores: &scores, labels: &labels, groups: &[3, 3] }], bootstrap), None);
        let labels = [true, true];
        assert_eq!(auc_interval(&[Scored { scores: &scores, labels: &labels, groups: &[3, 4] }], bootstrap), None);
        assert_eq!(auc_interval(&[], bootstrap), None);
    }

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        assert_eq!(quantile(&[0.0, 1.0, 2.0, 3.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert_eq!(quantile(&[3.0], 0.975), 3.0);
    }

    #[test]
    fn the_best_threshold_is_the_most_accurate_cut() {
        let cut = best_threshold(&[0.1, 0.4, 0.6, 0.9], &[false, false, true, true]).unwrap();
        assert_eq!(cut, Threshold { value: 0.5, accuracy: 1.0 });
        // all negative: nothing is flagged, and the cut stays finite and above every score
        let cut = best_threshold(&[0.3, 1.0], &[false, false]).unwrap();
        assert!(cut.value > 1.0 && cut.value.is_finite() && cut.accuracy == 1.0);
        // all positive: everything is flagged
        let cut = best_threshold(&[0.3, 1.0], &[true, true]).unwrap();
        assert_eq!(cut, Threshold { value: 0.3, accuracy: 1.0 });
        // equal scores cannot be told apart
        assert_eq!(best_threshold(&[0.5, 0.5, 0.5], &[true, true, false]).unwrap().accuracy, 2.0 / 3.0);
        // neighbours with nothing between them
        let low = 0.5f64;
        let cut = best_threshold(&[low, low.next_up()], &[false, true]).unwrap();
        assert_eq!(cut, Threshold { value: low.next_up(), accuracy: 1.0 });
        assert_eq!(best_threshold(&[], &[]), None);
    }
}
