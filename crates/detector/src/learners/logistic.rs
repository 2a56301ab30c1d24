//! Logistic regression on standardised features.

use linfa::{DatasetBase, traits::Fit};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::{
    DetectorError, LearnSettings, Predict,
    learners::{
        Learn, TrainingRows,
        cholesky::Cholesky,
        newton::{Objective, newton},
    },
    rows::require_both_classes,
};

/// The default L2 penalty; see [`fit_logistic`]. The same as scikit-learn's default `C = 1`.
pub const DEFAULT_L2: f64 = 1.0;

/// Largest gradient component, per row, at which the optimum counts as reached: each coefficient's share of the mean
/// log-loss is then flat to one in a million.
const CONVERGED_GRADIENT: f64 = 1e-6;

/// How far above the rounding of the loss the library's solver stops; see `solvable_gradient`. Of 100,000 fits of drawn rows, 35 did
/// not end at 0.01 and 2 at 0.1; none of 400,000 at 0.3, none of 500,000 at 4.
const ABOVE_ROUNDING: f64 = 4.0;

/// Iterations of the library's solver; it takes fewer than 200.
const MAX_ITERATIONS: u64 = 1000;

/// Newton steps before giving up; it takes 2 to 10, the last of them within rounding.
const MAX_STEPS: usize = 50;

/// What each feature is divided by and freed of before it is weighed.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// The mean of each feature over the training rows.
    pub mean: Vec<f64>,
    /// The standard deviation (divisor n) over the training rows; 1 for a feature that does not vary.
    pub scale: Vec<f64>,
    /// Positions of the features that do not vary over the training rows; they get no weight.
    pub constant: Vec<usize>,
}

/// Mean and standard deviation (divisor n).
fn spread(values: ArrayView1<f64>) -> (f64, f64) {
    let mean = values.mean().unwrap_or(0.0);
    (mean, values.mapv(|x| (x - mean).powi(2)).mean().unwrap_or(0.0).sqrt())
}

impl Scaling {
    /// Learns the scaling from training rows `[n, F]`, n at least 1, finite but for NaN, which stands for no value and counts for
    /// nothing.
    ///
    /// # Errors
    /// [`DetectorError::Overflow`] names a feature whose spread is beyond the range of f64.
    pub fn fit(features: ArrayView2<f64>) -> Result<Self, DetectorError> {
        let n_features = features.ncols();
        let mut scaling = Self { mean: vec![0.0; n_features], scale: vec![1.0; n_features], constant: Vec::new() };
        for (column, values) in features.axis_iter(Axis(1)).enumerate() {
            let there: Array1<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
            let (mean, deviation) = spread(if there.len() < values.len() { there.view() } else { values.view() });
            if !mean.is_finite() || !deviation.is_finite() {
                return Err(DetectorError::Overflow { column });
            }
            scaling.mean[column] = mean;
            // The mean of equal numbers is off by a rounding error, which must not be blown up to a spread of 1.
            if deviation > 10.0 * f64::EPSILON * mean.abs() {
                scaling.scale[column] = deviation;
            } else {
                scaling.constant.push(column);
            }
        }
        Ok(scaling)
    }

    /// Rows `[n, F]` standardised.
    pub(crate) fn standardised(&self, features: ArrayView2<f64>) -> Array2<f64> {
        let mut standardised = Array2::zeros(features.raw_dim());
        for (row, mut out) in features.outer_iter().zip(standardised.outer_iter_mut()) {
            let row = row.to_vec();
            self.apply(&row).zip(out.iter_mut()).for_each(|(x, out)| *out = x);
        }
        standardised
    }

    /// One row standardised; a feature constant in training contributes nothing.
    fn apply(&self, row: &[f64]) -> impl Iterator<Item = f64> {
        row.iter().enumerate().map(
            |(i, x)| {
                if self.constant.contains(&i) { 0.0 } else { (x - self.mean[i]) / self.scale[i] }
            },
        )
    }
}

