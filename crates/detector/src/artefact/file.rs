//! The fitted detector, and the file it is kept in: plain JSON, read strictly.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ndarray::Axis;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    Calibration, CalibrationFigure, CalibrationMethod, Decision, DecisionRule, DetectorError, Domain, EvalSettings,
    Figure, LabelledRows, Learner, Logistic, Operation, Trees, Verdict,
    artefact::recalibration::calibrated_out_of_fold,
    best_threshold, calibration,
    evaluation::evaluate::fold_notes,
    evaluation::predictions::{Predictor, out_of_fold},
    fit_logistic, roc_auc, sigmoid,
    statistics::quantiles::quantiles,
};
use veridiff_table::files;

/// The version of the detector file's schema that this program writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

/// A logistic regression over named features, with its threshold and what it was trained on.
///
/// P(hallucinated) = sigmoid(intercept + Σ coefficient · (value − mean) / scale), unless there are trees: then it is the sigmoid of
/// their sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detector {
    /// [`SCHEMA_VERSION`].
    schema_version: u32,
    /// SHA-256, in hex, of this file's content with this field empty, written without white space.
    sha256: String,
    /// The features in the order in which [`Detector::predict`] takes them.
    pub features: Vec<Feature>,
    /// Log-odds when every feature is at its training mean.
    pub intercept: f64,
    /// Probability from which a row is called hallucinated: the most accurate one on out-of-fold predictions.
    pub threshold: f64,
    /// From the regression's probability to a calibrated one; absent where it is taken as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Where calibrated probabilities become verdicts; absent in files of older versions, which have the threshold alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// L2 penalty of the fit; see [`fit_logistic`].
    pub l2: f64,
    /// Whether the fit reached its optimum.
    pub converged: bool,
    /// Boosted trees that decide in place of the coefficients, which then are those of logistic regression on the same rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boosted: Option<Trees>,
    /// The same of extremely randomised trees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forest: Option<Trees>,
    /// What it was trained on.
    pub training: Training,
}

/// One feature of a detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// The feature table's column.
    pub name: String,
    /// Mean over the training rows.
    pub mean: f64,
    /// Standard deviation over the training rows; 1 if the feature did not vary.
    pub scale: f64,
    /// Log-odds per standard deviation; positive speaks for hallucinated.
    pub coefficient: f64,
    /// Its quantiles over the training rows, see [`quantiles`]; empty in files of programs that did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<f64>,
}

