//! Logistic regression by maximum likelihood, without a penalty: coefficients with standard errors, and what may be wrong
//! with them.
//!
//! For judging which features matter. For predicting, the penalised [`fit_logistic`](crate::fit_logistic) is the better
//! choice: it exists whatever the data.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::Serialize;

use crate::{
    DetectorError, Scaling,
    learners::cholesky::{Cholesky, independent_columns},
    learners::logistic::logit,
    learners::newton::{Objective, newton},
    rows::require_both_classes,
    statistics::distributions::{chi_squared_p, normal_p},
};

/// Share of a feature's variance that the other features must leave unexplained for it to have a coefficient; a variance
/// inflation beyond 1e10 leaves no digit of it.
const ALIASED: f64 = 1e-10;

/// Newton steps before giving up. Ordinary data take about six; separated classes stop at about 25, since each step
/// divides what is left of the log-likelihood by e.
const MAX_ITERATIONS: usize = 100;

/// Largest change of any row's log-odds in the last step of a converged fit. The next would be its square.
const CONVERGED_STEP: f64 = 1e-8;

/// Expected gain of log-likelihood by another step below which only separated classes still move far.
const FLAT: f64 = 1e-9;

/// How far: each step moves the rows next to the separating plane by a log-odds of about 1, and no row less.
const FAR: f64 = 0.5;

/// How a maximum likelihood fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FitStatus {
    /// The coefficients are at the one maximum of the likelihood.
    Converged,
    /// A plane has all positive rows on one side and all negative rows on the other (complete separation): the
    /// likelihood grows for ever with the coefficients, and there is no estimate.
    Separated,
    /// A plane has the classes on its two sides but for rows of both upon it (quasi-complete separation): as above.
    QuasiSeparated,
    /// Neither a maximum nor a separating plane was reached.
    NotConverged,
}

/// Why a feature takes no part in a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// It has the same value in every row.
    Constant,
    /// The features before it explain it entirely.
    Collinear,
}

/// A standard error with its test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WaldTest {
    /// In the coefficient's unit.
    pub standard_error: f64,
    /// Coefficient over standard error.
    pub z: f64,
    /// Two-sided, of a coefficient of zero, by the normal distribution.
    pub p: f64,
}

/// A coefficient with its standard errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Log-odds of hallucinated per unit of the feature; for the intercept, with every feature at zero.
    pub coefficient: f64,
    /// Log-odds per standard deviation of the feature (divisor n); for the intercept, with every feature at its mean.
    pub standardised: f64,
    /// From the information matrix, rows taken for independent.
    pub model: WaldTest,
    /// From the scatter of the groups' gradients (sandwich, with the correction for few groups): holds when rows of one
    /// group depend on each other. Null with fewer than two groups.
    pub clustered: Option<WaldTest>,
}

/// What a fit says of one feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// The feature's column in the table.
    pub feature: String,
    /// Null when the feature is left out, and unless the fit converged.
    pub estimate: Option<Estimate>,
    /// Variance inflation factor 1 / (1 − R²), R² of the feature on the others that take part; null when left out.
    pub vif: Option<f64>,
    /// Why it takes no part; null if it does.
    pub left_out: Option<LeftOut>,
    /// Its weight runs away with the separation.
    pub separates: bool,
}

/// A logistic regression fitted by maximum likelihood.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LikelihoodFit {
    /// How it ended; the figures below hold for separated classes too, as limits.
    pub status: FitStatus,
    /// How many rows were fitted.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// How many groups the rows come from.
    pub n_groups: usize,
    /// How many of Newton's steps were taken.
    pub iterations: usize,
    /// Null unless the fit converged.
    pub intercept: Option<Estimate>,
    /// The features, in the order in which they were given.
    pub terms: Vec<Term>,
    /// Coefficients, with the intercept, that were estimated.
    pub n_parameters: usize,
    /// Natural logarithm of the likelihood at the maximum.
    pub log_likelihood: f64,
    /// The same of the intercept alone.
    pub log_likelihood_null: f64,
    /// Akaike's criterion, 2 · parameters − 2 · log-likelihood; lower is better.
    pub aic: f64,
    /// Schwarz's criterion, ln n · parameters − 2 · log-likelihood.
    pub bic: f64,
    /// McFadden's pseudo-R², 1 − log-likelihood / its null.
    pub pseudo_r2: f64,
    /// Likelihood ratio test of all features together; null without features.
    pub likelihood_ratio_p: Option<f64>,
}

