//! The core paper's uncertainty: means over the text's tokens of what the model gives them. One forward pass.

use veridiff_engine::reading::scores::StepScores;

use super::{
    family::{Compute, Family, Feature, Needs, OF_SCORER, SCORER},
    per_token::mean,
};

/// Name, unit, meaning and values of every feature.
type UncertaintyField = (&'static str, &'static str, &'static str, fn(&StepScores) -> &[f64]);

/// Means are over the response's tokens, logarithms natural.
const FIELDS: [UncertaintyField; 4] = [
    (
        "logprob",
        "nats, at most 0",
        "mean log-probability of the text's tokens (the core paper's SeqLogProb is its negative)",
        |scores| &scores.logprob,
    ),
    ("logit", "unnormalised", "mean raw logit of the text's tokens (SeqLogit)", |scores| &scores.logit),
    ("probability", "0 to 1", "mean probability of the text's tokens", |scores| &scores.probability),
    ("entropy", "nats, at least 0", "mean entropy of the next-token distributions (SeqEntropy)", |scores| {
        &scores.entropy
    }),
];

/// The family `uncertainty`: the core paper's means over the text's tokens.
pub static FAMILY: Family = Family {
    name: "uncertainty",
    needs_reference: false,
    is_default: true,
    features: || FIELDS.map(|(name, unit, meaning, _)| Feature::new(name, unit, meaning, SCORER, OF_SCORER)).to_vec(),
    compute: Compute::Reading { needs: |_| Needs::default(), measure: |m| values(&m.scores.of_targets(&m.counted)) },
};

/// The means of some tokens' scores; `None` of none.
fn values(scores: &StepScores) -> Vec<Option<f64>> {
    FIELDS.iter().map(|(_, _, _, of)| mean(of(scores).iter().copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_means_and_nothing_of_no_token() {
        let scores = StepScores {
            logprob: vec![-1.0, -3.0],
            logit: vec![4.0, 8.0],
            probability: vec![0.25, 0.75],
            entropy: vec![1.0, 2.0],
        };
        assert_eq!(values(&scores), [Some(-2.0), Some(6.0), Some(0.5), Some(1.5)]);
        assert_eq!(values(&StepScores::default()), [None; 4]);
    }
}
