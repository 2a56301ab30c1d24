//! The fitted detector, and the file it is kept in: plain JSON, read strictly.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use veridiff_table::files;

use crate::{
    Calibration, Decision, DetectorError, Domain, LabelledRows, Leaning, Learner, Model, Predict, Regression, Trees,
    artefact::first_schema::{self, FirstSchema},
};

/// The version of the detector file's schema that this program writes. It reads this one and the first.
pub const SCHEMA_VERSION: u32 = 2;

/// A model over named features, with its calibration, the thresholds of its verdicts, and what it was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detector {
    /// [`SCHEMA_VERSION`].
    schema_version: u32,
    /// SHA-256, in hex, of the content of the file that it was read from or belongs in, with this field empty, written without
    /// white space.
    sha256: String,
    /// The features in the order in which [`Detector::predict`] takes them.
    pub features: Vec<DetectorFeature>,
    /// What decides.
    model: Model,
    /// A plain logistic regression on the same rows, to be shown beside trees; absent where the model is one, and beside a stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    regression: Option<Regression>,
    /// Probability from which a row is called hallucinated: the most accurate one on out-of-fold predictions.
    pub threshold: f64,
    /// From the model's probability to a calibrated one; absent where it is taken as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Where calibrated probabilities become verdicts; absent in files of older versions, which have the threshold alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What the model was trained on, and how well it did out of fold.
    pub training: Training,
}

/// One feature of a detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetectorFeature {
    /// The feature table's column.
    pub name: String,
    /// Mean over the training rows.
    pub mean: f64,
    /// Standard deviation over the training rows; 1 if the feature did not vary.
    pub scale: f64,
    /// Its quantiles over the training rows, see [`quantiles`](crate::quantiles); empty in files of programs that did not keep
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<f64>,
}

/// What a detector was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Program and version that fitted it.
    pub program: String,
    /// How many rows were judged and trained on.
    pub n_rows: usize,
    /// How many of the rows are hallucinated.
    pub n_positive: usize,
    /// How many groups (diffs) the rows come from.
    pub n_groups: usize,
    /// Texts beside other changes that it was fitted to as well; no figure is about them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_mismatched: usize,
    /// The `--where` clauses that chose the rows.
    pub where_clauses: Vec<String>,
    /// Folds of the out-of-fold figures and the threshold.
    pub n_folds: usize,
    /// The seed that groups were dealt to folds by.
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

const SERIALISES: &str = "names, numbers and maps of strings always serialise";

