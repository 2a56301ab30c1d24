//! Whether a table's features are those that a detector was trained on: the same scorer, attributed function, fold, template, ….

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{Detector, DetectorError};
use crate::features::Family;

/// Settings that change what every scorer's features mean.
const OF_SCORERS: [&str; 6] =
    ["template_sha256", "targets", "parse_special", "changed_rule", "message_prefix", "max_tokens"];
/// Those that change what attribution means.
const OF_ATTRIBUTION: [&str; 7] =
    ["attribution_method", "attributed_fn", "fold", "normalize", "denominator", "start_row", "scope"];
/// What a model's columns hang on.
const OF_MODEL: [&str; 4] = ["weights", "own_template", "pooling", "entailment"];
/// What moves numbers by rounding only.
const ROUNDING: [&str; 2] = ["dtype", "device"];

/// A setting that is not what a detector was trained with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key in the table's metadata.
    pub key: String,
    /// What it was in training.
    pub trained: String,
    /// What it is in the table.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}, expected {}", self.key, shortened(&self.got), shortened(&self.trained))
    }
}

/// Hashes are told apart by their beginning.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

impl Detector {
    /// Compares a table's metadata with that of the training rows. Returns what differs and only rounds otherwise; what one of
    /// them does not say is not compared.
    ///
    /// # Errors
    /// [`DetectorError::OtherSettings`] with everything that changes what the features mean.
    pub fn check_provenance(&self, table: &BTreeMap<String, String>) -> Result<Vec<Difference>, DetectorError> {
        let models: BTreeSet<&str> =
            self.features.iter().filter_map(|feature| feature.name.split_once('@')).map(|(_, model)| model).collect();
        let of_models = |keys: &[&str]| -> Vec<String> {
            models.iter().flat_map(|model| keys.iter().map(move |key| format!("{key}@{model}"))).collect()
        };
        let mut keys = of_models(&OF_MODEL);
        let families: Vec<Option<Family>> = self.features.iter().map(|f| Family::of_column(&f.name)).collect();
        if families.iter().any(|family| matches!(family, Some(Family::Uncertainty | Family::Attribution))) {
            keys.extend(OF_SCORERS.map(str::to_owned));
        }
        if families.contains(&Some(Family::Attribution)) {
            keys.extend(OF_ATTRIBUTION.map(str::to_owned));
        }
        let differences = |keys: Vec<String>| -> Vec<Difference> {
            keys.into_iter()
                .filter_map(|key| {
                    let (trained, got) = (self.training.table.get(&key)?.clone(), table.get(&key)?.clone());
                    (trained != got).then_some(Difference { key, trained, got })
                })
                .collect()
        };
        let refused = differences(keys);
        if refused.is_empty() {
            Ok(differences(of_models(&ROUNDING)))
        } else {
            Err(DetectorError::OtherSettings { refused })
        }
    }
}
