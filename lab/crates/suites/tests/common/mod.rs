//! A backend that counts what it is asked, and may fail.

// each test file uses a part of this one
#![allow(dead_code)]

pub mod pages;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use veridiff_judge::{
    backend::{Abilities, Backend, Finish, Reply, Request, Token},
    cost::Purse,
    failure::{Failure, Kind},
    recorder::Recorder,
    store::Store,
};
use veridiff_suites::{
    aacr::review::{Reviewer, Sampling},
    ask::Prompts,
};

/// A reviewer without chance, whose prompts have room for all that tests show.
pub fn reviewer<'a>(recorder: &'a Recorder, prompts: &'a Prompts) -> Reviewer<'a> {
    Reviewer { recorder, prompts, sampling: Sampling::default(), seed: 0, max_bytes: 50_000, max_output: None }
}

/// What is answered to a prompt that is asked for the nth time.
type Answer = dyn Fn(&str, u32) -> Option<String> + Send + Sync;

/// Answers by a function of the prompt; none is a failure.
pub struct Fake {
    answer: Box<Answer>,
    pub n_asked: Arc<AtomicUsize>,
}

impl Fake {
    pub fn new(answer: impl Fn(&str, u32) -> Option<String> + Send + Sync + 'static) -> Fake {
        Fake { answer: Box::new(answer), n_asked: Arc::default() }
    }
}

impl Backend for Fake {
    fn identity(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("backend".to_owned(), "fake".to_owned())])
    }

    fn abilities(&self) -> Abilities {
        Abilities { log_probs: false, text_log_probs: false, is_repeatable: Some(true), forces_prefix: false }
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        self.n_asked.fetch_add(1, Ordering::SeqCst);
        let prompt = &request.messages[0].content;
        let content =
            (self.answer)(prompt, request.attempt).ok_or_else(|| Failure::new(Kind::Timeout, "no answer came"))?;
        let tokens = (!request.wanted.is_empty()).then(|| first_token(&content)).flatten();
        let content = tokens.as_ref().map_or(content, |tokens| tokens[0].text.clone());
        Ok(Reply { content, finish: Finish::Stop, refusal: None, has_tool_calls: false, tokens, usage: None })
    }
}

/// `Yes=0.9 No=0.1` as a token that is Yes, with what else it could have been; none of a text that is no such list.
fn first_token(content: &str) -> Option<Vec<Token>> {
    let alternatives: Vec<(String, f64)> = content
        .split(' ')
        .map(|part| Some((part.split_once('=')?.0.to_owned(), part.split_once('=')?.1.parse::<f64>().ok()?.ln())))
        .collect::<Option<_>>()?;
    let (text, log_prob) = alternatives.first()?.clone();
    Some(vec![Token { n_bytes: text.len(), text, log_prob: Some(log_prob), entropy: None, alternatives }])
}

/// A recorder whose replies are in a file, or in memory.
pub fn recorder(fake: Fake, replies: Option<&Path>) -> Recorder {
    let store = replies.map_or_else(Store::in_memory, |path| Store::open(path).unwrap());
    Recorder::new("fake", Box::new(fake), Arc::new(store), Purse::new(None, None).unwrap()).unwrap()
}
