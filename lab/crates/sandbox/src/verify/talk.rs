//! What is said between the program under test, its tests and us.

use crate::{
    value::Value,
    verify::{rule::Mark, session::Gave},
    watch::{Conversation, Outcome, Reply, Status},
};

/// What the program under test has said so far.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// Whether the tests run in a second sandbox.
    pub(super) has_tests: bool,
    /// The word that a pass of a shared process needs; empty where none does.
    pub(super) word: String,
    /// The calls that are made of the program, one after another.
    pub(super) calls: Vec<Vec<u8>>,
    /// How many of them were made.
    pub(super) n_called: usize,
    /// Whether the program is loaded.
    pub(super) is_ready: bool,
    /// What the calls gave.
    pub(super) gave: Vec<Gave>,
    /// Whether an answer of the program is waited for.
    pub(super) is_waiting: bool,
    /// Why it could not be loaded.
    pub(super) not_loaded: Option<String>,
    /// What cannot be told of it.
    pub(super) odd: Option<String>,
    /// What the tests say at their end, with a detail or the word.
    pub(super) end: Option<(String, String)>,
    /// Which run ended first by itself, and how.
    pub(super) first_end: Option<(usize, Status)>,
}

impl Talk {
    fn next_call(&mut self) -> Vec<Reply> {
        match self.calls.get(self.n_called) {
            Some(call) => {
                self.n_called += 1;
                self.is_waiting = true;
                vec![Reply::Send(0, call.clone())]
            }
            None => vec![Reply::Finish(0)],
        }
    }

    fn program_says(&mut self, words: &[Value], message: &[u8]) -> Vec<Reply> {
        let text = |at: usize| if let Some(Value::Str(text)) = words.get(at) { text.clone() } else { String::new() };
        match text(0).as_str() {
            "load" => {
                self.not_loaded.get_or_insert(format!("{}: {}", text(1), text(2)));
                vec![Reply::Stop(0), Reply::Stop(1)]
            }
            "ready" if !self.is_ready => {
                self.is_ready = true;
                if self.word.is_empty() {
                    if self.has_tests { vec![] } else { self.next_call() }
                } else {
                    let word = Value::Tuple(vec![Value::str("word"), Value::str(&self.word)]);
                    vec![Reply::Send(0, word.encode())]
                }
            }
            "value" | "items" | "raise" if self.is_waiting => {
                self.is_waiting = false;
                if self.has_tests {
                    return vec![Reply::Send(1, message.to_vec())];
                }
                self.gave.push(match words.get(1) {
                    Some(value) if text(0) != "raise" => Gave::Value(value.clone()),
                    _ => Gave::Raised(text(1)),
                });
                self.next_call()
            }
            "odd" if self.is_waiting => {
                self.is_waiting = false;
                self.odd.get_or_insert(text(1));
                if self.has_tests {
                    return vec![Reply::Send(1, message.to_vec())];
                }
                self.gave.push(Gave::Nothing(Mark::Error, text(1)));
                self.next_call()
            }
            "end" if !self.word.is_empty() => {
                self.end.get_or_insert((text(1), text(2)));
                vec![]
            }
            _ => {
                self.odd.get_or_insert("the program spoke out of turn".to_owned());
                vec![Reply::Stop(0), Reply::Stop(1)]
            }
        }
    }

    fn tests_say(&mut self, words: &[Value], message: &[u8]) -> Vec<Reply> {
        let text = |at: usize| if let Some(Value::Str(text)) = words.get(at) { text.clone() } else { String::new() };
        match text(0).as_str() {
            "call" => {
                self.is_waiting = true;
                vec![Reply::Send(0, message.to_vec())]
            }
            "end" => {
                self.end.get_or_insert((text(1), text(2)));
                vec![Reply::Finish(0)]
            }
            _ => vec![Reply::Stop(1)],
        }
    }
}

impl Conversation for Talk {
    fn message(&mut self, from: usize, message: &[u8]) -> Vec<Reply> {
        let replies = match Value::decode(message) {
            Ok(Value::Tuple(words) | Value::List(words)) if from == 0 => self.program_says(&words, message),
            Ok(Value::Tuple(words) | Value::List(words)) => self.tests_say(&words, message),
            Ok(_) | Err(_) => {
                self.odd.get_or_insert("a message that is none".to_owned());
                vec![Reply::Stop(0), Reply::Stop(1)]
            }
        };
        replies
            .into_iter()
            .filter(|reply| self.has_tests || !matches!(reply, Reply::Stop(1) | Reply::Send(1, _)))
            .collect()
    }

    fn ended(&mut self, who: usize, outcome: &Outcome) -> Vec<Reply> {
        if self.first_end.is_none() && outcome.status != Status::Stopped {
            self.first_end = Some((who, outcome.status.clone()));
        }
        if self.has_tests && self.end.is_none() { vec![Reply::Stop(1 - who)] } else { vec![] }
    }
}

/// What an ended process means for a test that it did not finish.
pub(super) fn mark_of(status: &Status) -> (Mark, String) {
    match status {
        Status::Exit(status) => {
            (Mark::Fail, format!("the program ended by itself (status {status}) before its tests did"))
        }
        Status::Signal(signal) => (Mark::Crash, format!("signal {signal} ended the program")),
        Status::Timeout { cpu: true } => (Mark::Timeout, "the program used up its time of the processor".into()),
        Status::Timeout { cpu: false } => (Mark::Timeout, "the program neither ended nor worked".into()),
        Status::Memory => (Mark::Memory, "the program had too much memory".into()),
        Status::OutputLimit => (Mark::OutputLimit, "the program wrote too much".into()),
        Status::Stopped => (Mark::NotRun, "the run was ended".into()),
        Status::Failed(what) => (Mark::Error, what.clone()),
    }
}

/// Hears whether a command says the word back.
#[derive(Debug, Default)]
pub(super) struct Listener {
    pub(super) heard: Vec<u8>,
}

impl Conversation for Listener {
    fn message(&mut self, _: usize, message: &[u8]) -> Vec<Reply> {
        self.heard = message.trim_ascii().to_vec();
        Vec::new()
    }

    fn is_raw(&self) -> bool {
        true
    }

    fn ended(&mut self, _: usize, _: &Outcome) -> Vec<Reply> {
        Vec::new()
    }
}
