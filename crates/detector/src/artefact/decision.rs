//! From a calibrated probability to a verdict: two thresholds, with a band between them in which nothing is said.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{DetectorError, best_threshold};

/// Fewest rows that a target share is trusted on.
const FEWEST: usize = 10;

/// What a detector says of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaning {
    /// The change supports it, as far as the detector can tell.
    Supported,
    /// The probability is too close to call.
    Abstain,
    /// The change does not support it.
    Unsupported,
}

impl Leaning {
    /// The verdict's name as it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Leaning::Supported => "supported",
            Leaning::Abstain => "abstain",
            Leaning::Unsupported => "unsupported",
        }
    }
}

/// How the thresholds are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum DecisionRule {
    /// One threshold, the most accurate; no band.
    #[default]
    Accuracy,
    /// As many verdicts as keep to these shares of right ones.
    Shares {
        /// Of the rows called unsupported, 0 to 1 (precision).
        unsupported: f64,
        /// Of the rows called supported.
        supported: f64,
    },
    /// As many texts called unsupported as keep to a share of false alarms, whatever share of them is right: for rows in which
    /// unsupported texts are rarer, or harder to tell, than where the detector works.
    FalseAlarms {
        /// Of the supported rows those called unsupported, 0 to 1 (false positive rate).
        share: f64,
        /// Of the rows called supported those that are.
        supported: f64,
    },
    /// The verdict with the least expected cost.
    Costs {
        /// Of calling a supported text unsupported.
        false_alarm: f64,
        /// Of calling an unsupported text supported.
        miss: f64,
        /// Of saying nothing; none where something must be said.
        abstain: Option<f64>,
    },
}

/// `accuracy`, `precision=0.8[,0.9]`, `false-alarms=0.02,0.9` or `cost=FALSE_ALARM:MISS[:ABSTAIN]`.
impl FromStr for DecisionRule {
    type Err = DetectorError;

    fn from_str(text: &str) -> Result<Self, DetectorError> {
        let syntax = || DetectorError::DecisionRule { rule: text.to_owned() };
        let numbers = |list: &str, separator: char| -> Result<Vec<f64>, DetectorError> {
            list.split(separator).map(|n| n.trim().parse::<f64>().map_err(|_| syntax())).collect()
        };
        match text.split_once('=') {
            None if text == "accuracy" => Ok(DecisionRule::Accuracy),
            Some(("precision", list)) => match numbers(list, ',')?[..] {
                [share] if share > 0.0 && share < 1.0 => {
                    Ok(DecisionRule::Shares { unsupported: share, supported: share })
                }
                [unsupported, supported] if [unsupported, supported].iter().all(|s| *s > 0.0 && *s < 1.0) => {
                    Ok(DecisionRule::Shares { unsupported, supported })
                }
                _ => Err(syntax()),
            },
            Some(("false-alarms", list)) => match numbers(list, ',')?[..] {
                [share, supported] if [share, supported].iter().all(|s| *s > 0.0 && *s < 1.0) => {
                    Ok(DecisionRule::FalseAlarms { share, supported })
                }
                _ => Err(syntax()),
            },
            Some(("cost", list)) => {
                let costs = numbers(list, ':')?;
                if !costs.iter().all(|cost| cost.is_finite() && *cost > 0.0) {
                    return Err(syntax());
                }
                match costs[..] {
                    [false_alarm, miss] => Ok(DecisionRule::Costs { false_alarm, miss, abstain: None }),
                    [false_alarm, miss, abstain] => {
                        Ok(DecisionRule::Costs { false_alarm, miss, abstain: Some(abstain) })
                    }
                    _ => Err(syntax()),
                }
            }
            _ => Err(syntax()),
        }
    }
}

/// As it is written on the command line.
impl std::fmt::Display for DecisionRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecisionRule::Accuracy => f.write_str("accuracy"),
            DecisionRule::Shares { unsupported, supported } => write!(f, "precision={unsupported},{supported}"),
            DecisionRule::FalseAlarms { share, supported } => write!(f, "false-alarms={share},{supported}"),
            DecisionRule::Costs { false_alarm, miss, abstain: None } => write!(f, "cost={false_alarm}:{miss}"),
            DecisionRule::Costs { false_alarm, miss, abstain: Some(abstain) } => {
                write!(f, "cost={false_alarm}:{miss}:{abstain}")
            }
        }
    }
}

/// Where a calibrated probability becomes a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Probabilities below it are `supported`; 0 if none is.
    pub supported_below: f64,
    /// Probabilities from it on are `unsupported`; above 1 if none is. Not below `supported_below`.
    pub unsupported_from: f64,
    /// The [`DecisionRule`] that chose them.
    pub rule: String,
}

/// A threshold that no probability reaches.
const NEVER: f64 = 2.0;

