//! What the published evaluators make of the same predictions: their rules, faults included, so that published figures can be read.
//!
//! All of them go through predictions and references in the order of the files, give a prediction the first reference that fits, and
//! let ranges that are one line apart pass. They differ in what they remember of a reference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use veridiff_text::named;

use super::{
    dataset::{Comment, CommentSide, Dataset},
    decide::{Decider, Exact},
    matching::Pair,
    predictions::Prediction,
};
use crate::resample::ratio;

/// An evaluator that was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Version {
    /// The one released with the paper: it remembers a reference by a key that no reference has, so the first match of a pull request
    /// is its last.
    V1,
    /// The same with the key that it expects: a prediction still claims the place of every reference that it touches.
    V1WithIds,
    /// Its successor: it remembers places in the list, sorts lines, and lets a prediction claim one place.
    V2,
    /// The same behind its own conversion, which takes every prediction to be on the right side.
    V2AllRight,
}

impl Version {
    /// Whether it is the successor.
    fn is_second(self) -> bool {
        matches!(self, Version::V2 | Version::V2AllRight)
    }
}

named!(
    Version,
    "evaluator",
    "upstream-v1" => V1,
    "upstream-v1-with-ids" => V1WithIds,
    "upstream-v2" => V2,
    "upstream-v2-all-right" => V2AllRight
);

/// What an evaluator counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Upstream {
    /// Which.
    pub version: Version,
    /// Predictions.
    pub predictions: usize,
    /// References.
    pub references: usize,
    /// Matches by meaning.
    pub meaning: usize,
    /// Matches by place.
    pub line: usize,
    /// `meaning / predictions`.
    pub precision: Option<f64>,
    /// `meaning / references`.
    pub recall: Option<f64>,
    /// `1 - precision`, which it calls noise.
    pub noise: Option<f64>,
}

/// The figures of every published evaluator. Meaning is what `decider` says of the pairs that were judged.
pub fn upstream(dataset: &Dataset, predictions: &[&Prediction], pairs: &[&Pair], decider: &str) -> Vec<Upstream> {
    let judged: BTreeSet<(&str, &str)> = pairs
        .iter()
        .filter(|pair| pair.meaning.get(decider).and_then(|meaning| meaning.same) == Some(true))
        .map(|pair| (pair.prediction.as_str(), pair.comment.as_str()))
        .collect();
    let is_exact = decider == Exact.name();
    let same = |prediction: &Prediction, comment: &Comment| match is_exact {
        true => Exact.decide(prediction, comment).same == Some(true),
        false => judged.contains(&(prediction.id.as_str(), comment.id.as_str())),
    };
    [Version::V1, Version::V1WithIds, Version::V2, Version::V2AllRight]
        .map(|version| run(version, dataset, predictions, &same))
        .to_vec()
}

/// One evaluator, with any rule for the meaning.
pub fn run(
    version: Version,
    dataset: &Dataset,
    predictions: &[&Prediction],
    same: &dyn Fn(&Prediction, &Comment) -> bool,
) -> Upstream {
    let mut by_pr: BTreeMap<&str, Vec<&Prediction>> = BTreeMap::new();
    predictions.iter().for_each(|prediction| by_pr.entry(&prediction.pr).or_default().push(prediction));
    let mut references: BTreeMap<&str, Vec<&Comment>> = BTreeMap::new();
    let valid = dataset.comments.iter().filter(|comment| comment.valid);
    valid.for_each(|comment| references.entry(&comment.pr).or_default().push(comment));
    let (mut meaning, mut line, mut n) = (0, 0, 0);
    for (pr, mut written) in by_pr {
        // a pull request without references is in no sum
        let Some(known) = references.get(pr) else { continue };
        written.sort_by_key(|prediction| prediction.place);
        n += written.len();
        let (by_meaning, by_line) = of_pull_request(version, &written, known, same);
        meaning += by_meaning;
        line += by_line;
    }
    let n_references = references.values().map(Vec::len).sum::<usize>();
    let precision = ratio(meaning as f64, n as f64);
    Upstream {
        version,
        predictions: n,
        references: n_references,
        meaning,
        line,
        precision,
        recall: ratio(meaning as f64, n_references as f64),
        noise: precision.map(|precision| 1.0 - precision),
    }
}

fn of_pull_request(
    version: Version,
    written: &[&Prediction],
    known: &[&Comment],
    same: &dyn Fn(&Prediction, &Comment) -> bool,
) -> (usize, usize) {
    // what is remembered of a reference: without ids it is the same for all
    let key = |i: usize| if version == Version::V1 { 0 } else { i };
    let (mut by_meaning, mut by_line) = (BTreeSet::new(), BTreeSet::new());
    let (mut n_meaning, mut n_line) = (0, 0);
    for prediction in written {
        let mut is_near = false;
        for (i, comment) in known.iter().enumerate().filter(|(_, comment)| is_close(version, prediction, comment)) {
            let may_claim = !version.is_second() || !is_near;
            if may_claim && by_line.insert(key(i)) {
                is_near = true;
            }
            if !by_meaning.contains(&key(i)) && same(prediction, comment) {
                by_meaning.insert(key(i));
                n_meaning += 1;
                break;
            }
        }
        n_line += usize::from(is_near);
    }
    (n_meaning, n_line)
}

/// Whether the place of both is the same to an evaluator. What has no lines, or no path, is near everything.
fn is_close(version: Version, prediction: &Prediction, comment: &Comment) -> bool {
    let side = if version == Version::V2AllRight { CommentSide::Right } else { prediction.side };
    if side != comment.side || (!prediction.path.is_empty() && prediction.path != comment.path) {
        return false;
    }
    let Some(lines) = prediction.lines else { return true };
    let as_written = |(from, to): (u64, u64), reversed: bool| match reversed && !version.is_second() {
        true => (to as i64, from as i64),
        false => (from as i64, to as i64),
    };
    let a = as_written(lines, prediction.reversed);
    let b = as_written((comment.from_line, comment.to_line), comment.reversed);
    (a.0 - b.1).max(b.0 - a.1) <= 1
}

/// What the first evaluator reads from a judge's answer: the letters `yes` without `no` anywhere, or else any of three words.
pub fn verdict_v1(answer: &str) -> bool {
    let answer = answer.to_lowercase();
    match answer.contains("yes") {
        true => !answer.contains("no"),
        false => ["same", "identical", "similar"].iter().any(|word| answer.contains(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_the_first_evaluator_reads_them() {
        for (answer, want) in [
            ("No, they are not the same", true),
            ("not identical", true),
            ("No. The comments are not similar.", true),
            ("Both note the same thing. Answer: yes", false),
            ("I know that both are about nulls: yes", false),
            ("<think>not sure</think>yes", false),
            ("yes", true),
            ("no", false),
        ] {
            assert_eq!(verdict_v1(answer), want, "{answer}");
        }
    }
}
