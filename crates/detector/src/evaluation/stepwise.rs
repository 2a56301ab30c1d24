//! Stepwise choice of features by Akaike's information criterion (IEEE Transactions on Automatic Control 1974).
//!
//! A choice made on some rows flatters itself on the same rows: its p-values are too small and its in-sample AUC too
//! high. What the procedure is worth is told by making the choice anew within each training fold; see
//! [`evaluate_stepwise`](crate::evaluate_stepwise).

use ndarray::{Array1, ArrayView2};
use rayon::prelude::*;
use serde::Serialize;
use veridiff_text::named;

use crate::{
    DetectorError, FitStatus, LikelihoodFit,
    learners::maximum_likelihood::{Design, Maximum, Tolerance},
};

/// Least fall of the criterion that counts; below it, rounding would decide.
const MIN_GAIN: f64 = 1e-7;

/// Where a stepwise choice starts, and which steps it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepDirection {
    /// From no feature, each step adding one.
    Forward,
    /// From all features, each step removing one.
    Backward,
    /// From all features, removing or adding, whichever is better.
    Both,
}

named!(StepDirection, "direction", "forward" => Forward, "backward" => Backward, "both" => Both);

/// What a step of the choice did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepAction {
    /// A feature came into the model.
    Add,
    /// A feature went out of the model.
    Remove,
}

/// One step of a stepwise choice: the one that lowers the criterion most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Whether a feature was added or removed.
    pub action: StepAction,
    /// The column of the feature that came in or went out.
    pub feature: String,
    /// How many features are in the model after the step.
    pub n_features: usize,
    /// Akaike's criterion after the step; less is better.
    pub aic: f64,
}

/// A stepwise choice of features.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stepwise {
    /// Where the choice started, and which steps it was allowed.
    pub direction: StepDirection,
    /// Akaike's criterion at the start.
    pub start_aic: f64,
    /// The steps, each the best one there was; among equals, the first feature's.
    pub steps: Vec<Step>,
    /// Candidates that did not converge (separated classes are not among them) and were passed over.
    pub n_failed: usize,
    /// The chosen features, in the order of the table.
    pub selected: Vec<String>,
    /// The fit on them. Its p-values do not know of the choice.
    pub fit: LikelihoodFit,
}

impl Stepwise {
    /// What a reader of the choice should know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.fit.notes_about("the chosen features");
        if self.n_failed > 0 {
            notes.push(format!(
                "warning: {} fits on the way did not converge, and their features were passed over there",
                self.n_failed
            ));
        }
        notes
    }
}

/// Chooses features `[n, F]` (all finite) for a logistic regression of the labels by steps that lower Akaike's criterion.
///
/// Constant features, and those that earlier ones explain entirely, are never chosen; the fit names them.
///
/// # Errors
/// [`DetectorError::OneClass`], [`DetectorError::Overflow`].
///
/// # Panics
/// If there is not one name a column, one label and group a row.
pub fn stepwise(
    features: ArrayView2<f64>,
    names: &[String],
    labels: &[bool],
    groups: &[usize],
    direction: StepDirection,
) -> Result<Stepwise, DetectorError> {
    assert_eq!(names.len(), features.ncols(), "one name a feature");
    let design = Design::new(features, labels)?;
    let search = search(&design, direction);
    let steps = search.steps.iter().map(|&(action, column, n_features, aic)| Step {
        action,
        feature: names[column].clone(),
        n_features,
        aic,
    });
    let start = (search.maximum.status == FitStatus::Converged).then_some(search.maximum.weights);
    let maximum = design.maximise(&search.chosen, start, Tolerance::Coefficients);
    Ok(Stepwise {
        direction,
        start_aic: search.start_aic,
        steps: steps.collect(),
        n_failed: search.n_failed,
        selected: search.chosen.iter().map(|&column| names[column].clone()).collect(),
        fit: design.describe(&search.chosen, &maximum, names, groups),
    })
}

