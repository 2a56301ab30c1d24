//! DeLong's standard error of the ROC-AUC and his test of two AUCs on the same rows, for rows that come in groups.

use serde::Serialize;

use crate::{
    Interval, Scored,
    statistics::distributions::{Z_95, normal_p},
};

/// A ROC-AUC with its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delong {
    /// The area, 0 to 1.
    pub auc: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// 95%: the area ± 1.96 standard errors, cut at 0 and 1. Null if the standard error is zero, as with perfect
    /// separation: that says that the method has nothing to go by, not that the area is certain.
    pub interval: Option<Interval>,
}

/// Two ROC-AUCs on the same rows, compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedDelong {
    /// The first area minus the second.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// 95% interval of the difference; null if the standard error is zero.
    pub interval: Option<Interval>,
    /// Difference over standard error; null if the standard error is zero.
    pub z: Option<f64>,
    /// Two-sided, of no difference; 1 if the two rank every pair alike, null if it cannot be told.
    pub p: Option<f64>,
}

/// The ROC-AUC with the standard error of DeLong, DeLong and Clarke-Pearson (Biometrics 1988), which takes rows for
/// independent; where rows share a group, Obuchowski's extension to clustered data (Biometrics 1997), which equals it
/// when every row is a group of its own.
///
/// `None` unless each class is found in at least two groups.
///
/// # Panics
/// If the slices differ in length.
pub fn delong(scored: Scored) -> Option<Delong> {
    let Scored { scores, labels, groups } = scored;
    let placements = Placements::new(scores, labels)?;
    let standard_error = standard_error(&placements.centered(), labels, groups)?;
    Some(Delong { auc: placements.auc, standard_error, interval: around(placements.auc, standard_error, [0.0, 1.0]) })
}

/// Compares the AUC of `scored` with that of `other` scores of the same rows; see [`delong`].
///
/// `None` unless each class is found in at least two groups.
///
/// # Panics
/// If the slices differ in length.
pub fn paired_delong(scored: Scored, other: &[f64]) -> Option<PairedDelong> {
    let Scored { scores, labels, groups } = scored;
    let (first, second) = (Placements::new(scores, labels)?, Placements::new(other, labels)?);
    // The variance of a difference of means of the same rows is that of the mean of their differences.
    let differences: Vec<f64> = first.centered().iter().zip(second.centered()).map(|(a, b)| a - b).collect();
    let standard_error = standard_error(&differences, labels, groups)?;
    let difference = first.auc - second.auc;
    let z = (standard_error > 0.0).then(|| difference / standard_error);
    let alike = first.of_row == second.of_row;
    Some(PairedDelong {
        difference,
        standard_error,
        interval: around(difference, standard_error, [-1.0, 1.0]),
        z,
        p: z.map(normal_p).or(alike.then_some(1.0)),
    })
}

fn around(value: f64, standard_error: f64, [lowest, highest]: [f64; 2]) -> Option<Interval> {
    let half = Z_95 * standard_error;
    (half > 0.0).then(|| Interval { low: (value - half).max(lowest), high: (value + half).min(highest) })
}

/// What each row contributes to the area.
struct Placements {
    auc: f64,
    /// Of a positive row: the share of negative rows below it, ties counting one half; of a negative row: the share of
    /// positive rows above it. The area is the mean over either class.
    of_row: Vec<f64>,
}

impl Placements {
    fn new(scores: &[f64], labels: &[bool]) -> Option<Self> {
        assert_eq!(scores.len(), labels.len(), "one label a score");
        let n_positive = labels.iter().filter(|label| **label).count();
        let n_negative = labels.len() - n_positive;
        if n_positive == 0 || n_negative == 0 {
            return None;
        }
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let mut of_row = vec![0.0; scores.len()];
        let mut won_twice = 0u64;
        let [mut negatives_below, mut positives_below] = [0usize; 2];
        // `==` and not bit equality: 0.0 and -0.0 are one score
        for run in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
            let positives = run.iter().filter(|&&row| labels[row]).count();
            let negatives = run.len() - positives;
            for &row in run {
                of_row[row] = if labels[row] {
                    (2 * negatives_below + negatives) as f64 / (2 * n_negative) as f64
                } else {
                    (2 * (n_positive - positives_below - positives) + positives) as f64 / (2 * n_positive) as f64
                };
            }
            won_twice += positives as u64 * (2 * negatives_below + negatives) as u64;
            negatives_below += negatives;
            positives_below += positives;
        }
        let auc = won_twice as f64 / (2.0 * n_positive as f64 * n_negative as f64);
        Some(Self { auc, of_row })
    }

    /// The contributions minus their mean within each class, which is the area for both.
    fn centered(&self) -> Vec<f64> {
        self.of_row.iter().map(|placement| placement - self.auc).collect()
    }
}