/// A fitted logistic regression: P(positive) = sigmoid(intercept + Σ coefficient · (x − mean) / scale).
#[derive(Debug, Clone, PartialEq)]
pub struct Logistic {
    /// From feature values to standardised ones.
    pub scaling: Scaling,
    /// Weight of each standardised feature, in log-odds per standard deviation; positive speaks for the positive class.
    pub coefficients: Vec<f64>,
    /// Log-odds of a row whose features are all at their training mean.
    pub intercept: f64,
    /// The penalty it was fitted with.
    pub l2: f64,
    /// Whether the gradient at the solution is small enough to call it the optimum.
    pub converged: bool,
    /// Largest absolute gradient component of the penalised loss at the solution, divided by the number of rows.
    pub gradient: f64,
}

/// Fits a [`Regression`] by [`fit_logistic`].
pub struct LogisticRegression;

impl Learn for LogisticRegression {
    type Model = Regression;

    const TITLE: &'static str = "logistic regression";

    fn fit(rows: &TrainingRows, settings: LearnSettings) -> Result<Regression, DetectorError> {
        Ok(fit_logistic(rows.features.view(), &rows.labels, settings.l2)?.into())
    }
}

/// A logistic regression as a detector keeps it: log-odds = intercept + Σ coefficient · (value − mean) / scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// Mean of each feature over the training rows.
    pub mean: Vec<f64>,
    /// Standard deviation (divisor n) of each feature over the training rows; 1 for one that does not vary.
    pub scale: Vec<f64>,
    /// Log-odds per standard deviation; positive speaks for hallucinated.
    pub coefficients: Vec<f64>,
    /// Log-odds of a row whose features are all at their training mean.
    pub intercept: f64,
    /// L2 penalty of the fit; see [`fit_logistic`].
    pub l2: f64,
    /// Whether the fit reached its optimum.
    pub converged: bool,
}

impl Regression {
    /// What a value of a feature adds to the log-odds, against a row with the training mean.
    pub fn contribution(&self, feature: usize, value: f64) -> f64 {
        self.coefficients[feature] * ((value - self.mean[feature]) / self.scale[feature])
    }
}

impl From<Logistic> for Regression {
    fn from(fitted: Logistic) -> Self {
        let Logistic { scaling: Scaling { mean, scale, .. }, coefficients, intercept, l2, converged, .. } = fitted;
        Regression { mean, scale, coefficients, intercept, l2, converged }
    }
}

impl Predict for Regression {
    fn log_odds(&self, row: &[f64]) -> f64 {
        assert_eq!(row.len(), self.coefficients.len(), "one value per feature");
        self.intercept + row.iter().enumerate().map(|(i, value)| self.contribution(i, *value)).sum::<f64>()
    }

    fn contributions(&self, row: &[f64], baseline: &[f64]) -> Vec<f64> {
        assert_eq!(row.len(), self.coefficients.len(), "one value per feature");
        let of = |(i, (value, from)): (usize, (&f64, &f64))| self.contribution(i, *value) - self.contribution(i, *from);
        row.iter().zip(baseline).enumerate().map(of).collect()
    }

    fn fault(&self, n_features: usize) -> Option<String> {
        let lengths = [self.mean.len(), self.scale.len(), self.coefficients.len()];
        if lengths != [n_features; 3] {
            return Some(format!("a regression of {lengths:?} numbers, expected {n_features} of each"));
        }
        if let Some(scale) = self.scale.iter().find(|scale| scale.is_nan() || **scale <= 0.0) {
            return Some(format!("a regression has scale {scale}, expected a positive number"));
        }
        let numbers = self.mean.iter().chain(&self.scale).chain(&self.coefficients);
        let all_finite = numbers.chain([&self.intercept, &self.l2]).all(|number| number.is_finite());
        (!all_finite).then(|| "a number of a regression is not finite".to_owned())
    }
}

