//! A sample's features beside those of other rows, and what a detector makes of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::explanation::Explanation;
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_core::{
    Result,
    families::{
        catalogue::FeatureSet,
        reference::{BLEU4, bleu::Bleu},
    },
    focus::Focused,
    settings::Settings,
};
use veridiff_detector::{
    Detector, SettingDifference, SettingKeys, differences, feature_columns, percentile, quantiles,
};
use veridiff_table::{
    ID_COLUMN, Row, Table,
    catalogue::{Entry, feature_of},
};
use veridiff_text::sample::Sample;

/// One feature of the sample, beside other rows and in the eyes of a detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeatureValue {
    /// The feature table's column, `<name>@<model>`, or the name alone where no model is known for it.
    pub column: String,
    /// The family in the registry, such as `attribution`; null for a column that the registry does not know.
    pub family: Option<String>,
    /// The unit and range of its values, as the registry has them.
    pub unit: Option<String>,
    /// What it says of the text, as the registry has it.
    pub meaning: Option<String>,
    /// Null if the sample has none, or `explain` does not compute it.
    pub value: Option<f64>,
    /// The percentage of the reference's rows below it, 0 to 100, of rows with the same value half; null without a reference.
    pub percentile: Option<f64>,
    /// What it adds to the detector's log-odds, against a row with the training mean; null if the detector does not use it.
    pub contribution: Option<f64>,
}

/// The rows that a sample's features are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRows {
    /// What a sentence calls them.
    pub rows: String,
    /// How many rows the sample's features are compared with.
    pub n_rows: usize,
}

/// How the features of a detector add up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogOdds {
    /// `intercept` and every contribution, added up: the log-odds before they are calibrated.
    pub sum: f64,
    /// Log-odds of a row with the training mean of every feature.
    pub intercept: f64,
}

/// Every feature of the registry: what the scorer measured, BLEU-4 if there is a reference, and the rest without a value.
pub(super) fn of_sample(sample: &Sample, scorer: &str, settings: &Settings, read: &Focused) -> Vec<FeatureValue> {
    let values = settings.features.values(&read.measurement);
    let plain = FeatureSet::plain().plain_values(&read.case);
    let of_catalogue = |feature: &Entry| {
        let measured = values.iter().find(|(name, _)| *name == feature.name);
        let of_words = plain.iter().find(|(name, _)| *name == feature.name);
        let (column, value) = match (measured, feature.name) {
            (Some(&(name, value)), _) => (format!("{name}@{scorer}"), value),
            (None, name) if of_words.is_some() => (name.to_owned(), of_words.map(|(_, value)| *value)),
            (None, BLEU4) => {
                let bleu = |reference| Bleu::default().sentence(reference, &sample.text);
                (BLEU4.to_owned(), sample.reference().map(bleu))
            }
            (None, name) => (name.to_owned(), None),
        };
        FeatureValue::new(column, value)
    };
    let entries = CATALOGUE.families().iter().flat_map(|family| &family.entries);
    entries.filter(|entry| !entry.is_list).map(of_catalogue).collect()
}

impl FeatureValue {
    fn new(column: String, value: Option<f64>) -> Self {
        let known = CATALOGUE.entry_of(&column);
        FeatureValue {
            family: CATALOGUE.family_of(&column).map(|family| family.name.to_owned()),
            unit: known.map(|feature| feature.unit.to_owned()),
            meaning: known.map(|feature| feature.meaning.to_owned()),
            column,
            value,
            percentile: None,
            contribution: None,
        }
    }

    /// The name without the model.
    pub fn name(&self) -> &str {
        feature_of(&self.column)
    }
}

