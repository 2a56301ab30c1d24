//! Whether a table's features are those that a detector was trained on: the same scorer, attributed function, fold, template, ….

use std::{collections::BTreeMap, fmt};

use crate::{Detector, DetectorError};
use veridiff_table::catalogue::{Catalogue, model_of};

/// What moves numbers by rounding only; in a table's metadata the model's name follows.
const ROUNDING: [&str; 2] = ["dtype@", "device@"];

/// The keys of a table's metadata that some of its columns hang on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingKeys {
    /// Where these differ, the columns mean something else.
    pub meaning: Vec<String>,
    /// Where these differ, numbers are rounded otherwise.
    pub rounding: Vec<String>,
}

impl SettingKeys {
    /// The keys that these columns hang on, as the catalogue has them; a column that it does not know hangs on nothing.
    pub fn of<'a>(columns: impl IntoIterator<Item = &'a str>, catalogue: &Catalogue) -> Self {
        let mut keys = SettingKeys::default();
        for column in columns {
            let model = model_of(column);
            let named = |key: &str| match (key.ends_with('@'), model) {
                (true, Some(model)) => Some(format!("{key}{model}")),
                (true, None) => None,
                (false, _) => Some(key.to_owned()),
            };
            let put = |into: &mut Vec<String>, of: &[&str]| {
                let new = of.iter().filter_map(|key| named(key)).filter(|key| !into.contains(key));
                let new: Vec<String> = new.collect();
                into.extend(new);
            };
            put(&mut keys.meaning, catalogue.entry_of(column).map_or(&[], |entry| entry.hangs_on));
            put(&mut keys.rounding, &ROUNDING);
        }
        keys
    }
}

/// Which of these keys have another value in a table's metadata than in that of the training rows; what one of them does not say
/// is not compared.
pub fn differences(
    keys: &[String],
    trained: &BTreeMap<String, String>,
    got: &BTreeMap<String, String>,
) -> Vec<SettingDifference> {
    let differs = |key: &String| {
        let (trained, got) = (comparable(trained.get(key)?), comparable(got.get(key)?));
        let difference = || SettingDifference { key: key.clone(), trained: trained.to_owned(), got: got.to_owned() };
        (trained != got).then(difference)
    };
    keys.iter().filter_map(differs).collect()
}

/// The part of a value that matters: behind `version N: ` stands which features a table has, and a detector may use some of them.
fn comparable(value: &str) -> &str {
    if value.starts_with("version ") { value.split(':').next().unwrap_or(value) } else { value }
}

/// A setting that is not what a detector was trained with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    /// The key in the table's metadata.
    pub key: String,
    /// The value in the table that was trained on.
    pub trained: String,
    /// The value in the table that is to be judged.
    pub got: String,
}

impl fmt::Display for SettingDifference {
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
    pub fn check_provenance(
        &self,
        table: &BTreeMap<String, String>,
        catalogue: &Catalogue,
    ) -> Result<Vec<SettingDifference>, DetectorError> {
        let keys = SettingKeys::of(self.features.iter().map(|feature| feature.name.as_str()), catalogue);
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
    fn a_column_hangs_on_what_the_catalogue_says() {
        let keys = |columns: &[&str]| SettingKeys::of(columns.iter().copied(), &crate::toy::catalogue());
        assert_eq!(
            keys(&["logprob@m", "logprob@n"]).meaning,
            ["weights@m", "template_sha256", "weights@n"],
            "each key once, a model's under its name"
        );
        assert_eq!(keys(&["ground_words", "bleu4", "nli_entailment@n"]).meaning, ["grounding", "bleu4", "score@n"]);
        assert!(keys(&["of my own", "of my own@m"]).meaning.is_empty());
        assert_eq!(keys(&["logprob@m"]).rounding, ["dtype@m", "device@m"]);
        assert!(keys(&["bleu4"]).rounding.is_empty());
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