/// Most features that a note names; `--json` has `separates` and `left_out` of every one.
const MAX_NAMED: usize = 6;

impl LikelihoodFit {
    /// What a reader of the coefficients should know.
    pub fn notes(&self) -> Vec<String> {
        self.notes_about("the features")
    }

    /// The same, calling the features something else, so that two fits' notes can stand together.
    pub(crate) fn notes_about(&self, features: &str) -> Vec<String> {
        let names = |keep: &dyn Fn(&Term) -> bool| {
            let mut names: Vec<String> =
                self.terms.iter().filter(|term| keep(term)).map(|term| format!("`{}`", term.feature)).collect();
            if names.len() > MAX_NAMED {
                let n_more = names.len() - MAX_NAMED;
                names.truncate(MAX_NAMED);
                return format!("{} and {n_more} more", names.join(", "));
            }
            names.join(", ")
        };
        let mut notes = Vec::new();
        let separating = || names(&|term| term.separates);
        match self.status {
            FitStatus::Converged => {}
            FitStatus::Separated => notes.push(format!(
                "warning: {features} separate the classes completely (by {}), so coefficients have no finite estimate; \
                 the penalised fit has",
                separating()
            )),
            FitStatus::QuasiSeparated => notes.push(format!(
                "warning: {features} separate the classes but for rows on the border (by {}), so coefficients have no \
                 finite estimate; the penalised fit has",
                separating()
            )),
            FitStatus::NotConverged => notes.push(format!(
                "warning: the fit without a penalty did not converge in {} steps, so its coefficients are not given",
                self.iterations
            )),
        }
        for (reason, why) in [
            (LeftOut::Constant, "it has the same value in every row"),
            (LeftOut::Collinear, "the features before it explain it entirely"),
        ] {
            let left_out = names(&|term| term.left_out == Some(reason));
            if !left_out.is_empty() {
                notes.push(format!("no coefficient for {left_out}: {why}"));
            }
        }
        notes
    }
}

/// Fits a logistic regression of labels on features `[n, F]`, all finite, by maximum likelihood (Newton's method).
///
/// Constant features and those that earlier ones explain are left out and marked; separated classes and a fit that does
/// not converge are told by the status. `groups` gives any number to each row.
///
/// # Errors
/// [`DetectorError::OneClass`], [`DetectorError::Overflow`].
///
/// # Panics
/// If there is not one name a column, one label and group a row.
pub fn fit_maximum_likelihood(
    features: ArrayView2<f64>,
    names: &[String],
    labels: &[bool],
    groups: &[usize],
) -> Result<LikelihoodFit, DetectorError> {
    assert_eq!(names.len(), features.ncols(), "one name a feature");
    let design = Design::new(features, labels)?;
    let columns = design.usable.clone();
    let maximum = design.maximise(&columns, None, Tolerance::Coefficients);
    Ok(design.describe(&columns, &maximum, names, groups))
}

/// How near to the maximum a fit must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tolerance {
    /// Log-likelihood to about 1e-9: the last step moved no row's log-odds by more than 1e-3, so the next would move them
    /// by about 1e-6 and gain the square of that a row.
    Criterion,
    /// Coefficients to rounding.
    Coefficients,
}