/// What a detector was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Program and version that fitted it.
    pub program: String,
    /// Rows.
    pub n_rows: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// Groups (diffs) among them.
    pub n_groups: usize,
    /// Texts beside other changes that it was fitted to as well; no figure is about them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_mismatched: usize,
    /// The `--where` clauses that chose the rows.
    pub where_clauses: Vec<String>,
    /// Folds of the out-of-fold figures and the threshold.
    pub n_folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// ROC-AUC on the training rows themselves.
    pub auc_in_sample: Option<f64>,
    /// Pooled ROC-AUC of models that did not see the rows they scored.
    pub auc_out_of_fold: Option<f64>,
    /// The feature table's metadata: models, revisions, settings of the scores.
    pub table: BTreeMap<String, String>,
    /// Their kinds and lengths; empty in files of older versions.
    #[serde(default, skip_serializing_if = "Domain::is_empty")]
    pub domain: Domain,
    /// The first 16 hex digits of the SHA-256 of every group's name, sorted: to tell whether a table holds diffs that
    /// were trained on, without repeating their names.
    pub groups: Vec<String>,
}

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
    let n_features = rows.feature_names.len();
    if n_features == 0 {
        return Err(DetectorError::NoFeatures { columns: Vec::new() });
    }
    let n_positive = rows.n_positive();
    if n_positive == 0 || n_positive == rows.len() {
        return Err(DetectorError::OneClass { label: u8::from(n_positive > 0), n_rows: rows.len() });
    }
    if rows.len() < n_features {
        return Err(DetectorError::TooFewRows { n_rows: rows.len(), n_features });
    }
    let FitSettings { eval, where_clauses, table, domain, calibration: method, rule } = settings;
    let folds = crate::grouped_folds(&rows.labels, &rows.groups, eval.n_folds, eval.bootstrap.seed)?;
    let (all, every): (Vec<usize>, Vec<usize>) = ((0..n_features).collect(), (0..rows.len()).collect());
    let (features, labels) = rows.training(&all, &every, &[]);
    let fitted = fit_logistic(features.view(), &labels, eval.l2)?;
    let trees = eval.learner.grow(features.view(), &labels, eval.bootstrap.seed)?;
    let predict = |row: &[f64]| trees.as_ref().map_or_else(|| fitted.predict(row), |trees| trees.predict(row));
    let in_sample: Vec<f64> = rows.features.axis_iter(Axis(0)).map(|row| predict(&row.to_vec())).collect();
    let auc_in_sample = roc_auc(&in_sample, &rows.labels);
    let held_out = out_of_fold(rows, Predictor::Combination(&all), &folds, eval)?;
    let out_of_fold = held_out.figure(rows, eval.bootstrap);

    let mut notes = notes(rows, &fitted);
    notes.extend(fold_notes(rows, &folds, eval.n_folds));
    let threshold = match best_threshold(&held_out.scores, &held_out.labels(rows)) {
        Some(threshold) => threshold.value,
        None => {
            notes.push("no row has an out-of-fold prediction, so the threshold is the best one in sample".into());
            best_threshold(&in_sample, &rows.labels).map_or(0.5, |threshold| threshold.value)
        }
    };
    let fitted_calibration = Calibration::fit(method, &held_out.scores, &held_out.labels(rows));
    let probabilities = calibrated_out_of_fold(rows, &all, &held_out, method, &folds, eval)?;
    let tested_labels = held_out.labels(rows);
    let tested_folds: Vec<usize> = held_out.rows.iter().map(|&row| folds[row]).collect();
    let decision = Decision::choose(rule, &probabilities, &tested_labels);
    let operation = Operation::out_of_fold(rule, (&probabilities, &tested_labels), &tested_folds, eval.n_folds);
    if decision.unsupported_from > 1.0 {
        notes.push(format!("warning: no threshold reaches `{rule}`, so no text will be called unsupported"));
    }
    let mut groups: Vec<String> = rows.groups.names.iter().map(|name| fingerprint(name)).collect();
    groups.sort_unstable();
    let Logistic { scaling, coefficients, intercept, l2, converged, .. } = fitted;
    let features = rows
        .feature_names
        .iter()
        .zip(rows.features.axis_iter(Axis(1)))
        .zip(scaling.mean.iter().zip(&scaling.scale))
        .zip(&coefficients)
        .map(|(((name, column), (&mean, &scale)), &coefficient)| {
            let quantiles = quantiles(&column.to_vec());
            Feature { name: name.clone(), mean, scale, coefficient, quantiles }
        })
        .collect();
    let (boosted, forest) = if eval.learner == Learner::Forest { (None, trees) } else { (trees, None) };
    let mut detector = Detector {
        schema_version: SCHEMA_VERSION,
        sha256: String::new(),
        features,
        intercept,
        threshold,
        calibration: fitted_calibration,
        decision: Some(decision),
        l2,
        converged,
        boosted,
        forest,
        training: Training {
            program: concat!("veridiff", " ", env!("CARGO_PKG_VERSION")).to_owned(),
            n_rows: rows.len(),
            n_positive,
            n_groups: rows.groups.names.len(),
            n_mismatched: rows.mismatched.len(),
            where_clauses,
            n_folds: eval.n_folds,
            seed: eval.bootstrap.seed,
            auc_in_sample,
            auc_out_of_fold: out_of_fold.auc,
            table,
            domain,
            groups,
        },
    };
    detector.sha256 = detector.content_hash();
    let (n_unlabelled, n_incomplete) = (rows.n_unlabelled, rows.n_incomplete);
    let calibrated = calibration(&probabilities, &tested_labels);
    Ok(Fit { detector, auc_in_sample, out_of_fold, calibrated, operation, n_unlabelled, n_incomplete, notes })
}

