//! Fitting a detector: a model of all rows, judged and calibrated by models that did not see the rows they scored.

use std::collections::BTreeMap;

use ndarray::Axis;
use serde::Serialize;
use veridiff_table::catalogue::element_of;

use crate::{
    Calibration, CalibrationFigure, CalibrationMethod, Decision, DecisionRule, Detector, DetectorError,
    DetectorFeature, Domain, EvalSettings, Figure, LabelledRows, Learner, Logistic, Model, Operation, Regression,
    Scaling, Training, TrainingRows,
    artefact::{file::fingerprint, recalibration::calibrated_out_of_fold},
    best_threshold, calibration,
    evaluation::{
        evaluate::{fold_notes, usable_folds},
        predictions::{Predictions, Predictor, out_of_fold, train},
    },
    fit_logistic, quantiles, roc_auc,
};

/// How a detector is fitted, and what is written down about its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// Penalty, folds, seed, intervals.
    pub eval: EvalSettings,
    /// The `--where` clauses that chose the rows.
    pub where_clauses: Vec<String>,
    /// The feature table's metadata.
    pub table: BTreeMap<String, String>,
    /// Kinds and lengths of its rows.
    pub domain: Domain,
    /// How its probabilities are calibrated.
    pub calibration: CalibrationMethod,
    /// How its verdicts are reached.
    pub rule: DecisionRule,
}

impl FitSettings {
    /// All rows of a table, Platt's calibration and the most accurate threshold.
    pub fn new(eval: EvalSettings, table: BTreeMap<String, String>) -> Self {
        FitSettings {
            eval,
            where_clauses: Vec::new(),
            table,
            domain: Domain::default(),
            calibration: CalibrationMethod::default(),
            rule: DecisionRule::default(),
        }
    }
}

/// A fitted detector with the figures that judge it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The detector, fitted on all rows.
    pub detector: Detector,
    /// ROC-AUC on the rows it was fitted on: flattering.
    pub auc_in_sample: Option<f64>,
    /// Figures from models that did not see the rows they scored, each with its own training folds' threshold.
    pub out_of_fold: Figure,
    /// How far calibrated probabilities can be taken at their word, on rows that neither learner nor calibration saw.
    pub calibrated: Option<CalibrationFigure>,
    /// What the verdicts are worth, each fold's with thresholds of the others.
    pub operation: Operation,
    /// Rows left out for want of a label.
    pub n_unlabelled: usize,
    /// Labelled rows left out for want of a chosen feature.
    pub n_incomplete: usize,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
}

/// Fits a detector to all rows, with a threshold and figures from cross-validation.
///
/// # Errors
/// [`DetectorError::OneClass`], [`DetectorError::TooFewRows`], [`DetectorError::TooFewGroups`],
/// [`DetectorError::NoFeatures`] without features, and those of [`fit_logistic`].
pub fn fit_detector(rows: &LabelledRows, settings: FitSettings) -> Result<Fit, DetectorError> {
    if rows.feature_names.is_empty() {
        return Err(DetectorError::NoFeatures { columns: Vec::new() });
    }
    let eval = settings.eval;
    let folds = usable_folds(rows, eval)?;
    let learnt = learn(rows, eval)?;
    let judged = judge(rows, &learnt, &folds, eval)?;
    let decided = decide(rows, &judged, &folds, &settings)?;

    let mut notes = rows_notes(rows, &learnt);
    notes.extend(fold_notes(rows, &folds, eval.n_folds));
    if judged.in_sample_threshold {
        notes.push("no row has an out-of-fold prediction, so the threshold is the best one in sample".into());
    }
    if !decided.is_calibrated {
        notes.push(
            "warning: probabilities are the learner's own, not calibrated: that takes three folds with both labels at least; \
             raise --folds, or label more diffs"
                .into(),
        );
    }
    if decided.decision.unsupported_from > 1.0 {
        let rule = settings.rule;
        notes.push(format!("warning: no threshold reaches `{rule}`, so no text will be called unsupported"));
    }
    let auc_in_sample = roc_auc(&learnt.in_sample, &rows.labels);
    let out_of_fold = judged.held_out.figure(rows, eval.bootstrap);
    let training = training(rows, settings, auc_in_sample, out_of_fold.auc);
    Ok(Fit {
        auc_in_sample,
        out_of_fold,
        calibrated: decided.calibrated,
        operation: decided.operation,
        n_unlabelled: rows.n_unlabelled,
        n_incomplete: rows.n_incomplete,
        notes,
        detector: detector(rows, learnt, judged.threshold, decided.calibration, decided.decision, training),
    })
}

/// What all rows teach.
struct Learnt {
    model: Model,
    /// The features' means and spreads over all training rows.
    scaling: Scaling,
    /// The plain logistic regression of the same rows; none beside a stack, whose members each have a penalty of their own.
    regression: Option<Logistic>,
    /// The model's probabilities of the rows that it was trained on.
    in_sample: Vec<f64>,
}

/// Learns from all rows.
fn learn(rows: &LabelledRows, eval: EvalSettings) -> Result<Learnt, DetectorError> {
    let (columns, every): (Vec<usize>, Vec<usize>) =
        ((0..rows.feature_names.len()).collect(), (0..rows.len()).collect());
    let training = rows.training(&columns, &every, &[]);
    let scaling = Scaling::fit(training.features.view())?;
    let fitted = |rows: &TrainingRows| fit_logistic(rows.features.view(), &rows.labels, eval.l2);
    let regression = (eval.learner != Learner::Stack).then(|| fitted(&training)).transpose()?;
    let model = match (eval.learner, &regression) {
        (Learner::Logistic, Some(regression)) => Model::Logistic(regression.clone().into()),
        (learner, _) => train(rows, &columns, learner, (&every, &[]), eval)?,
    };
    let in_sample = rows.features.axis_iter(Axis(0)).map(|row| model.predict(&row.to_vec())).collect();
    Ok(Learnt { model, scaling, regression, in_sample })
}