pub(crate) fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// What tells a group's name without repeating it.
pub(crate) fn fingerprint(group: &str) -> String {
    hex(&Sha256::digest(group)[..8])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Detector {
    /// One with the hash that its content has.
    pub(crate) fn new(
        features: Vec<DetectorFeature>,
        model: Model,
        regression: Option<Regression>,
        threshold: f64,
        calibration: Option<Calibration>,
        decision: Option<Decision>,
        training: Training,
    ) -> Self {
        let (schema_version, sha256) = (SCHEMA_VERSION, String::new());
        let detector = Detector {
            schema_version,
            sha256,
            features,
            model,
            regression,
            threshold,
            calibration,
            decision,
            training,
        };
        let hash = detector.content_hash();
        detector.with_hash(hash)
    }

    pub(crate) fn with_hash(self, sha256: String) -> Self {
        Detector { sha256, ..self }
    }

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

    /// What decides, before calibration.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The learner that the model was made by.
    pub fn learner(&self) -> Learner {
        self.model.learner()
    }

    /// The trees that decide, if trees do.
    pub fn trees(&self) -> Option<&Trees> {
        self.model.trees()
    }

    /// The plain logistic regression: what decides, or what was fitted to the same rows beside it. None beside a stack.
    pub fn regression(&self) -> Option<&Regression> {
        match &self.model {
            Model::Logistic(regression) => Some(regression),
            _ => self.regression.as_ref(),
        }
    }

    /// The probability, 0 to 1, that a row with these feature values is hallucinated; NaN if a value is NaN.
    ///
    /// # Panics
    /// If there is not one value per feature.
    pub fn predict(&self, values: &[f64]) -> f64 {
        assert_eq!(values.len(), self.features.len(), "one value per feature");
        self.model.predict(values)
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
    pub fn verdict(&self, p: f64) -> Leaning {
        match &self.decision {
            Some(decision) => decision.verdict(p),
            None if p.is_nan() => Leaning::Abstain,
            None if p >= self.threshold => Leaning::Unsupported,
            None => Leaning::Supported,
        }
    }

    /// The calibrated probability from which on a text is called unsupported; above 1 if none is.
    pub fn objects_from(&self) -> f64 {
        self.decision.as_ref().map_or(self.threshold, |decision| decision.unsupported_from)
    }

    /// How many rows belong to groups it was trained on.
    pub fn n_training_rows_in(&self, rows: &LabelledRows) -> usize {
        let trained_on: BTreeSet<&str> = self.training.groups.iter().map(String::as_str).collect();
        let seen: Vec<bool> =
            rows.groups.names.iter().map(|name| trained_on.contains(fingerprint(name).as_str())).collect();
        rows.groups.of_row.iter().filter(|group| seen[**group]).count()
    }

    /// The content of its file, in the present schema. The file of one that was read in the first schema has a hash of its own.
    pub fn to_json(&self) -> String {
        let content = Detector { sha256: self.content_hash(), ..self.clone() };
        let mut text = serde_json::to_string_pretty(&content).expect(SERIALISES);
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
        let content = |what| DetectorError::Content { path: path.to_owned(), what };
        // The version comes first: another one may well have other fields.
        let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
        let (detector, hash) = match version {
            Some(first_schema::VERSION) => {
                let first: FirstSchema = serde_json::from_str(text).map_err(syntax)?;
                let hash = first.content_hash();
                (Detector::try_from(first).map_err(content)?, hash)
            }
            Some(got) if got != u64::from(SCHEMA_VERSION) => {
                return Err(DetectorError::Version { path: path.to_owned(), got });
            }
            _ => {
                let detector: Detector = serde_json::from_str(text).map_err(syntax)?;
                let hash = detector.content_hash();
                (detector, hash)
            }
        };
        match detector.fault(&hash) {
            Some(what) => Err(content(what)),
            None => Ok(detector),
        }
    }

    /// Reads a detector file.
    ///
    /// # Errors
    /// [`DetectorError::Read`] and those of [`Detector::from_json`].
    pub fn read(path: &Path) -> Result<Self, DetectorError> {
        let bytes = std::fs::read(path).map_err(|source| DetectorError::Read { path: path.to_owned(), source })?;
        // what is no text is no JSON either, and is told as that
        Self::from_json(&String::from_utf8_lossy(&bytes), path)
    }

    /// Writes a detector file; what was at `path` stays until the new file is complete.
    ///
    /// # Errors
    /// [`DetectorError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), DetectorError> {
        files::write(path, self.to_json()).map_err(|source| DetectorError::Write { path: path.to_owned(), source })
    }

    pub(crate) fn content_hash(&self) -> String {
        hash_of(&Detector { sha256: String::new(), ..self.clone() })
    }

    /// What is wrong with its content, which has this hash, if anything.
    fn fault(&self, hash: &str) -> Option<String> {
        let of_calibration = || self.calibration.as_ref().and_then(Calibration::fault);
        let of_decision = || self.decision.as_ref().and_then(Decision::fault);
        self.features_fault()
            .or_else(|| self.model_fault())
            .or_else(of_calibration)
            .or_else(of_decision)
            .or_else(|| self.training.fault())
            .or_else(|| {
                let said = &self.sha256;
                (hash != said).then(|| format!("the content's sha256 is {hash}, the file says {said}"))
            })
    }

    fn features_fault(&self) -> Option<String> {
        if self.features.is_empty() {
            return Some("`features` is empty".into());
        }
        let mut names = BTreeSet::new();
        for DetectorFeature { name, mean, scale, quantiles } in &self.features {
            if !names.insert(name) {
                return Some(format!("feature `{name}` occurs twice"));
            }
            if scale.is_nan() || *scale <= 0.0 {
                return Some(format!("feature `{name}` has scale {scale}, expected a positive number"));
            }
            if !(quantiles.is_empty() || quantiles.len() > 1 && quantiles.is_sorted()) {
                return Some(format!("the quantiles of feature `{name}` do not ascend"));
            }
            if ![mean, scale].into_iter().chain(quantiles).all(|number| number.is_finite()) {
                return Some(format!("a number of feature `{name}` is not finite"));
            }
        }
        (!self.threshold.is_finite()).then(|| format!("the threshold is {}", self.threshold))
    }

    fn model_fault(&self) -> Option<String> {
        let n_features = self.features.len();
        if let Some(what) = self.model.fault(n_features) {
            return Some(format!("`model`, {}: {what}", self.learner()));
        }
        match (&self.model, &self.regression) {
            (Model::Logistic(_), Some(_)) => Some("it has a `regression` beside a model that is one".into()),
            (Model::Logistic(_) | Model::Stack(_), None) => None,
            (Model::Stack(_), Some(_)) => Some("it has a `regression` beside a stack".into()),
            (_, None) => Some(format!("it has no `regression` beside a model of kind {}", self.learner())),
            (_, Some(regression)) => regression.fault(n_features).map(|what| format!("`regression`: {what}")),
        }
    }
}

impl Training {
    fn fault(&self) -> Option<String> {
        let (got, want) = (self.groups.len(), self.n_groups);
        (got != want).then(|| format!("`training.groups` has {got} entries, expected {want}"))
    }
}

/// SHA-256, in hex, of what a value serialises to without white space.
pub(crate) fn hash_of(content: &impl Serialize) -> String {
    hex(&Sha256::digest(serde_json::to_string(content).expect(SERIALISES)))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::{Bootstrap, DEFAULT_L2, EvalSettings, FitSettings, Groups, fit_detector, sigmoid};

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
        let log_odds = detector.log_odds_at_means() + detector.contribution_alone(0, 7.0).unwrap();
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