impl Decision {
    /// Chooses the thresholds for probabilities of rows that were not trained on.
    ///
    /// # Panics
    /// If there is not one label per probability.
    pub fn choose(rule: DecisionRule, probabilities: &[f64], labels: &[bool]) -> Self {
        assert_eq!(probabilities.len(), labels.len(), "one label per probability");
        let (supported_below, unsupported_from) = match rule {
            DecisionRule::Accuracy => {
                let best = best_threshold(probabilities, labels).map_or(0.5, |threshold| threshold.value);
                (best, best)
            }
            DecisionRule::Shares { unsupported, supported } => {
                let from = lowest_with_share(probabilities, labels, unsupported).unwrap_or(NEVER);
                // where both hold, the band is empty and the gate's threshold counts
                (supported_below(probabilities, labels, supported).min(from), from)
            }
            DecisionRule::FalseAlarms { share, supported } => {
                let from = lowest_with_few_alarms(probabilities, labels, share);
                (supported_below(probabilities, labels, supported).min(from), from)
            }
            DecisionRule::Costs { false_alarm, miss, abstain } => {
                let equal = false_alarm / (false_alarm + miss);
                match abstain {
                    // saying nothing beats a false alarm below 1 − a / c, and a miss from a / c on
                    Some(abstain) => (equal.min(abstain / miss), equal.max(1.0 - abstain / false_alarm)),
                    None => (equal, equal),
                }
            }
        };
        Decision { supported_below, unsupported_from, rule: rule.to_string() }
    }

    /// The verdict on a text with this probability; a NaN abstains.
    pub fn verdict(&self, p: f64) -> Leaning {
        if p >= self.unsupported_from {
            Leaning::Unsupported
        } else if p < self.supported_below {
            Leaning::Supported
        } else {
            Leaning::Abstain
        }
    }

    /// What is wrong with one that was read from a file, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        let (below, from) = (self.supported_below, self.unsupported_from);
        let is_good = below.is_finite() && from.is_finite() && below <= from;
        (!is_good).then(|| format!("`decision` has supported_below {below} and unsupported_from {from}"))
    }
}

/// The lowest threshold from which on at least `share` of the rows are positive, of which there are [`FEWEST`] at least.
fn lowest_with_share(probabilities: &[f64], labels: &[bool], share: f64) -> Option<f64> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
    let (mut positives, mut lowest) = (0usize, None);
    for (place, &i) in order.iter().enumerate() {
        positives += usize::from(labels[i]);
        let is_last_of_its_kind = order.get(place + 1).is_none_or(|&next| probabilities[next] < probabilities[i]);
        let n = place + 1;
        if is_last_of_its_kind && n >= FEWEST && positives as f64 >= share * n as f64 {
            lowest = Some(probabilities[i]);
        }
    }
    lowest
}

/// The highest threshold below which at least `share` of the rows are negative; 0 if there is none.
fn supported_below(probabilities: &[f64], labels: &[bool], share: f64) -> f64 {
    // the same question asked of 1 − p and the other label
    let mirrored: Vec<f64> = probabilities.iter().map(|p| 1.0 - p).collect();
    let others: Vec<bool> = labels.iter().map(|label| !label).collect();
    lowest_with_share(&mirrored, &others, share).map_or(0.0, |t| (1.0 - t).next_up())
}

/// The lowest threshold from which on there is at most `share` of the negative rows.
fn lowest_with_few_alarms(probabilities: &[f64], labels: &[bool], share: f64) -> f64 {
    let mut negatives: Vec<f64> =
        probabilities.iter().zip(labels).filter_map(|(&p, &label)| (!label).then_some(p)).collect();
    negatives.sort_by(|a, b| b.total_cmp(a));
    let allowed = (share * negatives.len() as f64).floor() as usize;
    // just above the first one too many
    negatives.get(allowed).map_or(NEVER, |p| p.next_up())
}

/// What a decision does to rows that had no part in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// How many rows got a verdict.
    pub n: usize,
    /// How many rows were called unsupported.
    pub n_unsupported: usize,
    /// Those of them that are hallucinated.
    pub n_unsupported_right: usize,
    /// How many rows were called supported.
    pub n_supported: usize,
    /// Those of them that are not hallucinated.
    pub n_supported_right: usize,
    /// How many rows are hallucinated, whatever they were called.
    pub n_positive: usize,
}

