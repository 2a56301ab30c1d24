//! Correlation of values with each other and with labels, and of two ways to sort rows.

use serde::Serialize;

use crate::{
    Interval,
    statistics::distributions::{Z_95, chi_squared_p, student_p},
};

/// A correlation coefficient with its test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Correlation {
    /// The coefficient, −1 to 1.
    pub r: f64,
    /// Two-sided, of no correlation, by Student's t with n − 2 degrees of freedom, rows taken for independent; null
    /// below three rows.
    pub p: Option<f64>,
    /// 95% by Fisher's transformation; null below four rows and where |r| is 1.
    pub interval: Option<Interval>,
}

/// Pearson's correlation of two columns. `None` when either does not vary.
///
/// # Panics
/// If the lengths differ.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<Correlation> {
    assert_eq!(x.len(), y.len(), "two columns of one length");
    let n = x.len() as f64;
    let centered = |values: &[f64]| -> Option<Vec<f64>> {
        let mean = values.iter().sum::<f64>() / n;
        let largest = values.iter().fold(0.0f64, |largest, v| largest.max((v - mean).abs()));
        // the mean of equal numbers is off by a rounding error, which is no spread
        let varies = largest > 10.0 * f64::EPSILON * mean.abs();
        // divided by the largest, so that squares neither overflow nor vanish
        varies.then(|| values.iter().map(|v| (v - mean) / largest).collect())
    };
    let (x, y) = (centered(x)?, centered(y)?);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let r = (dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt()).clamp(-1.0, 1.0);
    let p = (n > 2.0).then(|| {
        let t = r * ((n - 2.0) / (1.0 - r * r)).sqrt();
        student_p(t, n - 2.0)
    });
    let interval = (n > 3.0 && r.abs() < 1.0).then(|| {
        let half = Z_95 / (n - 3.0).sqrt();
        Interval { low: (r.atanh() - half).tanh(), high: (r.atanh() + half).tanh() }
    });
    Some(Correlation { r, p, interval })
}

/// The point-biserial correlation of values with labels: Pearson's, true counting 1 and false 0. Positive means that
/// higher values are more often hallucinated. `None` when the values do not vary or a class is absent.
///
/// # Panics
/// If the lengths differ.
pub fn point_biserial(values: &[f64], labels: &[bool]) -> Option<Correlation> {
    let labels: Vec<f64> = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
    pearson(values, &labels)
}

/// Pearson's chi-squared test of whether rates differ between sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Homogeneity {
    /// The chi-squared statistic.
    pub chi_squared: f64,
    /// Degrees of freedom: sets with rows, minus one.
    pub df: usize,
    /// Of equal rates; rows taken for independent.
    pub p: f64,
    /// The smallest count expected of a cell if the rates are equal; below 5 the p-value is rough.
    pub smallest_expected: f64,
}

/// Tests whether sets of (n, hits) have one rate of hits. Empty sets do not count. `None` with fewer than two sets, or
/// if all rows or none are hits.
pub fn homogeneity(sets: &[(usize, usize)]) -> Option<Homogeneity> {
    let sets: Vec<[f64; 2]> = sets.iter().filter(|(n, _)| *n > 0).map(|&(n, hits)| [n as f64, hits as f64]).collect();
    let (n, hits) = sets.iter().fold((0.0, 0.0), |(n, hits), set| (n + set[0], hits + set[1]));
    if sets.len() < 2 || hits == 0.0 || hits == n {
        return None;
    }
    let (mut chi_squared, mut smallest_expected) = (0.0, f64::INFINITY);
    for [of_set, hits_of_set] in &sets {
        for (observed, rate) in [(*hits_of_set, hits / n), (of_set - hits_of_set, 1.0 - hits / n)] {
            let expected = of_set * rate;
            chi_squared += (observed - expected).powi(2) / expected;
            smallest_expected = f64::min(smallest_expected, expected);
        }
    }
    let df = sets.len() - 1;
    Some(Homogeneity { chi_squared, df, p: chi_squared_p(chi_squared, df as f64), smallest_expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_nothings() {
        let r = |x: &[f64], y: &[f64]| pearson(x, y).map(|c| c.r);
        assert_eq!(r(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]), Some(1.0));
        assert_eq!(r(&[1.0, 2.0, 3.0], &[1.0, 0.0, -1.0]), Some(-1.0));
        assert_eq!(pearson(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap().p, Some(0.0));
        assert_eq!(r(&[0.1 + 0.2; 9], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]), None);
        assert_eq!(r(&[], &[]), None);
        let two = point_biserial(&[1.0, 2.0], &[false, true]).unwrap();
        assert_eq!((two.r, two.p, two.interval), (1.0, None, None));
        assert_eq!(point_biserial(&[1.0, 2.0], &[true, true]), None);
        // squares of these would overflow or vanish
        assert_eq!(r(&[1e200, -1e200, 0.0], &[1e-200, -1e-200, 0.0]), Some(1.0));
    }

    #[test]
    fn equal_rates_are_homogeneous() {
        let got = homogeneity(&[(10, 5), (20, 10), (0, 0)]).unwrap();
        assert_eq!((got.chi_squared, got.df, got.p, got.smallest_expected), (0.0, 1, 1.0, 5.0));
        assert_eq!(homogeneity(&[(10, 5), (0, 0)]), None);
        assert_eq!(homogeneity(&[(10, 10), (3, 3)]), None);
    }
}
