//! Metrics that compare a text with what a human wrote for the same diff.
//!
//! | file | owns |
//! |---|---|
//! | `bleu.rs` | BLEU-4 of one sentence, in the variants that papers report |
//! | `entailment.rs` | the probability that the reference entails the text, by a natural-language-inference classifier |

pub mod bleu;
pub mod entailment;

use super::family::{Compute, Family, Feature, REFERENCES};

/// The feature of the texts alone.
pub const BLEU4: &str = "bleu4";
/// The feature of classifiers.
pub const NLI_ENTAILMENT: &str = "nli_entailment";

/// The source of entailment: one forward pass of a classifier over reference and text.
pub const CLASSIFIER: &str = "classifier";

/// The family `reference`: comparison with the sample's reference.
pub static FAMILY: Family = Family {
    name: "reference",
    needs_reference: true,
    is_default: false,
    features: || {
        vec![
            Feature::new(
                BLEU4,
                "0 to 1",
                "sentence BLEU-4 of the text against the reference; the variant is in the metadata",
                REFERENCES,
                // which variant
                &[BLEU4],
            ),
            Feature::new(
                NLI_ENTAILMENT,
                "0 to 1 (probability), or a raw logit",
                "what a classifier gives for the reference entailing the text; which score is in the metadata",
                CLASSIFIER,
                &["weights@", "score@"],
            ),
        ]
    },
    compute: Compute::Source,
};
