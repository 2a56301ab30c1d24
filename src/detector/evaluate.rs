//! How well features and their combination tell hallucinated rows: out-of-fold figures over everything, within each
//! generator, and on generators never seen.
//!
//! Who wrote a text already predicts its label, so a pooled figure rewards recognising a style. The mean of the AUCs
//! within generators cannot be won that way, and leaving one generator out shows what carries over to a new one.

use ndarray::Axis;
use rayon::prelude::*;
use serde::Serialize;

use super::{
    Bootstrap, Detector, DetectorError, Interval, LabelledRows, Scored, auc_interval, best_threshold, fit_logistic,
    grouped_folds, roc::mean, roc_auc,
};

/// How an evaluation is made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EvalSettings {
    /// Folds; at least 2.
    pub n_folds: usize,
    /// L2 penalty of the logistic regression; see [`fit_logistic`].
    pub l2: f64,
    /// Intervals. Its seed draws the folds too.
    pub bootstrap: Bootstrap,
}

/// Which way a feature points, as the training rows say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Higher values are more often hallucinated.
    Higher,
    /// Lower values are more often hallucinated.
    Lower,
    /// The folds' training rows disagree: the feature says little.
    Mixed,
}

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictorKind {
    /// One feature.
    Feature,
    /// Logistic regression over all chosen features, fitted on the training folds.
    Combination,
    /// A detector fitted before, applied as it is.
    Detector,
}

/// The figures of one predictor on one set of rows. Rates are 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Rows with a prediction.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// Groups (diffs) among them.
    pub n_groups: usize,
    /// ROC-AUC; null when the rows have one class only.
    pub auc: Option<f64>,
    /// Its 95% interval; null when there is none to give.
    pub interval: Option<Interval>,
    /// Share of right verdicts at the threshold that is best on the training rows; null without rows.
    pub accuracy: Option<f64>,
    /// Share of the larger class: what always answering the same would score; null without rows.
    pub majority: Option<f64>,
}

/// A figure with the generator whose rows it is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorFigure {
    /// The generator's name.
    pub generator: String,
    /// Figures on its rows.
    #[serde(flatten)]
    pub figure: Figure,
}

/// Unweighted mean over the generators that have both classes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanFigure {
    /// How many generators entered.
    pub n_generators: usize,
    /// Mean of their AUCs; null if none entered.
    pub auc: Option<f64>,
    /// Its 95% interval.
    pub interval: Option<Interval>,
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
    /// Each generator.
    pub per_generator: Vec<GeneratorFigure>,
}

/// Everything about one predictor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictorEvaluation {
    /// The feature's name, `combination`, or the detector's id.
    pub name: String,
    /// What it is.
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
}

/// The whole evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Rows used.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// Groups (diffs) among them.
    pub n_groups: usize,
    /// Rows left out for want of a label.
    pub n_unlabelled: usize,
    /// Labelled rows left out for want of a chosen feature.
    pub n_incomplete: usize,
    /// The generators, sorted.
    pub generators: Vec<String>,
    /// How it was made.
    pub settings: EvalSettings,
    /// One entry for every feature, then the combination; or the detector alone.
    pub predictors: Vec<PredictorEvaluation>,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
}

/// Evaluates every single feature, and their combination last.
///
/// # Errors
/// [`DetectorError::OneClass`], [`DetectorError::TooFewRows`], [`DetectorError::TooFewGroups`], and those of
/// [`fit_logistic`].
pub fn evaluate(rows: &LabelledRows, settings: EvalSettings) -> Result<Evaluation, DetectorError> {
    require_both_classes(rows)?;
    let n_features = rows.feature_names.len();
    if rows.len() < n_features {
        return Err(DetectorError::TooFewRows { n_rows: rows.len(), n_features });
    }
    let folds = grouped_folds(&rows.labels, &rows.groups, settings.n_folds, settings.bootstrap.seed)?;
    let mut predictors: Vec<Predictor> = (0..n_features).map(Predictor::Feature).collect();
    predictors.push(Predictor::Combination);
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
    require_both_classes(rows)?;
    let probabilities: Vec<f64> = rows.features.outer_iter().map(|row| detector.predict(&row.to_vec())).collect();
    let predictions = Predictions {
        flagged: probabilities.iter().map(|p| *p >= detector.threshold).collect(),
        scores: probabilities,
        rows: (0..rows.len()).collect(),
        direction: None,
    };
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

fn require_both_classes(rows: &LabelledRows) -> Result<(), DetectorError> {
    let n_positive = rows.n_positive();
    if n_positive == 0 || n_positive == rows.len() {
        return Err(DetectorError::OneClass { label: u8::from(n_positive > 0), n_rows: rows.len() });
    }
    Ok(())
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
    }
}