/// Rows at given weights.
struct Fitted {
    log_odds: Array1<f64>,
    log_likelihood: f64,
    /// Label minus probability.
    residuals: Array1<f64>,
    /// Square roots of p(1 − p).
    deviations: Array1<f64>,
}

/// Rows ready to be fitted with any subset of their features.
pub(crate) struct Design {
    /// `[n, F + 1]`: standardised features (zero where constant), then a column of ones.
    x: Array2<f64>,
    /// 1 for positive rows, 0 for negative ones.
    targets: Array1<f64>,
    scaling: Scaling,
    /// Features that are neither constant nor explained by those before them, ascending.
    pub(crate) usable: Vec<usize>,
}

/// Where Newton's method arrived.
#[derive(Debug, Clone)]
pub(crate) struct Maximum {
    pub(crate) status: FitStatus,
    /// Of the chosen features, in their order, then the intercept; standardised.
    pub(crate) weights: Array1<f64>,
    pub(crate) log_likelihood: f64,
    iterations: usize,
    /// The last step, which points where separated classes run to.
    step: Array1<f64>,
}

impl Maximum {
    pub(crate) fn aic(&self) -> f64 {
        2.0 * self.weights.len() as f64 - 2.0 * self.log_likelihood
    }
}

/// The likelihood over some features.
struct Likelihood<'a> {
    design: &'a Design,
    /// `[n, k + 1]`: the features and the column of ones.
    x: Array2<f64>,
    /// Largest change of any row's log-odds in the last step.
    last_step: f64,
}

struct Climber {
    weights: Array1<f64>,
    fitted: Fitted,
}

struct Climb {
    weights: Array1<f64>,
    /// What it changes each row's log-odds by, and the largest of these.
    change: Array1<f64>,
    largest_change: f64,
}

struct Stopped {
    status: FitStatus,
    /// The step that was not taken, because it leads for ever on.
    step: Option<Array1<f64>>,
}

impl Objective for Likelihood<'_> {
    type Point = Climber;
    type Step = Climb;
    type End = Stopped;

    fn step(&self, at: &Climber) -> Result<Climb, Stopped> {
        let fitted = &at.fitted;
        let gradient = self.x.t().dot(&fitted.residuals);
        let Some(factor) = Cholesky::new(Design::information(&self.x, fitted)) else {
            // the columns are independent, so it is rows without a doubt left that make this singular
            let is_separated = fitted.log_odds.iter().any(|eta| eta.abs() > 10.0);
            let kind = if is_separated { self.design.kind_of_separation(fitted) } else { FitStatus::NotConverged };
            return Err(Stopped { status: kind, step: None });
        };
        let step = factor.solve(gradient.clone());
        let change = self.x.dot(&step);
        let largest_change = change.iter().fold(0.0f64, |largest, c| largest.max(c.abs()));
        let gain = gradient.dot(&step) / 2.0;
        if gain < FLAT && largest_change > FAR {
            return Err(Stopped { status: self.design.kind_of_separation(fitted), step: Some(step) });
        }
        Ok(Climb { weights: step, change, largest_change })
    }

    /// The likelihood is concave: some fraction of the step climbs. Close to the maximum rounding hides the climb.
    fn better(&self, at: &Climber, step: &Climb, fraction: f64) -> Option<Climber> {
        let fitted = self.design.evaluate(&at.fitted.log_odds + &(&step.change * fraction));
        let climbs = fitted.log_likelihood > at.fitted.log_likelihood || step.largest_change < 1e-3;
        climbs.then(|| {
            let mut weights = at.weights.clone();
            weights.scaled_add(fraction, &step.weights);
            Climber { weights, fitted }
        })
    }

    fn arrived(&self, step: &Climb) -> Option<Stopped> {
        (step.largest_change <= self.last_step).then_some(Stopped { status: FitStatus::Converged, step: None })
    }
}

