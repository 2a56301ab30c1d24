//! Small inputs that several files test with.

use veridiff_table::catalogue::{Catalogue, Entry, FamilyEntry};

/// A few features to test with: the catalogue is whoever's computes them.
pub(crate) fn catalogue() -> Catalogue {
    let entry = |name, has_model, hangs_on| Entry { name, unit: "", meaning: "", has_model, hangs_on };
    let family = |name, needs_reference, entries| FamilyEntry { name, needs_reference, entries };
    let of_model = |name| entry(name, true, &["weights@", "template_sha256"]);
    Catalogue::new(vec![
        family("uncertainty", false, ["logprob", "entropy", "logit"].map(of_model).to_vec()),
        family("attribution", false, vec![of_model("attr_source")]),
        family("reference", true, vec![entry("bleu4", false, &["bleu4"]), entry("nli_entailment", true, &["score@"])]),
        family("grounding", false, vec![entry("ground_words", false, &["grounding"])]),
    ])
}
