//! What a cut at every score gives: the ROC curve, and precision averaged over recall.

use serde::Serialize;

/// The rates at one threshold: a point of the ROC curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RocPoint {
    /// Share of the negative rows that score at least the threshold.
    pub false_positive_rate: f64,
    /// Share of the positive rows that score at least the threshold.
    pub true_positive_rate: f64,
    /// The threshold; null for the first point, which calls no row positive.
    pub threshold: Option<f64>,
}

/// (threshold, positive rows and negative rows that score at least it), one entry per distinct score, falling.
fn cuts(scores: &[f64], labels: &[bool]) -> Vec<(f64, usize, usize)> {
    assert_eq!(scores.len(), labels.len(), "one label a score");
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut positives, mut negatives) = (0, 0);
    order
        .chunk_by(|&a, &b| scores[a] == scores[b])
        .map(|run| {
            let n_positive = run.iter().filter(|&&row| labels[row]).count();
            positives += n_positive;
            negatives += run.len() - n_positive;
            (scores[run[0]], positives, negatives)
        })
        .collect()
}

/// The ROC curve from (0, 0) to (1, 1), without points on a straight line between their neighbours; as scikit-learn's
/// `roc_curve`. Empty when either class is absent.
///
/// # Panics
/// If the lengths differ.
pub fn roc_curve(scores: &[f64], labels: &[bool]) -> Vec<RocPoint> {
    let cuts = cuts(scores, labels);
    let Some(&(_, n_positive, n_negative)) = cuts.last() else { return Vec::new() };
    if n_positive == 0 || n_negative == 0 {
        return Vec::new();
    }
    let counts: Vec<(Option<f64>, usize, usize)> =
        [(None, 0, 0)].into_iter().chain(cuts.into_iter().map(|(score, p, n)| (Some(score), p, n))).collect();
    // scikit-learn drops a point whose steps to both neighbours are equal; the first cut always stays
    let corner = |i: usize| {
        let step = |i: usize| (counts[i].1 - counts[i - 1].1, counts[i].2 - counts[i - 1].2);
        i <= 1 || i + 1 == counts.len() || step(i) != step(i + 1)
    };
    (0..counts.len())
        .filter(|&i| corner(i))
        .map(|i| RocPoint {
            false_positive_rate: counts[i].2 as f64 / n_negative as f64,
            true_positive_rate: counts[i].1 as f64 / n_positive as f64,
            threshold: counts[i].0,
        })
        .collect()
}

/// Average precision: Σ over thresholds of the precision there times the recall gained there, between the share of
/// positives (random scores, many rows) and 1. Equal scores make one threshold; nothing is interpolated; as
/// scikit-learn's `average_precision_score`. `None` without positive rows.
///
/// # Panics
/// If the lengths differ.
pub fn average_precision(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let cuts = cuts(scores, labels);
    let n_positive = cuts.last().map(|cut| cut.1).filter(|count| *count > 0)?;
    let mut before = 0;
    let sum: f64 = cuts
        .iter()
        .map(|&(_, positives, negatives)| {
            let gained = positives - std::mem::replace(&mut before, positives);
            gained as f64 * positives as f64 / (positives + negatives) as f64
        })
        .sum();
    Some(sum / n_positive as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_by_hand() {
        // cuts at 4, 3, 2 (two rows), 1: precision 1, 1/2, 2/4, 2/5 and recall gained 1/2, 0, 1/2, 0
        let got = average_precision(&[4.0, 3.0, 2.0, 2.0, 1.0], &[true, false, true, false, false]);
        assert_eq!(got, Some(0.75));
        assert_eq!(average_precision(&[1.0, 1.0, 1.0, 1.0], &[true, false, false, false]), Some(0.25));
        assert_eq!(average_precision(&[1.0, 2.0], &[false, false]), None);
        assert_eq!(average_precision(&[], &[]), None);
    }

    #[test]
    fn the_curve_runs_from_corner_to_corner() {
        let curve = roc_curve(&[3.0, 2.0, 1.0, 0.0], &[true, true, false, false]);
        let points: Vec<(f64, f64)> = curve.iter().map(|p| (p.false_positive_rate, p.true_positive_rate)).collect();
        assert_eq!(points, [(0.0, 0.0), (0.0, 0.5), (0.0, 1.0), (1.0, 1.0)]);
        assert_eq!(curve[0].threshold, None);
        assert_eq!(curve[2].threshold, Some(2.0));
        assert!(roc_curve(&[1.0, 2.0], &[true, true]).is_empty());
        assert!(roc_curve(&[], &[]).is_empty());
    }
}
