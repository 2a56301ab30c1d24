//! Intervals of shares.

use crate::{Interval, statistics::distributions::Z_95};

/// Wilson's 95% score interval of a share, rows taken for independent; as statsmodels' `proportion_confint` with `wilson`.
/// `None` of no rows.
///
/// # Panics
/// If there are more hits than rows.
pub fn proportion_interval(hits: usize, n: usize) -> Option<Interval> {
    assert!(hits <= n, "{hits} of {n}");
    if n == 0 {
        return None;
    }
    let (n, share) = (n as f64, hits as f64 / n as f64);
    let z2 = Z_95 * Z_95;
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_95 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
    // rounding may leave a share of 0 or 1 just outside
    Some(Interval { low: (centre - half).clamp(0.0, share), high: (centre + half).clamp(share, 1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_statsmodels_has_it() {
        // statsmodels.stats.proportion.proportion_confint(hits, n, method="wilson")
        for (hits, n, low, high) in WANT {
            let got = proportion_interval(hits, n).unwrap();
            assert!((got.low - low).abs() < 1e-9 && (got.high - high).abs() < 1e-9, "{hits} of {n}: {got:?}");
        }
        assert_eq!(proportion_interval(0, 0), None);
    }

    const WANT: [(usize, usize, f64, f64); 4] = [
        (0, 5, 0.0, 0.434_482_464_783_174_87),
        (3, 10, 0.107_791_267_406_301_04, 0.603_221_852_538_854_6),
        (47, 440, 0.081_284_361_052_406_41, 0.139_157_999_336_06),
        (20, 20, 0.838_874_841_947_180_4, 1.0),
    ];
}
