//! The shape of uncertainty: not only its mean but its extremes, and where in the text they are.

use veridiff_engine::reading::scores::{StepRanks, StepScores};

use super::{
    family::{Compute, Family, Field, Needs, OF_SCORER, SCORER, field},
    per_token::{TokenClass, deviation, mean, mean_of, quantile, windows},
};
use crate::measurement::Measurement;

const NATS: &str = "nats";
const LOGPROB: &str = "nats, at most 0";

const FIELDS: &[Field<Shape>] = &[
    field!("shape_logprob_min", LOGPROB, "least log-probability of a token", logprob_min),
    field!("shape_logprob_q10", LOGPROB, "tenth percentile of the tokens' log-probability", logprob_q10),
    field!("shape_logprob_median", LOGPROB, "median of the tokens' log-probability", logprob_median),
    field!("shape_logprob_spread", NATS, "standard deviation of the tokens' log-probability", logprob_spread),
    field!("shape_logprob_window", LOGPROB, "least mean log-probability of eight tokens in a row", logprob_window),
    field!("shape_logprob_first", LOGPROB, "log-probability of the first token", logprob_first),
    field!("shape_logprob_content", LOGPROB, "mean log-probability over content words and names", logprob_content),
    field!(
        "shape_logprob_names",
        LOGPROB,
        "mean log-probability over names; over all tokens without any",
        logprob_names
    ),
    field!("shape_logprob_filler", LOGPROB, "mean log-probability over the other tokens", logprob_filler),
    field!("shape_entropy_max", NATS, "largest entropy", entropy_max),
    field!("shape_entropy_first", NATS, "entropy before the first token", entropy_first),
    field!("shape_entropy_spread", NATS, "standard deviation of the entropies", entropy_spread),
    field!("shape_entropy_content", NATS, "mean entropy over content words and names", entropy_content),
    field!("shape_excess", NATS, "mean of surprise minus entropy: more surprising than the model expects", excess),
    field!(
        "shape_curvature",
        "standard deviations",
        "the same over its standard deviation under the model (Fast-DetectGPT)",
        curvature
    ),
    field!("shape_margin", "nats", "mean logit above the best other token", margin),
    field!("shape_margin_min", "nats", "tenth percentile of that margin", margin_low),
    field!("shape_top", "0 to 1", "share of the tokens that are the model's first choice", top),
    field!("shape_rank", "ln(rank)", "mean logarithm of the tokens' ranks", rank),
    field!("shape_rank_content", "ln(rank)", "the same over content words and names", rank_content),
];

/// The family `shape`: the same forward pass as for uncertainty, every token's rank and margin beside its scores.
pub static FAMILY: Family = Family {
    name: "shape",
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(SCORER, OF_SCORER)).collect(),
    compute: Compute::Reading {
        needs: |_| Needs { ranks: true, ..Needs::default() },
        measure: |m| Field::values(FIELDS, Shape::of(m).as_ref()),
    },
};

/// Uncertainty of a text beyond its means. In nats but for ranks and shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The least log-probability of a token.
    pub logprob_min: f64,
    /// The tenth percentile of the tokens' log-probabilities.
    pub logprob_q10: f64,
    /// The median of the tokens' log-probabilities.
    pub logprob_median: f64,
    /// The standard deviation of the tokens' log-probabilities.
    pub logprob_spread: f64,
    /// The least mean log-probability of eight tokens in a row ([`super::per_token::WINDOW`]).
    pub logprob_window: f64,
    /// The log-probability of the first token.
    pub logprob_first: f64,
    /// The mean log-probability of content words and names; of all tokens where there are none.
    pub logprob_content: f64,
    /// The mean log-probability of names; of all tokens where there are none.
    pub logprob_names: f64,
    /// The mean log-probability of the other tokens; of all tokens where there are none.
    pub logprob_filler: f64,
    /// The largest entropy before a token.
    pub entropy_max: f64,
    /// The entropy before the first token.
    pub entropy_first: f64,
    /// The standard deviation of the entropies.
    pub entropy_spread: f64,
    /// The mean entropy before content words and names; before all tokens where there are none.
    pub entropy_content: f64,
    /// Mean of surprise minus entropy.
    pub excess: f64,
    /// Sum of entropy minus surprise over the square root of the sum of the variances of the surprise under the model (Bao et
    /// al. 2024, arXiv:2310.05130, with the scorer as its own reference); 0 without variance.
    pub curvature: f64,
    /// Mean margin to the best other token.
    pub margin: f64,
    /// The tenth percentile of the margins.
    pub margin_low: f64,
    /// Share of the tokens of rank 1.
    pub top: f64,
    /// Mean logarithm of the rank.
    pub rank: f64,
    /// Mean logarithm of the rank over content words and names; over all tokens where there are none.
    pub rank_content: f64,
}

impl Shape {
    /// Of what a scorer read; `None` without ranks, or if no token counts.
    pub fn of(m: &Measurement) -> Option<Self> {
        let ranks = m.ranks.as_ref()?.of_targets(&m.counted);
        Shape::new(&m.scores.of_targets(&m.counted), &ranks, &m.classes_counted())
    }

