//! How often judges are wrong, and which way: rates with their intervals, and what changes between two ways of asking.

use serde::Serialize;
use veridiff_detector::{Interval, proportion_interval};
use veridiff_judge::figures;

use super::{parse::Said, task::Truth};

/// A judgement and the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// What is so.
    pub truth: Truth,
    /// What was said.
    pub said: Said,
}

/// A share with its 95% interval after Wilson.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub n: usize,
}

impl Share {
    /// The share in percent; none of nothing.
    pub fn percent(self) -> Option<f64> {
        // in this order: a hundred times 23 / 80 is less than 28.75, and would print as another number
        (self.n > 0).then(|| 100.0 * self.count as f64 / self.n as f64)
    }

    /// The interval in percent; none of nothing.
    pub fn interval(self) -> Option<(f64, f64)> {
        proportion_interval(self.count, self.n).map(|Interval { low, high }| (100.0 * low, 100.0 * high))
    }
}

/// The counts of a judge in a mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Correct, and said to be.
    pub true_positive: usize,
    /// Correct, and rejected.
    pub false_negative: usize,
    /// Buggy, and accepted.
    pub false_positive: usize,
    /// Buggy, and rejected.
    pub true_negative: usize,
    /// Correct programs about which it cannot be told what was said.
    pub unparsed_correct: usize,
    /// Buggy ones.
    pub unparsed_buggy: usize,
}

impl Counts {
    /// Counts judgements. What is only known to differ on other inputs is buggy here as well.
    pub fn of(judged: impl IntoIterator<Item = Judged>) -> Counts {
        let mut counts = Counts::default();
        for Judged { truth, said } in judged {
            let is_correct = truth == Truth::Correct;
            *match (is_correct, said) {
                (true, Said::Yes) => &mut counts.true_positive,
                (true, Said::No) => &mut counts.false_negative,
                (false, Said::Yes) => &mut counts.false_positive,
                (false, Said::No) => &mut counts.true_negative,
                (true, Said::Unparsed) => &mut counts.unparsed_correct,
                (false, Said::Unparsed) => &mut counts.unparsed_buggy,
            } += 1;
        }
        counts
    }

    /// The share of correct programs that are rejected.
    pub fn fnr(&self) -> Share {
        Share { count: self.false_negative, n: self.false_negative + self.true_positive }
    }

    /// The share of buggy programs that are accepted.
    pub fn fpr(&self) -> Share {
        Share { count: self.false_positive, n: self.false_positive + self.true_negative }
    }

    /// The share of correct programs rejected if all unparsed answers were a yes, and if all were a no.
    pub fn fnr_bounds(&self) -> [Share; 2] {
        let n = self.fnr().n + self.unparsed_correct;
        [0, self.unparsed_correct].map(|more| Share { count: self.false_negative + more, n })
    }

    /// The share of buggy programs accepted if all unparsed answers were a no, and if all were a yes.
    pub fn fpr_bounds(&self) -> [Share; 2] {
        let n = self.fpr().n + self.unparsed_buggy;
        [0, self.unparsed_buggy].map(|more| Share { count: self.false_positive + more, n })
    }

    /// One less half the sum of both rates, in percent.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        Some(100.0 - (self.fnr().percent()? + self.fpr().percent()?) / 2.0)
    }

    /// Matthews' correlation of what is said with what is so, from -1 to 1; none where one of the four sums is 0.
    pub fn matthews(&self) -> Option<f64> {
        let Counts { true_positive, false_negative, false_positive, true_negative, .. } = *self;
        let parsed = figures::Counts { true_positive, false_positive, false_negative, true_negative, n_unjudged: 0 };
        parsed.figures().mcc
    }
}

/// What changes when the same programs are judged in another way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Flips {
    /// From yes to no.
    pub yes_to_no: usize,
    /// From no to yes.
    pub no_to_yes: usize,
    /// Programs whose answers were parsed in both.
    pub n: usize,
}

impl Flips {
    /// Compares pairs of answers.
    pub fn of(pairs: impl IntoIterator<Item = (Said, Said)>) -> Flips {
        let mut flips = Flips::default();
        for pair in pairs {
            match pair {
                (Said::Unparsed, _) | (_, Said::Unparsed) => continue,
                (Said::Yes, Said::No) => flips.yes_to_no += 1,
                (Said::No, Said::Yes) => flips.no_to_yes += 1,
                _ => {}
            }
            flips.n += 1;
        }
        flips
    }

    /// The share that changes.
    pub fn share(&self) -> Share {
        Share { count: self.yes_to_no + self.no_to_yes, n: self.n }
    }

    /// McNemar's exact p, two-sided: how probable so uneven a split would be if both directions were alike.
    pub fn p(&self) -> f64 {
        let (n, least) = (self.yes_to_no + self.no_to_yes, self.yes_to_no.min(self.no_to_yes));
        if n == 0 {
            return 1.0;
        }
        // the binomial's terms in logarithms, so that many flips are no trouble
        let mut term = -(n as f64) * std::f64::consts::LN_2;
        let mut sum = 0.0;
        for k in 0..=least {
            sum += term.exp();
            term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
        }
        (2.0 * sum).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_percentages_come_out_of_their_counts() {
        let rounded = |count, n| (Share { count, n }.percent().unwrap() * 10.0).round() / 10.0;
        assert_eq!(rounded(184, 513), 35.9);
        assert_eq!(rounded(43, 164), 26.2);
        assert_eq!(rounded(398, 533), 74.7);
    }

    #[test]
    fn intervals_are_wilson_s() {
        // worked out by the formula apart from this code
        let (low, high) = Share { count: 43, n: 164 }.interval().unwrap();
        assert!((low - 20.08758).abs() < 1e-4 && (high - 33.43999).abs() < 1e-4, "{low} {high}");
        assert_eq!(Share { count: 0, n: 0 }.interval(), None);
        assert_eq!(Share { count: 0, n: 10 }.interval().unwrap().0, 0.0);
    }

    #[test]
    fn what_cannot_be_told_is_left_out_and_bounds_the_rates() {
        use Said::{No, Unparsed, Yes};
        let judged = |truth, said| Judged { truth, said };
        let all = [
            judged(Truth::Correct, Yes),
            judged(Truth::Correct, No),
            judged(Truth::Correct, Unparsed),
            judged(Truth::Buggy, No),
            judged(Truth::BuggyHidden, Yes),
            judged(Truth::Buggy, No),
        ];
        let counts = Counts::of(all);
        assert_eq!(counts.fnr(), Share { count: 1, n: 2 });
        assert_eq!(counts.fpr(), Share { count: 1, n: 3 });
        assert_eq!(counts.fnr_bounds(), [Share { count: 1, n: 3 }, Share { count: 2, n: 3 }]);
        assert_eq!(counts.matthews().map(|m| (m * 1e4).round()), Some(1667.0));
    }

    #[test]
    fn flips_have_mcnemar_s_exact_p() {
        let pairs = |yes_to_no, no_to_yes| {
            let flips = Flips { yes_to_no, no_to_yes, n: 100 };
            (flips.p() * 1e5).round()
        };
        // twice the binomial's tail at one half
        assert_eq!(pairs(10, 2), 3857.0);
        assert_eq!(pairs(1, 8), 3906.0);
        assert_eq!(pairs(5, 5), 1e5);
        assert_eq!(pairs(0, 0), 1e5);
        assert_eq!(
            Flips::of([(Said::Yes, Said::No), (Said::Unparsed, Said::No), (Said::No, Said::No)]),
            Flips { yes_to_no: 1, no_to_yes: 0, n: 2 }
        );
    }
}