impl Logistic {
    /// The probability, 0 to 1, that a row with these unscaled feature values is positive; NaN if one of them is NaN.
    ///
    /// # Panics
    /// If the number of values is not the number of features.
    pub fn predict(&self, features: &[f64]) -> f64 {
        assert_eq!(features.len(), self.coefficients.len(), "one value per feature");
        let weighted: f64 = self.scaling.apply(features).zip(&self.coefficients).map(|(x, w)| x * w).sum();
        sigmoid(self.intercept + weighted)
    }
}

/// 1 / (1 + e^−x), without overflow.
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

/// Log-odds of a probability, the inverse of [`sigmoid`]; infinite at 0 and 1.
pub(crate) fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// Fits a logistic regression to rows `[n, F]` and their labels (true = positive).
///
/// Features are standardised by these rows, then Σ_rows log-loss + (l2 / 2) · ‖coefficients‖² is minimised by
/// linfa's L-BFGS as far as the rounding of the loss lets it see; the intercept is not penalised. A few Newton steps, which see
/// the gradient alone, take its solution to the end. `l2` = 1/C of scikit-learn's `LogisticRegression`. With `l2` = 0 and classes that a plane separates there is no optimum, which `converged` = false
/// tells.
///
/// # Errors
/// [`DetectorError::OneClass`], [`DetectorError::Penalty`], [`DetectorError::Overflow`], or
/// [`DetectorError::Solver`] when the optimiser gives up.
///
/// # Panics
/// If the number of rows and labels differ.
pub fn fit_logistic(features: ArrayView2<f64>, labels: &[bool], l2: f64) -> Result<Logistic, DetectorError> {
    assert_eq!(features.nrows(), labels.len(), "one label per row");
    if !l2.is_finite() || l2 < 0.0 {
        return Err(DetectorError::Penalty { l2 });
    }
    require_both_classes(labels)?;
    let scaling = Scaling::fit(features)?;
    let standardised = scaling.standardised(features);

    let n = labels.len() as f64;
    let dataset = DatasetBase::new(standardised, Array1::from(labels.to_vec()));
    // without a feature there is nothing for the solver to weigh; Newton steps find the intercept
    let mut weights = if features.ncols() == 0 { Array1::zeros(1) } else { solved_weights(&dataset, l2)? };
    if weights.iter().any(|w| !w.is_finite()) {
        weights.fill(0.0);
    }
    let objective = Penalised::new(dataset.records().view(), labels, l2);
    let point = newton(&objective, objective.at(weights), MAX_STEPS).point;
    let gradient = largest(&point.gradient) / n;
    let converged = gradient <= CONVERGED_GRADIENT;
    // + 0.0 turns the negative zero of a feature without weight into zero
    let coefficients: Vec<f64> = point.weights.iter().take(features.ncols()).map(|w| w + 0.0).collect();
    Ok(Logistic { scaling, coefficients, intercept: point.weights[features.ncols()], l2, converged, gradient })
}

/// Length of the gradient below which linfa's solver must not go on, with `n` rows of `F` standardised features.
///
/// Its line search compares losses. A gradient of length g promises a loss smaller by g² / 2c, where c is the largest curvature: at
/// most `l2` + n (F + 1) / 4, the penalty and the trace of the rest. The loss, at most n ln 2, is known to some n ε. Where that hides
/// what is promised, the line search may end with a step too short to change the gradient; the next direction is then 0 / 0, NaN,
/// for which argmin's More-Thuente search has no end and linfa no setting.
fn solvable_gradient((n, n_features): (usize, usize), l2: f64) -> f64 {
    let n = n as f64;
    let curvature = l2 + n * (n_features + 1) as f64 / 4.0;
    // roots apart: with the largest penalties the product would overflow
    ABOVE_ROUNDING * curvature.sqrt() * (n * f64::EPSILON).sqrt()
}