impl Design {
    pub(crate) fn new(features: ArrayView2<f64>, labels: &[bool]) -> Result<Self, DetectorError> {
        assert_eq!(features.nrows(), labels.len(), "one label per row");
        require_both_classes(labels)?;
        let scaling = Scaling::fit(features)?;
        let standardised = scaling.standardised(features);
        // correlations; a constant feature has none, even with itself, and drops out here too
        let gram = standardised.t().dot(&standardised) / labels.len() as f64;
        let usable = independent_columns(&gram, ALIASED);
        let mut x = Array2::ones((labels.len(), features.ncols() + 1));
        x.slice_mut(s![.., ..features.ncols()]).assign(&standardised);
        let targets = labels.iter().map(|&label| f64::from(u8::from(label))).collect();
        Ok(Self { x, targets, scaling, usable })
    }

    /// `[n, k + 1]`: the chosen features and the column of ones.
    fn columns(&self, chosen: &[usize]) -> Array2<f64> {
        let with_ones: Vec<usize> = chosen.iter().copied().chain([self.x.ncols() - 1]).collect();
        self.x.select(Axis(1), &with_ones)
    }

    /// What these log-odds make of every row.
    fn evaluate(&self, log_odds: Array1<f64>) -> Fitted {
        let mut fitted = Fitted {
            log_likelihood: 0.0,
            residuals: Array1::zeros(log_odds.len()),
            deviations: Array1::zeros(log_odds.len()),
            log_odds,
        };
        for (i, (&eta, &target)) in fitted.log_odds.iter().zip(&self.targets).enumerate() {
            // all from one exponential of −|η|, which can neither overflow nor cancel
            let small = (-eta.abs()).exp();
            let rarer = small / (1.0 + small); // the probability of the less likely class
            let right = (eta >= 0.0) == (target == 1.0);
            let miss = if right { rarer } else { 1.0 / (1.0 + small) };
            fitted.residuals[i] = if target == 1.0 { miss } else { -miss };
            fitted.deviations[i] = small.sqrt() / (1.0 + small);
            fitted.log_likelihood -= small.ln_1p() + if right { 0.0 } else { eta.abs() };
        }
        fitted
    }

    /// The information matrix Xᵀ · diag(p(1 − p)) · X.
    fn information(x: &Array2<f64>, fitted: &Fitted) -> Array2<f64> {
        let weighted = x * &fitted.deviations.view().insert_axis(Axis(1));
        weighted.t().dot(&weighted)
    }

    /// Newton's method on the chosen features, which must be a subset of the usable ones. `start` is where to begin, for
    /// example the maximum of a neighbouring set of features.
    pub(crate) fn maximise(&self, chosen: &[usize], start: Option<Array1<f64>>, precision: Tolerance) -> Maximum {
        let weights = start.unwrap_or_else(|| {
            let rate = self.targets.mean().unwrap_or(0.5);
            let mut weights = Array1::zeros(chosen.len() + 1);
            weights[chosen.len()] = logit(rate);
            weights
        });
        let last_step = match precision {
            Tolerance::Criterion => 1e-3,
            Tolerance::Coefficients => CONVERGED_STEP,
        };
        let likelihood = Likelihood { design: self, x: self.columns(chosen), last_step };
        let fitted = self.evaluate(likelihood.x.dot(&weights));
        let ended = newton(&likelihood, Climber { weights, fitted }, MAX_ITERATIONS);
        let (status, step) = ended.end.map_or((FitStatus::NotConverged, None), |end| (end.status, end.step));
        let Climber { weights, fitted } = ended.point;
        let step = step.or(ended.step.map(|step| step.weights)).unwrap_or_else(|| Array1::zeros(weights.len()));
        Maximum { status, weights, log_likelihood: fitted.log_likelihood, iterations: ended.n_steps, step }
    }

    fn kind_of_separation(&self, fitted: &Fitted) -> FitStatus {
        let right = fitted.log_odds.iter().zip(&self.targets).all(|(eta, target)| (*eta > 0.0) == (*target == 1.0));
        if right { FitStatus::Separated } else { FitStatus::QuasiSeparated }
    }

