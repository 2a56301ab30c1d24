//! Detector files of the first schema: the coefficients beside the features, trees beside the coefficients where trees decide.

use serde::{Deserialize, Serialize};

use crate::{
    Calibration, Decision, Detector, DetectorFeature, Model, Regression, Training, Trees, artefact::file::hash_of,
};

/// The version that these files say they have.
pub(crate) const VERSION: u64 = 1;

/// A file of the first schema, field by field as it was written: the order is part of its hash.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FirstSchema {
    schema_version: u32,
    sha256: String,
    features: Vec<FirstFeature>,
    intercept: f64,
    threshold: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calibration: Option<Calibration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    l2: f64,
    converged: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boosted: Option<Trees>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forest: Option<Trees>,
    training: Training,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstFeature {
    name: String,
    mean: f64,
    scale: f64,
    coefficient: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    quantiles: Vec<f64>,
}

impl FirstSchema {
    /// SHA-256 of its content, in hex.
    pub(crate) fn content_hash(&self) -> String {
        hash_of(&FirstSchema { sha256: String::new(), ..self.clone() })
    }
}

impl TryFrom<FirstSchema> for Detector {
    /// What is wrong with the file.
    type Error = String;

    /// The same detector, which keeps the hash that its file has.
    fn try_from(file: FirstSchema) -> Result<Self, String> {
        let of_features = |of: fn(&FirstFeature) -> f64| file.features.iter().map(of).collect::<Vec<f64>>();
        let regression = Regression {
            mean: of_features(|feature| feature.mean),
            scale: of_features(|feature| feature.scale),
            coefficients: of_features(|feature| feature.coefficient),
            intercept: file.intercept,
            l2: file.l2,
            converged: file.converged,
        };
        let (model, regression) = match (file.boosted, file.forest) {
            (Some(_), Some(_)) => return Err("it has both `boosted` and `forest`".to_owned()),
            (Some(trees), None) => (Model::Boosted(trees), Some(regression)),
            (None, Some(trees)) => (Model::Forest(trees), Some(regression)),
            (None, None) => (Model::Logistic(regression), None),
        };
        let features = file
            .features
            .into_iter()
            .map(|FirstFeature { name, mean, scale, quantiles, .. }| DetectorFeature { name, mean, scale, quantiles });
        let features = features.collect();
        let detector =
            Detector::new(features, model, regression, file.threshold, file.calibration, file.decision, file.training);
        Ok(detector.with_hash(file.sha256))
    }
}
