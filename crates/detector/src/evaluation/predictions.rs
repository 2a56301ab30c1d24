//! Scores of rows by predictors that did not see them in training, and every figure of such scores.

use ndarray::Axis;
use serde::Serialize;

use crate::{
    Bootstrap, CalibrationFigure, Correlation, Delong, DetectorError, EvalSettings, Interval, LabelledRows,
    LearnSettings, Learner, Model, Scored, StepDirection, auc_interval, average_precision, best_threshold, calibration,
    delong, evaluation::stepwise::select, point_biserial, roc_auc, statistics::roc::mean,
};

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

/// The figures of one predictor on one set of rows. Rates are 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// How many rows have a prediction.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// Groups (diffs) among them.
    pub n_groups: usize,
    /// ROC-AUC; null when the rows have one class only.
    pub auc: Option<f64>,
    /// Its 95% bootstrap interval; null when there is none to give.
    pub interval: Option<Interval>,
    /// Its standard error and interval by DeLong, with groups; null unless two groups have each class.
    pub delong: Option<Delong>,
    /// Average precision; null without hallucinated rows. Worth nothing is `n_positive / n`.
    pub average_precision: Option<f64>,
    /// Share of right verdicts at the threshold that is best on the training rows; null without rows.
    pub accuracy: Option<f64>,
    /// Share of the larger class: what always answering the same would score; null without rows.
    pub majority: Option<f64>,
    /// Rows called hallucinated at that threshold.
    pub n_flagged: usize,
    /// How many of the rows called hallucinated are.
    pub n_true_positive: usize,
    /// How far the scores are probabilities; null for features, which are none.
    pub calibration: Option<CalibrationFigure>,
    /// Point-biserial correlation of the labels with the scores; of a feature, as stored, whatever its direction, so that
    /// no training enters. Null when either does not vary.
    pub correlation: Option<Correlation>,
    /// The same predictor trained on all rows and judged on these: flattering. Null where nothing is trained.
    pub in_sample: Option<InSample>,
}

/// Figures of a predictor on rows that it was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InSample {
    /// ROC-AUC; null when the rows have one class only.
    pub auc: Option<f64>,
    /// Share of right verdicts at the threshold that is best on all rows; null without rows.
    pub accuracy: Option<f64>,
}

/// Unweighted mean over the generators that have both classes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanFigure {
    /// How many generators entered.
    pub n_generators: usize,
    /// Mean of their AUCs; null if none entered.
    pub auc: Option<f64>,
    /// The 95% interval of the mean.
    pub interval: Option<Interval>,
}

/// A figure with the generator whose rows it is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorFigure {
    /// The name of the generator, as the table has it.
    pub generator: String,
    /// The figures of the predictor on the generator's rows.
    #[serde(flatten)]
    pub figure: Figure,
}

/// Something that can be trained on some rows and score others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Predictor<'a> {
    /// A feature's column.
    Feature(usize),
    /// What the settings' learner makes of these columns.
    Combination(&'a [usize]),
    /// Penalised logistic regression over columns that are chosen on the training rows.
    Stepwise(StepDirection),
}

/// Scores of rows by predictors that did not see them in training.
#[derive(Debug, Clone)]
pub(crate) struct Predictions {
    /// Which rows have a prediction, ascending.
    pub(crate) rows: Vec<usize>,
    /// Their scores; higher means more likely hallucinated.
    pub(crate) scores: Vec<f64>,
    /// Whether each is called hallucinated.
    pub(crate) flagged: Vec<bool>,
    /// For a feature.
    pub(crate) direction: Option<Direction>,
    /// The feature's column; none where the scores are probabilities.
    pub(crate) column: Option<usize>,
    /// The columns that entered, of every split one after another.
    pub(crate) chosen: Vec<usize>,
    /// Scores and verdicts of the same rows by the predictor trained on all rows.
    pub(crate) in_sample: Option<(Vec<f64>, Vec<bool>)>,
}

/// What training on one split gave for its test rows.
struct SplitScores {
    test: Vec<usize>,
    scores: Vec<f64>,
    flagged: Vec<bool>,
    /// For a feature: its sign, and the training mean of the signed feature.
    orientation: Option<(f64, f64)>,
    chosen: Vec<usize>,
}

/// What a learner makes of these columns in the training rows of a split (train, test).
pub(crate) fn train(
    rows: &LabelledRows,
    columns: &[usize],
    learner: Learner,
    (train, test): (&[usize], &[usize]),
    settings: EvalSettings,
) -> Result<Model, DetectorError> {
    let settings = LearnSettings { l2: settings.l2, seed: settings.bootstrap.seed };
    learner.fit(&rows.training(columns, train, test), settings)
}

