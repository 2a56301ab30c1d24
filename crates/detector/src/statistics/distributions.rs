//! Tail probabilities of the distributions that test statistics follow.

use statrs::function::{beta::beta_reg, erf::erfc, gamma::gamma_ur};

/// The 97.5% quantile of the standard normal distribution: half the width of a 95% interval, in standard errors.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// P(|Z| ≥ |z|) of a standard normal Z.
pub(crate) fn normal_p(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// P(|T| ≥ |t|) of Student's t with `df` > 0 degrees of freedom.
pub(crate) fn student_p(t: f64, df: f64) -> f64 {
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// P(X ≥ x) of a chi-squared X with `df` > 0 degrees of freedom.
pub(crate) fn chi_squared_p(x: f64, df: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(df / 2.0, x / 2.0) }
}

/// p-values multiplied for the number of tests, by Holm's step-down method (Scandinavian Journal of Statistics 1979):
/// with them, the chance of calling any true null hypothesis false stays at the level asked for.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0f64;
    for (position, &i) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - position) as f64 * p_values[i]).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-10 * want, "got {got}, expected {want}");
    }

    /// Expected values from scipy.stats 1.17: norm.sf, t.sf, chi2.sf.
    #[test]
    fn tails_equal_scipy() {
        close(normal_p(Z_95), 0.05);
        close(normal_p(-8.0), 1.244_192_114_854_348e-15);
        close(student_p(2.0, 1.0), 0.295_167_235_300_866_5);
        close(student_p(-2.5, 198.0), 0.013_231_389_058_614_157);
        close(student_p(1.5, 99_998.0), 0.133_617_559_585_971_46);
        close(chi_squared_p(3.0, 2.0), 0.223_130_160_148_429_8);
        close(chi_squared_p(40.0, 25.0), 0.029_164_395_623_152_11);
        assert_eq!(normal_p(0.0), 1.0);
        assert_eq!(student_p(0.0, 5.0), 1.0);
        assert_eq!(student_p(f64::INFINITY, 5.0), 0.0);
        assert_eq!(chi_squared_p(0.0, 3.0), 1.0);
    }

    #[test]
    fn holm_multiplies_the_smallest_most_and_keeps_the_order() {
        // 3 · 0.01, then 2 · 0.02, then max(1 · 0.03, the one before)
        assert_eq!(holm(&[0.02, 0.01, 0.03]), [0.04, 0.03, 0.04]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
