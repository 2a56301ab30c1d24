//! Features of how the token scores change when something is taken out of the diff.

use super::{Family, Feature, Origin};
use crate::families::contrast::Side;

/// An entry for a number of one side's [`Change`](crate::families::contrast::Change).
macro_rules! change {
    ($side:ident, $key:literal, $what:literal, $name:literal, $unit:literal, $meaning:literal, $field:ident) => {
        Feature {
            name: concat!("contrast_", $key, "_", $name),
            family: Family::Contrast,
            unit: $unit,
            meaning: concat!($meaning, ", against ", $what),
            origin: Origin::Scorer(|m| m.contrast.and_then(|contrast| contrast.of(Side::$side)).map(|c| c.$field)),
        }
    };
}

/// The entries of one side, called `$key` in names.
macro_rules! side {
    ($side:ident, $key:literal, $what:literal) => {
        &[
            change!($side, $key, $what, "logprob", "nats", "mean gain in log-probability", logprob),
            change!($side, $key, $what, "least", "nats", "tenth percentile of the gain in log-probability", least),
            change!($side, $key, $what, "most", "nats", "largest gain in log-probability", most),
            change!($side, $key, $what, "spread", "nats", "standard deviation of the gain in log-probability", spread),
            change!(
                $side,
                $key,
                $what,
                "gain",
                "0 to 1",
                "share of the tokens that gain a tenth of a nat or more",
                gain
            ),
            change!($side, $key, $what, "content", "nats", "mean gain over content words and names", content),
            change!($side, $key, $what, "window", "nats", "largest mean gain over eight tokens in a row", window),
            change!(
                $side,
                $key,
                $what,
                "explained",
                "at most 1",
                "share of the text's surprise that is gone",
                explained
            ),
            change!($side, $key, $what, "logit", "unnormalised", "mean gain in the raw logit", logit),
            change!($side, $key, $what, "entropy", "nats", "mean gain in entropy", entropy),
        ]
    };
}

pub(super) const NO_DIFF: &[Feature] = side!(NoDiff, "none", "no diff at all");
pub(super) const UNCHANGED: &[Feature] = side!(Unchanged, "context", "the unchanged lines only");
pub(super) const OLD: &[Feature] = side!(Old, "old", "the file as it was");
pub(super) const NEW: &[Feature] = side!(New, "new", "the file as it is now");
