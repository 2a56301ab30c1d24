//! Tail probabilities of the distributions that test statistics follow.

use statrs::function::{beta::beta_reg, erf::erfc};

/// The 97.5% quantile of the standard normal distribution: half the width of a 95% interval, in standard errors.
pub(super) const Z_95: f64 = 1.959_963_984_540_054;

/// P(|Z| ≥ |z|) of a standard normal Z.
pub(super) fn normal_p(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// P(|T| ≥ |t|) of Student's t with `df` > 0 degrees of freedom.
pub(super) fn student_p(t: f64, df: f64) -> f64 {
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// P(X ≥ x) of a chi-squared X with `df` > 0 degrees of freedom.
///
/// By the finite sums for whole degrees of freedom (Abramowitz and Stegun 26.4.4 and 26.4.5), whose terms are all
/// positive: statrs's incomplete gamma function is off by a part in 1e8.
pub(super) fn chi_squared_p(x: f64, df: usize) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let half = x / 2.0;
    // the terms half^s / Γ(s + 1) · e^−half, s rising by one to df / 2 − 1
    let (start, mut term, mut sum) = if df.is_multiple_of(2) {
        (0.0, (-half).exp(), 0.0)
    } else {
        (0.5, 2.0 * (half / std::f64::consts::PI).sqrt() * (-half).exp(), erfc(half.sqrt()))
    };
    for step in 0..df / 2 {
        sum += term;
        term *= half / (start + step as f64 + 1.0);
    }
    sum.min(1.0)
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
        close(chi_squared_p(3.0, 2), 0.223_130_160_148_429_8);
        close(chi_squared_p(40.0, 25), 0.029_164_395_623_152_11);
        close(chi_squared_p(4.0, 1), 0.045_500_263_896_358_57);
        close(chi_squared_p(16.9, 5), 0.004_693_406_774_191_312);
        close(chi_squared_p(300.0, 8), 4.117_794_754_094_997e-60);
        assert_eq!(normal_p(0.0), 1.0);
        assert_eq!(student_p(0.0, 5.0), 1.0);
        assert_eq!(student_p(f64::INFINITY, 5.0), 0.0);
        assert_eq!(chi_squared_p(0.0, 3), 1.0);
    }

    #[test]
    fn holm_multiplies_the_smallest_most_and_keeps_the_order() {
        // 3 · 0.01, then 2 · 0.02, then max(1 · 0.03, the one before)
        assert_eq!(holm(&[0.02, 0.01, 0.03]), [0.04, 0.03, 0.04]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