    /// The fit on the chosen features with all its figures; `names` of all features. Those not chosen and usable are
    /// left out of the terms.
    pub(crate) fn describe(
        &self,
        chosen: &[usize],
        maximum: &Maximum,
        names: &[String],
        groups: &[usize],
    ) -> LikelihoodFit {
        let n = self.targets.len();
        let n_positive = self.targets.iter().filter(|target| **target == 1.0).count();
        let n_groups = {
            let mut distinct = groups.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.len()
        };
        let log_likelihood_null = self.maximise(&[], None, Tolerance::Coefficients).log_likelihood;
        let estimates = match maximum.status {
            FitStatus::Converged => self.estimates(chosen, maximum, groups, n_groups),
            _ => None,
        };
        let vifs = self.variance_inflation(chosen);
        let largest_step = maximum.step.iter().fold(0.0f64, |largest, s| largest.max(s.abs()));
        let separated = matches!(maximum.status, FitStatus::Separated | FitStatus::QuasiSeparated);
        let terms = (0..names.len()).filter_map(|column| {
            let feature = names[column].clone();
            if let Some(position) = chosen.iter().position(|&c| c == column) {
                return Some(Term {
                    feature,
                    estimate: estimates.as_ref().map(|estimates| estimates[position]),
                    vif: vifs.as_ref().map(|vifs| vifs[position]),
                    left_out: None,
                    separates: separated && maximum.step[position].abs() > 1e-3 * largest_step,
                });
            }
            if self.usable.contains(&column) {
                return None;
            }
            let constant = self.scaling.constant.contains(&column);
            let left_out = Some(if constant { LeftOut::Constant } else { LeftOut::Collinear });
            Some(Term { feature, estimate: None, vif: None, left_out, separates: false })
        });
        let (parameters, log_likelihood) = (maximum.weights.len() as f64, maximum.log_likelihood);
        LikelihoodFit {
            status: maximum.status,
            n,
            n_positive,
            n_groups,
            iterations: maximum.iterations,
            intercept: estimates.as_ref().and_then(|estimates| estimates.last().copied()),
            terms: terms.collect(),
            n_parameters: maximum.weights.len(),
            log_likelihood,
            log_likelihood_null,
            aic: maximum.aic(),
            bic: (n as f64).ln() * parameters - 2.0 * log_likelihood,
            pseudo_r2: 1.0 - log_likelihood / log_likelihood_null,
            likelihood_ratio_p: (!chosen.is_empty())
                .then(|| chi_squared_p(2.0 * (log_likelihood - log_likelihood_null), chosen.len() as f64)),
        }
    }

    /// Of each chosen feature, then the intercept.
    fn estimates(
        &self,
        chosen: &[usize],
        maximum: &Maximum,
        groups: &[usize],
        n_groups: usize,
    ) -> Option<Vec<Estimate>> {
        let x = self.columns(chosen);
        let fitted = self.evaluate(x.dot(&maximum.weights));
        let covariance = Cholesky::new(Self::information(&x, &fitted))?.inverse();
        let clustered = Self::clustered_covariance(&x, &fitted, &covariance, groups, n_groups);

        // From standardised weights to those of the features as they are: a linear map, one row per coefficient.
        let k = chosen.len();
        let mut unscale = Array2::<f64>::zeros((k + 1, k + 1));
        unscale[[k, k]] = 1.0;
        for (j, &column) in chosen.iter().enumerate() {
            unscale[[j, j]] = 1.0 / self.scaling.scale[column];
            unscale[[k, j]] = -self.scaling.mean[column] / self.scaling.scale[column];
        }
        let coefficients = unscale.dot(&maximum.weights);
        let variances = |covariance: &Array2<f64>| unscale.dot(covariance).dot(&unscale.t()).diag().to_owned();
        let (model, clustered) = (variances(&covariance), clustered.as_ref().map(variances));
        let test = |coefficient: f64, variance: f64| {
            let standard_error = variance.max(0.0).sqrt();
            let z = coefficient / standard_error;
            WaldTest { standard_error, z, p: normal_p(z) }
        };
        let estimate = |j: usize| Estimate {
            coefficient: coefficients[j],
            standardised: maximum.weights[j],
            model: test(coefficients[j], model[j]),
            clustered: clustered.as_ref().map(|variances| test(coefficients[j], variances[j])),
        };
        Some((0..=k).map(estimate).collect())
    }

