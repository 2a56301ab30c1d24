//! What a model that was taught by an adapter says of the text: the log-odds that it is false of the change. One more forward pass,
//! by the adapted weights.

use std::collections::BTreeMap;

use super::family::{Compute, Family, Field, Needs, SCORER};
use crate::scorer::Answer;

/// The metadata key of an adapter's hash, before the `@`.
pub const ADAPTER: &str = "adapter";

/// What its features hang on: weights and adapter, which brings its own prompt.
const HANGS_ON: &[&str] = &["weights@", "adapter@", "parse_special", "max_tokens"];

const LOG_ODDS: &str = "log-odds";

const FIELDS: &[Field<Answer>] = &[
    Field {
        name: "adapter_text",
        unit: LOG_ODDS,
        meaning: "what the adapter's head gives for the whole text being false of the change",
        value: |answer| answer.text,
    },
    Field {
        name: "adapter_worst",
        unit: LOG_ODDS,
        meaning: "the largest that it gives to one of the text's assertions, each read alone",
        value: |answer| answer.worst,
    },
];

/// Whether a feature of a detector, `name@model` or without the model, is one of this family's.
pub fn is_feature(name: &str) -> bool {
    FIELDS.iter().any(|field| name.split('@').next() == Some(field.name))
}

/// The models that read with an adapter, by the metadata of a table.
pub fn models_of(table: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    table.keys().filter_map(|key| key.strip_prefix(ADAPTER)?.strip_prefix('@'))
}

/// The family `adapter`.
pub static FAMILY: Family = Family {
    name: "adapter",
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(SCORER, HANGS_ON)).collect(),
    compute: Compute::Reading {
        needs: |_| Needs { adapter: true, ..Needs::default() },
        measure: |m| Field::values(FIELDS, m.answer.as_ref()),
    },
};
