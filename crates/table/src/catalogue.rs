//! What is known of a table's feature columns: family, unit, meaning, and what their numbers hang on.
//!
//! A feature is one number of a sample. Its column is `<feature>@<model>`, where the model is the scorer, encoder or classifier
//! that it comes from, or `<feature>` alone if it comes from the texts. Who computes features hands a [`Catalogue`] of them to
//! whoever reads tables, so that fitting and evaluating know no model.

/// The name of a column's feature: what stands before the `@`, or all of it.
pub fn feature_of(column: &str) -> &str {
    column.split('@').next().unwrap_or(column)
}

/// The model of a column: what stands behind the first `@`; none for a feature of the texts.
pub fn model_of(column: &str) -> Option<&str> {
    let column = element_of(column).map_or(column, |(list, _)| list);
    column.split_once('@').map(|(_, model)| model)
}

/// The models of columns, each once, in the order in which they are first named.
pub fn models_of(columns: &[String]) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for model in columns.iter().filter_map(|column| model_of(column)) {
        if models.iter().all(|known| known != model) {
            models.push(model.to_owned());
        }
    }
    models
}

/// The list column and the place in it, from 0, that `column` names, if it is called `<feature>@<model>[<place>]`: the elements of a
/// list are columns by such names.
pub fn element_of(column: &str) -> Option<(&str, usize)> {
    let (list, place) = column.strip_suffix(']')?.rsplit_once('[')?;
    let is_place = !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_digit());
    let place = place.parse().ok().filter(|_| is_place && list.contains('@'))?;
    Some((list, place))
}

/// What [`element_of`] finds again.
pub fn element(list: &str, place: usize) -> String {
    format!("{list}[{place}]")
}

/// What a table's readers need to know of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The column's name before the `@`.
    pub name: &'static str,
    /// The unit of its values and the range they are in, such as `0 to 1` or `nats`.
    pub unit: &'static str,
    /// What a value says, in one line for a person.
    pub meaning: &'static str,
    /// Whether its column has a model's name behind an `@`.
    pub has_model: bool,
    /// Whether its column holds lists of numbers, which only a learner makes something of.
    pub is_list: bool,
    /// Keys of a table's metadata that change what its numbers mean. A key that ends in `@` is followed by the column's model.
    /// Of a value `version N: details` only the version counts.
    pub hangs_on: &'static [&'static str],
}

/// Features that are computed together and chosen together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyEntry {
    /// The family's name, by which `--features` chooses all of its features.
    pub name: &'static str,
    /// Whether its features compare the text with the sample's reference.
    pub needs_reference: bool,
    /// Its features, in the order of their columns.
    pub entries: Vec<Entry>,
}

/// Every family of features, in the order of their columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    families: Vec<FamilyEntry>,
}

impl Catalogue {
    /// A catalogue of these families.
    pub fn new(families: Vec<FamilyEntry>) -> Self {
        Catalogue { families }
    }

    /// The families, in the order of their columns.
    pub fn families(&self) -> &[FamilyEntry] {
        &self.families
    }

    /// The family of a table's column; none if the catalogue does not know its feature.
    pub fn family_of(&self, column: &str) -> Option<&FamilyEntry> {
        let name = feature_of(column);
        self.families.iter().find(|family| family.entries.iter().any(|entry| entry.name == name))
    }

    /// The feature of a table's column, if the catalogue knows it.
    pub fn entry_of(&self, column: &str) -> Option<&Entry> {
        let name = feature_of(column);
        self.families.iter().flat_map(|family| &family.entries).find(|entry| entry.name == name)
    }

    /// Whether a column without a model is a feature's.
    pub fn is_plain_feature(&self, column: &str) -> bool {
        self.entry_of(column).is_some_and(|entry| entry.name == column && !entry.has_model)
    }

    /// Whether a column is a feature that compares the text with the sample's reference.
    pub fn needs_reference(&self, column: &str) -> bool {
        self.family_of(column).is_some_and(|family| family.needs_reference)
    }
}