    /// The sandwich H⁻¹ · Σ_groups u · uᵀ · H⁻¹ with u the group's gradient, times G / (G − 1) · (n − 1) / (n − k).
    fn clustered_covariance(
        x: &Array2<f64>,
        fitted: &Fitted,
        covariance: &Array2<f64>,
        groups: &[usize],
        n_groups: usize,
    ) -> Option<Array2<f64>> {
        let (n, k) = x.dim();
        if n_groups < 2 || n <= k {
            return None;
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&row| groups[row]);
        let mut meat = Array2::<f64>::zeros((k, k));
        for group in order.chunk_by(|&a, &b| groups[a] == groups[b]) {
            let mut gradient = Array1::<f64>::zeros(k);
            group.iter().for_each(|&row| gradient.scaled_add(fitted.residuals[row], &x.row(row)));
            let column = gradient.insert_axis(Axis(1));
            meat += &column.dot(&column.t());
        }
        let correction = n_groups as f64 / (n_groups - 1) as f64 * (n - 1) as f64 / (n - k) as f64;
        Some(covariance.dot(&meat).dot(covariance) * correction)
    }

    /// The diagonal of the inverse correlation matrix.
    fn variance_inflation(&self, chosen: &[usize]) -> Option<Vec<f64>> {
        let z = self.x.select(Axis(1), chosen);
        let correlations = z.t().dot(&z) / self.targets.len() as f64;
        Some(Cholesky::new(correlations)?.inverse().diag().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn fit(features: Array2<f64>, labels: &[bool]) -> LikelihoodFit {
        let names: Vec<String> = (0..features.ncols()).map(|i| format!("f{i}")).collect();
        let groups: Vec<usize> = (0..labels.len()).collect();
        fit_maximum_likelihood(features.view(), &names, labels, &groups).unwrap()
    }

    #[test]
    fn one_binary_feature_gives_the_log_odds_ratio() {
        // 2 x 2 table with 1 of 4 and 3 of 4: log odds ratio 2 ln 3, variance 1/1 + 1/3 + 1/3 + 1/1
        let x = array![[0.0], [0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [1.0]];
        let got = fit(x, &[true, false, false, false, true, true, true, false]);
        assert_eq!(got.status, FitStatus::Converged);
        let estimate = got.terms[0].estimate.unwrap();
        assert!((estimate.coefficient - 2.0 * 3f64.ln()).abs() < 1e-12, "{estimate:?}");
        assert!((estimate.model.standard_error - (8.0 / 3.0f64).sqrt()).abs() < 1e-12, "{estimate:?}");
        assert!((got.intercept.unwrap().coefficient + 3f64.ln()).abs() < 1e-12);
        assert!((got.terms[0].vif.unwrap() - 1.0).abs() < 1e-12);
        let ll = 2.0 * (0.25f64.ln() + 3.0 * 0.75f64.ln());
        assert!((got.log_likelihood - ll).abs() < 1e-12 && (got.aic - (4.0 - 2.0 * ll)).abs() < 1e-12);
        assert!((got.log_likelihood_null - 8.0 * 0.5f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn separation_is_told_apart_and_its_features_named() {
        // the first feature separates, the second has nothing to do with it
        let noise = [0.3, -1.0, 0.8, 0.1, -0.5, 1.2, -0.9, 0.4];
        let x = |first: [f64; 8]| Array2::from_shape_fn((8, 2), |(i, j)| if j == 0 { first[i] } else { noise[i] });
        let labels = [false, false, false, false, true, true, true, true];
        let complete = fit(x([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), &labels);
        assert_eq!(complete.status, FitStatus::Separated);
        assert!(complete.terms[0].separates && complete.terms[0].estimate.is_none() && complete.intercept.is_none());
        assert!(complete.notes()[0].starts_with("warning: the features separate the classes completely (by `f0`"));
        assert!(complete.log_likelihood.abs() < 1e-7, "the supremum is 0: {}", complete.log_likelihood);
        // rows of both classes at 4: three rows are left, of which one positive
        let quasi = fit(x([1.0, 2.0, 4.0, 4.0, 4.0, 6.0, 7.0, 8.0]).slice(s![.., ..1]).to_owned(), &labels);
        assert_eq!(quasi.status, FitStatus::QuasiSeparated);
        assert!(quasi.terms[0].separates);
        let supremum = (1.0 / 3.0f64).ln() + 2.0 * (2.0 / 3.0f64).ln();
        assert!((quasi.log_likelihood - supremum).abs() < 1e-7, "{} against {supremum}", quasi.log_likelihood);
        // overlap by one row is enough for a maximum
        let mixed = fit(x([1.0, 2.0, 3.0, 5.5, 5.0, 6.0, 7.0, 8.0]).slice(s![.., ..1]).to_owned(), &labels);
        assert_eq!(mixed.status, FitStatus::Converged);
    }

    #[test]
    fn a_feature_that_is_zero_but_for_positives_separates_alone() {
        // 0/1 feature never 1 in a negative row: its coefficient runs away, the other's does not
        let x = Array2::from_shape_fn((40, 2), |(i, j)| match j {
            0 => f64::from(u8::from(i % 8 == 0)),
            _ => (i as f64 * 7.7) % 3.0,
        });
        let labels: Vec<bool> = (0..40).map(|i| i % 8 == 0 || (i * 5) % 7 < 3).collect();
        let got = fit(x, &labels);
        assert_eq!(got.status, FitStatus::QuasiSeparated);
        assert_eq!(got.terms.iter().map(|term| term.separates).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn constant_and_collinear_features_are_left_out_and_said() {
        let x = Array2::from_shape_fn((30, 4), |(i, j)| {
            let (a, b) = ((i * 7 % 11) as f64, (i * 5 % 13) as f64);
            [a, 0.3, b, 2.0 * a - b + 1.0][j]
        });
        let labels: Vec<bool> = (0..30).map(|i| i * 7 % 11 > 5 || i % 4 == 0).collect();
        let got = fit(x.clone(), &labels);
        let left_out: Vec<Option<LeftOut>> = got.terms.iter().map(|term| term.left_out).collect();
        assert_eq!(left_out, [None, Some(LeftOut::Constant), None, Some(LeftOut::Collinear)]);
        assert_eq!((got.status, got.n_parameters), (FitStatus::Converged, 3));
        assert!(
            got.notes()[0].contains("`f1`: it has the same value") && got.notes()[1].contains("`f3`: the features")
        );
        let without = fit(x.select(Axis(1), &[0, 2]), &labels);
        assert_eq!(without.log_likelihood, got.log_likelihood);
    }

    #[test]
    fn a_large_but_finite_effect_is_not_called_separation() {
        // 1 of 3000 against 2999 of 3000: log-odds of ±8
        let x = Array2::from_shape_fn((6000, 1), |(i, _)| f64::from(u8::from(i >= 3000)));
        let labels: Vec<bool> = (0..6000).map(|i| i == 0 || i > 3000).collect();
        let got = fit(x, &labels);
        assert_eq!(got.status, FitStatus::Converged);
        assert!((got.terms[0].estimate.unwrap().coefficient - 2.0 * 2999f64.ln()).abs() < 1e-9);
    }
}
