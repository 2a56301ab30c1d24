//! The registry of features: what each is called, what it means, in which unit, from which source.
//!
//! A feature is one number of a sample. Its column is `<feature>@<model>`, where the model is the scorer, the encoder or the
//! classifier that it comes from, or `<feature>` alone if it comes from the texts.

mod contrast;
mod lines;
mod plain;
mod shape;

use std::sync::LazyLock;

use crate::families::{
    aggregate::{Aggregates, lines::LineShape},
    contrast::{Contrast, Side},
    shape::Shape,
};
use veridiff_engine::reading::scores::StepScores;
use veridiff_table::catalogue::{Catalogue, Entry, FamilyEntry, feature_of};
use veridiff_text::grounding::PlainScores;

/// The feature of encoders.
pub const SIMILARITY: &str = "similarity";
/// The feature of classifiers.
pub const NLI_ENTAILMENT: &str = "nli_entailment";
/// The feature of the texts alone.
pub const BLEU4: &str = "bleu4";
/// What the features of diff and text without a model go by in a table's metadata.
pub const GROUNDING: &str = "grounding";

/// Features that are computed together and chosen together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One forward pass.
    Uncertainty,
    /// One forward pass and a vector-Jacobian product for every response token: about twice the forward pass's operations for
    /// each token.
    Attribution,
    /// One forward pass of an encoder over the diff and one over the text, of at most 512 tokens each.
    Similarity,
    /// Comparison with the sample's reference: n-gram counts, and one forward pass of a classifier over reference and text.
    Reference,
    /// The same forward pass as for uncertainty; every token's rank and margin beside its scores.
    Shape,
    /// For each side of the diff a forward pass over its prompt, shared by samples of one diff, and one over the text.
    Contrast,
    /// From the matrix that attribution gives, by the lines of the diff.
    Lines,
    /// No model: which words of the text stand where in the diff, and which of its statements the lines refute.
    Grounding,
    /// No model: length and form, which are controls.
    Form,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 9] = [
        Family::Uncertainty,
        Family::Attribution,
        Family::Similarity,
        Family::Reference,
        Family::Shape,
        Family::Contrast,
        Family::Lines,
        Family::Grounding,
        Family::Form,
    ];

    /// The name a user types.
    pub fn name(self) -> &'static str {
        match self {
            Family::Uncertainty => "uncertainty",
            Family::Attribution => "attribution",
            Family::Similarity => "similarity",
            Family::Reference => "reference",
            Family::Shape => "shape",
            Family::Contrast => "contrast",
            Family::Lines => "lines",
            Family::Grounding => "grounding",
            Family::Form => "form",
        }
    }

    /// Whether a scorer computes it unasked: what the core paper has of scorers.
    fn is_default(self) -> bool {
        matches!(self, Family::Uncertainty | Family::Attribution)
    }

    /// The family of a table's column, by its name before the `@`; none if the registry does not know it.
    pub fn of_column(column: &str) -> Option<Family> {
        let name = feature_of(column);
        features().find(|feature| feature.name == name).map(|feature| feature.family)
    }
}

/// One feature.
#[derive(Debug)]
pub struct Feature {
    /// The column's name before the `@`.
    pub name: &'static str,
    /// What it is computed with.
    pub family: Family,
    /// Unit and range.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
    origin: Origin,
}

/// Where a feature's values come from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A scorer's measurement.
    Scorer(fn(&Measured<'_>) -> Option<f64>),
    /// An encoder, by [`crate::families::similarity`].
    Encoder,
    /// A classifier, by [`crate::families::reference::entailment`].
    Classifier,
    /// The sample's texts alone, by [`crate::families::reference::bleu`].
    Texts,
    /// The sample's diff and text alone, by [`veridiff_text::grounding`].
    Plain(fn(&PlainScores) -> f64),
}

/// What the features are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// Scores of the response's tokens.
    pub scores: &'a StepScores,
    /// Present if attribution was computed.
    pub aggregates: Option<&'a Aggregates>,
    /// Present if it was asked for.
    pub shape: Option<&'a Shape>,
    /// Present if it was asked for.
    pub contrast: Option<&'a Contrast>,
    /// Present if it was asked for.
    pub lines: Option<&'a LineShape>,
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

const PROBABILITY: &str = "0 to 1";
const SHARE: &str = "share of a column, 0 to 1 (normalised); else the unit of the attributed function";

/// Every feature, in the order of the columns.
pub fn features() -> impl Iterator<Item = &'static Feature> {
    const TABLES: [&[Feature]; 9] = [
        CORE,
        shape::SHAPE,
        contrast::NO_DIFF,
        contrast::UNCHANGED,
        contrast::OLD,
        contrast::NEW,
        lines::LINES,
        plain::GROUNDING,
        plain::FORM,
    ];
    TABLES.into_iter().flatten()
}

