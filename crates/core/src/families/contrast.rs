//! How the scores of a text change when something is taken out of the diff.
//!
//! A text that is about the change loses probability without it; a text that would fit any change does not. The text's tokens
//! stay the same, only the prompt before them is another: without any diff, without the changed lines, or with the file as it
//! was or is now. Pointwise mutual information between diff and text is the first of them (log-probability, summed).

use veridiff_engine::reading::scores::StepScores;

use super::{
    family::{Compute, Family, Field, Needs, OF_SCORER, SCORER},
    per_token::{TokenClass, deviation, mean, mean_of, quantile, windows},
};
use crate::{measurement::Measurement, side::PromptSide};

/// The entry of one side's number.
macro_rules! change {
    ($key:literal, $what:literal, $name:literal, $unit:literal, $meaning:literal, $field:ident) => {
        Field {
            name: concat!("contrast_", $key, "_", $name),
            unit: $unit,
            meaning: concat!($meaning, ", against ", $what),
            value: |change: &ScoreChange| change.$field,
        }
    };
}

/// The entries of one side, called `$key` in names.
macro_rules! side {
    ($key:literal, $what:literal) => {
        &[
            change!($key, $what, "logprob", "nats", "mean gain in log-probability", logprob),
            change!($key, $what, "least", "nats", "tenth percentile of the gain in log-probability", least),
            change!($key, $what, "most", "nats", "largest gain in log-probability", most),
            change!($key, $what, "spread", "nats", "standard deviation of the gain in log-probability", spread),
            change!($key, $what, "gain", "0 to 1", "share of the tokens that gain a tenth of a nat or more", gain),
            change!($key, $what, "content", "nats", "mean gain over content words and names", content),
            change!($key, $what, "window", "nats", "largest mean gain over eight tokens in a row", window),
            change!($key, $what, "explained", "at most 1", "share of the text's surprise that is gone", explained),
            change!($key, $what, "logit", "unnormalised", "mean gain in the raw logit", logit),
            change!($key, $what, "entropy", "nats", "mean gain in entropy", entropy),
        ]
    };
}

const NO_DIFF: &[Field<ScoreChange>] = side!("none", "no diff at all");
const UNCHANGED: &[Field<ScoreChange>] = side!("context", "the unchanged lines only");
const OLD: &[Field<ScoreChange>] = side!("old", "the file as it was");
const NEW: &[Field<ScoreChange>] = side!("new", "the file as it is now");

/// Every side with its features, in the order of the columns.
const SIDES: [(PromptSide, &[Field<ScoreChange>]); 4] =
    [(PromptSide::NoDiff, NO_DIFF), (PromptSide::Unchanged, UNCHANGED), (PromptSide::Old, OLD), (PromptSide::New, NEW)];

/// The family `contrast`: for each side of the diff a forward pass over its prompt, shared by samples of one diff, and one over
/// the text.
pub static FAMILY: Family = Family {
    name: "contrast",
    needs_reference: false,
    is_default: false,
    features: || {
        let fields = SIDES.iter().flat_map(|(_, fields)| fields.iter());
        fields.map(|field| field.feature(SCORER, OF_SCORER)).collect()
    },
    compute: Compute::Reading { needs, measure },
};

/// The sides of which a feature is among `names`.
fn needs(names: &[&str]) -> Needs {
    let wanted = |fields: &[Field<ScoreChange>]| fields.iter().any(|field| names.contains(&field.name));
    let sides = SIDES.iter().filter(|(_, fields)| wanted(fields)).map(|(side, _)| *side);
    Needs { sides: sides.collect(), ..Needs::default() }
}

fn measure(m: &Measurement) -> Vec<Option<f64>> {
    let without: Vec<_> = m.sides.iter().map(|(side, scores)| (*side, scores.of_targets(&m.counted))).collect();
    let contrast = Contrast::new(&m.scores.of_targets(&m.counted), &without, &m.classes_counted());
    SIDES.iter().flat_map(|(side, fields)| Field::values(fields, contrast.of(*side))).collect()
}