/// Trains on `train` and scores `test`; `None` when training rows have one class only.
fn train_and_score(
    rows: &LabelledRows,
    predictor: Predictor,
    train: &[usize],
    mut test: Vec<usize>,
    settings: EvalSettings,
) -> Result<Option<SplitScores>, DetectorError> {
    let mut train = train.to_vec();
    if let Predictor::Feature(column) = predictor {
        // a feature alone says nothing of rows that lack it
        let has = |row: &usize| !rows.features[[*row, column]].is_nan();
        train.retain(has);
        test.retain(has);
    }
    let labels: Vec<bool> = train.iter().map(|&row| rows.labels[row]).collect();
    if labels.iter().all(|label| *label) || !labels.contains(&true) {
        return Ok(None);
    }
    let combine = |chosen: Vec<usize>, learner: Learner| {
        let features = rows.features.select(Axis(1), &chosen);
        let fitted = self::train(rows, &chosen, learner, (&train, &test), settings)?;
        let of =
            |rows: &[usize]| rows.iter().map(|&row| fitted.predict(&features.row(row).to_vec())).collect::<Vec<f64>>();
        Ok::<_, DetectorError>((of(&train), of(&test), None, chosen))
    };
    let (train_scores, scores, orientation, chosen) = match predictor {
        Predictor::Feature(column) => {
            let of = |chosen: &[usize]| chosen.iter().map(|&r| rows.features[[r, column]]).collect::<Vec<f64>>();
            let raw = of(&train);
            let sign = if roc_auc(&raw, &labels) >= Some(0.5) { 1.0 } else { -1.0 };
            let signed = |values: Vec<f64>| values.into_iter().map(|x| sign * x).collect::<Vec<f64>>();
            let train_scores = signed(raw);
            let center = mean(train_scores.iter().copied()).unwrap_or(0.0);
            (train_scores, signed(of(&test)), Some((sign, center)), vec![column])
        }
        Predictor::Combination(columns) => combine(columns.to_vec(), settings.learner)?,
        Predictor::Stepwise(direction) => {
            let chosen = select(rows.features.select(Axis(0), &train).view(), &labels, direction)?;
            combine(chosen, Learner::Logistic)?
        }
    };
    let threshold = best_threshold(&train_scores, &labels).map_or(f64::MAX, |threshold| threshold.value);
    let flagged = scores.iter().map(|score| *score >= threshold).collect();
    Ok(Some(SplitScores { test, scores, flagged, orientation, chosen }))
}

/// Trains and scores on every split (train, test) and pools the test rows.
pub(crate) fn pool(
    rows: &LabelledRows,
    predictor: Predictor,
    splits: impl Iterator<Item = (Vec<usize>, Vec<usize>)>,
    settings: EvalSettings,
) -> Result<Predictions, DetectorError> {
    let mut parts = Vec::new();
    for (train, test) in splits {
        if !test.is_empty() {
            parts.extend(train_and_score(rows, predictor, &train, test, settings)?);
        }
    }
    let mut signs = parts.iter().filter_map(|part| part.orientation).map(|(sign, _)| sign);
    let direction = signs.next().map(|first| match (first, signs.all(|sign| sign == first)) {
        (_, false) => Direction::Mixed,
        (sign, true) if sign > 0.0 => Direction::Higher,
        _ => Direction::Lower,
    });
    let (mut pooled, mut chosen) = (Vec::new(), Vec::new());
    for part in parts {
        // Values of opposite signs share no scale until each is measured from its training mean. Where all splits agree,
        // the feature itself is the score, and its AUC is the raw one or its mirror image.
        let center = match (direction, part.orientation) {
            (Some(Direction::Mixed), Some((_, center))) => center,
            _ => 0.0,
        };
        let scores = part.scores.into_iter().map(|score| score - center);
        pooled.extend(part.test.into_iter().zip(scores).zip(part.flagged));
        chosen.extend(part.chosen);
    }
    pooled.sort_by_key(|((row, _), _)| *row);
    let ((row_numbers, scores), flagged) = pooled.into_iter().unzip();
    let column = match predictor {
        Predictor::Feature(column) => Some(column),
        Predictor::Combination(_) | Predictor::Stepwise(_) => None,
    };
    Ok(Predictions { rows: row_numbers, scores, flagged, direction, column, chosen, in_sample: None })
}

/// For every fold the rows outside it, to train on, and those in it, to test.
pub(crate) fn fold_splits(folds: &[usize], n_folds: usize) -> impl Iterator<Item = (Vec<usize>, Vec<usize>)> {
    (0..n_folds).map(|fold| (0..folds.len()).partition(|&row| folds[row] != fold))
}

