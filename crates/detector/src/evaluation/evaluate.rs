//! How well features and their combination tell hallucinated rows: out-of-fold figures over everything, within each
//! generator, and on generators never seen.
//!
//! Who wrote a text already predicts its label, so a pooled figure rewards recognising a style. The mean of the AUCs
//! within generators cannot be won that way, and leaving one generator out shows what carries over to a new one.

use rayon::prelude::*;
use serde::Serialize;

use crate::{
    Analyses, Binning, Bootstrap, CalibrationBin, Detector, DetectorError, Direction, Figure, GeneratorFigure,
    Homogeneity, Interval, LabelledRows, Learner, MeanFigure, RocPoint, calibration_bins,
    evaluation::mistakes::Mistakes,
    evaluation::predictions::{Predictions, Predictor, by_generator, new_generator_splits, out_of_fold, pool},
    grouped_folds, homogeneity, roc_auc, roc_curve,
    rows::require_both_classes,
};

/// How an evaluation is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EvalSettings {
    /// How many folds there are, at least 2.
    pub n_folds: usize,
    /// L2 penalty of the logistic regression; see [`fit_logistic`](crate::fit_logistic).
    pub l2: f64,
    /// What is made of the features together.
    pub learner: Learner,
    /// Intervals. Its seed draws the folds too.
    pub bootstrap: Bootstrap,
}

/// What gives the scores that an evaluation judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictorKind {
    /// A single feature, turned the way it points on the training rows.
    Feature,
    /// What the learner makes of all chosen features, fitted on the training folds.
    Combination,
    /// A detector fitted before, applied as it is.
    Detector,
}

/// Figures when no row of a tested generator was trained on.
///
/// For every generator and fold: trained on the *other* generators' rows *outside* the fold, tested on the generator's
/// rows in it, so that neither the writer nor the diff was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeaveOneOut {
    /// All generators' rows together.
    pub pooled: Figure,
    /// Mean of the AUCs within generators.
    pub within_generators: MeanFigure,
    /// Figures of each generator, sorted by name.
    pub per_generator: Vec<GeneratorFigure>,
}

/// The rows with one value in a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueFigure {
    /// The value; null for rows without one.
    pub value: Option<String>,
    /// The figures of the predictor on those rows.
    #[serde(flatten)]
    pub figure: Figure,
}

/// Figures by the values of a column of the user's choice, out of fold. With the hallucination's type or the language as
/// the column, `n_positive` is the labels' distribution, `n_flagged` that of the rows called hallucinated and
/// `n_true_positive` that of the hallucinations found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnFigures {
    /// The name of the table's column.
    pub column: String,
    /// Figures of each value that the column has, sorted.
    pub values: Vec<ValueFigure>,
    /// Whether the share of hallucinated rows that are found (recall) differs between the values; null when it cannot
    /// be told.
    pub recall: Option<Homogeneity>,
}

/// What to draw a predictor's probabilities by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curves {
    /// The ROC curve, from the highest threshold to the lowest.
    pub roc: Vec<RocPoint>,
    /// Reliability bins of equal width.
    pub calibration_equal_width: Vec<CalibrationBin>,
    /// Reliability bins of equally many rows.
    pub calibration_equal_mass: Vec<CalibrationBin>,
}

/// Everything about one predictor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictorEvaluation {
    /// The feature's name, `combination`, or the detector's id.
    pub name: String,
    /// Whether it is a feature, the learner on all of them, or a detector.
    pub kind: PredictorKind,
    /// Which way a feature points; null for the others.
    pub direction: Option<Direction>,
    /// AUC of the feature as stored, higher taken as hallucinated, without folds; null for the others.
    pub raw_auc: Option<f64>,
    /// Over all rows, out of fold.
    pub overall: Figure,
    /// Mean of the AUCs within generators, out of fold.
    pub within_generators: MeanFigure,
    /// Each generator, out of fold.
    pub per_generator: Vec<GeneratorFigure>,
    /// On generators left out of training; null with fewer than two generators, and for a detector.
    pub leave_one_generator_out: Option<LeaveOneOut>,
    /// By each column that was asked for.
    pub by: Vec<ColumnFigures>,
    /// What to draw its probabilities by; null for features, which are none.
    pub curves: Option<Curves>,
    /// The rows that it has most wrong; null for features.
    pub mistakes: Option<Mistakes>,
}

/// All that `eval` has to say of a table's rows; its JSON is this.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// How many rows were judged.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// Groups (diffs) among them.
    pub n_groups: usize,
    /// Rows left out for want of a label.
    pub n_unlabelled: usize,
    /// Labelled rows left out for want of a chosen feature.
    pub n_incomplete: usize,
    /// The names of the rows' generators, sorted.
    pub generators: Vec<String>,
    /// The settings that the figures were made with.
    pub settings: EvalSettings,
    /// One entry for every feature, then the combination; or the detector alone.
    pub predictors: Vec<PredictorEvaluation>,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
    /// What was analysed beside, where asked for: each under a key of its own.
    #[serde(flatten)]
    pub analyses: Analyses,
}