/// How the scores change from one side to the whole diff: positive where the whole diff gives more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreChange {
    /// Mean change in log-probability.
    pub logprob: f64,
    /// The tenth percentile of the tokens' gains.
    pub least: f64,
    /// The largest gain of a token.
    pub most: f64,
    /// The standard deviation of the tokens' gains.
    pub spread: f64,
    /// Share of the tokens that gain [`GAIN`] or more.
    pub gain: f64,
    /// Mean over content words and names; over all tokens where there are none.
    pub content: f64,
    /// The largest mean over some tokens in a row.
    pub window: f64,
    /// Share of the text's surprise without that is gone with the diff: 1 minus the ratio of the mean log-probabilities.
    pub explained: f64,
    /// Mean change in the raw logit.
    pub logit: f64,
    /// The mean over the tokens of the change in entropy, in nats.
    pub entropy: f64,
}

/// A change in log-probability that counts as one, in nats.
pub const GAIN: f64 = 0.1;

impl ScoreChange {
    /// From the scores `without` to those with the whole diff; `None` without tokens.
    pub fn new(with: &StepScores, without: &StepScores, classes: &[TokenClass]) -> Option<Self> {
        let difference =
            |with: &[f64], without: &[f64]| with.iter().zip(without).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let logprob = difference(&with.logprob, &without.logprob);
        let average = mean(logprob.iter().copied())?;
        let surprise = -mean(without.logprob.iter().copied())?;
        let all = |values: Vec<f64>| mean(values).unwrap_or(0.0);
        Some(ScoreChange {
            logprob: average,
            least: quantile(&logprob, 0.1),
            most: logprob.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            spread: deviation(&logprob),
            gain: mean(logprob.iter().map(|&change| f64::from(u8::from(change >= GAIN)))).unwrap_or(0.0),
            content: mean_of(&logprob, classes, |class| class != TokenClass::Filler),
            window: windows(&logprob).fold(f64::NEG_INFINITY, f64::max),
            explained: if surprise > 0.0 { average / surprise } else { 0.0 },
            logit: all(difference(&with.logit, &without.logit)),
            entropy: all(difference(&with.entropy, &without.entropy)),
        })
    }
}

/// The changes of one text, for each side that was looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contrast {
    changes: Vec<(PromptSide, ScoreChange)>,
}

impl Contrast {
    /// The change from each side's scores to those with the whole diff.
    pub fn new(with: &StepScores, sides: &[(PromptSide, StepScores)], classes: &[TokenClass]) -> Self {
        let change =
            |(side, without): &(PromptSide, StepScores)| Some((*side, ScoreChange::new(with, without, classes)?));
        Contrast { changes: sides.iter().filter_map(change).collect() }
    }

    /// What the side lacks changes in the scores; none if that side was not run.
    pub fn of(&self, side: PromptSide) -> Option<&ScoreChange> {
        self.changes.iter().find(|(known, _)| *known == side).map(|(_, change)| change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_by_hand() {
        let scores = |logprob: [f64; 2], logit: [f64; 2], entropy: [f64; 2]| StepScores {
            logprob: logprob.to_vec(),
            logit: logit.to_vec(),
            probability: vec![0.0; 2],
            entropy: entropy.to_vec(),
        };
        let with = scores([-1.0, -2.0], [3.0, 5.0], [1.0, 1.0]);
        let without = scores([-4.0, -2.0], [2.0, 2.0], [2.0, 4.0]);
        let contrast = Contrast::new(&with, &[(PromptSide::Old, without)], &[TokenClass::Filler, TokenClass::Name]);
        let change = *contrast.of(PromptSide::Old).unwrap();
        assert_eq!((change.logprob, change.most, change.gain, change.content), (1.5, 3.0, 0.5, 0.0));
        assert_eq!((change.logit, change.entropy, change.explained, change.spread), (2.0, -2.0, 0.5, 1.5));
        assert!((change.least - 0.3).abs() < 1e-12 && change.window == 1.5);
        assert_eq!(contrast.of(PromptSide::New), None);
    }
}
