//! From a learner's scores to probabilities that can be taken at their word: Platt's sigmoid and isotonic regression.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use veridiff_text::named;

use crate::{
    DetectorError, EvalSettings, LabelledRows,
    evaluation::predictions::{Predictions, Predictor, pool},
    learners::logistic::logit,
    learners::newton::{Objective, newton},
    sigmoid,
};

/// How scores are calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CalibrationMethod {
    /// A sigmoid of the log-odds, two numbers (Platt 1999): right for few rows.
    #[default]
    Platt,
    /// The best non-decreasing function: right for some thousand rows.
    Isotonic,
    /// The learner's own probabilities.
    None,
}

named!(CalibrationMethod, "calibration", "platt" => Platt, "isotonic" => Isotonic, "none" => None);

/// A non-decreasing function from a learner's probability to a calibrated one, 0 to 1 both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case", deny_unknown_fields)]
pub enum Calibration {
    /// `sigmoid(slope · logit(p) + intercept)`.
    Platt {
        /// Below 1 where the learner is too sure of itself; never negative.
        slope: f64,
        /// Log-odds where the learner says one half.
        intercept: f64,
    },
    /// Straight lines between knots, level outside them.
    Isotonic {
        /// The learner's probabilities, ascending.
        scores: Vec<f64>,
        /// Calibrated ones at these, ascending.
        probabilities: Vec<f64>,
    },
}

/// Newton steps after which Platt's fit is given up; it takes about five.
const MAX_STEPS: usize = 100;

/// Log-odds beyond which a probability says nothing more; keeps a learner's 0 and 1 finite.
const MAX_LOG_ODDS: f64 = 30.0;

fn bounded_logit(p: f64) -> f64 {
    logit(p).clamp(-MAX_LOG_ODDS, MAX_LOG_ODDS)
}

impl Calibration {
    /// Fits to probabilities of rows that the learner was not trained on. None without a method, or where the rows have one
    /// class only.
    ///
    /// # Panics
    /// If there is not one label per probability.
    pub fn fit(method: CalibrationMethod, probabilities: &[f64], labels: &[bool]) -> Option<Self> {
        assert_eq!(probabilities.len(), labels.len(), "one label per probability");
        if !labels.contains(&true) || !labels.contains(&false) {
            return None;
        }
        match method {
            CalibrationMethod::None => None,
            CalibrationMethod::Platt => Some(platt(probabilities, labels)),
            CalibrationMethod::Isotonic => Some(isotonic(probabilities, labels)),
        }
    }

    /// The calibrated probability; NaN for NaN.
    pub fn apply(&self, p: f64) -> f64 {
        match self {
            Calibration::Platt { slope, intercept } => sigmoid(slope * bounded_logit(p) + intercept),
            Calibration::Isotonic { scores, probabilities } => {
                if p.is_nan() {
                    return p;
                }
                let above = scores.partition_point(|score| *score < p);
                match (above.checked_sub(1), scores.get(above)) {
                    (None, _) => probabilities[0],
                    (Some(below), None) => probabilities[below],
                    (Some(below), Some(_)) => {
                        let (x, y) = (&scores[below..=above], &probabilities[below..=above]);
                        y[0] + (y[1] - y[0]) * ((p - x[0]) / (x[1] - x[0]))
                    }
                }
            }
        }
    }

    /// What is wrong with one that was read from a file, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Calibration::Platt { slope, intercept } => {
                let is_good = slope.is_finite() && *slope >= 0.0 && intercept.is_finite();
                (!is_good).then(|| format!("`calibration` has slope {slope} and intercept {intercept}"))
            }
            Calibration::Isotonic { scores, probabilities } => {
                let in_range = scores.iter().chain(probabilities).all(|value| (0.0..=1.0).contains(value));
                let ascends = |values: &[f64], strictly: bool| {
                    values.windows(2).all(|pair| if strictly { pair[0] < pair[1] } else { pair[0] <= pair[1] })
                };
                let is_good = !scores.is_empty()
                    && scores.len() == probabilities.len()
                    && in_range
                    && ascends(scores, true)
                    && ascends(probabilities, false);
                (!is_good).then(|| "`calibration` is no ascending list of knots from 0 to 1".to_owned())
            }
        }
    }
}

/// The loss of `sigmoid(slope · x + intercept)` against targets from 0 to 1.
struct SigmoidFit {
    x: Vec<f64>,
    targets: Vec<f64>,
}

/// A slope and an intercept with their loss.
struct Line {
    slope: f64,
    intercept: f64,
    loss: f64,
}

