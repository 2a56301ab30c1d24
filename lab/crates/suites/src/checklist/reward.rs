//! What a review is paid: a number between 0 and 1, or none where a verdict that it needs is missing.
//!
//! Nothing is trained here. A missing verdict must reach the trainer as missing: a zero would teach that the review was bad.

use serde::Serialize;
use veridiff_core::families::reference::bleu::mteval_13a;
use veridiff_text::named;

use super::{
    judged::JudgedReview,
    passages::{n_words, passages},
};

/// What is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// The published count, times the penalty of length.
    Paper,
    /// What is asked for, less what is made up; for clean cases silence alone, whatever its length.
    Strict,
    /// The judge's one number for the whole.
    Rating,
}

named!(Preset, "preset", "strict" => Strict, "paper" => Paper, "rating" => Rating);

/// How the penalty falls with length. The paper says of it only that it is quadratic and ends at a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// From 1 at `m` times the checklist's length, by the square, to the minimum at `n` times.
    Ramp,
    /// 1 up to `n` times, then less by the square of what is beyond.
    Beyond,
}

named!(Shape, "shape", "ramp" => Ramp, "beyond" => Beyond);

/// What length is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    /// What blanks separate.
    Words,
    /// Unicode characters.
    Chars,
    /// Tokens of mteval 13a.
    Tokens,
    /// Passages against items.
    Items,
}

named!(LengthUnit, "length unit", "words" => Words, "chars" => Chars, "tokens" => Tokens, "items" => Items);

/// Every choice that a reward hangs on. The numbers of the default are ours: the paper gives none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RewardSpec {
    /// What is paid for.
    pub preset: Preset,
    /// How the penalty falls.
    pub shape: Shape,
    /// What length is counted in.
    pub unit: LengthUnit,
    /// How many times the checklist's length are free.
    pub m: f64,
    /// From how many times on the penalty is whole.
    pub n: f64,
    /// What is left of a review that is too long, 0 to 1.
    pub least: f64,
    /// A checklist counts as at least so long, in words; a fifth of it in items, six times in characters.
    pub floor: f64,
    /// What an unsupported claim costs, in items.
    pub mu: f64,
}

impl Default for RewardSpec {
    fn default() -> Self {
        RewardSpec {
            preset: Preset::Strict,
            shape: Shape::Ramp,
            unit: LengthUnit::Words,
            m: 1.5,
            n: 3.0,
            least: 0.2,
            floor: 40.0,
            mu: 0.5,
        }
    }
}

impl RewardSpec {
    /// Whether the numbers make a penalty.
    ///
    /// # Errors
    /// Which does not.
    pub fn check(&self) -> Result<(), String> {
        match self {
            s if !(s.m >= 0.0 && s.n > s.m && s.n.is_finite()) => {
                Err(format!("the penalty runs from {} to {} times the length, expected two rising numbers", s.m, s.n))
            }
            s if !(0.0..=1.0).contains(&s.least) => Err(format!("the least factor is {}, expected 0 to 1", s.least)),
            s if !(s.floor > 0.0 && s.floor.is_finite()) => Err(format!("the floor is {}, expected above 0", s.floor)),
            s if !(s.mu >= 0.0 && s.mu.is_finite()) => Err(format!("a claim costs {}, expected 0 or more", s.mu)),
            _ => Ok(()),
        }
    }

    /// The factor, `least` to 1, for a review of `ratio` times the checklist's length.
    pub fn gamma(&self, ratio: f64) -> f64 {
        let falls = |share: f64| 1.0 - (1.0 - self.least) * share * share;
        match self.shape {
            _ if ratio <= self.m => 1.0,
            Shape::Ramp if ratio < self.n => falls((ratio - self.m) / (self.n - self.m)),
            Shape::Ramp => self.least,
            Shape::Beyond if ratio <= self.n => 1.0,
            Shape::Beyond => (1.0 - (ratio - self.n).powi(2)).max(self.least),
        }
    }

    /// The length of a review as a multiple of its checklist's.
    fn ratio(&self, judged: &JudgedReview<'_>) -> f64 {
        let (review, list) = (judged.review.text.as_str(), judged.list.text());
        let n_tokens = |text: &str| mteval_13a(text).iter().count();
        let (length, of_list, floor) = match self.unit {
            LengthUnit::Words => (n_words(review), n_words(&list), self.floor),
            LengthUnit::Chars => (review.chars().count(), list.chars().count(), self.floor * 6.0),
            LengthUnit::Tokens => (n_tokens(review), n_tokens(&list), self.floor),
            LengthUnit::Items => (passages(review).len(), judged.list.n(), self.floor / 5.0),
        };
        length as f64 / (of_list as f64).max(floor)
    }
}

/// A reward and what it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reward {
    /// 0 to 1; none if a verdict that it needs is missing.
    pub total: Option<f64>,
    /// The share of items that is paid for.
    pub coverage: Option<f64>,
    /// How many claims are unsupported.
    pub unsupported: Option<usize>,
    /// Whether the review is silent.
    pub silence: Option<bool>,
    /// The factor of its length.
    pub gamma: f64,
    /// Its length as a multiple of the checklist's.
    pub ratio: f64,
}

/// The reward of a review.
pub fn reward(spec: &RewardSpec, judged: &JudgedReview<'_>) -> Reward {
    let ratio = spec.ratio(judged);
    let gamma = spec.gamma(ratio);
    let (silence, unsupported) = (judged.silent(), judged.claims().map(|claims| claims.unsupported));
    let (total, coverage) = match spec.preset {
        Preset::Paper => {
            let share = judged.clc(false);
            (share.map(|share| gamma * share), share)
        }
        Preset::Rating => (judged.rating.map(|rating| rating as f64 / 10.0), None),
        Preset::Strict if judged.list.clean => (silence.map(|silent| f64::from(u8::from(silent))), None),
        Preset::Strict => {
            let coverage = judged.coverage_soft();
            let paid = |(coverage, unsupported): (f64, usize)| {
                gamma * (coverage - spec.mu * unsupported as f64 / judged.list.n() as f64).clamp(0.0, 1.0)
            };
            (coverage.zip(unsupported).map(paid), coverage)
        }
    };
    Reward { total, coverage, unsupported, silence, gamma, ratio }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_penalty_is_whole_where_it_is_said_to_be() {
        let ramp = RewardSpec::default();
        assert_eq!([0.0, 1.5, 2.25, 3.0, 9.0].map(|ratio| ramp.gamma(ratio)), [1.0, 1.0, 0.8, 0.2, 0.2]);
        let beyond = RewardSpec { shape: Shape::Beyond, ..ramp };
        assert_eq!([3.0, 3.5, 5.0].map(|ratio| beyond.gamma(ratio)), [1.0, 0.75, 0.2]);
        for bad in [
            RewardSpec { m: 3.0, ..ramp },
            RewardSpec { least: 1.5, ..ramp },
            RewardSpec { floor: 0.0, ..ramp },
            RewardSpec { mu: f64::NAN, ..ramp },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn the_penalty_never_rises_and_has_no_step(a in 0.0..6.0f64, by in 0.0..2.0f64) {
            for shape in [Shape::Ramp, Shape::Beyond] {
                let spec = RewardSpec { shape, ..RewardSpec::default() };
                prop_assert!(spec.gamma(a) >= spec.gamma(a + by));
                prop_assert!((spec.gamma(a) - spec.gamma(a + 1e-9)).abs() < 1e-6);
                prop_assert!((0.2..=1.0).contains(&spec.gamma(a)));
            }
        }
    }
}