/// What models that did not see a row say of it.
struct Judged {
    held_out: Predictions,
    /// The most accurate one.
    threshold: f64,
    /// Whether that is for want of scores out of fold the most accurate one in sample.
    in_sample_threshold: bool,
}

/// Scores every row by a model of the other folds.
fn judge(rows: &LabelledRows, learnt: &Learnt, folds: &[usize], eval: EvalSettings) -> Result<Judged, DetectorError> {
    let columns: Vec<usize> = (0..rows.feature_names.len()).collect();
    let held_out = out_of_fold(rows, Predictor::Combination(&columns), folds, eval)?;
    let best = best_threshold(&held_out.scores, &held_out.labels(rows));
    let threshold = best.or_else(|| best_threshold(&learnt.in_sample, &rows.labels)).map_or(0.5, |best| best.value);
    Ok(Judged { held_out, threshold, in_sample_threshold: best.is_none() })
}

/// What becomes of a model's probabilities.
struct Decided {
    calibration: Option<Calibration>,
    /// Whether they could be calibrated, if that was asked for.
    is_calibrated: bool,
    decision: Decision,
    calibrated: Option<CalibrationFigure>,
    operation: Operation,
}

/// Calibrates probabilities and chooses where they become verdicts, by the rows' scores out of fold.
fn decide(
    rows: &LabelledRows,
    judged: &Judged,
    folds: &[usize],
    settings: &FitSettings,
) -> Result<Decided, DetectorError> {
    let (eval, method, rule) = (settings.eval, settings.calibration, settings.rule);
    let (held_out, columns): (_, Vec<usize>) = (&judged.held_out, (0..rows.feature_names.len()).collect());
    let labels = held_out.labels(rows);
    let calibrated = calibrated_out_of_fold(rows, &columns, held_out, method, folds, eval)?;
    // thresholds that are chosen on one scale are not put on another
    let is_calibrated = calibrated.is_some();
    let probabilities = calibrated.unwrap_or_else(|| held_out.scores.clone());
    let tested_folds: Vec<usize> = held_out.rows.iter().map(|&row| folds[row]).collect();
    Ok(Decided {
        calibration: Calibration::fit(method, &held_out.scores, &labels).filter(|_| is_calibrated),
        is_calibrated,
        decision: Decision::choose(rule, &probabilities, &labels),
        calibrated: calibration(&probabilities, &labels),
        operation: Operation::out_of_fold(rule, (&probabilities, &labels), &tested_folds, eval.n_folds),
    })
}

/// Writes down what a detector is trained on.
fn training(
    rows: &LabelledRows,
    settings: FitSettings,
    auc_in_sample: Option<f64>,
    auc_out_of_fold: Option<f64>,
) -> Training {
    let FitSettings { eval, where_clauses, table, domain, .. } = settings;
    let mut groups: Vec<String> = rows.groups.names.iter().map(|name| fingerprint(name)).collect();
    groups.sort_unstable();
    Training {
        program: concat!("veridiff", " ", env!("CARGO_PKG_VERSION")).to_owned(),
        n_rows: rows.len(),
        n_positive: rows.n_positive(),
        n_groups: rows.groups.names.len(),
        n_mismatched: rows.mismatched.len(),
        where_clauses,
        n_folds: eval.n_folds,
        seed: eval.bootstrap.seed,
        auc_in_sample,
        auc_out_of_fold,
        table,
        domain,
        groups,
    }
}

/// Puts a detector together.
fn detector(
    rows: &LabelledRows,
    learnt: Learnt,
    threshold: f64,
    calibration: Option<Calibration>,
    decision: Decision,
    training: Training,
) -> Detector {
    let scaling = &learnt.scaling;
    let features = rows.feature_names.iter().zip(rows.features.axis_iter(Axis(1)));
    let features = features.zip(scaling.mean.iter().zip(&scaling.scale)).map(|((name, column), (&mean, &scale))| {
        // nobody looks up one of hundreds
        let there = || column.iter().copied().filter(|x| !x.is_nan()).collect::<Vec<f64>>();
        let quantiles = if element_of(name).is_some() { Vec::new() } else { quantiles(&there()) };
        DetectorFeature { name: name.clone(), mean, scale, quantiles }
    });
    let features = features.collect();
    let regression = learnt.regression.filter(|_| learnt.model.learner() != Learner::Logistic).map(Regression::from);
    Detector::new(features, learnt.model, regression, threshold, calibration, Some(decision), training)
}

/// What a reader of the figures should know of the rows and of the plain regression's fit.
fn rows_notes(rows: &LabelledRows, learnt: &Learnt) -> Vec<String> {
    let mut notes = Vec::new();
    for &column in &learnt.scaling.constant {
        notes.push(format!("`{}` has the same value in every row and gets no weight", rows.feature_names[column]));
    }
    if let Some(fitted) = learnt.regression.as_ref().filter(|fitted| !fitted.converged) {
        notes.push(format!(
            "warning: the fit did not converge (largest gradient {:.1e} per row); raise --l2 or choose fewer features",
            fitted.gradient
        ));
    }
    notes.extend(rows.mismatched.note());
    notes.extend(rows.partial_note());
    if rows.ungrouped {
        notes.push("the table has no `group` column, so every row is a group of its own".into());
    }
    notes
}