impl Operation {
    /// Verdicts on each fold with thresholds chosen on the other folds.
    pub(crate) fn out_of_fold(
        rule: DecisionRule,
        (probabilities, labels): (&[f64], &[bool]),
        folds: &[usize],
        n_folds: usize,
    ) -> Self {
        let mut operation = Operation {
            n: labels.len(),
            n_unsupported: 0,
            n_unsupported_right: 0,
            n_supported: 0,
            n_supported_right: 0,
            n_positive: labels.iter().filter(|label| **label).count(),
        };
        for fold in 0..n_folds {
            let others = (0..labels.len()).filter(|&i| folds[i] != fold);
            let (p, l): (Vec<f64>, Vec<bool>) = others.map(|i| (probabilities[i], labels[i])).unzip();
            let decision = Decision::choose(rule, &p, &l);
            for i in (0..labels.len()).filter(|&i| folds[i] == fold) {
                match decision.verdict(probabilities[i]) {
                    Leaning::Unsupported => {
                        operation.n_unsupported += 1;
                        operation.n_unsupported_right += usize::from(labels[i]);
                    }
                    Leaning::Supported => {
                        operation.n_supported += 1;
                        operation.n_supported_right += usize::from(!labels[i]);
                    }
                    Leaning::Abstain => {}
                }
            }
        }
        operation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder() -> (Vec<f64>, Vec<bool>) {
        // 100 rows, probability i/100; of each ten the share of positives is the probability's, rounded down
        let p: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
        let labels = (0..100).map(|i| i % 10 < i / 10).collect();
        (p, labels)
    }

    #[test]
    fn shares_are_kept_on_either_side() {
        let (p, labels) = ladder();
        let rule = "precision=0.8,0.9".parse().unwrap();
        let decision = Decision::choose(rule, &p, &labels);
        let share = |verdict: Leaning, label: bool| {
            let of: Vec<bool> = (0..100).filter(|&i| decision.verdict(p[i]) == verdict).map(|i| labels[i]).collect();
            assert!(of.len() >= FEWEST);
            of.iter().filter(|l| **l == label).count() as f64 / of.len() as f64
        };
        assert!(share(Leaning::Unsupported, true) >= 0.8, "{decision:?}");
        assert!(share(Leaning::Supported, false) >= 0.9, "{decision:?}");
        assert!(decision.supported_below < decision.unsupported_from && decision.fault().is_none());
        assert_eq!(decision.verdict(f64::NAN), Leaning::Abstain);
    }

    #[test]
    fn few_of_the_supported_are_accused() {
        let (p, labels) = ladder();
        for share in [0.02, 0.1, 0.5] {
            let decision = Decision::choose(DecisionRule::FalseAlarms { share, supported: 0.9 }, &p, &labels);
            let accused = |from: f64| p.iter().zip(&labels).filter(|(p, label)| **p >= from && !**label).count() as f64;
            let allowed = share * labels.iter().filter(|label| !**label).count() as f64;
            assert!(accused(decision.unsupported_from) <= allowed, "{share}: {decision:?}");
            // and no lower threshold would do
            assert!(accused(decision.unsupported_from - 0.02) > allowed, "{share}: {decision:?}");
        }
    }

    #[test]
    fn what_cannot_be_reached_is_never_said() {
        let (p, _) = ladder();
        let labels: Vec<bool> = (0..100).map(|i| i % 2 == 0).collect();
        let decision = Decision::choose("precision=0.99".parse().unwrap(), &p, &labels);
        assert!(p.iter().all(|&p| decision.verdict(p) == Leaning::Abstain), "{decision:?}");
        assert_eq!(decision.verdict(1.0), Leaning::Abstain);
    }

    #[test]
    fn the_cheapest_verdict_wins() {
        let decide = |rule: &str| Decision::choose(rule.parse().unwrap(), &[], &[]);
        let two = decide("cost=3:1");
        assert_eq!((two.supported_below, two.unsupported_from), (0.75, 0.75));
        let three = decide("cost=3:1:0.3");
        // at p expected costs are 3 (1 - p), p and 0.3
        for p in [0.0, 0.29, 0.31, 0.5, 0.75, 0.89, 0.91, 1.0_f64] {
            let costs = [(p, Leaning::Supported), (0.3, Leaning::Abstain), (3.0 * (1.0 - p), Leaning::Unsupported)];
            let cheapest = costs.iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1;
            assert_eq!(three.verdict(p), cheapest, "{p}");
        }
        // a band that nobody would pay for is empty
        let dear = decide("cost=1:1:5");
        assert_eq!((dear.supported_below, dear.unsupported_from), (0.5, 0.5));
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        for text in ["accuracy", "precision=0.8,0.9", "false-alarms=0.02,0.9", "cost=3:1", "cost=3:1:0.5"] {
            assert_eq!(text.parse::<DecisionRule>().unwrap().to_string(), text);
        }
        for bad in ["", "precision", "precision=1", "precision=0.5,0.5,0.5", "cost=1", "cost=1:-1", "cost=a:b", "best"]
        {
            assert!(matches!(bad.parse::<DecisionRule>(), Err(DetectorError::DecisionRule { .. })), "{bad}");
        }
    }

    #[test]
    fn thresholds_come_from_the_other_folds() {
        // in fold 0 every positive has 0.9, in fold 1 every positive has 0.1: what the other fold teaches is wrong
        let p = [0.9, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1, 0.9];
        let labels = [true, false, true, false, true, false, true, false];
        let folds = [0, 0, 0, 0, 1, 1, 1, 1];
        let operation = Operation::out_of_fold(DecisionRule::Accuracy, (&p, &labels), &folds, 2);
        // fold 0 has learnt to flag nothing, and fold 1 to flag what is right in it
        assert_eq!((operation.n_unsupported, operation.n_unsupported_right), (2, 0), "{operation:?}");
        assert_eq!((operation.n_supported, operation.n_supported_right), (6, 2), "{operation:?}");
        assert_eq!((operation.n, operation.n_positive), (8, 4));
    }
}
