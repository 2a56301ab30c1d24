//! Whether predicted probabilities can be taken at their word: Brier score, calibration error, reliability bins.

use serde::Serialize;

use crate::statistics::roc::mean;

/// Bins of the calibration errors and the reliability diagram; the literature's usual number.
const N_BINS: usize = 10;

/// How good probabilities are. Lower is better throughout.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CalibrationFigure {
    /// Brier score: mean of (probability − label)², 0 to 1.
    pub brier: f64,
    /// Brier score of predicting every row's probability as the share of positives: what is worth nothing.
    pub brier_base_rate: f64,
    /// Expected calibration error over ten bins of equal width: Σ_bins (n_bin / n) · |mean probability − share of
    /// positives|, 0 to 1. Small bins make it larger than zero even for true probabilities.
    pub ece_equal_width: f64,
    /// The same over bins of about equally many rows.
    pub ece_equal_mass: f64,
}

/// One bin of a reliability diagram, with at least one row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CalibrationBin {
    /// Probabilities in it are above this (or equal, in the first bin)…
    pub low: f64,
    /// … and at most this.
    pub high: f64,
    /// How many rows have a probability in the bin.
    pub n: usize,
    /// The mean of their probabilities, 0 to 1.
    pub mean_probability: f64,
    /// Share of positives among them.
    pub positive_rate: f64,
}

/// How the bounds of reliability bins are laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binning {
    /// Over 0 to 1, equally wide.
    EqualWidth,
    /// Between the quantiles of the probabilities; equal probabilities stay together.
    EqualMass,
}

/// The figures of these probabilities (0 to 1) for labels; `None` of no rows.
///
/// # Panics
/// If the lengths differ.
pub fn calibration(probabilities: &[f64], labels: &[bool]) -> Option<CalibrationFigure> {
    assert_eq!(probabilities.len(), labels.len(), "one label a probability");
    let rows = || probabilities.iter().zip(labels).map(|(p, label)| (*p, f64::from(u8::from(*label))));
    let base_rate = mean(rows().map(|(_, y)| y))?;
    Some(CalibrationFigure {
        brier: mean(rows().map(|(p, y)| (p - y).powi(2)))?,
        brier_base_rate: base_rate * (1.0 - base_rate),
        ece_equal_width: expected_error(&calibration_bins(probabilities, labels, Binning::EqualWidth)),
        ece_equal_mass: expected_error(&calibration_bins(probabilities, labels, Binning::EqualMass)),
    })
}

fn expected_error(bins: &[CalibrationBin]) -> f64 {
    let n: usize = bins.iter().map(|bin| bin.n).sum();
    bins.iter().map(|bin| bin.n as f64 / n as f64 * (bin.mean_probability - bin.positive_rate).abs()).sum()
}

/// The bins that hold rows, rising; as scikit-learn's `calibration_curve`.
///
/// # Panics
/// If the lengths differ.
pub fn calibration_bins(probabilities: &[f64], labels: &[bool], binning: Binning) -> Vec<CalibrationBin> {
    assert_eq!(probabilities.len(), labels.len(), "one label a probability");
    if probabilities.is_empty() {
        return Vec::new();
    }
    let edges: Vec<f64> = match binning {
        Binning::EqualWidth => (0..=N_BINS).map(|i| i as f64 / N_BINS as f64).collect(),
        Binning::EqualMass => {
            let mut sorted = probabilities.to_vec();
            sorted.sort_by(f64::total_cmp);
            (0..=N_BINS).map(|i| edge(&sorted, i)).collect()
        }
    };
    let mut sums = [(0usize, 0.0, 0usize); N_BINS]; // rows, their probabilities, positives
    for (&probability, &label) in probabilities.iter().zip(labels) {
        let bin = edges[1..N_BINS].partition_point(|edge| *edge < probability);
        sums[bin].0 += 1;
        sums[bin].1 += probability;
        sums[bin].2 += usize::from(label);
    }
    sums.iter()
        .zip(edges.windows(2))
        .filter(|((n, _, _), _)| *n > 0)
        .map(|(&(n, sum, positives), edge)| CalibrationBin {
            low: edge[0],
            high: edge[1],
            n,
            mean_probability: sum / n as f64,
            positive_rate: positives as f64 / n as f64,
        })
        .collect()
}

/// The `i / N_BINS` quantile, linear between neighbours. In integers up to the last step: an edge that falls on a row
/// must equal it, or rounding would move the row to the next bin.
fn edge(sorted: &[f64], i: usize) -> f64 {
    let position = i * (sorted.len() - 1);
    let (below, rest) = (position / N_BINS, position % N_BINS);
    if rest == 0 {
        return sorted[below];
    }
    sorted[below] + rest as f64 / N_BINS as f64 * (sorted[below + 1] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        // bins (0.1, 0.2]: 0.2, 0.2 with one positive, off by 0.3; (0.9, 1]: 1.0 with a positive, off by 0
        let got = calibration(&[0.2, 0.2, 1.0], &[true, false, true]).unwrap();
        assert!((got.ece_equal_width - 0.2).abs() < 1e-15, "{got:?}");
        assert!((got.brier - (0.64 + 0.04) / 3.0).abs() < 1e-15, "{got:?}");
        assert!((got.brier_base_rate - 2.0 / 9.0).abs() < 1e-15, "{got:?}");
        assert_eq!(calibration(&[], &[]), None);
    }

    #[test]
    fn bins_hold_every_row_once_and_their_edges() {
        let probabilities: Vec<f64> = (0..=20).map(|i| f64::from(i) / 20.0).collect();
        let labels: Vec<bool> = (0..=20).map(|i| i % 3 == 0).collect();
        for binning in [Binning::EqualWidth, Binning::EqualMass] {
            let bins = calibration_bins(&probabilities, &labels, binning);
            // 0 and both neighbours share the first bin, since edges belong below
            assert_eq!(bins.iter().map(|bin| bin.n).collect::<Vec<_>>(), [3, 2, 2, 2, 2, 2, 2, 2, 2, 2], "{binning:?}");
        }
        let bins = calibration_bins(&[0.4; 7], &[true; 7], Binning::EqualMass);
        assert_eq!(bins.len(), 1, "equal probabilities stay together");
        assert_eq!((bins[0].n, bins[0].positive_rate), (7, 1.0));
        assert!(calibration_bins(&[], &[], Binning::EqualMass).is_empty());
    }
}
