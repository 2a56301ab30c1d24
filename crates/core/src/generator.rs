//! What a generator says of the tokens that it wrote: numbers that come with a text, and that no model here computes.
//!
//! They stand among a sample's own keys under the names of the features that they are, as of a scorer called [`GENERATOR`]. So `score`
//! carries them into its table, `fit` takes them for features, and the gate reads them where a detector asks for them. They are not
//! those of a scorer: the generator read a prompt of its own.

use std::collections::BTreeMap;

use veridiff_detector::Detector;
use veridiff_table::{Row, catalogue::model_of};

use crate::families::per_token::{deviation, mean, quantile, windows};

/// The scorer in whose name such numbers stand.
pub const GENERATOR: &str = "generator";

/// The features that follow from the log-probabilities of a text's tokens alone, nats, by the names of their columns; none of no token.
pub fn features(logprob: &[f64]) -> BTreeMap<String, f64> {
    let Some(&first) = logprob.first() else { return BTreeMap::new() };
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let features = [
        ("logprob", mean(logprob.iter().copied()).unwrap_or(first)),
        ("probability", mean(logprob.iter().map(|logprob| logprob.exp())).unwrap_or(first.exp())),
        ("shape_logprob_min", least(&mut logprob.iter().copied())),
        ("shape_logprob_q10", quantile(logprob, 0.1)),
        ("shape_logprob_median", quantile(logprob, 0.5)),
        ("shape_logprob_spread", deviation(logprob)),
        ("shape_logprob_window", least(&mut windows(logprob))),
        ("shape_logprob_first", first),
    ];
    features.into_iter().map(|(name, value)| (format!("{name}@{GENERATOR}"), value)).collect()
}

/// Whether a detector takes a column from what comes with a sample. A scorer of the same name, which a table knows by its weights, is a
/// scorer all the same.
pub(crate) fn is_given(detector: &Detector, column: &str) -> bool {
    model_of(column) == Some(GENERATOR) && !detector.training.table.contains_key(&format!("weights@{GENERATOR}"))
}

/// The numbers that come with a sample, of its own keys.
pub(crate) fn given(extra: &Row) -> impl Iterator<Item = (String, serde_json::Value)> {
    let is_given = |(key, value): &(&String, &serde_json::Value)| model_of(key) == Some(GENERATOR) && value.is_number();
    extra.iter().filter(is_given).map(|(key, value)| (key.clone(), value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::catalogue::CATALOGUE;

    #[test]
    fn each_is_a_feature_by_its_name_and_its_value() {
        assert!(features(&[]).is_empty());
        let features = features(&[-1.0, -5.0, -3.0]);
        let of = |name: &str| features[&format!("{name}@generator")];
        assert_eq!((of("logprob"), of("shape_logprob_min"), of("shape_logprob_first")), (-3.0, -5.0, -1.0));
        assert_eq!((of("shape_logprob_median"), of("shape_logprob_window")), (-3.0, -3.0));
        assert!((of("shape_logprob_q10") + 4.6).abs() < 1e-12);
        assert!((of("shape_logprob_spread") - (8.0f64 / 3.0).sqrt()).abs() < 1e-12);
        let mean = ((-1.0f64).exp() + (-5.0f64).exp() + (-3.0f64).exp()) / 3.0;
        assert!((of("probability") - mean).abs() < 1e-12);
        assert!(features.keys().all(|name| CATALOGUE.entry_of(name).is_some_and(|entry| entry.has_model)));
    }
}
