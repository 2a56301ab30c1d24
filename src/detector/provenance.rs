//! Whether a table's features are those that a detector was trained on: the same scorer, attributed function, fold, template, ….

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{Detector, DetectorError};
use crate::features::{Family, GROUNDING};

/// Settings that change what every scorer's features mean.
const OF_SCORERS: [&str; 6] =
    ["template_sha256", "targets", "parse_special", "changed_rule", "message_prefix", "max_tokens"];
/// Those that change what attribution means.
const OF_ATTRIBUTION: [&str; 8] =
    ["attribution_method", "attributed_fn", "fold", "normalize", "denominator", "start_row", "first_target", "scope"];
/// What a model's columns hang on; in a table's metadata the model's name follows behind an `@`.
const OF_MODEL: [&str; 4] = ["weights", "own_template", "pooling", "entailment"];
/// What moves numbers by rounding only; written as [`OF_MODEL`].
const ROUNDING: [&str; 2] = ["dtype", "device"];

/// The keys of a table's metadata that some of its columns hang on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingKeys {
    /// Where these differ, the columns mean something else.
    pub meaning: Vec<String>,
    /// Where these differ, numbers are rounded otherwise.
    pub rounding: Vec<String>,
}

impl SettingKeys {
    /// Of these columns.
    pub fn of<'a>(columns: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut models, mut families) = (BTreeSet::new(), Vec::new());
        for column in columns {
            models.extend(column.split_once('@').map(|(_, model)| model));
            families.extend(Family::of_column(column));
        }
        let of_models = |keys: &[&str]| -> Vec<String> {
            models.iter().flat_map(|model| keys.iter().map(move |key| format!("{key}@{model}"))).collect()
        };
        let any = |of: &[Family]| families.iter().any(|family| of.contains(family));
        let by_gradients = [Family::Attribution, Family::Lines];
        let mut meaning = of_models(&OF_MODEL);
        if any(&[Family::Uncertainty, Family::Shape, Family::Contrast]) || any(&by_gradients) {
            meaning.extend(OF_SCORERS.map(str::to_owned));
        }
        if any(&by_gradients) {
            meaning.extend(OF_ATTRIBUTION.map(str::to_owned));
        }
        if any(&[Family::Grounding, Family::Form]) {
            // the version of their definitions
            meaning.push(GROUNDING.to_owned());
        }
        SettingKeys { meaning, rounding: of_models(&ROUNDING) }
    }
}

/// Which of these keys have another value in a table's metadata than in that of the training rows; what one of them does not say
/// is not compared.
pub fn differences(
    keys: &[String],
    trained: &BTreeMap<String, String>,
    got: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let differs = |key: &String| {
        let (trained, got) = (comparable(key, trained.get(key)?), comparable(key, got.get(key)?));
        let difference = || Difference { key: key.clone(), trained: trained.to_owned(), got: got.to_owned() };
        (trained != got).then(difference)
    };
    keys.iter().filter_map(differs).collect()
}

/// The part of a value that matters: which features of the texts a table has stands behind the version, and a detector may use some
/// of them.
fn comparable<'a>(key: &str, value: &'a str) -> &'a str {
    if key == GROUNDING { value.split(':').next().unwrap_or(value) } else { value }
}

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
        let keys = SettingKeys::of(self.features.iter().map(|feature| feature.name.as_str()));
        let refused = differences(&keys.meaning, &self.training.table, table);
        if refused.is_empty() {
            Ok(differences(&keys.rounding, &self.training.table, table))
        } else {
            Err(DetectorError::OtherSettings { refused })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_hangs_on_what_makes_its_columns() {
        let keys = |columns: &[&str]| SettingKeys::of(columns.iter().copied()).meaning;
        for column in ["logprob@m", "shape_margin@m", "contrast_none_logprob@m", "lines_entropy@m", "attr_source@m"] {
            let keys = keys(&[column]);
            assert!(keys.contains(&"weights@m".to_owned()) && keys.contains(&"template_sha256".to_owned()), "{column}");
            let by_gradients = column.starts_with("lines_") || column.starts_with("attr_");
            assert_eq!(keys.contains(&"first_target".to_owned()), by_gradients, "{column}");
            assert!(!keys.contains(&"grounding".to_owned()), "{column}");
        }
        assert_eq!(keys(&["ground_words", "form_words"]), ["grounding"]);
        assert!(keys(&["bleu4", "of my own"]).is_empty());
        assert_eq!(SettingKeys::of(["logprob@m"]).rounding, ["dtype@m", "device@m"]);
    }

    #[test]
    fn of_the_texts_features_the_version_is_compared_and_not_their_list() {
        let table = |value: &str| BTreeMap::from([("grounding".to_owned(), value.to_owned())]);
        let keys = ["grounding".to_owned()];
        let (trained, alike) = (table("version 1: ground_words,ground_names"), table("version 1: ground_words"));
        assert!(differences(&keys, &trained, &alike).is_empty());
        assert!(differences(&keys, &trained, &table("version 1")).is_empty());
        assert!(differences(&keys, &trained, &BTreeMap::new()).is_empty());
        let got = differences(&keys, &trained, &table("version 2: ground_words"));
        assert_eq!(got[0].to_string(), "`grounding` is version 2, expected version 1");
    }
}
