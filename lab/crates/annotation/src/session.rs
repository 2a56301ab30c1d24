//! One sitting of an annotator: which sample is open, how far its walk is, and what a key does. No input, no output.

use std::{collections::HashMap, time::Instant};

use super::{Annotation, Question, Walk, tree::Choice};
use veridiff_text::sample::{Sample, fingerprint};

/// What a key did to the session.
#[derive(Debug, Clone)]
pub enum Pressed {
    /// The open question has no such answer.
    Unknown,
    /// The next question of the same sample is open.
    Asked(&'static Choice),
    /// The sample is answered: this is to be written. The next one without an answer is open, if there is one.
    Answered(&'static Choice, Box<Annotation>),
}

/// A sitting over the drawn samples.
#[derive(Debug)]
pub struct Session<'a> {
    annotator: String,
    round: u32,
    samples: Vec<&'a Sample>,
    answers: HashMap<&'a str, Annotation>,
    /// The open sample; the number of samples when there is none.
    at: usize,
    walk: Walk,
    note: Option<String>,
    since: Instant,
}

impl<'a> Session<'a> {
    /// Begins at the first sample without an answer among `before`, of which those of this round and of these texts count.
    pub fn new(annotator: &str, round: u32, samples: Vec<&'a Sample>, before: &[Annotation]) -> Session<'a> {
        let places: HashMap<&str, &'a Sample> = samples.iter().map(|&sample| (sample.id.as_str(), sample)).collect();
        let mut answers = HashMap::new();
        for answer in before.iter().filter(|answer| answer.round == round) {
            if let Some(sample) = places.get(answer.id.as_str()).filter(|sample| fingerprint(sample) == answer.texts) {
                answers.insert(sample.id.as_str(), answer.clone());
            }
        }
        let mut session = Session {
            annotator: annotator.to_owned(),
            round,
            samples,
            answers,
            at: 0,
            walk: Walk::new(false),
            note: None,
            since: Instant::now(),
        };
        session.open_unanswered(0);
        session
    }

    /// The sample that is open; `None` when all behind the last one were answered or passed over.
    pub fn sample(&self) -> Option<&'a Sample> {
        self.samples.get(self.at).copied()
    }

    /// The question that is open.
    pub fn question(&self) -> Option<&'static Question> {
        self.sample().and_then(|_| self.walk.question())
    }

    /// 1-based place of the open sample.
    pub fn place(&self) -> usize {
        self.at + 1
    }

    /// How many samples this round has drawn.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether nothing was drawn.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// How many samples of the round have an answer.
    pub fn n_answered(&self) -> usize {
        self.answers.len()
    }

    /// The number of the round, counted from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The answer that the open sample has already.
    pub fn answer(&self) -> Option<&Annotation> {
        self.answers.get(self.sample()?.id.as_str())
    }

    /// What the annotator has written beside the sample that is open.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Sets the open sample's note, which goes with its answer; a blank one takes it away.
    pub fn set_note(&mut self, note: &str) {
        let note = note.trim();
        self.note = (!note.is_empty()).then(|| note.to_owned());
    }