/// The columns that [`stepwise`] chooses, ascending.
pub(crate) fn select(
    features: ArrayView2<f64>,
    labels: &[bool],
    direction: StepDirection,
) -> Result<Vec<usize>, DetectorError> {
    Ok(search(&Design::new(features, labels)?, direction).chosen)
}

struct Search {
    start_aic: f64,
    /// (what, which column, features then, criterion then)
    steps: Vec<(StepAction, usize, usize, f64)>,
    n_failed: usize,
    chosen: Vec<usize>,
    maximum: Maximum,
}

fn search(design: &Design, direction: StepDirection) -> Search {
    let mut chosen = if direction == StepDirection::Forward { Vec::new() } else { design.usable.clone() };
    let mut maximum = design.maximise(&chosen, None, Tolerance::Criterion);
    let (start_aic, mut steps, mut n_failed) = (maximum.aic(), Vec::new(), 0);
    loop {
        let moves: Vec<(StepAction, usize)> = design
            .usable
            .iter()
            .map(
                |&column| {
                    if chosen.contains(&column) { (StepAction::Remove, column) } else { (StepAction::Add, column) }
                },
            )
            .filter(|(action, _)| match direction {
                StepDirection::Forward => *action == StepAction::Add,
                StepDirection::Backward => *action == StepAction::Remove,
                StepDirection::Both => true,
            })
            .collect();
        let candidates: Vec<(Vec<usize>, Maximum)> = moves
            .par_iter()
            .map(|&(action, column)| {
                let (columns, start) = neighbour(&chosen, &maximum, action, column);
                let found = design.maximise(&columns, start, Tolerance::Criterion);
                (columns, found)
            })
            .collect();
        n_failed += candidates.iter().filter(|(_, found)| found.status == FitStatus::NotConverged).count();
        let best = candidates
            .into_iter()
            .zip(moves)
            .filter(|((_, found), _)| found.status != FitStatus::NotConverged)
            .min_by(|((_, a), _), ((_, b), _)| a.aic().total_cmp(&b.aic()));
        match best {
            // a start that did not converge has no criterion to beat
            Some(((columns, found), (action, column)))
                if found.aic() < maximum.aic() - MIN_GAIN || maximum.status == FitStatus::NotConverged =>
            {
                steps.push((action, column, columns.len(), found.aic()));
                (chosen, maximum) = (columns, found);
            }
            _ => return Search { start_aic, steps, n_failed, chosen, maximum },
        }
    }
}