/// The core paper's features. Means are over the response's tokens, logarithms natural.
const CORE: &[Feature] = &[
    Feature {
        name: "logprob",
        family: Family::Uncertainty,
        unit: "nats, at most 0",
        meaning: "mean log-probability of the text's tokens (the core paper's SeqLogProb is its negative)",
        origin: Origin::Scorer(|m| mean(&m.scores.logprob)),
    },
    Feature {
        name: "logit",
        family: Family::Uncertainty,
        unit: "unnormalised",
        meaning: "mean raw logit of the text's tokens (SeqLogit)",
        origin: Origin::Scorer(|m| mean(&m.scores.logit)),
    },
    Feature {
        name: "probability",
        family: Family::Uncertainty,
        unit: PROBABILITY,
        meaning: "mean probability of the text's tokens",
        origin: Origin::Scorer(|m| mean(&m.scores.probability)),
    },
    Feature {
        name: "entropy",
        family: Family::Uncertainty,
        unit: "nats, at least 0",
        meaning: "mean entropy of the next-token distributions (SeqEntropy)",
        origin: Origin::Scorer(|m| mean(&m.scores.entropy)),
    },
    Feature {
        name: "attr_source",
        family: Family::Attribution,
        unit: SHARE,
        meaning: "mean over tokens of the largest attribution to any prompt position (SourceAttr, Eq. 3)",
        origin: Origin::Scorer(|m| m.aggregates.map(|a| a.source)),
    },
    Feature {
        name: "attr_target",
        family: Family::Attribution,
        unit: SHARE,
        meaning: "mean of the largest attribution to an earlier token of the text (TargetAttr, Eq. 6)",
        origin: Origin::Scorer(|m| m.aggregates.and_then(|a| a.target)),
    },
    Feature {
        name: "attr_changed",
        family: Family::Attribution,
        unit: SHARE,
        meaning: "mean of the largest attribution to a token on an added or removed line (ChangedAttr, Eq. 4)",
        origin: Origin::Scorer(|m| m.aggregates.map(|a| a.changed)),
    },
    Feature {
        name: "attr_unchanged",
        family: Family::Attribution,
        unit: SHARE,
        meaning: "mean of the largest attribution to any other prompt position (UnchangedAttr, Eq. 5)",
        origin: Origin::Scorer(|m| m.aggregates.map(|a| a.unchanged)),
    },
    Feature {
        name: "attr_source_diff",
        family: Family::Attribution,
        unit: SHARE,
        meaning: "as attr_source, over the diff's tokens only",
        origin: Origin::Scorer(|m| m.aggregates.map(|a| a.source_diff)),
    },
    Feature {
        name: "attr_unchanged_diff",
        family: Family::Attribution,
        unit: SHARE,
        meaning: "as attr_unchanged, over the diff's tokens only",
        origin: Origin::Scorer(|m| m.aggregates.map(|a| a.unchanged_diff)),
    },
    Feature {
        name: SIMILARITY,
        family: Family::Similarity,
        unit: "-1 to 1",
        meaning: "cosine of the embeddings of diff and text under an encoder; its pooling is in the metadata",
        origin: Origin::Encoder,
    },
    Feature {
        name: BLEU4,
        family: Family::Reference,
        unit: PROBABILITY,
        meaning: "sentence BLEU-4 of the text against the reference; the variant is in the metadata",
        origin: Origin::Texts,
    },
    Feature {
        name: NLI_ENTAILMENT,
        family: Family::Reference,
        unit: "0 to 1 (probability), or a raw logit",
        meaning: "what a classifier gives for the reference entailing the text; which score is in the metadata",
        origin: Origin::Classifier,
    },
];

