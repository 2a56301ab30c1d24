//! Small inputs that several files test with.

use ndarray::Array2;
use veridiff_table::catalogue::{Catalogue, Entry, FamilyEntry};

use crate::{Groups, LabelledRows};

/// `n` rows of two features that are higher where the label is 1, in groups of two.
pub(crate) fn two_features(n: usize) -> LabelledRows {
    let labels: Vec<bool> = (0..n).map(|i| (i * 7) % 5 < 2).collect();
    let value = |i: usize, j: usize| ((i * (13 + j)) % 17) as f64 + if labels[i] { 4.0 } else { 0.0 };
    let features = Array2::from_shape_fn((n, 2), |(i, j)| value(i, j));
    let groups = Groups::new((0..n).map(|i| format!("{}", i / 2)).collect());
    LabelledRows::new(vec!["a@m".into(), "b@m".into()], features, labels, groups)
}

/// A few features to test with: the catalogue is whoever's computes them.
pub(crate) fn catalogue() -> Catalogue {
    let entry = |name, has_model, hangs_on| Entry { name, unit: "", meaning: "", has_model, is_list: false, hangs_on };
    let family = |name, needs_reference, entries| FamilyEntry { name, needs_reference, entries };
    let of_model = |name| entry(name, true, &["weights@", "template_sha256"]);
    Catalogue::new(vec![
        family("uncertainty", false, ["logprob", "entropy", "logit"].map(of_model).to_vec()),
        family("attribution", false, vec![of_model("attr_source")]),
        family("reference", true, vec![entry("bleu4", false, &["bleu4"]), entry("nli_entailment", true, &["score@"])]),
        family("grounding", false, vec![entry("ground_words", false, &["grounding"])]),
    ])
}