/// For every generator and fold the other generators' rows outside the fold, to train on, and its own in the fold, to test: neither
/// the writer nor the diff was seen then. A row without a generator may be the left-out one's: it takes no part.
pub(crate) fn new_generator_splits(
    rows: &LabelledRows,
    folds: &[usize],
    n_folds: usize,
) -> impl Iterator<Item = (Vec<usize>, Vec<usize>)> {
    let generators = rows.generator_names().into_iter();
    generators.flat_map(move |left_out| (0..n_folds).map(move |fold| (left_out.clone(), fold))).map(
        move |(left_out, fold)| {
            let named = (0..rows.len()).filter(|&row| rows.generators[row].is_some());
            let (test, others): (Vec<usize>, Vec<usize>) =
                named.partition(|&row| rows.generators[row].as_ref() == Some(&left_out));
            let train = others.into_iter().filter(|&row| folds[row] != fold).collect();
            (train, test.into_iter().filter(|&row| folds[row] == fold).collect())
        },
    )
}

/// Every row scored by a predictor trained on the other folds, and beside it by one trained on all rows.
pub(crate) fn out_of_fold(
    rows: &LabelledRows,
    predictor: Predictor,
    folds: &[usize],
    settings: EvalSettings,
) -> Result<Predictions, DetectorError> {
    let mut predictions = pool(rows, predictor, fold_splits(folds, settings.n_folds), settings)?;
    let all: Vec<usize> = (0..rows.len()).collect();
    predictions.in_sample = train_and_score(rows, predictor, &all, predictions.rows.clone(), settings)?
        .map(|split| (split.scores, split.flagged));
    Ok(predictions)
}

/// The figures within each generator, and the mean of their AUCs.
pub(crate) fn by_generator(
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
    /// Probabilities and verdicts of a detector fitted before, for all rows.
    pub(crate) fn of_detector(probabilities: Vec<f64>, threshold: f64) -> Self {
        Self {
            rows: (0..probabilities.len()).collect(),
            flagged: probabilities.iter().map(|p| *p >= threshold).collect(),
            scores: probabilities,
            direction: None,
            column: None,
            chosen: Vec::new(),
            in_sample: None,
        }
    }

    /// Those of the rows that `keep` accepts.
    pub(crate) fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        fn at<T: Copy>(values: &[T], kept: &[usize]) -> Vec<T> {
            kept.iter().map(|&i| values[i]).collect()
        }
        let kept: Vec<usize> = (0..self.rows.len()).filter(|&i| keep(self.rows[i])).collect();
        Self {
            rows: at(&self.rows, &kept),
            scores: at(&self.scores, &kept),
            flagged: at(&self.flagged, &kept),
            direction: self.direction,
            column: self.column,
            chosen: self.chosen.clone(),
            in_sample: self.in_sample.as_ref().map(|(scores, flagged)| (at(scores, &kept), at(flagged, &kept))),
        }
    }

    pub(crate) fn labels(&self, rows: &LabelledRows) -> Vec<bool> {
        self.rows.iter().map(|&row| rows.labels[row]).collect()
    }

    pub(crate) fn figure(&self, rows: &LabelledRows, bootstrap: Bootstrap) -> Figure {
        let labels = self.labels(rows);
        let groups = rows.groups.of_rows(&self.rows);
        let scored = Scored { scores: &self.scores, labels: &labels, groups: &groups };
        let n = labels.len();
        let n_positive = labels.iter().filter(|label| **label).count();
        let rate = |count: usize| (n > 0).then(|| count as f64 / n as f64);
        let right = |flagged: &[bool]| rate(labels.iter().zip(flagged).filter(|(label, flag)| label == flag).count());
        let auc = roc_auc(&self.scores, &labels);
        let correlation = match self.column {
            Some(column) => {
                let stored: Vec<f64> = self.rows.iter().map(|&row| rows.features[[row, column]]).collect();
                point_biserial(&stored, &labels)
            }
            None => point_biserial(&self.scores, &labels),
        };
        let mut distinct = groups.clone();
        distinct.sort_unstable();
        distinct.dedup();
        Figure {
            n,
            n_positive,
            n_groups: distinct.len(),
            auc,
            interval: auc.and_then(|_| auc_interval(&[scored], bootstrap)),
            delong: delong(scored),
            average_precision: average_precision(&self.scores, &labels),
            accuracy: right(&self.flagged),
            majority: rate(n_positive.max(n - n_positive)),
            n_flagged: self.flagged.iter().filter(|flag| **flag).count(),
            n_true_positive: labels.iter().zip(&self.flagged).filter(|(label, flag)| **label && **flag).count(),
            calibration: if self.column.is_none() { calibration(&self.scores, &labels) } else { None },
            correlation,
            in_sample: self
                .in_sample
                .as_ref()
                .map(|(scores, flagged)| InSample { auc: roc_auc(scores, &labels), accuracy: right(flagged) }),
        }
    }
}
