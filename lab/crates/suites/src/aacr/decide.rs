//! Whether two comments say the same. No decider falls back to another; what none could tell is undecided, which is neither yes nor no.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use veridiff_judge::{backend::Request, failure::Kind, recorder::Recorder};

use super::{
    dataset::{Comment, collapsed},
    predictions::Prediction,
};
use crate::ask::{Prompts, ask};

/// What a decider says of a pair.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Meaning {
    /// Whether both say the same; none where that is undecided.
    pub same: Option<bool>,
    /// How sure that is, 0 to 1, where the decider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Votes for yes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub yes: u32,
    /// Votes for no.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub no: u32,
    /// Votes that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: u32,
    /// Why there was no answer at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Something that tells whether two comments say the same.
pub trait Decider: Sync {
    /// What its column is called.
    fn name(&self) -> String;

    /// What it says of a pair.
    fn decide(&self, prediction: &Prediction, comment: &Comment) -> Meaning;
}

/// Letter for letter, white space aside: for tests, and for what was copied.
#[derive(Debug)]
pub struct Exact;

impl Decider for Exact {
    fn name(&self) -> String {
        "exact".into()
    }

    fn decide(&self, prediction: &Prediction, comment: &Comment) -> Meaning {
        Meaning { same: Some(collapsed(&prediction.text) == collapsed(&comment.text)), ..Meaning::default() }
    }
}

/// The prompts that come with the program.
pub fn prompts() -> Prompts {
    Prompts::own(include_str!("prompts.toml"))
}

/// A language model that is asked about each pair.
#[derive(Debug)]
pub struct Judge<'a> {
    /// What answers, and where its replies are kept.
    pub recorder: &'a Recorder,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// How often it is asked: the majority decides, and every second time the comments change places.
    pub votes: u32,
    /// How much chance its answers have.
    pub temperature: f64,
    /// The part of the change that a reference is on, by its id; blank where nothing was prepared.
    pub hunks: &'a BTreeMap<String, String>,
}

impl Decider for Judge<'_> {
    fn name(&self) -> String {
        format!("judge:{}", self.recorder.name())
    }

    fn decide(&self, prediction: &Prediction, comment: &Comment) -> Meaning {
        let template = self.prompts.step("same");
        let hunk = self.hunks.get(&comment.id).map_or("", String::as_str);
        let mut meaning = Meaning::default();
        for vote in 0..self.votes.max(1) {
            let (first, second) =
                if vote % 2 == 0 { (&prediction.text, &comment.text) } else { (&comment.text, &prediction.text) };
            let content = template.fill(&[("hunk", hunk), ("comment1", first), ("comment2", second)]);
            let request = Request {
                repeat: vote,
                step: "same".to_owned(),
                temperature: self.temperature,
                ..Request::of_user(content, template.max_output)
            };
            let read = |text: &str| verdict(text).ok_or_else(|| "the answer is neither yes nor no".to_owned());
            match ask(self.recorder, &request, |reply| read(&reply.content)) {
                Ok((true, _)) => meaning.yes += 1,
                Ok((false, _)) => meaning.no += 1,
                Err(failure) if failure.kind == Kind::Malformed => meaning.undecided += 1,
                Err(failure) => {
                    meaning.undecided += 1;
                    meaning.error = Some(failure.to_string());
                }
            }
        }
        let votes = meaning.yes + meaning.no + meaning.undecided;
        meaning.same = match (meaning.yes, meaning.no) {
            (yes, _) if 2 * yes > votes => Some(true),
            (_, no) if 2 * no > votes => Some(false),
            _ => None,
        };
        meaning.score = (votes > 1).then(|| f64::from(meaning.yes) / f64::from(votes));
        meaning
    }
}

/// What an answer says: its first or its last word, behind any thinking and without marks, if that is yes or no and the two do not
/// contradict each other.
pub fn verdict(answer: &str) -> Option<bool> {
    let said = match answer.rfind("</think>") {
        Some(end) => &answer[end + "</think>".len()..],
        None if answer.contains("<think>") => return None,
        None => answer,
    };
    let words: Vec<String> =
        said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let of = |word: &String| match word.as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    match (words.first().and_then(of), words.last().and_then(of)) {
        (Some(a), Some(b)) if a != b => None,
        (first, last) => first.or(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_first_or_last_word() {
        for (answer, want) in [
            ("No, they are not the same", Some(false)),
            ("not identical", None),
            ("No. The comments are not similar.", Some(false)),
            ("Both note the same thing. Answer: yes", Some(true)),
            ("I know that both are about nulls: yes", Some(true)),
            ("<think>not sure</think>yes", Some(true)),
            ("**Yes**", Some(true)),
            ("Yes and no", None),
            ("<think>yes", None),
            ("", None),
        ] {
            assert_eq!(verdict(answer), want, "{answer}");
        }
    }

    #[test]
    fn the_programs_own_prompts_have_their_places() {
        let prompts = prompts();
        for (step, places) in [
            ("same", &["hunk", "comment1", "comment2"][..]),
            ("category", &["names", "comment", "nonce"]),
            ("context", &["names", "comment", "nonce"]),
            ("review", &["title", "description", "hunk"]),
            ("review-context", &["title", "description", "hunk", "contexts"]),
        ] {
            places.iter().for_each(|place| assert!(prompts.step(step).has(place), "{step}: {place}"));
        }
    }
}