    /// Of a text's tokens, at least one; `None` of none.
    pub fn new(scores: &StepScores, ranks: &StepRanks, classes: &[TokenClass]) -> Option<Self> {
        let (logprob, entropy) = (&scores.logprob, &scores.entropy);
        let first = *logprob.first()?;
        let is_content = |class| class != TokenClass::Filler;
        let excess: Vec<f64> = logprob.iter().zip(entropy).map(|(l, h)| -l - h).collect();
        let variance: f64 = ranks.variance.iter().sum();
        let log_rank: Vec<f64> = ranks.rank.iter().map(|rank| rank.ln()).collect();
        let all = |values: &[f64]| mean(values.iter().copied()).unwrap_or(0.0);
        Some(Shape {
            logprob_min: logprob.iter().copied().fold(f64::INFINITY, f64::min),
            logprob_q10: quantile(logprob, 0.1),
            logprob_median: quantile(logprob, 0.5),
            logprob_spread: deviation(logprob),
            logprob_window: windows(logprob).fold(f64::INFINITY, f64::min),
            logprob_first: first,
            logprob_content: mean_of(logprob, classes, is_content),
            logprob_names: mean_of(logprob, classes, |class| class == TokenClass::Name),
            logprob_filler: mean_of(logprob, classes, |class| class == TokenClass::Filler),
            entropy_max: entropy.iter().copied().fold(0.0, f64::max),
            entropy_first: entropy[0],
            entropy_spread: deviation(entropy),
            entropy_content: mean_of(entropy, classes, is_content),
            excess: all(&excess),
            curvature: if variance > 0.0 { -excess.iter().sum::<f64>() / variance.sqrt() } else { 0.0 },
            margin: all(&ranks.margin),
            margin_low: quantile(&ranks.margin, 0.1),
            top: all(&ranks.rank.iter().map(|&rank| f64::from(u8::from(rank <= 1.0))).collect::<Vec<_>>()),
            rank: all(&log_rank),
            rank_content: mean_of(&log_rank, classes, is_content),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(logprob: &[f64], entropy: &[f64]) -> StepScores {
        StepScores {
            logprob: logprob.to_vec(),
            logit: vec![0.0; logprob.len()],
            probability: logprob.iter().map(|l| l.exp()).collect(),
            entropy: entropy.to_vec(),
        }
    }

    #[test]
    fn by_hand() {
        use TokenClass::*;
        let ranks =
            StepRanks { rank: vec![1.0, 3.0, 2.0], margin: vec![2.0, -4.0, -1.0], variance: vec![1.0, 2.0, 1.0] };
        let shape =
            Shape::new(&scores(&[-1.0, -5.0, -3.0], &[2.0, 1.0, 3.0]), &ranks, &[Filler, Name, Content]).unwrap();
        assert_eq!((shape.logprob_min, shape.logprob_median, shape.logprob_first), (-5.0, -3.0, -1.0));
        // between the two lowest, a fifth of the way
        assert!((shape.logprob_q10 + 4.6).abs() < 1e-12, "{}", shape.logprob_q10);
        assert!((shape.logprob_spread - (8.0f64 / 3.0).sqrt()).abs() < 1e-12);
        // fewer tokens than a window: the mean of all
        assert_eq!((shape.logprob_window, shape.logprob_content, shape.logprob_names), (-3.0, -4.0, -5.0));
        assert_eq!((shape.logprob_filler, shape.entropy_max, shape.entropy_first), (-1.0, 3.0, 2.0));
        // surprise 1, 5, 3 against entropy 2, 1, 3
        assert_eq!((shape.excess, shape.curvature), (1.0, -3.0 / 2.0));
        assert_eq!((shape.margin, shape.top), (-1.0, 1.0 / 3.0));
        assert!((shape.rank - 6f64.ln() / 3.0).abs() < 1e-12);
        assert!((shape.rank_content - 6f64.ln() / 2.0).abs() < 1e-12);
        assert_eq!(shape.entropy_content, 2.0);
    }

    #[test]
    fn without_names_the_mean_is_over_all_and_no_tokens_have_no_shape() {
        let ranks = StepRanks { rank: vec![1.0, 1.0], margin: vec![1.0, 1.0], variance: vec![0.0, 0.0] };
        let shape = Shape::new(&scores(&[-1.0, -2.0], &[0.0, 0.0]), &ranks, &[TokenClass::Filler; 2]).unwrap();
        assert_eq!((shape.logprob_names, shape.logprob_content, shape.curvature), (-1.5, -1.5, 0.0));
        assert_eq!(Shape::new(&StepScores::default(), &StepRanks::default(), &[]), None);
    }

    #[test]
    fn windows_find_the_worst_stretch() {
        let mut values = vec![-1.0; 20];
        values[5..13].fill(-3.0);
        assert_eq!(windows(&values).fold(f64::INFINITY, f64::min), -3.0);
        assert_eq!(windows(&values).count(), 13);
        assert_eq!(windows(&[]).count(), 0);
    }
}