impl Explanation {
    /// Says where each feature falls among the rows of a feature table, called `name`. What was not computed here (similarity,
    /// entailment, other scorers' features) is taken from the table's row with the sample's id, if it has one.
    ///
    /// # Errors
    /// A feature's column holds something else than numbers.
    pub fn compare(&mut self, table: &Table, name: &str) -> Result<()> {
        let row = match (&self.id, table.column_names().contains(&ID_COLUMN)) {
            (Some(id), true) => table.strings(ID_COLUMN)?.iter().position(|other| other.as_ref() == Some(id)),
            _ => None,
        };
        self.features.iter_mut().for_each(|feature| feature.percentile = None);
        for column in feature_columns(table, &CATALOGUE) {
            let values = table.numbers(&column)?;
            let own = row.and_then(|row| values[row]);
            let place = match self.features.iter().position(|feature| feature.column == column) {
                Some(place) => place,
                None if own.is_none() => continue,
                None => self.add(column),
            };
            let feature = &mut self.features[place];
            feature.value = feature.value.or(own);
            let known: Vec<f64> = values.into_iter().flatten().collect();
            feature.percentile = feature.value.and_then(|value| percentile(&quantiles(&known), value));
        }
        let rows = format!("rows of `{name}`");
        if self.features.iter().all(|feature| feature.percentile.is_none()) {
            self.notes.push(format!("`{name}` has none of the features that are shown here"));
        }
        self.note_differences(table.metadata(), &rows);
        self.reference = Some(ComparedRows { rows, n_rows: table.n_rows() });
        Ok(())
    }

    /// Takes over the features of another scorer, measured for the same sample: the columns of its row. `provenance` is what they come
    /// from. Where it could not compute them, a note says why.
    pub(super) fn add_scorer(&mut self, columns: &Row, provenance: BTreeMap<String, String>) {
        for (column, value) in columns {
            if let (Some(scorer), Some(why)) = (column.strip_prefix("error@"), value.as_str()) {
                self.notes.push(format!("no features of `{scorer}`: {why}"));
            }
            let Some(value) = value.as_f64().filter(|_| CATALOGUE.entry_of(column).is_some()) else { continue };
            let known = self.features.iter().position(|feature| feature.column == *column);
            let place = known.unwrap_or_else(|| self.add(column.clone()));
            self.features[place].value.get_or_insert(value);
        }
        self.settings.extend(provenance);
    }

    /// A line for a column that has none; it takes the place of the registry's, if that stands there without a model.
    fn add(&mut self, column: String) -> usize {
        let stands_alone =
            |f: &FeatureValue| f.value.is_none() && f.column == feature_of(&column) && f.column != column;
        let place = self.features.iter().position(stands_alone).unwrap_or(self.features.len());
        let end = (place + 1).min(self.features.len());
        self.features.splice(place..end, [FeatureValue::new(column, None)]);
        place
    }

    /// Notes which settings of other rows differ from these: their numbers are not alike.
    fn note_differences(&mut self, metadata: &BTreeMap<String, String>, rows: &str) {
        let SettingKeys { meaning, rounding } =
            SettingKeys::of(self.features.iter().map(|feature| feature.column.as_str()), &CATALOGUE);
        for SettingDifference { key, trained, got } in
            differences(&[meaning, rounding].concat(), metadata, &self.settings)
        {
            self.notes.push(format!("`{key}` is `{got}` here, but `{trained}` of the {rows}: not quite comparable"));
        }
    }

    /// Adds each feature's contribution to the detector's log-odds, and where the features fall among its training rows.
    pub(super) fn add_detector(&mut self, detector: &Detector) {
        let (mut values, mut places) = (Vec::new(), Vec::new());
        let mut has_quantiles = false;
        for (index, trained) in detector.features.iter().enumerate() {
            let place = self.features.iter().position(|feature| feature.column == trained.name);
            let place = place.unwrap_or_else(|| self.add(trained.name.clone()));
            let feature = &mut self.features[place];
            let Some(value) = feature.value else { continue };
            places.push(place);
            values.push(value);
            feature.contribution = detector.contribution_alone(index, value);
            feature.percentile = percentile(&trained.quantiles, value);
            has_quantiles |= feature.percentile.is_some();
        }
        let rows = format!("training rows of the detector {}", detector.id());
        self.note_differences(&detector.training.table, &rows);
        if has_quantiles {
            self.reference = Some(ComparedRows { rows, n_rows: detector.training.n_rows });
        }
        if self.finding.p_detector.is_some() && values.len() == detector.features.len() {
            let (intercept, contributions) = (detector.log_odds_at_means(), detector.contributions(&values));
            for (&place, &contribution) in places.iter().zip(&contributions) {
                self.features[place].contribution = Some(contribution);
            }
            self.log_odds = Some(LogOdds { sum: intercept + contributions.iter().sum::<f64>(), intercept });
        }
    }
}