/// Evaluates every single feature, and their combination last.
///
/// # Errors
/// [`DetectorError::OneClass`], [`DetectorError::TooFewRows`], [`DetectorError::TooFewGroups`], and those of
/// [`fit_logistic`](crate::fit_logistic).
pub fn evaluate(rows: &LabelledRows, settings: EvalSettings) -> Result<Evaluation, DetectorError> {
    let folds = usable_folds(rows, settings)?;
    let all: Vec<usize> = (0..rows.feature_names.len()).collect();
    // an element of a list says nothing by itself, and there are hundreds
    let single = all.iter().copied().filter(|&column| !rows.kinds[column].is_element);
    let mut predictors: Vec<Predictor> = single.map(Predictor::Feature).collect();
    predictors.push(Predictor::Combination(&all));
    let predictors = predictors
        .par_iter()
        .map(|&predictor| evaluate_predictor(rows, predictor, &folds, settings))
        .collect::<Result<Vec<_>, _>>()?;
    let mut evaluation = summary(rows, settings, predictors);
    evaluation.notes.extend(fold_notes(rows, &folds, settings.n_folds));
    Ok(evaluation)
}

/// Evaluates a detector fitted before. Its scores are taken as they are: nothing is trained, so there are no folds and
/// no generator is left out. `rows` must hold the detector's features in its order.
///
/// # Errors
/// [`DetectorError::OneClass`].
pub fn apply_detector(
    detector: &Detector,
    rows: &LabelledRows,
    settings: EvalSettings,
) -> Result<Evaluation, DetectorError> {
    require_both_classes(&rows.labels)?;
    // as `check` has them: calibrated, and flagged from where a text is called unsupported
    let probabilities: Vec<f64> = rows.features.outer_iter().map(|row| detector.probability(&row.to_vec())).collect();
    let predictions = Predictions::of_detector(probabilities, detector.objects_from());
    let (within_generators, per_generator) = by_generator(rows, &predictions, settings.bootstrap);
    let evaluated = PredictorEvaluation {
        name: detector.id().to_owned(),
        kind: PredictorKind::Detector,
        direction: None,
        raw_auc: None,
        overall: predictions.figure(rows, settings.bootstrap),
        within_generators,
        per_generator,
        leave_one_generator_out: None,
        by: by_columns(rows, &predictions, settings.bootstrap),
        curves: Some(curves(rows, &predictions)),
        mistakes: Some(Mistakes::of(rows, &predictions)),
    };
    let mut evaluation = summary(rows, settings, vec![evaluated]);
    let seen = detector.n_training_rows_in(rows);
    if seen > 0 {
        evaluation.notes.push(format!(
            "warning: {seen} of {} rows belong to groups (diffs) that the detector was trained on, so these figures \
             flatter it; without --detector the figures are out of fold",
            rows.len()
        ));
    }
    Ok(evaluation)
}

/// How well a score orders rows that says itself which way it points, such as a judge's from 0 to 4.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// ROC-AUC over all rows, higher taken as hallucinated; null where the rows have one class only.
    pub auc: Option<f64>,
    /// Its 95% interval by the bootstrap over groups.
    pub interval: Option<Interval>,
    /// Mean of the AUCs within generators.
    pub within_generators: MeanFigure,
}

/// How well a feature orders the rows as it stands. Nothing is trained, not even which way it points, so there are no folds, and a
/// score that is upside down has an AUC below a half.
///
/// # Errors
/// [`DetectorError::OneClass`].
///
/// # Panics
/// If the rows have no such column.
pub fn rank_as_it_stands(rows: &LabelledRows, column: usize, bootstrap: Bootstrap) -> Result<Ranking, DetectorError> {
    require_both_classes(&rows.labels)?;
    let predictions = Predictions::of_detector(rows.features.column(column).to_vec(), f64::INFINITY);
    let overall = predictions.figure(rows, bootstrap);
    let within_generators = by_generator(rows, &predictions, bootstrap).0;
    Ok(Ranking { auc: overall.auc, interval: overall.interval, within_generators })
}

/// The folds of rows that can be evaluated.
pub(crate) fn usable_folds(rows: &LabelledRows, settings: EvalSettings) -> Result<Vec<usize>, DetectorError> {
    require_both_classes(&rows.labels)?;
    let n_features = rows.kinds.iter().filter(|column| !column.is_element).count();
    if rows.len() < n_features {
        return Err(DetectorError::TooFewRows { n_rows: rows.len(), n_features });
    }
    grouped_folds(&rows.labels, &rows.groups, settings.n_folds, settings.bootstrap.seed)
}

