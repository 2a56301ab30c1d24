//! Where a value falls among the rows that a detector was trained on.

/// How many quantiles of a feature are kept: one for every percent, from the least value to the largest.
pub const N_QUANTILES: usize = 101;

/// The quantiles of the finite ones among `values`, ascending, interpolated between order statistics (Hyndman and Fan's type 7)
/// and kept to seven significant digits; empty without values.
pub fn quantiles(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
    let quantile = |percent: usize| {
        let at = last as f64 * percent as f64 / (N_QUANTILES - 1) as f64;
        let (below, share) = (at.floor() as usize, at.fract());
        let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
        seven_digits(low + (high - low) * share)
    };
    (0..N_QUANTILES).map(quantile).collect()
}

/// A file of a hundred numbers a feature is read by people too.
fn seven_digits(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// The percentage, 0 to 100, of rows below `value`, by ascending `quantiles` of theirs; of rows with just this value half count
/// as below. `None` without quantiles, or for a value that is no number.
pub fn percentile(quantiles: &[f64], value: f64) -> Option<f64> {
    let last = quantiles.len().checked_sub(1).filter(|&last| last > 0 && !value.is_nan())?;
    let (below, up_to) = (quantiles.partition_point(|&q| q < value), quantiles.partition_point(|&q| q <= value));
    let at = if up_to > below {
        (below + up_to - 1) as f64 / 2.0
    } else if below == 0 {
        0.0
    } else if below > last {
        last as f64
    } else {
        let (low, high) = (quantiles[below - 1], quantiles[below]);
        (below - 1) as f64 + (value - low) / (high - low)
    };
    Some(100.0 * at / last as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_and_percentiles_invert_them() {
        let quantiles = quantiles(&[3.0, 1.0, f64::NAN, 2.0]);
        assert_eq!(
            (quantiles.len(), quantiles[0], quantiles[25], quantiles[50], quantiles[100]),
            (101, 1.0, 1.5, 2.0, 3.0)
        );
        for (value, want) in
            [(0.0, 0.0), (1.0, 0.0), (1.5, 25.0), (2.0, 50.0), (2.75, 87.5), (3.0, 100.0), (9.0, 100.0)]
        {
            let got = percentile(&quantiles, value).unwrap();
            assert!((got - want).abs() < 1e-9, "{value}: {got}, want {want}");
        }
    }

    #[test]
    fn ties_count_half_and_nothing_has_no_place() {
        let constant = quantiles(&[4.0; 9]);
        assert_eq!([3.0, 4.0, 5.0].map(|value| percentile(&constant, value)), [Some(0.0), Some(50.0), Some(100.0)]);
        // three quarters of the rows are zero: a zero stands in the middle of them
        let mostly_zero = quantiles(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0]);
        let zero = percentile(&mostly_zero, 0.0).unwrap();
        assert!((40.0..=45.0).contains(&zero), "{zero}");
        assert_eq!((percentile(&[], 1.0), percentile(&constant, f64::NAN)), (None, None));
        assert!(quantiles(&[f64::NAN]).is_empty());
    }

    #[test]
    fn few_digits_are_kept() {
        assert_eq!(quantiles(&[1.0 / 3.0])[0], 0.3333333);
        assert_eq!(quantiles(&[-123456.789])[0], -123456.8);
    }
}