fn notes(rows: &LabelledRows, fitted: &Logistic) -> Vec<String> {
    let mut notes = Vec::new();
    for &column in &fitted.scaling.constant {
        notes.push(format!("`{}` has the same value in every row and gets no weight", rows.feature_names[column]));
    }
    if !fitted.converged {
        notes.push(format!(
            "warning: the fit did not converge (largest gradient {:.1e} per row); raise --l2 or choose fewer features",
            fitted.gradient
        ));
    }
    notes.extend(rows.mismatched.note());
    if rows.ungrouped {
        notes.push("the table has no `group` column, so every row is a group of its own".into());
    }
    notes
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

fn fingerprint(group: &str) -> String {
    hex(&Sha256::digest(group)[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Feature {
    /// What a value adds to a regression's log-odds, against a row with the training mean.
    pub fn contribution(&self, value: f64) -> f64 {
        self.coefficient * ((value - self.mean) / self.scale)
    }
}

impl Detector {
    /// The first 12 hex digits of its [hash](Detector::sha256).
    pub fn id(&self) -> &str {
        self.sha256.get(..12).unwrap_or(&self.sha256)
    }

    /// SHA-256 of its content, in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Names of its features, in order.
    pub fn feature_names(&self) -> Vec<String> {
        self.features.iter().map(|feature| feature.name.clone()).collect()
    }

    /// How it learnt.
    pub fn learner(&self) -> Learner {
        match (&self.boosted, &self.forest) {
            (Some(_), _) => Learner::Boosted,
            (None, Some(_)) => Learner::Forest,
            (None, None) => Learner::Logistic,
        }
    }

    /// The trees that decide, unless the coefficients do.
    pub fn trees(&self) -> Option<&Trees> {
        self.boosted.as_ref().or(self.forest.as_ref())
    }

    /// The probability, 0 to 1, that a row with these feature values is hallucinated; NaN if a value is NaN.
    ///
    /// # Panics
    /// If there is not one value per feature.
    pub fn predict(&self, values: &[f64]) -> f64 {
        assert_eq!(values.len(), self.features.len(), "one value per feature");
        if let Some(trees) = self.trees() {
            return trees.predict(values);
        }
        let weighted = self.features.iter().zip(values).map(|(f, value)| f.contribution(*value));
        sigmoid(self.intercept + weighted.sum::<f64>())
    }

    /// The calibrated probability, 0 to 1, that a row with these feature values is hallucinated; NaN if a value is NaN.
    ///
    /// # Panics
    /// If there is not one value per feature.
    pub fn probability(&self, values: &[f64]) -> f64 {
        let p = self.predict(values);
        self.calibration.as_ref().map_or(p, |calibration| calibration.apply(p))
    }

    /// The verdict on a text with this [calibrated probability](Detector::probability).
    pub fn verdict(&self, p: f64) -> Verdict {
        match &self.decision {
            Some(decision) => decision.verdict(p),
            None if p.is_nan() => Verdict::Abstain,
            None if p >= self.threshold => Verdict::Unsupported,
            None => Verdict::Supported,
        }
    }

    /// How many rows belong to groups it was trained on.
    pub fn n_training_rows_in(&self, rows: &LabelledRows) -> usize {
        let trained_on: BTreeSet<&str> = self.training.groups.iter().map(String::as_str).collect();
        let seen: Vec<bool> =
            rows.groups.names.iter().map(|name| trained_on.contains(fingerprint(name).as_str())).collect();
        rows.groups.of_row.iter().filter(|group| seen[**group]).count()
    }

    /// The file's content.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names, numbers and maps of strings always serialise");
        text.push('\n');
        text
    }

    /// Reads a file's content; `path` is for messages.
    ///
    /// # Errors
    /// [`DetectorError::Syntax`] (unknown and missing fields too), [`DetectorError::Version`],
    /// [`DetectorError::Content`] when the content contradicts itself or its hash.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, DetectorError> {
        let syntax = |source| DetectorError::Syntax { path: path.to_owned(), source };
        // The version comes first: another one may well have other fields.
        let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        if let Some(got) = value.get("schema_version").and_then(serde_json::Value::as_u64)
            && got != u64::from(SCHEMA_VERSION)
        {
            return Err(DetectorError::Version { path: path.to_owned(), got });
        }
        let detector: Detector = serde_json::from_str(text).map_err(syntax)?;
        match detector.fault() {
            Some(what) => Err(DetectorError::Content { path: path.to_owned(), what }),
            None => Ok(detector),
        }
    }

    /// Reads a detector file.
    ///
    /// # Errors
    /// [`DetectorError::Read`] and those of [`Detector::from_json`].
    pub fn read(path: &Path) -> Result<Self, DetectorError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| DetectorError::Read { path: path.to_owned(), source })?;
        Self::from_json(&text, path)
    }

    /// Writes a detector file; what was at `path` stays until the new file is complete.
    ///
    /// # Errors
    /// [`DetectorError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), DetectorError> {
        files::write(path, self.to_json()).map_err(|source| DetectorError::Write { path: path.to_owned(), source })
    }

    fn content_hash(&self) -> String {
        let content = Detector { sha256: String::new(), ..self.clone() };
        let text = serde_json::to_string(&content).expect("names, numbers and maps of strings always serialise");
        hex(&Sha256::digest(text))
    }

    /// What is wrong with its content, if anything.
    fn fault(&self) -> Option<String> {
        if self.features.is_empty() {
            return Some("`features` is empty".into());
        }
        let mut names = BTreeSet::new();
        for Feature { name, scale, quantiles, .. } in &self.features {
            if !names.insert(name) {
                return Some(format!("feature `{name}` occurs twice"));
            }
            if scale.is_nan() || *scale <= 0.0 {
                return Some(format!("feature `{name}` has scale {scale}, expected a positive number"));
            }
            if !(quantiles.is_empty() || quantiles.len() > 1 && quantiles.is_sorted()) {
                return Some(format!("the quantiles of feature `{name}` do not ascend"));
            }
        }
        let numbers =
            self.features.iter().flat_map(|f| [&f.mean, &f.scale, &f.coefficient].into_iter().chain(&f.quantiles));
        if !numbers.chain([&self.intercept, &self.threshold, &self.l2]).all(|number| number.is_finite()) {
            return Some("a number is not finite".into());
        }
        let calibration = self.calibration.as_ref().and_then(Calibration::fault);
        if let Some(fault) = calibration.or_else(|| self.decision.as_ref().and_then(Decision::fault)) {
            return Some(fault);
        }
        if self.boosted.is_some() && self.forest.is_some() {
            return Some("it has both `boosted` and `forest`".into());
        }
        let learner = self.learner().to_string();
        if let Some(what) = self.trees().and_then(|trees| trees.fault(&learner, self.features.len())) {
            return Some(what);
        }
        if self.training.groups.len() != self.training.n_groups {
            let (got, want) = (self.training.groups.len(), self.training.n_groups);
            return Some(format!("`training.groups` has {got} entries, expected {want}"));
        }
        let hash = self.content_hash();
        (hash != self.sha256).then(|| format!("the content's sha256 is {hash}, the file says {}", self.sha256))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{Bootstrap, DEFAULT_L2, Groups};

    #[test]
    fn quantiles_are_kept_and_files_without_them_still_load() {
        let n = 40;
        let groups = Groups { names: (0..n).map(|row| format!("g{row:02}")).collect(), of_row: (0..n).collect() };
        let features = Array2::from_shape_fn((n, 1), |(row, _)| row as f64);
        let labels = (0..n).map(|row| row % 3 == 0).collect();
        let rows = LabelledRows::new(vec!["a@m".into()], features, labels, groups);
        let eval = EvalSettings {
            n_folds: 5,
            l2: DEFAULT_L2,
            learner: Learner::Logistic,
            bootstrap: Bootstrap { n_resamples: 0, seed: 0 },
        };
        let settings = FitSettings::new(eval, BTreeMap::new());
        let mut detector = fit_detector(&rows, settings).unwrap().detector;
        let path = Path::new("d.json");
        let quantiles = &detector.features[0].quantiles;
        assert_eq!((quantiles.len(), quantiles[0], quantiles[50], quantiles[100]), (101, 0.0, 19.5, 39.0));
        assert_eq!(Detector::from_json(&detector.to_json(), path).unwrap(), detector);
        // the contributions are what the probability is made of
        let log_odds = detector.intercept + detector.features[0].contribution(7.0);
        assert!((sigmoid(log_odds) - detector.predict(&[7.0])).abs() < 1e-15);

        detector.features[0].quantiles.clear();
        detector.sha256 = detector.content_hash();
        let old = detector.to_json();
        assert!(!old.contains("quantiles"));
        assert_eq!(Detector::from_json(&old, path).unwrap(), detector);

        detector.features[0].quantiles = vec![2.0, 1.0];
        detector.sha256 = detector.content_hash();
        let error = Detector::from_json(&detector.to_json(), path).unwrap_err();
        assert!(matches!(&error, DetectorError::Content { what, .. } if what.contains("do not ascend")), "{error}");
    }
}