/// What the folds could not provide.
pub(super) fn fold_notes(rows: &LabelledRows, folds: &[usize], n_folds: usize) -> Vec<String> {
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

/// Something that can be trained on some rows and score others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Predictor {
    /// A feature's column.
    Feature(usize),
    /// Logistic regression over all features.
    Combination,
}

/// Scores of rows by predictors that did not see them in training.
#[derive(Debug, Clone)]
pub(super) struct Predictions {
    /// Which rows have a prediction, ascending.
    pub(super) rows: Vec<usize>,
    /// Their scores; higher means more likely hallucinated.
    pub(super) scores: Vec<f64>,
    /// Whether each is called hallucinated.
    flagged: Vec<bool>,
    direction: Option<Direction>,
}

/// What training on one split gave for its test rows.
struct SplitScores {
    test: Vec<usize>,
    scores: Vec<f64>,
    flagged: Vec<bool>,
    /// For a feature: its sign, and the training mean of the signed feature.
    orientation: Option<(f64, f64)>,
}

/// Trains on `train` and scores `test`; `None` when training rows have one class only.
fn train_and_score(
    rows: &LabelledRows,
    predictor: Predictor,
    train: &[usize],
    test: Vec<usize>,
    l2: f64,
) -> Result<Option<SplitScores>, DetectorError> {
    let labels: Vec<bool> = train.iter().map(|&row| rows.labels[row]).collect();
    if labels.iter().all(|label| *label) || !labels.contains(&true) {
        return Ok(None);
    }
    let (train_scores, scores, orientation) = match predictor {
        Predictor::Feature(column) => {
            let of = |chosen: &[usize]| chosen.iter().map(|&r| rows.features[[r, column]]).collect::<Vec<f64>>();
            let raw = of(train);
            let sign = if roc_auc(&raw, &labels) >= Some(0.5) { 1.0 } else { -1.0 };
            let signed = |values: Vec<f64>| values.into_iter().map(|x| sign * x).collect::<Vec<f64>>();
            let train_scores = signed(raw);
            let center = mean(train_scores.iter().copied()).unwrap_or(0.0);
            (train_scores, signed(of(&test)), Some((sign, center)))
        }
        Predictor::Combination => {
            let fitted = fit_logistic(rows.features.select(Axis(0), train).view(), &labels, l2)?;
            let of = |chosen: &[usize]| {
                chosen.iter().map(|&row| fitted.predict(&rows.features.row(row).to_vec())).collect::<Vec<f64>>()
            };
            (of(train), of(&test), None)
        }
    };
    let threshold = best_threshold(&train_scores, &labels).map_or(f64::MAX, |threshold| threshold.value);
    let flagged = scores.iter().map(|score| *score >= threshold).collect();
    Ok(Some(SplitScores { test, scores, flagged, orientation }))
}

/// Trains and scores on every split (train, test) and pools the test rows.
fn pool(
    rows: &LabelledRows,
    predictor: Predictor,
    splits: impl Iterator<Item = (Vec<usize>, Vec<usize>)>,
    l2: f64,
) -> Result<Predictions, DetectorError> {
    let mut parts = Vec::new();
    for (train, test) in splits {
        if !test.is_empty() {
            parts.extend(train_and_score(rows, predictor, &train, test, l2)?);
        }
    }
    let mut signs = parts.iter().filter_map(|part| part.orientation).map(|(sign, _)| sign);
    let direction = signs.next().map(|first| match (first, signs.all(|sign| sign == first)) {
        (_, false) => Direction::Mixed,
        (sign, true) if sign > 0.0 => Direction::Higher,
        _ => Direction::Lower,
    });
    let mut pooled = Vec::new();
    for part in parts {
        // Values of opposite signs share no scale until each is measured from its training mean. Where all splits agree,
        // the feature itself is the score, and its AUC is the raw one or its mirror image.
        let center = match (direction, part.orientation) {
            (Some(Direction::Mixed), Some((_, center))) => center,
            _ => 0.0,
        };
        let scores = part.scores.into_iter().map(|score| score - center);
        pooled.extend(part.test.into_iter().zip(scores).zip(part.flagged));
    }
    pooled.sort_by_key(|((row, _), _)| *row);
    let ((rows, scores), flagged) = pooled.into_iter().unzip();
    Ok(Predictions { rows, scores, flagged, direction })
}

/// Every row scored by a predictor trained on the other folds.
pub(super) fn out_of_fold(
    rows: &LabelledRows,
    predictor: Predictor,
    folds: &[usize],
    settings: EvalSettings,
) -> Result<Predictions, DetectorError> {
    let splits = (0..settings.n_folds).map(|fold| (0..rows.len()).partition(|&row| folds[row] != fold));
    pool(rows, predictor, splits, settings.l2)
}

