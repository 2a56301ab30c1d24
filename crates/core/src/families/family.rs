//! What a family of features is: names, units, meaning, what its columns hang on, what it needs of a scorer, and how it is computed.

use std::fmt;

use super::execution::EXECUTION;
use crate::{measurement::Measurement, side::PromptSide};
use veridiff_facts::case::Case;

/// The source of features that a language model gives.
pub const SCORER: &str = "scorer";
/// The source of features that diff and text give without a model.
pub const TEXT: &str = "text";
/// The source of BLEU-4: the sample's text and reference.
pub const REFERENCES: &str = "references";

/// Metadata keys that change what every scorer's features mean. One that ends in `@` is followed by the scorer's name.
pub const OF_SCORER: &[&str] = &[
    "weights@",
    "own_template@",
    "template_sha256",
    "targets",
    "parse_special",
    "changed_rule",
    "message_prefix",
    "max_tokens",
];

/// Those that change how gradients become shares.
const OF_GRADIENTS: &[&str] =
    &["attribution_method", "attributed_fn", "fold", "normalize", "denominator", "start_row", "first_target", "scope"];

/// Those that change what features by gradients mean: a scorer's, and the gradients' own.
pub const OF_ATTRIBUTION: &[&str] = &with_keys::<{ OF_SCORER.len() + OF_GRADIENTS.len() }>(OF_SCORER, OF_GRADIENTS);

/// These keys and those, `N` together.
pub(super) const fn with_keys<const N: usize>(keys: &[&'static str], more: &[&'static str]) -> [&'static str; N] {
    let mut all = [""; N];
    let (first, last) = all.split_at_mut(keys.len());
    first.copy_from_slice(keys);
    last.copy_from_slice(more);
    all
}

/// Features that are computed together and chosen together.
pub struct Family {
    /// The family's name, by which `--features` chooses all of its features.
    pub name: &'static str,
    /// Whether its features compare the text with the sample's reference.
    pub needs_reference: bool,
    /// Whether a scorer computes it unasked: what the core paper has of scorers.
    pub is_default: bool,
    /// Its features, in the order of their columns.
    pub features: fn() -> Vec<Feature>,
    /// How the features' values are computed, and from what.
    pub compute: Compute,
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How the features of a family are computed: values in the order of [`Family::features`].
pub enum Compute {
    /// From what a scorer read of a case.
    Reading {
        /// What the features of these names need of the scorer.
        needs: fn(&[&str]) -> Needs,
        /// The values; `None` where the sample has none.
        measure: fn(&Measurement) -> Vec<Option<f64>>,
    },
    /// From what a scorer read of a case, a list of numbers each. How many there are follows from the scorer.
    Lists {
        /// What the features of these names need of the scorer.
        needs: fn(&[&str]) -> Needs,
        /// The lists.
        measure: fn(&Measurement) -> Vec<Vec<f64>>,
    },
    /// From diff and text alone, without a model.
    Text(fn(&Case) -> Vec<f64>),
    /// By a source of columns of its own.
    Source,
}

/// What features need of a scorer beside the scores of the text's tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Every token's rank, margin and variance.
    pub ranks: bool,
    /// Attribution: the gradients of every target with respect to what comes before it.
    pub gradients: bool,
    /// The scores behind prompts with one side of the diff, in the order of [`PromptSide::ALL`].
    pub sides: Vec<PromptSide>,
    /// The scores of the text's edits, behind the change and without it.
    pub edits: bool,
    /// What the model's adapter answers.
    pub adapter: bool,
    /// Attention by groups of keys.
    pub attention: bool,
    /// The states of a few layers.
    pub hidden: bool,
}

impl Needs {
    /// All that either of the two needs.
    pub(super) fn and(mut self, other: Needs) -> Needs {
        self.ranks |= other.ranks;
        self.gradients |= other.gradients;
        self.edits |= other.edits;
        self.adapter |= other.adapter;
        self.attention |= other.attention;
        self.hidden |= other.hidden;
        self.sides.extend(other.sides);
        self.sides.sort_unstable();
        self.sides.dedup();
        self
    }
}

/// One number of a sample, or one list of them: what its column is called, says and hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// The column's name before the `@`.
    pub name: &'static str,
    /// The unit of its values and the range they are in, such as `0 to 1` or `nats`.
    pub unit: &'static str,
    /// What a value says, in one line for a person.
    pub meaning: &'static str,
    /// The kind of source that computes it: [`SCORER`], [`TEXT`], or one that its family's file names.
    pub source: &'static str,
    /// See [`Entry::hangs_on`](veridiff_table::catalogue::Entry::hangs_on).
    pub hangs_on: &'static [&'static str],
    /// Whether it is a list of numbers ([`Compute::Lists`]).
    pub is_list: bool,
}

impl Feature {
    /// A feature of these names, source and keys.
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        source: &'static str,
        hangs_on: &'static [&'static str],
    ) -> Self {
        Feature { name, unit, meaning, source, hangs_on, is_list: false }
    }

    /// The same of one that is a list of numbers.
    pub const fn list(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        source: &'static str,
        hangs_on: &'static [&'static str],
    ) -> Self {
        Feature { is_list: true, ..Feature::new(name, unit, meaning, source, hangs_on) }
    }

    /// Whether its column has a model's name behind an `@`: all but what is computed from texts or read from a file.
    pub fn has_model(&self) -> bool {
        ![TEXT, REFERENCES, EXECUTION].contains(&self.source)
    }
}

/// A feature that is a number of some `T`, which a family computes once for all its features.
pub struct Field<T: 'static> {
    /// See [`Feature::name`].
    pub name: &'static str,
    /// See [`Feature::unit`].
    pub unit: &'static str,
    /// See [`Feature::meaning`].
    pub meaning: &'static str,
    /// Takes the number out of what the family computed.
    pub value: fn(&T) -> f64,
}

impl<T> Field<T> {
    /// The feature, from a source and hanging on some keys.
    pub fn feature(&self, source: &'static str, hangs_on: &'static [&'static str]) -> Feature {
        Feature::new(self.name, self.unit, self.meaning, source, hangs_on)
    }

    /// The numbers of all `fields`; none of nothing.
    pub fn values(fields: &[Field<T>], of: Option<&T>) -> Vec<Option<f64>> {
        fields.iter().map(|field| of.map(field.value)).collect()
    }
}

/// A [`Field`] that is the field of a struct: `field!("name", unit, "meaning", field)`.
macro_rules! field {
    ($name:literal, $unit:expr, $meaning:literal, $($field:ident).+) => {
        Field { name: $name, unit: $unit, meaning: $meaning, value: |of| of.$($field).+ }
    };
}
pub(super) use field;