/// The weights `[F + 1]`, intercept last, at which linfa's solver ends.
fn solved_weights(dataset: &DatasetBase<Array2<f64>, Array1<bool>>, l2: f64) -> Result<Array1<f64>, DetectorError> {
    let solved = linfa_logistic::LogisticRegression::default()
        .alpha(l2)
        .max_iterations(MAX_ITERATIONS)
        .gradient_tolerance(solvable_gradient(dataset.records().dim(), l2))
        .fit(dataset)
        .map_err(DetectorError::Solver)?;
    // The larger class is the solver's positive one.
    let sign = if solved.labels().pos.class { 1.0 } else { -1.0 };
    Ok(solved.params().iter().chain([&solved.intercept()]).map(|w| sign * w).collect())
}

/// The penalised loss as a function of the weights `[F + 1]`, the intercept last.
struct Penalised {
    /// `[n, F + 1]`: the standardised features and a column of ones.
    x: Array2<f64>,
    /// 1 for positive rows, 0 for negative ones.
    targets: Array1<f64>,
    /// The penalty of each weight; none on the intercept.
    penalties: Array1<f64>,
}

/// Weights and the gradient of the penalised loss there.
struct Weighed {
    weights: Array1<f64>,
    gradient: Array1<f64>,
}

impl Penalised {
    fn new(standardised: ArrayView2<f64>, labels: &[bool], l2: f64) -> Self {
        let (n_rows, n_features) = standardised.dim();
        let column = |i: usize, j: usize| if j < n_features { standardised[[i, j]] } else { 1.0 };
        let x = Array2::from_shape_fn((n_rows, n_features + 1), |(i, j)| column(i, j));
        let targets = labels.iter().map(|&positive| f64::from(u8::from(positive))).collect();
        let penalties = Array1::from_shape_fn(n_features + 1, |j| if j < n_features { l2 } else { 0.0 });
        Self { x, targets, penalties }
    }

    fn at(&self, weights: Array1<f64>) -> Weighed {
        let residuals = self.x.dot(&weights).mapv(sigmoid) - &self.targets;
        let gradient = self.x.t().dot(&residuals) + &weights * &self.penalties;
        Weighed { weights, gradient }
    }

    fn hessian(&self, weights: &Array1<f64>) -> Array2<f64> {
        let variances = self.x.dot(weights).mapv(|z| sigmoid(z) * sigmoid(-z));
        let weighted = &self.x * &variances.insert_axis(Axis(1));
        self.x.t().dot(&weighted) + Array2::from_diag(&self.penalties)
    }
}

impl Objective for Penalised {
    type Point = Weighed;
    type Step = Array1<f64>;
    type End = ();

    fn step(&self, at: &Weighed) -> Result<Array1<f64>, ()> {
        // no step where the curvature vanishes: classes apart without a penalty, or equal columns without one
        let factor = Cholesky::new(self.hessian(&at.weights)).ok_or(())?;
        Ok(factor.solve(at.gradient.clone()))
    }

    fn better(&self, at: &Weighed, step: &Array1<f64>, fraction: f64) -> Option<Weighed> {
        let there = self.at(&at.weights - &(step * fraction));
        (largest(&there.gradient) < largest(&at.gradient)).then_some(there)
    }

    /// It goes on as long as the gradient shrinks.
    fn arrived(&self, _: &Array1<f64>) -> Option<()> {
        None
    }
}