fn evaluate_predictor(
    rows: &LabelledRows,
    predictor: Predictor,
    folds: &[usize],
    settings: EvalSettings,
) -> Result<PredictorEvaluation, DetectorError> {
    let predictions = out_of_fold(rows, predictor, folds, settings)?;
    let (within_generators, per_generator) = by_generator(rows, &predictions, settings.bootstrap);

    let generators = rows.generator_names();
    let leave_one_generator_out = if generators.len() < 2 {
        None
    } else {
        let splits = generators.iter().flat_map(|left_out| (0..settings.n_folds).map(move |fold| (left_out, fold)));
        let splits = splits.map(|(left_out, fold)| {
            // A row without a generator may be the left-out one's: it takes no part.
            let named = (0..rows.len()).filter(|&row| rows.generators[row].is_some());
            let (test, others): (Vec<usize>, Vec<usize>) =
                named.partition(|&row| rows.generators[row].as_ref() == Some(left_out));
            let train = others.into_iter().filter(|&row| folds[row] != fold).collect();
            (train, test.into_iter().filter(|&row| folds[row] == fold).collect())
        });
        let predictions = pool(rows, predictor, splits, settings.l2)?;
        let (within_generators, per_generator) = by_generator(rows, &predictions, settings.bootstrap);
        let pooled = predictions.figure(rows, settings.bootstrap);
        Some(LeaveOneOut { pooled, within_generators, per_generator })
    };
    let (name, kind, raw_auc) = match predictor {
        Predictor::Feature(column) => {
            let raw_auc = roc_auc(&rows.features.column(column).to_vec(), &rows.labels);
            (rows.feature_names[column].clone(), PredictorKind::Feature, raw_auc)
        }
        Predictor::Combination => ("combination".to_owned(), PredictorKind::Combination, None),
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
    })
}

/// The figures within each generator, and the mean of their AUCs.
fn by_generator(
    rows: &LabelledRows,
    predictions: &Predictions,
    bootstrap: Bootstrap,
) -> (MeanFigure, Vec<GeneratorFigure>) {
    let parts: Vec<(String, Predictions)> = rows
        .generator_names()
        .into_iter()
        .map(|generator| {
            let part = predictions.only(|row| rows.generators[row].as_ref() == Some(&generator));
            (generator, part)
        })
        .collect();
    let figures: Vec<GeneratorFigure> = parts
        .iter()
        .map(|(generator, part)| GeneratorFigure { generator: generator.clone(), figure: part.figure(rows, bootstrap) })
        .collect();
    let aucs: Vec<f64> = figures.iter().filter_map(|g| g.figure.auc).collect();
    let columns: Vec<(Vec<bool>, Vec<usize>, &[f64])> = parts
        .iter()
        .zip(&figures)
        .filter(|(_, figure)| figure.figure.auc.is_some())
        .map(|((_, part), _)| (part.labels(rows), rows.groups.of_rows(&part.rows), part.scores.as_slice()))
        .collect();
    let strata: Vec<Scored> =
        columns.iter().map(|(labels, groups, scores)| Scored { scores, labels, groups }).collect();
    let mean_figure = MeanFigure {
        n_generators: aucs.len(),
        auc: mean(aucs.iter().copied()),
        interval: auc_interval(&strata, bootstrap),
    };
    (mean_figure, figures)
}

impl Predictions {
    /// Those of the rows that `keep` accepts.
    fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.rows.len()).filter(|&i| keep(self.rows[i])).collect();
        Self {
            rows: kept.iter().map(|&i| self.rows[i]).collect(),
            scores: kept.iter().map(|&i| self.scores[i]).collect(),
            flagged: kept.iter().map(|&i| self.flagged[i]).collect(),
            direction: self.direction,
        }
    }

    pub(super) fn labels(&self, rows: &LabelledRows) -> Vec<bool> {
        self.rows.iter().map(|&row| rows.labels[row]).collect()
    }

    pub(super) fn figure(&self, rows: &LabelledRows, bootstrap: Bootstrap) -> Figure {
        let labels = self.labels(rows);
        let groups = rows.groups.of_rows(&self.rows);
        let n = labels.len();
        let n_positive = labels.iter().filter(|label| **label).count();
        let n_right = labels.iter().zip(&self.flagged).filter(|(label, flagged)| label == flagged).count();
        let rate = |count: usize| (n > 0).then(|| count as f64 / n as f64);
        let auc = roc_auc(&self.scores, &labels);
        let interval = auc.and_then(|_| {
            auc_interval(&[Scored { scores: &self.scores, labels: &labels, groups: &groups }], bootstrap)
        });
        let mut distinct = groups;
        distinct.sort_unstable();
        distinct.dedup();
        Figure {
            n,
            n_positive,
            n_groups: distinct.len(),
            auc,
            interval,
            accuracy: rate(n_right),
            majority: rate(n_positive.max(n - n_positive)),
        }
    }
}