fn summary(rows: &LabelledRows, settings: EvalSettings, predictors: Vec<PredictorEvaluation>) -> Evaluation {
    let mut notes = Vec::new();
    let mut left_out = |count: usize, why: &str| {
        if count > 0 {
            notes.push(format!("left out: {count} of the rows, for {why}"));
        }
    };
    left_out(rows.n_unlabelled, "want of a label");
    left_out(rows.n_incomplete, "want of a chosen feature");
    notes.extend(rows.mismatched.note());
    notes.extend(rows.partial_note());
    if rows.ungrouped {
        notes.push("the table has no `group` column, so every row is a group of its own".into());
    }
    let generators = rows.generator_names();
    let anonymous = rows.generators.iter().filter(|generator| generator.is_none()).count();
    if generators.is_empty() {
        notes.push("the table names no generators, so there are no figures by generator".into());
    } else if anonymous > 0 {
        notes.push(format!("{anonymous} rows name no generator and are left out of the figures by generator"));
    }
    let one_class: Vec<&str> = predictors
        .first()
        .into_iter()
        .flat_map(|predictor| &predictor.per_generator)
        .filter(|g| g.figure.auc.is_none())
        .map(|g| g.generator.as_str())
        .collect();
    if !one_class.is_empty() {
        notes.push(format!("no AUC within {}: one class only", one_class.join(", ")));
    }
    Evaluation {
        n: rows.len(),
        n_positive: rows.n_positive(),
        n_groups: rows.groups.names.len(),
        n_unlabelled: rows.n_unlabelled,
        n_incomplete: rows.n_incomplete,
        generators,
        settings,
        predictors,
        notes,
        analyses: Analyses::default(),
    }
}

/// What the folds could not provide.
pub(crate) fn fold_notes(rows: &LabelledRows, folds: &[usize], n_folds: usize) -> Vec<String> {
    let mut notes = Vec::new();
    for fold in 0..n_folds {
        let one_class = |inside: bool| {
            let mut labels = (0..rows.len()).filter(|&row| (folds[row] == fold) == inside).map(|row| rows.labels[row]);
            let first = labels.next();
            labels.all(|label| Some(label) == first)
        };
        if one_class(false) {
            notes
                .push(format!("fold {}: the rows outside it have one class, so its rows have no prediction", fold + 1));
        } else if one_class(true) {
            notes.push(format!("fold {} has one class only; it counts in the pooled figures", fold + 1));
        }
    }
    notes
}

fn evaluate_predictor(
    rows: &LabelledRows,
    predictor: Predictor,
    folds: &[usize],
    settings: EvalSettings,
) -> Result<PredictorEvaluation, DetectorError> {
    let predictions = out_of_fold(rows, predictor, folds, settings)?;
    let (within_generators, per_generator) = by_generator(rows, &predictions, settings.bootstrap);

    let leave_one_generator_out = if rows.generator_names().len() < 2 {
        None
    } else {
        let splits = new_generator_splits(rows, folds, settings.n_folds);
        let predictions = pool(rows, predictor, splits, settings)?;
        let (within_generators, per_generator) = by_generator(rows, &predictions, settings.bootstrap);
        let pooled = predictions.figure(rows, settings.bootstrap);
        Some(LeaveOneOut { pooled, within_generators, per_generator })
    };
    let (name, kind, raw_auc) = match predictor {
        Predictor::Feature(column) => {
            let raw_auc = roc_auc(&rows.features.column(column).to_vec(), &rows.labels);
            (rows.feature_names[column].clone(), PredictorKind::Feature, raw_auc)
        }
        Predictor::Combination(_) | Predictor::Stepwise(_) => {
            ("combination".to_owned(), PredictorKind::Combination, None)
        }
    };
    Ok(PredictorEvaluation {
        name,
        kind,
        direction: predictions.direction,
        raw_auc,
        overall: predictions.figure(rows, settings.bootstrap),
        within_generators,
        per_generator,
        leave_one_generator_out,
        by: by_columns(rows, &predictions, settings.bootstrap),
        curves: (kind == PredictorKind::Combination).then(|| curves(rows, &predictions)),
        mistakes: (kind == PredictorKind::Combination).then(|| Mistakes::of(rows, &predictions)),
    })
}

/// The figures by the values of each column that the rows carry.
fn by_columns(rows: &LabelledRows, predictions: &Predictions, bootstrap: Bootstrap) -> Vec<ColumnFigures> {
    let figures = |values: &[Option<String>]| -> Vec<ValueFigure> {
        let mut distinct: Vec<&Option<String>> = values.iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct
            .into_iter()
            .map(|value| ValueFigure {
                value: value.clone(),
                figure: predictions.only(|row| values[row] == *value).figure(rows, bootstrap),
            })
            .collect()
    };
    let of_column = |(column, values): &(String, Vec<Option<String>>)| {
        let values = figures(values);
        let recalls: Vec<(usize, usize)> =
            values.iter().map(|v| (v.figure.n_positive, v.figure.n_true_positive)).collect();
        ColumnFigures { column: column.clone(), values, recall: homogeneity(&recalls) }
    };
    rows.by.iter().map(of_column).collect()
}

fn curves(rows: &LabelledRows, predictions: &Predictions) -> Curves {
    let labels = predictions.labels(rows);
    Curves {
        roc: roc_curve(&predictions.scores, &labels),
        calibration_equal_width: calibration_bins(&predictions.scores, &labels, Binning::EqualWidth),
        calibration_equal_mass: calibration_bins(&predictions.scores, &labels, Binning::EqualMass),
    }
}