impl SigmoidFit {
    fn at(&self, slope: f64, intercept: f64) -> Line {
        // −ln likelihood, stable for any log-odds z: ln(1 + e^z) − t z
        let of_row = |(x, t): (&f64, &f64)| {
            let z = slope * x + intercept;
            z.max(0.0) + (-z.abs()).exp().ln_1p() - t * z
        };
        Line { slope, intercept, loss: self.x.iter().zip(&self.targets).map(of_row).sum() }
    }
}

impl Objective for SigmoidFit {
    type Point = Line;
    type Step = [f64; 2];
    type End = ();

    fn step(&self, at: &Line) -> Result<[f64; 2], ()> {
        let (mut g, mut h) = ([0.0; 2], [1e-12, 0.0, 1e-12]); // gradient; Hessian's three entries, never singular
        for (x, t) in self.x.iter().zip(&self.targets) {
            let p = sigmoid(at.slope * x + at.intercept);
            let (residual, weight) = (p - t, p * (1.0 - p));
            g = [g[0] + residual * x, g[1] + residual];
            h = [h[0] + weight * x * x, h[1] + weight * x, h[2] + weight];
        }
        if g[0].abs().max(g[1].abs()) < 1e-10 * self.x.len() as f64 {
            return Err(());
        }
        let determinant = h[0] * h[2] - h[1] * h[1];
        Ok([(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant])
    }

    fn better(&self, at: &Line, step: &[f64; 2], fraction: f64) -> Option<Line> {
        let there = self.at(at.slope - fraction * step[0], at.intercept - fraction * step[1]);
        (there.loss < at.loss).then_some(there)
    }

    fn arrived(&self, _: &[f64; 2]) -> Option<()> {
        None
    }
}

/// Platt's fit: maximum likelihood of two numbers for smoothed targets, (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2) in place of 1 and
/// 0 (Platt 1999), by Newton steps that are halved until they help (Lin, Lin and Weng 2007). A learner that is worse than
/// chance would get a negative slope; its verdicts are not turned round, the slope is 0 then.
fn platt(probabilities: &[f64], labels: &[bool]) -> Calibration {
    let n_positive = labels.iter().filter(|label| **label).count() as f64;
    let n_negative = labels.len() as f64 - n_positive;
    let targets: Vec<f64> = labels
        .iter()
        .map(|&label| if label { (n_positive + 1.0) / (n_positive + 2.0) } else { 1.0 / (n_negative + 2.0) })
        .collect();
    let x: Vec<f64> = probabilities.iter().map(|&p| bounded_logit(p)).collect();
    let mean_target = targets.iter().sum::<f64>() / targets.len() as f64;
    let sigmoid_fit = SigmoidFit { x, targets };
    let start = sigmoid_fit.at(0.0, bounded_logit(mean_target));
    let Line { mut slope, mut intercept, .. } = newton(&sigmoid_fit, start, MAX_STEPS).point;
    if slope < 0.0 {
        (slope, intercept) = (0.0, bounded_logit(mean_target));
    }
    Calibration::Platt { slope, intercept }
}

/// Isotonic regression by pooling adjacent violators; knots at both ends of every level.
fn isotonic(probabilities: &[f64], labels: &[bool]) -> Calibration {
    struct Level {
        first: f64,
        last: f64,
        n: f64,
        positives: f64,
    }
    impl Level {
        fn mean(&self) -> f64 {
            self.positives / self.n
        }
    }
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut levels: Vec<Level> = Vec::new();
    for i in order {
        let (p, positive) = (probabilities[i], f64::from(u8::from(labels[i])));
        match levels.last_mut() {
            // equal scores are one point
            Some(level) if level.first == p && level.last == p => {
                level.n += 1.0;
                level.positives += positive;
            }
            _ => levels.push(Level { first: p, last: p, n: 1.0, positives: positive }),
        }
    }
    let mut pooled: Vec<Level> = Vec::new();
    for mut level in levels {
        while let Some(before) = pooled.pop_if(|before| before.mean() >= level.mean()) {
            level = Level {
                first: before.first,
                last: level.last,
                n: before.n + level.n,
                positives: before.positives + level.positives,
            };
        }
        pooled.push(level);
    }
    let (mut scores, mut values) = (Vec::new(), Vec::new());
    for level in &pooled {
        scores.push(level.first);
        values.push(level.mean());
        if level.last > level.first {
            scores.push(level.last);
            values.push(level.mean());
        }
    }
    Calibration::Isotonic { scores, probabilities: values }
}

/// Calibrated probabilities of the rows that `held_out`, the learner's out-of-fold scores over these columns, has scored. Neither the
/// learner nor its calibration has seen them: for each fold the learner's scores are calibrated on what learners trained without
/// it and one more fold say about that one. Each pair of folds is left out once, and scored for the calibration of both. None where a
/// fold's calibration has nothing to learn from: there are two folds, or what is left beside two has one class.
pub(crate) fn calibrated_out_of_fold(
    rows: &LabelledRows,
    columns: &[usize],
    held_out: &Predictions,
    method: CalibrationMethod,
    folds: &[usize],
    settings: EvalSettings,
) -> Result<Option<Vec<f64>>, DetectorError> {
    if method == CalibrationMethod::None {
        return Ok(Some(held_out.scores.clone()));
    }
    let n_folds = settings.n_folds;
    let pairs: Vec<(usize, usize)> = (0..n_folds).flat_map(|a| (a + 1..n_folds).map(move |b| (a, b))).collect();
    let without = pairs.par_iter().map(|&(a, b)| {
        let split = (0..rows.len()).partition(|&row| folds[row] != a && folds[row] != b);
        pool(rows, Predictor::Combination(columns), std::iter::once(split), settings)
    });
    let without = without.collect::<Result<Vec<_>, _>>()?;
    let calibration_of = |fold: usize| {
        let mut inner: Vec<(usize, f64)> = Vec::new();
        for (pair, scored) in pairs.iter().zip(&without).filter(|((a, b), _)| *a == fold || *b == fold) {
            let other = if pair.0 == fold { pair.1 } else { pair.0 };
            let of_other = scored.rows.iter().zip(&scored.scores).filter(|(row, _)| folds[**row] == other);
            inner.extend(of_other.map(|(&row, &score)| (row, score)));
        }
        inner.sort_by_key(|(row, _)| *row);
        let labels: Vec<bool> = inner.iter().map(|(row, _)| rows.labels[*row]).collect();
        let scores: Vec<f64> = inner.iter().map(|(_, score)| *score).collect();
        Calibration::fit(method, &scores, &labels)
    };
    let calibrations: Vec<Option<Calibration>> = (0..n_folds).map(calibration_of).collect();
    let apply = |(&row, &p): (&usize, &f64)| Some(calibrations[folds[row]].as_ref()?.apply(p));
    Ok(held_out.rows.iter().zip(&held_out.scores).map(apply).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bootstrap, Learner, evaluation::predictions::out_of_fold, grouped_folds, toy};

    #[test]
    fn knots_of_pooled_violators() {
        // 0.1: 0, 0.2: 1, 0.3: 0 (a violation, pooled with 0.2), 0.4: 1
        let (p, labels) = ([0.3, 0.1, 0.4, 0.2], [false, false, true, true]);
        let fitted = Calibration::fit(CalibrationMethod::Isotonic, &p, &labels).unwrap();
        let want = Calibration::Isotonic { scores: vec![0.1, 0.2, 0.3, 0.4], probabilities: vec![0.0, 0.5, 0.5, 1.0] };
        assert_eq!(fitted, want);
        for (p, want) in [(0.0, 0.0), (0.1, 0.0), (0.15, 0.25), (0.25, 0.5), (0.35, 0.75), (0.4, 1.0), (0.9, 1.0)] {
            assert!((fitted.apply(p) - want).abs() < 1e-12, "{p}: {}", fitted.apply(p));
        }
        assert!(fitted.apply(f64::NAN).is_nan() && fitted.fault().is_none());
    }

    #[test]
    fn equal_scores_are_one_knot() {
        let fitted = Calibration::fit(CalibrationMethod::Isotonic, &[0.5; 4], &[true, false, false, false]).unwrap();
        assert_eq!(fitted, Calibration::Isotonic { scores: vec![0.5], probabilities: vec![0.25] });
        assert_eq!(fitted.apply(0.2), 0.25);
    }

    #[test]
    fn platt_is_where_its_gradient_vanishes_and_undoes_a_distortion() {
        // the learner says 0.88 and 0.12 where 0.75 and 0.25 are right
        let p: Vec<f64> = (0..4000).map(|i| if i % 2 == 0 { 0.88 } else { 0.12 }).collect();
        let labels: Vec<bool> = (0..4000).map(|i| (i / 2 % 4 == 0) != (i % 2 == 0)).collect();
        let fitted = Calibration::fit(CalibrationMethod::Platt, &p, &labels).unwrap();
        // targets are smoothed by one row of each class: within 1e-3
        assert!((fitted.apply(0.88) - 0.75).abs() < 1e-3, "{fitted:?}");
        assert!((fitted.apply(0.12) - 0.25).abs() < 1e-3, "{fitted:?}");
        assert!(fitted.apply(0.0) > 0.0 && fitted.apply(1.0) < 1.0 && fitted.apply(f64::NAN).is_nan());
    }

    #[test]
    fn a_learner_worse_than_chance_says_nothing() {
        let labels = [true, true, true, false, false];
        let fitted = Calibration::fit(CalibrationMethod::Platt, &[0.1, 0.2, 0.3, 0.8, 0.9], &labels).unwrap();
        assert_eq!(fitted.apply(0.1), fitted.apply(0.9));
        // (3 · 4/5 + 2 · 1/4) / 5
        assert!((fitted.apply(0.5) - 0.58).abs() < 1e-9, "{fitted:?}");
        assert_eq!(Calibration::fit(CalibrationMethod::Platt, &[0.1, 0.2], &[true, true]), None);
    }

    #[test]
    fn nested_folds_are_what_training_each_anew_gives() {
        let rows = toy::two_features(120);
        let (n, labels) = (rows.len(), &rows.labels);
        let bootstrap = Bootstrap { n_resamples: 0, seed: 1 };
        for learner in [Learner::Logistic, Learner::Boosted, Learner::Forest, Learner::Mixed] {
            let settings = EvalSettings { n_folds: 4, l2: 1.0, learner, bootstrap };
            let folds = grouped_folds(labels, &rows.groups, 4, 1).unwrap();
            let (columns, method) = ([0, 1], CalibrationMethod::Platt);
            let held_out = out_of_fold(&rows, Predictor::Combination(&columns), &folds, settings).unwrap();
            let got = calibrated_out_of_fold(&rows, &columns, &held_out, method, &folds, settings).unwrap().unwrap();
            let with = |keep: &dyn Fn(usize) -> bool| (0..n).filter(|&row| keep(folds[row])).collect::<Vec<usize>>();
            for fold in 0..4 {
                let train = |rest: &dyn Fn(usize) -> bool, test: usize| {
                    let split = (with(rest), with(&|f| f == test));
                    pool(&rows, Predictor::Combination(&columns), std::iter::once(split), settings).unwrap()
                };
                let mut inner: Vec<(usize, f64)> = Vec::new();
                for other in (0..4).filter(|&other| other != fold) {
                    let scored = train(&|f| f != fold && f != other, other);
                    inner.extend(scored.rows.into_iter().zip(scored.scores));
                }
                inner.sort_by_key(|(row, _)| *row);
                let (numbers, scores): (Vec<usize>, Vec<f64>) = inner.into_iter().unzip();
                let inner_labels: Vec<bool> = numbers.iter().map(|&row| labels[row]).collect();
                let calibration = Calibration::fit(method, &scores, &inner_labels).unwrap();
                let tested = train(&|f| f != fold, fold);
                for (&row, &score) in tested.rows.iter().zip(&tested.scores) {
                    // the same operations in the same order
                    assert_eq!(got[row], calibration.apply(score), "row {row}");
                }
            }
        }
    }

    #[test]
    fn two_folds_leave_nothing_to_calibrate_by() {
        let rows = toy::two_features(120);
        let bootstrap = Bootstrap { n_resamples: 0, seed: 1 };
        let settings = EvalSettings { n_folds: 2, l2: 1.0, learner: Learner::Logistic, bootstrap };
        let folds = grouped_folds(&rows.labels, &rows.groups, 2, 1).unwrap();
        let held_out = out_of_fold(&rows, Predictor::Combination(&[0, 1]), &folds, settings).unwrap();
        let by = |method| calibrated_out_of_fold(&rows, &[0, 1], &held_out, method, &folds, settings).unwrap();
        assert_eq!(by(CalibrationMethod::Platt), None);
        assert_eq!(by(CalibrationMethod::None), Some(held_out.scores.clone()));
    }

    #[test]
    fn a_damaged_file_is_found_out() {
        let knots = |scores: &[f64], probabilities: &[f64]| {
            Calibration::Isotonic { scores: scores.to_vec(), probabilities: probabilities.to_vec() }.fault()
        };
        assert!(knots(&[0.1, 0.2], &[0.0, 1.0]).is_none());
        for (scores, probabilities) in [
            (&[] as &[f64], &[] as &[f64]),
            (&[0.1], &[0.0, 1.0]),
            (&[0.2, 0.1], &[0.0, 1.0]),
            (&[0.1, 0.2], &[1.0, 0.0]),
            (&[0.1, f64::NAN], &[0.0, 1.0]),
            (&[0.1, 0.2], &[0.0, 1.5]),
        ] {
            assert!(knots(scores, probabilities).is_some(), "{scores:?} {probabilities:?}");
        }
        assert!(Calibration::Platt { slope: -1.0, intercept: 0.0 }.fault().is_some());
    }
}