    /// Answers the open question.
    pub fn press(&mut self, key: char) -> Pressed {
        let (Some(sample), Some(choice)) = (self.sample(), self.walk.answer(key)) else { return Pressed::Unknown };
        let Some(outcome) = self.walk.outcome() else { return Pressed::Asked(choice) };
        let answer = Annotation {
            annotator: self.annotator.clone(),
            round: self.round,
            id: sample.id.clone(),
            outcome,
            answers: self.walk.answers().map(|(question, choice)| (question.to_owned(), choice.to_owned())).collect(),
            note: self.note.clone(),
            task: sample.task,
            generator: sample.generator.clone(),
            texts: fingerprint(sample),
            // tenths: more is noise
            seconds: (self.since.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        };
        self.answers.insert(&sample.id, answer.clone());
        self.open_unanswered(self.at + 1);
        Pressed::Answered(choice, Box::new(answer))
    }

    /// Takes the last answer to the open sample back; at its first question, opens the sample before. False if there is none.
    pub fn back(&mut self) -> bool {
        if self.walk.back() {
            return true;
        }
        match self.at.checked_sub(1) {
            Some(before) => {
                self.open(before);
                true
            }
            None => false,
        }
    }

    /// Leaves the open sample as it is and opens the next: in order where this one has an answer (someone looks back), else the
    /// next without one.
    pub fn skip(&mut self) {
        if self.answer().is_some() {
            self.open(self.at + 1);
        } else {
            self.open_unanswered(self.at + 1);
        }
    }

    fn open_unanswered(&mut self, from: usize) {
        let next = (from..self.samples.len()).find(|&at| !self.answers.contains_key(self.samples[at].id.as_str()));
        self.open(next.unwrap_or(self.samples.len()));
    }

    fn open(&mut self, at: usize) {
        self.at = at;
        self.walk = Walk::new(self.sample().is_some_and(|sample| sample.reference().is_some()));
        self.note = self.answer().and_then(|answer| answer.note.clone());
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn samples() -> Vec<Sample> {
        let mut samples = ["a", "b", "c"].map(|id| Sample::new(id, "+x", id)).to_vec();
        samples[1].reference = Some("r".into());
        samples
    }

    fn press(session: &mut Session, keys: &str) -> Vec<Annotation> {
        let pressed = |key| match session.press(key) {
            Pressed::Answered(_, answer) => Some(*answer),
            Pressed::Asked(_) => None,
            Pressed::Unknown => panic!("{key} is no answer"),
        };
        keys.chars().filter_map(pressed).collect()
    }

    #[test]
    fn samples_come_in_order_and_those_with_a_reference_are_compared_with_it() {
        let samples = samples();
        let mut session = Session::new("ann", 2, samples.iter().collect(), &[]);
        assert_eq!(session.question().unwrap().name, "deviates");
        session.set_note("  hm ");
        let first = press(&mut session, "y4").remove(0);
        assert_eq!((first.id.as_str(), first.outcome, first.round), ("a", Outcome::IntentDeviation, 2));
        assert_eq!((first.note.as_deref(), session.note()), (Some("hm"), None));
        assert_eq!((session.place(), session.question().unwrap().name), (2, "equivalent"));
        assert!(matches!(session.press('4'), Pressed::Unknown));
        let second = press(&mut session, "nni").remove(0);
        let answers: Vec<_> = second.answers.values().map(String::as_str).collect();
        assert_eq!(answers, ["no", "no", "informative"], "by the questions' names: deviates, equivalent, informative");
        press(&mut session, "u");
        assert!(session.sample().is_none() && session.question().is_none());
        assert!(matches!(session.press('y'), Pressed::Unknown));
        assert_eq!(session.n_answered(), 3);
    }

    #[test]
    fn looking_back_keeps_what_is_not_answered_anew() {
        let samples = samples();
        let mut session = Session::new("ann", 1, samples.iter().collect(), &[]);
        assert!(!session.back(), "nothing is before the first");
        press(&mut session, "y");
        assert!(session.back(), "the answer just given");
        assert_eq!((session.place(), session.question().unwrap().name), (1, "deviates"));
        press(&mut session, "y1");
        press(&mut session, "n");
        assert!(session.back() && session.back());
        assert_eq!(session.answer().unwrap().outcome, Outcome::InputInconsistency);
        session.skip();
        assert_eq!((session.place(), session.n_answered()), (2, 1));
        session.back();
        press(&mut session, "u");
        assert_eq!((session.place(), session.n_answered()), (2, 1), "answered anew, not twice");
        session.skip();
        session.skip();
        assert!(session.sample().is_none(), "passed over, not asked again in this sitting");
        assert!(session.back(), "but one can go back to them");
        assert_eq!(session.place(), 3);
    }

    #[test]
    fn a_sitting_goes_on_where_the_last_one_stopped() {
        let mut samples = samples();
        let all = samples.clone();
        let mut session = Session::new("ann", 1, all.iter().collect(), &[]);
        let before: Vec<Annotation> = press(&mut session, "y1y");
        assert_eq!(before.len(), 2);
        samples[1].text = "changed".into();
        let resumed = |samples: &[Sample], round| {
            let session = Session::new("ann", round, samples.iter().collect(), &before);
            (session.n_answered(), session.place())
        };
        assert_eq!(resumed(&all, 1), (2, 3));
        assert_eq!(resumed(&samples, 1), (1, 2), "the answer was about another text");
        assert_eq!(resumed(&all, 2), (0, 1), "another round");
    }
}