/// The features a run computes.
#[derive(Debug, Clone)]
pub struct FeatureSet(Vec<&'static Feature>);

impl Default for FeatureSet {
    /// The core paper's features of a scorer.
    fn default() -> Self {
        FeatureSet(features().filter(|f| matches!(f.origin, Origin::Scorer(_)) && f.family.is_default()).collect())
    }
}

impl FeatureSet {
    /// The features that `names` choose: families or single features, in any order.
    ///
    /// # Errors
    /// The first unknown name, with the list of known ones.
    pub fn parse<S: AsRef<str>>(names: &[S]) -> Result<Self, UnknownFeature> {
        for name in names.iter().map(AsRef::as_ref) {
            if !features().any(|f| f.name == name || f.family.name() == name) {
                return Err(UnknownFeature { name: name.to_owned() });
            }
        }
        let chosen = |f: &&Feature| names.iter().any(|n| n.as_ref() == f.name || n.as_ref() == f.family.name());
        Ok(FeatureSet(features().filter(chosen).collect()))
    }

    /// Those that need no model.
    pub fn plain() -> Self {
        FeatureSet(features().filter(|feature| matches!(feature.origin, Origin::Plain(_))).collect())
    }

    /// Whether any of them needs gradients.
    pub fn needs_attribution(&self) -> bool {
        self.0.iter().any(|f| matches!(f.family, Family::Attribution | Family::Lines))
    }

    /// Whether any of them comes from a scorer.
    pub fn needs_scorer(&self) -> bool {
        self.scorer_names().next().is_some()
    }

    /// Whether any of them comes from an encoder.
    pub fn needs_encoder(&self) -> bool {
        self.0.iter().any(|f| matches!(f.origin, Origin::Encoder))
    }

    /// Whether any of them comes from a classifier.
    pub fn needs_classifier(&self) -> bool {
        self.0.iter().any(|f| matches!(f.origin, Origin::Classifier))
    }

    /// Whether any of them is of a family.
    pub fn has(&self, family: Family) -> bool {
        self.0.iter().any(|f| f.family == family)
    }

    /// The sides of the diff that contrasts are taken with, in the order of [`Side::ALL`].
    pub fn sides(&self) -> impl Iterator<Item = Side> {
        let tables = [contrast::NO_DIFF, contrast::UNCHANGED, contrast::OLD, contrast::NEW];
        let wanted = |table: &[Feature]| self.0.iter().any(|f| table.iter().any(|known| known.name == f.name));
        Side::ALL.into_iter().zip(tables).filter(move |(_, table)| wanted(table)).map(|(side, _)| side)
    }

    /// Whether any of them comes from diff and text without a model.
    pub fn needs_plain(&self) -> bool {
        self.plain_names().next().is_some()
    }

    /// The names of those that come from diff and text without a model, in the order of the columns.
    pub fn plain_names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(|f| matches!(f.origin, Origin::Plain(_))).map(|f| f.name)
    }

    /// Names and values of those that come from diff and text without a model.
    pub fn plain_values(&self, scores: &PlainScores) -> Vec<(&'static str, f64)> {
        let value = |f: &&'static Feature| match f.origin {
            Origin::Plain(value) => Some((f.name, value(scores))),
            _ => None,
        };
        self.0.iter().filter_map(value).collect()
    }

    /// Whether BLEU-4 is among them.
    pub fn needs_bleu(&self) -> bool {
        self.0.iter().any(|f| matches!(f.origin, Origin::Texts))
    }

    /// These and every feature of another family.
    pub fn with(&self, family: Family) -> FeatureSet {
        let has = |f: &Feature| f.family == family || self.0.iter().any(|mine| mine.name == f.name);
        FeatureSet(features().filter(|f| has(f)).collect())
    }

    /// These but one.
    pub fn without(&self, name: &str) -> FeatureSet {
        FeatureSet(self.0.iter().copied().filter(|f| f.name != name).collect())
    }

    /// Their names, in the order of the columns.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|f| f.name)
    }

    /// The names of those that come from a scorer, in the order of the columns.
    pub fn scorer_names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(|f| matches!(f.origin, Origin::Scorer(_))).map(|f| f.name)
    }

    /// Names and values of a scorer's features of one sample; `None` where it has none.
    pub fn values(&self, measured: &Measured<'_>) -> Vec<(&'static str, Option<f64>)> {
        let value = |f: &&'static Feature| match f.origin {
            Origin::Scorer(value) => Some((f.name, value(measured))),
            Origin::Encoder | Origin::Classifier | Origin::Texts | Origin::Plain(_) => None,
        };
        self.0.iter().filter_map(value).collect()
    }
}

/// What every table's feature columns are, for those who read tables.
pub static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let of = |family: Family| FamilyEntry {
        name: family.name(),
        needs_reference: family == Family::Reference,
        entries: features().filter(|feature| feature.family == family).map(Feature::entry).collect(),
    };
    Catalogue::new(Family::ALL.into_iter().map(of).collect())
});