/// Standard error of the mean over the positive rows of `centered`, plus that over the negative rows, where rows of one
/// group may depend on each other.
fn standard_error(centered: &[f64], labels: &[bool], groups: &[usize]) -> Option<f64> {
    assert_eq!(labels.len(), groups.len(), "one group a row");
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&row| groups[row]);
    let [mut n_positive, mut n_negative] = [0usize; 2]; // rows
    let [mut with_positive, mut with_negative, mut n_groups] = [0usize; 3]; // groups
    let [mut positive, mut negative, mut cross] = [0.0; 3]; // sums over groups of squares and products of group sums
    for group in order.chunk_by(|&a, &b| groups[a] == groups[b]) {
        let (of_positives, of_negatives): (Vec<usize>, Vec<usize>) = group.iter().partition(|&&row| labels[row]);
        let sum = |rows: &[usize]| rows.iter().map(|&row| centered[row]).sum::<f64>();
        let (positive_sum, negative_sum) = (sum(&of_positives), sum(&of_negatives));
        positive += positive_sum * positive_sum;
        negative += negative_sum * negative_sum;
        cross += positive_sum * negative_sum;
        n_positive += of_positives.len();
        n_negative += of_negatives.len();
        with_positive += usize::from(!of_positives.is_empty());
        with_negative += usize::from(!of_negatives.is_empty());
        n_groups += 1;
    }
    if with_positive < 2 || with_negative < 2 {
        return None;
    }
    // Obuchowski's S10, S01 and S11 over the numbers of rows
    let unbiased = |count: usize| count as f64 / (count - 1) as f64;
    let (m, n) = (n_positive as f64, n_negative as f64);
    let variance = unbiased(with_positive) * positive / (m * m)
        + unbiased(with_negative) * negative / (n * n)
        + 2.0 * unbiased(n_groups) * cross / (m * n);
    Some(variance.max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: [bool; 6] = [false, false, true, false, true, true];

    fn scored<'a>(scores: &'a [f64], groups: &'a [usize]) -> Scored<'a> {
        Scored { scores, labels: &LABELS, groups }
    }

    #[test]
    fn the_standard_error_by_hand() {
        // placements of the positives 3, 5, 6 over the negatives 1, 2, 4: 2/3, 1, 1; of the negatives: 1, 1, 2/3
        let got = delong(scored(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[0, 1, 2, 3, 4, 5])).unwrap();
        // each class: variance 1/27, over 3 rows
        assert!((got.auc - 8.0 / 9.0).abs() < 1e-15, "{got:?}");
        assert!((got.standard_error - (2.0 / 81.0f64).sqrt()).abs() < 1e-15, "{got:?}");
        assert_eq!(got.interval.unwrap().high, 1.0, "cut at 1");
    }

    #[test]
    fn copies_of_rows_in_one_group_are_no_evidence() {
        let scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let once = delong(scored(&scores, &[0, 1, 2, 3, 4, 5])).unwrap();
        let copy = |i: usize| i / 4;
        let (scores, labels): (Vec<f64>, Vec<bool>) = (0..24).map(|i| (scores[copy(i)], LABELS[copy(i)])).unzip();
        let groups: Vec<usize> = (0..24).map(copy).collect();
        let grouped = delong(Scored { scores: &scores, labels: &labels, groups: &groups }).unwrap();
        assert!((grouped.standard_error - once.standard_error).abs() < 1e-15, "{grouped:?}");
        let rows: Vec<usize> = (0..24).collect();
        let independent = delong(Scored { scores: &scores, labels: &labels, groups: &rows }).unwrap();
        assert!(independent.standard_error < 0.6 * once.standard_error, "{independent:?}");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let rows = [0, 1, 2, 3, 4, 5];
        let perfect = delong(scored(&[1.0, 2.0, 5.0, 3.0, 6.0, 7.0], &rows)).unwrap();
        assert_eq!((perfect.auc, perfect.standard_error, perfect.interval), (1.0, 0.0, None));
        // all positives in one group
        assert_eq!(delong(scored(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[0, 1, 7, 3, 7, 7])), None);
        let one_class = [true; 6];
        assert_eq!(delong(Scored { scores: &[0.0; 6], labels: &one_class, groups: &rows }), None);
        // a rising function of the same scores ranks every pair alike
        let scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let cubes = scores.map(|x: f64| x.powi(3));
        let same = paired_delong(scored(&scores, &rows), &cubes).unwrap();
        assert_eq!((same.difference, same.z, same.p), (0.0, None, Some(1.0)));
        // always wrong against always right: no spread to measure by
        let right = [1.0, 2.0, 5.0, 3.0, 6.0, 7.0];
        let opposite = paired_delong(scored(&right, &rows), &right.map(|x| -x)).unwrap();
        assert_eq!((opposite.difference, opposite.z, opposite.p), (1.0, None, None));
    }
}