/// The columns after a move, and the weights to begin with: those of the features that stay. Where classes are
/// separated, they have run away, and beginning afresh is faster.
fn neighbour(
    chosen: &[usize],
    maximum: &Maximum,
    action: StepAction,
    column: usize,
) -> (Vec<usize>, Option<Array1<f64>>) {
    let position = chosen.partition_point(|&c| c < column);
    let (mut columns, mut weights) = (chosen.to_vec(), maximum.weights.to_vec());
    match action {
        StepAction::Add => {
            columns.insert(position, column);
            weights.insert(position, 0.0);
        }
        StepAction::Remove => {
            columns.remove(position);
            weights.remove(position);
        }
    }
    (columns, (maximum.status == FitStatus::Converged).then(|| Array1::from(weights)))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// `n` rows of `k` features, each mixed with the one before it; every third has a weight.
    fn rows(n: usize, k: usize, seed: u64) -> (Array2<f64>, Vec<String>, Vec<bool>, Vec<usize>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut x = Array2::from_shape_simple_fn((n, k), || {
            (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0 // nearly normal, variance 1
        });
        for j in 1..k {
            for i in 0..n {
                x[[i, j]] += 0.5 * x[[i, j - 1]];
            }
        }
        let labels = (0..n)
            .map(|i| {
                let log_odds: f64 = (0..k).step_by(3).map(|j| 0.4 * x[[i, j]]).sum();
                rng.random_bool(crate::sigmoid(log_odds - 0.5))
            })
            .collect();
        (x, (0..k).map(|j| format!("f{j}")).collect(), labels, (0..n).map(|i| i / 3).collect())
    }

    #[test]
    fn every_direction_ends_where_no_single_step_helps() {
        let (x, names, labels, groups) = rows(900, 8, 4);
        let design = Design::new(x.view(), &labels).unwrap();
        for direction in [StepDirection::Forward, StepDirection::Backward, StepDirection::Both] {
            let got = stepwise(x.view(), &names, &labels, &groups, direction).unwrap();
            let chosen: Vec<usize> = (0..8).filter(|&j| got.selected.contains(&names[j])).collect();
            // the search stops at 1e-9 of the log-likelihood
            assert!((got.steps.last().unwrap().aic - got.fit.aic).abs() < 1e-7, "{direction:?}");
            assert!(got.steps.windows(2).all(|pair| pair[1].aic < pair[0].aic), "{direction:?}");
            let allowed = |j: &usize| match direction {
                StepDirection::Forward => !chosen.contains(j),
                StepDirection::Backward => chosen.contains(j),
                StepDirection::Both => true,
            };
            for column in (0..8).filter(allowed) {
                let mut other = chosen.clone();
                match other.iter().position(|&c| c == column) {
                    Some(position) => drop(other.remove(position)),
                    None => other.push(column),
                }
                assert!(
                    design.maximise(&other, None, Tolerance::Criterion).aic() > got.fit.aic - 1e-6,
                    "{direction:?} {column}"
                );
            }
            // 900 rows: the standard error is about 2 / sqrt 900, the weights of 0.4 six times that
            assert!(["f0", "f3", "f6"].iter().all(|f| got.selected.iter().any(|s| s == f)), "{:?}", got.selected);
        }
    }

    #[test]
    fn noise_alone_may_choose_nothing() {
        let labels: Vec<bool> = (0..40).map(|i| i % 2 == 0).collect();
        let x = Array2::from_shape_fn((40, 1), |(i, _)| (i / 2) as f64);
        let got =
            stepwise(x.view(), &["f".into()], &labels, &(0..40).collect::<Vec<_>>(), StepDirection::Backward).unwrap();
        assert!(got.selected.is_empty() && got.steps.len() == 1, "{got:?}");
        assert_eq!((got.fit.n_parameters, got.fit.likelihood_ratio_p), (1, None));
        assert!((got.fit.aic - (2.0 + 80.0 * 2f64.ln())).abs() < 1e-10);
    }

    #[test]
    fn separation_on_the_way_is_told_by_the_fit() {
        let (mut x, names, labels, groups) = rows(60, 4, 1);
        labels.iter().enumerate().for_each(|(i, &label)| x[[i, 2]] = f64::from(u8::from(label)) + 0.01 * i as f64);
        for direction in [StepDirection::Forward, StepDirection::Backward, StepDirection::Both] {
            let got = stepwise(x.view(), &names, &labels, &groups, direction).unwrap();
            assert_eq!(got.fit.status, FitStatus::Separated, "{direction:?}");
            assert_eq!(got.selected, ["f2"], "{direction:?}: one feature does what all could");
        }
    }

    /// Prints what the choice costs; run it with `cargo test --release --lib stepwise_speed -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement: 10,000 rows by 26 features take seconds"]
    #[expect(clippy::print_stdout, reason = "its output is the measurement")]
    fn stepwise_speed() {
        let (x, names, labels, groups) = rows(10_000, 26, 7);
        for direction in [StepDirection::Forward, StepDirection::Backward, StepDirection::Both] {
            let start = std::time::Instant::now();
            let got = stepwise(x.view(), &names, &labels, &groups, direction).unwrap();
            let seconds = start.elapsed().as_secs_f64();
            println!("{direction:?}: {} steps, {} features, {seconds:.2} s", got.steps.len(), got.selected.len());
            assert!(seconds < 5.0, "{direction:?} took {seconds:.2} s");
        }
    }
}