/// Metadata keys that every scorer's features hang on.
const OF_SCORERS: &[&str] = &[
    "weights@",
    "own_template@",
    "template_sha256",
    "targets",
    "parse_special",
    "changed_rule",
    "message_prefix",
    "max_tokens",
];
/// Those that features by gradients hang on.
const OF_ATTRIBUTION: &[&str] = &[
    "weights@",
    "own_template@",
    "template_sha256",
    "targets",
    "parse_special",
    "changed_rule",
    "message_prefix",
    "max_tokens",
    "attribution_method",
    "attributed_fn",
    "fold",
    "normalize",
    "denominator",
    "start_row",
    "first_target",
    "scope",
];

impl Feature {
    /// What a table's reader is told of it.
    fn entry(&self) -> Entry {
        let hangs_on: &[&str] = match (self.family, self.origin) {
            (Family::Attribution | Family::Lines, _) => OF_ATTRIBUTION,
            (_, Origin::Scorer(_)) => OF_SCORERS,
            (_, Origin::Encoder) => &["weights@", "pooling@"],
            (_, Origin::Classifier) => &["weights@", "entailment@"],
            (_, Origin::Texts) => &[],
            (_, Origin::Plain(_)) => &[GROUNDING],
        };
        let has_model = !matches!(self.origin, Origin::Texts | Origin::Plain(_));
        Entry { name: self.name, unit: self.unit, meaning: self.meaning, has_model, hangs_on }
    }
}

/// Whether a column is a feature of diff and text without a model.
pub fn is_grounding_feature(column: &str) -> bool {
    features().any(|f| matches!(f.origin, Origin::Plain(_)) && f.name == column)
}

/// A feature name that is not in the registry.
#[derive(Debug, thiserror::Error)]
#[error("unknown feature `{name}`; families: {}; features: {}", family_names(), feature_names())]
pub struct UnknownFeature {
    /// What was asked for.
    pub name: String,
}

fn family_names() -> String {
    Family::ALL.map(Family::name).join(", ")
}

fn feature_names() -> String {
    features().map(|f| f.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_and_names_choose_in_column_order() {
        let set = FeatureSet::parse(&["attr_changed", "uncertainty"]).unwrap();
        assert_eq!(set.names().collect::<Vec<_>>(), ["logprob", "logit", "probability", "entropy", "attr_changed"]);
        assert!(set.needs_attribution());
        assert!(!FeatureSet::parse(&["uncertainty"]).unwrap().needs_attribution());
        let error = FeatureSet::parse(&["entropi"]).unwrap_err().to_string();
        assert!(error.contains("`entropi`") && error.contains("entropy, attr_source"), "{error}");
    }

    #[test]
    fn the_default_is_what_a_scorer_gives_and_families_can_be_added() {
        let scorer = FeatureSet::default();
        assert!(scorer.needs_scorer() && !scorer.needs_encoder() && !scorer.needs_classifier() && !scorer.needs_bleu());
        let all = scorer.with(Family::Reference).with(Family::Similarity);
        assert_eq!(all.names().collect::<Vec<_>>(), CORE.iter().map(|f| f.name).collect::<Vec<_>>());
        assert_eq!(all.scorer_names().collect::<Vec<_>>(), scorer.names().collect::<Vec<_>>());
        let bleu = FeatureSet::parse(&["reference"]).unwrap().without(NLI_ENTAILMENT);
        assert_eq!(bleu.names().collect::<Vec<_>>(), [BLEU4]);
        assert!(
            bleu.needs_bleu()
                && !bleu.needs_scorer()
                && CATALOGUE.is_plain_feature(BLEU4)
                && !CATALOGUE.is_plain_feature("logprob")
        );
    }

    #[test]
    fn values_are_means_and_null_without_attribution() {
        let scores = StepScores {
            logprob: vec![-1.0, -3.0],
            logit: vec![4.0, 8.0],
            probability: vec![0.25, 0.75],
            entropy: vec![1.0, 2.0],
        };
        let values = FeatureSet::default().values(&Measured {
            scores: &scores,
            aggregates: None,
            shape: None,
            contrast: None,
            lines: None,
        });
        assert_eq!(
            values[..4],
            [("logprob", Some(-2.0)), ("logit", Some(6.0)), ("probability", Some(0.5)), ("entropy", Some(1.5))]
        );
        assert!(values[4..].iter().all(|(_, v)| v.is_none()));
    }
}
