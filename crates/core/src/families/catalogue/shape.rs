//! Features of how uncertainty is spread over the text.

use super::{Family, Feature, Origin};

const NATS: &str = "nats";
const LOGPROB: &str = "nats, at most 0";

/// An entry for a field of [`crate::families::shape::Shape`].
macro_rules! shape {
    ($name:literal, $unit:expr, $meaning:literal, $field:ident) => {
        Feature {
            name: $name,
            family: Family::Shape,
            unit: $unit,
            meaning: $meaning,
            origin: Origin::Scorer(|m| m.shape.map(|shape| shape.$field)),
        }
    };
}

pub(super) const SHAPE: &[Feature] = &[
    shape!("shape_logprob_min", LOGPROB, "least log-probability of a token", logprob_min),
    shape!("shape_logprob_q10", LOGPROB, "tenth percentile of the tokens' log-probability", logprob_q10),
    shape!("shape_logprob_median", LOGPROB, "median of the tokens' log-probability", logprob_median),
    shape!("shape_logprob_spread", NATS, "standard deviation of the tokens' log-probability", logprob_spread),
    shape!("shape_logprob_window", LOGPROB, "least mean log-probability of eight tokens in a row", logprob_window),
    shape!("shape_logprob_first", LOGPROB, "log-probability of the first token", logprob_first),
    shape!("shape_logprob_content", LOGPROB, "mean log-probability over content words and names", logprob_content),
    shape!(
        "shape_logprob_names",
        LOGPROB,
        "mean log-probability over names; over all tokens without any",
        logprob_names
    ),
    shape!("shape_logprob_filler", LOGPROB, "mean log-probability over the other tokens", logprob_filler),
    shape!("shape_entropy_max", NATS, "largest entropy", entropy_max),
    shape!("shape_entropy_first", NATS, "entropy before the first token", entropy_first),
    shape!("shape_entropy_spread", NATS, "standard deviation of the entropies", entropy_spread),
    shape!("shape_entropy_content", NATS, "mean entropy over content words and names", entropy_content),
    shape!("shape_excess", NATS, "mean of surprise minus entropy: more surprising than the model expects", excess),
    shape!(
        "shape_curvature",
        "standard deviations",
        "the same over its standard deviation under the model (Fast-DetectGPT)",
        curvature
    ),
    shape!("shape_margin", "nats", "mean logit above the best other token", margin),
    shape!("shape_margin_min", "nats", "tenth percentile of that margin", margin_low),
    shape!("shape_top", "0 to 1", "share of the tokens that are the model's first choice", top),
    shape!("shape_rank", "ln(rank)", "mean logarithm of the tokens' ranks", rank),
    shape!("shape_rank_content", "ln(rank)", "the same over content words and names", rank_content),
];
