//! The score by the probabilities of the five digits where the score stands.

use crate::{
    backend::{Token, probabilities},
    failure::{Failure, Kind},
};

/// The digits of the scale.
pub const DIGITS: [&str; 5] = ["0", "1", "2", "3", "4"];

/// The least probability that the digits must have together: below it something else was about to be said.
const LEAST_MASS: f64 = 0.5;

/// A distribution over the scale 0 to 4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// Each level's probability; they add up to 1.
    pub p: [f64; 5],
    /// What the digits had together, of all that could have been said.
    pub mass: f64,
}

impl Levels {
    /// The levels at the token that holds the score's digit.
    ///
    /// # Errors
    /// [`Kind::NoLogprobs`] if the token holds more than the digit, or the written digit is not among what could have stood there;
    /// [`Kind::LowMass`].
    pub fn at(token: &Token, answer: u8) -> Result<Levels, Failure> {
        let none = |why: &str| Err(Failure::new(Kind::NoLogprobs, why));
        if token.text.trim_matches(|c: char| c.is_ascii_whitespace()) != DIGITS[usize::from(answer.min(4))] {
            return none("the token of the score holds more than its digit");
        }
        Levels::of(&probabilities(token, &DIGITS))
    }

    /// The levels of five probabilities, as parts of all that could have been said.
    ///
    /// # Errors
    /// [`Kind::LowMass`]; [`Kind::NoLogprobs`] if they are no probabilities.
    pub fn of(probabilities: &[f64]) -> Result<Levels, Failure> {
        let mass: f64 = probabilities.iter().sum();
        if probabilities.len() != 5 || !mass.is_finite() || probabilities.iter().any(|p| *p < 0.0) {
            return Err(Failure::new(Kind::NoLogprobs, "the digits' probabilities are no probabilities"));
        }
        if mass < LEAST_MASS {
            let message = format!("the five digits have {mass:.3} of the probability where the score stands");
            return Err(Failure::new(Kind::LowMass, message));
        }
        let mut p = [0.0; 5];
        p.iter_mut().zip(probabilities).for_each(|(p, given)| *p = given / mass);
        // rounding may take the sum of all above 1
        Ok(Levels { p, mass: mass.min(1.0) })
    }

    /// The expected score, 0 to 4.
    pub fn expected(&self) -> f64 {
        self.p.iter().enumerate().map(|(level, p)| level as f64 * p).sum()
    }

    /// How undecided the judge is, in nats, 0 to ln 5.
    pub fn entropy(&self) -> f64 {
        // an empty sum of negated terms would be -0
        self.p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum::<f64>().max(0.0)
    }

    /// The probability that the score is at least `threshold`.
    pub fn at_least(&self, threshold: u8) -> f64 {
        self.p[usize::from(threshold.min(5))..].iter().sum::<f64>().min(1.0)
    }

    /// The most probable level; of several the lowest.
    pub fn most_probable(&self) -> u8 {
        (0..5u8).rev().max_by(|a, b| self.p[usize::from(*a)].total_cmp(&self.p[usize::from(*b)])).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, alternatives: &[(&str, f64)]) -> Token {
        let alternatives = alternatives.iter().map(|(text, p)| ((*text).to_owned(), *p)).collect();
        Token { text: text.into(), n_bytes: text.len(), log_prob: Some(-1.0), entropy: None, alternatives }
    }

    #[test]
    fn hand_cases() {
        let uniform = Levels::of(&[0.2; 5]).unwrap();
        assert!((uniform.expected() - 2.0).abs() < 1e-12 && (uniform.entropy() - 5f64.ln()).abs() < 1e-12);
        let sure = Levels::of(&[0.0, 0.0, 0.0, 0.8, 0.0]).unwrap();
        assert_eq!((sure.expected(), sure.entropy(), sure.mass, sure.most_probable()), (3.0, 0.0, 0.8, 3));
        assert_eq!((sure.at_least(3), sure.at_least(4), sure.at_least(0)), (1.0, 0.0, 1.0));
        // 0.1, 0.2, 0.3, 0.3, 0.1: expected 2.1, at least 1 with 0.9
        let mixed = Levels::of(&[0.1, 0.2, 0.3, 0.3, 0.1]).unwrap();
        assert!((mixed.expected() - 2.1).abs() < 1e-12 && (mixed.at_least(1) - 0.9).abs() < 1e-12);
        assert_eq!(mixed.most_probable(), 2);
        for (bad, kind) in [
            (vec![0.1; 4], Kind::NoLogprobs),
            (vec![f64::NAN, 0.5, 0.5, 0.0, 0.0], Kind::NoLogprobs),
            (vec![-0.1, 0.5, 0.5, 0.0, 0.0], Kind::NoLogprobs),
            (vec![0.09; 5], Kind::LowMass),
        ] {
            assert_eq!(Levels::of(&bad).unwrap_err().kind, kind);
        }
    }

    #[test]
    fn a_server_that_masks_and_one_that_does_not_agree() {
        let raw = token(" 2", &[(" 2", -0.7), ("2", -3.0), ("1", -1.9), ("4", -9999.0)]);
        let raw = Levels::at(&raw, 2).unwrap();
        // masked to the digits: all is shifted by the logarithm of their mass
        let shift = raw.mass.ln();
        let masked = token("2", &[("2", ((-0.7f64).exp() + (-3f64).exp()).ln() - shift), ("1", -1.9 - shift)]);
        let masked = Levels::at(&masked, 2).unwrap();
        assert!((masked.mass - 1.0).abs() < 1e-9 && raw.mass < 0.72);
        assert!((masked.expected() - raw.expected()).abs() < 1e-6);
        assert_eq!((raw.p[0], raw.p[4]), (0.0, 0.0));
    }

    #[test]
    fn a_token_that_is_more_than_the_digit_is_none() {
        for text in ["2}", ": 2", "20", "two", ""] {
            let error = Levels::at(&token(text, &[("2", -0.1)]), 2).unwrap_err();
            assert_eq!(error.kind, Kind::NoLogprobs, "{text}");
        }
        assert_eq!(Levels::at(&token("2", &[("2", -1.0)]), 2).unwrap_err().kind, Kind::LowMass);
    }
}