/// The largest absolute value; infinite if one is NaN.
fn largest(values: &Array1<f64>) -> f64 {
    values.iter().fold(0.0, |largest, v| if v.is_nan() { f64::INFINITY } else { f64::max(largest, v.abs()) })
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_rows_of_two_classes_converge_to_where_the_residuals_cancel(
            values in proptest::collection::vec((-3i8..=3, -1.0f64..1.0, any::<bool>()), 4..80),
            magnitude in -8i32..9,
            l2 in prop_oneof![Just(0.0), Just(1e-3), Just(1.0), Just(1e3), Just(1e12)],
        ) {
            let mut labels: Vec<bool> = values.iter().map(|v| v.2).collect();
            (labels[0], labels[1]) = (true, false);
            let x = Array2::from_shape_fn((values.len(), 3), |(i, j)| match j {
                0 => f64::from(values[i].0) * 10f64.powi(magnitude),
                1 => values[i].1,
                _ => 5.0 - 2.0 * values[i].1, // collinear
            });
            let fitted = fit_logistic(x.view(), &labels, l2).unwrap();
            // equal columns or separated classes have no single optimum without a penalty; the fit must still end
            prop_assert!(fitted.converged || l2 == 0.0, "gradient {}", fitted.gradient);
            // the intercept is not penalised, so the probabilities add up to the positives: its gradient is zero
            let sum: f64 = x.outer_iter().map(|row| fitted.predict(&row.to_vec())).sum();
            let n_positive = labels.iter().filter(|l| **l).count() as f64;
            let off = (sum - n_positive).abs();
            prop_assert!(!fitted.converged || off <= 1.1e-6 * labels.len() as f64, "{sum} of {n_positive}");
        }
    }

    #[test]
    fn a_loss_that_rounding_hides_does_not_keep_the_solver() {
        // drawn rows for which L-BFGS that went on to a gradient of 1e-12 a row never ended: in the last bits the loss differed where
        // the gradient did not
        let four = array![
            [1e4, 0.37612409788541257, 4.247751804229175],
            [-1e4, 0.7013500967514197, 3.5972998064971606],
            [1e4, 0.8004393051951657, 3.3991213896096686],
            [3e4, 0.18016197883974372, 4.639676042320513],
        ];
        let fitted = fit_logistic(four.view(), &[true, false, true, false], 1e3).unwrap();
        assert!(fitted.converged, "gradient {}", fitted.gradient);
        let five = array![
            [2e5, 0.5861007546215822, 3.8277984907568356],
            [2e5, -0.7857913507273997, 6.571582701454799],
            [-2e5, -0.23237339166106197, 5.4647467832821235],
            [-1e5, -0.6256702887241448, 6.251340577448289],
            [-1e5, -0.5058965884394604, 6.011793176878921],
        ];
        let fitted = fit_logistic(five.view(), &[true, false, false, true, true], 0.0).unwrap();
        assert!(fitted.coefficients.iter().all(|c| c.is_finite()), "{fitted:?}");
    }

    #[test]
    fn any_penalty_that_is_a_number_ends_where_the_probabilities_add_up() {
        let x = Array2::from_shape_fn((30, 2), |(i, j)| ((i * 7 + j * 3) % 11) as f64);
        let labels: Vec<bool> = (0..30).map(|i| i % 3 == 0 || i > 26).collect();
        for l2 in [f64::MIN_POSITIVE, 1e-100, 1e-9, 1e9, 1e100, 1e300, f64::MAX] {
            let fitted = fit_logistic(x.view(), &labels, l2).unwrap();
            assert!(fitted.converged, "{l2}: gradient {}", fitted.gradient);
            let sum: f64 = x.outer_iter().map(|row| fitted.predict(&row.to_vec())).sum();
            assert!((sum - labels.iter().filter(|l| **l).count() as f64).abs() < 1e-4, "{l2}: {sum}");
        }
    }

    #[test]
    fn one_binary_feature_without_penalty_gives_the_log_odds() {
        // x = 0: 1 of 4 positive, x = 1: 3 of 4; log-odds -ln 3 and ln 3, so 2 ln 3 per unit
        let x = array![[0.0], [0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [1.0]];
        let labels = [true, false, false, false, true, true, true, false];
        let fitted = fit_logistic(x.view(), &labels, 0.0).unwrap();
        assert!(fitted.converged, "gradient {}", fitted.gradient);
        let per_unit = fitted.coefficients[0] / fitted.scaling.scale[0];
        // gradient below 1e-6 a row and curvature above 0.1 a row: within 1e-5
        assert!((per_unit - 2.0 * 3f64.ln()).abs() < 1e-5, "{per_unit}");
        assert!((fitted.predict(&[1.0]) - 0.75).abs() < 1e-6);
        assert!((fitted.predict(&[0.0]) - 0.25).abs() < 1e-6);
    }

    #[test]
    fn the_positive_class_is_ours_in_every_balance_and_order() {
        for n_positive in [2, 5, 8] {
            for positives_first in [true, false] {
                let labels: Vec<bool> =
                    (0..10).map(|i| if positives_first { i < n_positive } else { i >= 10 - n_positive }).collect();
                let x = Array2::from_shape_fn((10, 1), |(i, _)| if labels[i] { 3.0 } else { 1.0 } + 0.1 * i as f64);
                let fitted = fit_logistic(x.view(), &labels, 1.0).unwrap();
                assert!(fitted.coefficients[0] > 0.0, "{n_positive} positives, first: {positives_first}");
                assert!(fitted.predict(&[5.0]) > 0.5 && fitted.predict(&[0.0]) < 0.5);
                // Newton steps would mend a wrong sign: look at the solver's answer itself
                let dataset = DatasetBase::new(x - 2.0, Array1::from(labels));
                assert!(solved_weights(&dataset, 1.0).unwrap()[0] > 0.0, "{n_positive} positives, {positives_first}");
            }
        }
    }

    #[test]
    fn a_separating_plane_converges_with_a_penalty_and_is_told_without() {
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        let labels = [false, false, true, true];
        assert!(fit_logistic(x.view(), &labels, 1.0).unwrap().converged);
        match fit_logistic(x.view(), &labels, 0.0) {
            // without a penalty the gradient fades as the coefficient runs away; either is an honest answer
            Ok(fitted) => assert!(!fitted.converged || fitted.coefficients[0] > 10.0),
            Err(error) => assert!(matches!(error, DetectorError::Solver(_))),
        }
    }

    #[test]
    fn a_constant_feature_gets_no_weight_and_no_say() {
        let x = Array2::from_shape_fn((20, 2), |(i, j)| if j == 0 { 0.1 + 0.2 } else { (i as f64 * 7.3) % 5.0 });
        let labels: Vec<bool> = (0..20).map(|i| x[[i, 1]] > 2.0 || i == 3).collect();
        let fitted = fit_logistic(x.view(), &labels, 1.0).unwrap();
        assert_eq!(fitted.scaling.constant, [0]);
        assert_eq!(fitted.scaling.scale[0], 1.0);
        assert_eq!(fitted.coefficients[0], 0.0);
        assert_eq!(fitted.predict(&[1e9, 1.0]), fitted.predict(&[0.3, 1.0]));
    }

    #[test]
    fn many_rows_and_equal_columns_converge() {
        // Equal columns: without the penalty the optimum would be a line; with it, equal coefficients.
        let x = Array2::from_shape_fn((20_000, 3), |(i, j)| ((i * 37 + (j / 2) * 11) % 101) as f64 * 1e3 + 5e6);
        let labels: Vec<bool> = (0..20_000).map(|i| (i * 37) % 101 > 50 || i % 7 == 0).collect();
        let fitted = fit_logistic(x.view(), &labels, 1.0).unwrap();
        assert!(fitted.converged, "gradient {}", fitted.gradient);
        assert!((fitted.coefficients[0] - fitted.coefficients[1]).abs() < 1e-6);
    }

    #[test]
    fn bad_input_is_named() {
        let x = array![[0.0], [1.0]];
        assert!(matches!(
            fit_logistic(x.view(), &[true, true], 1.0),
            Err(DetectorError::OneClass { label: 1, n_rows: 2 })
        ));
        assert!(matches!(fit_logistic(x.view(), &[false, false], 1.0), Err(DetectorError::OneClass { label: 0, .. })));
        assert!(matches!(fit_logistic(x.view(), &[true, false], -1.0), Err(DetectorError::Penalty { .. })));
        let huge = array![[-1e300], [1e300]];
        assert!(matches!(fit_logistic(huge.view(), &[true, false], 1.0), Err(DetectorError::Overflow { column: 0 })));
    }

    #[test]
    fn sigmoid_is_safe_at_the_ends() {
        assert_eq!(sigmoid(-1e4), 0.0);
        assert_eq!(sigmoid(1e4), 1.0);
        assert_eq!(sigmoid(0.0), 0.5);
    }
}
