//! What answers: one trait for a model here, a server, a file of replies, or a finished study.

pub mod scripted;
pub mod spec;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Kind};

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions that stand above the conversation.
    System,
    /// Who asks.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: String,
    /// How many of its first bytes many messages share, such as the same diff before several texts; at a boundary of letters. A model
    /// here reads them once. It is no part of what is said.
    #[serde(skip)]
    pub n_shared: usize,
}

impl Message {
    /// A message.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: content.into(), n_shared: 0 }
    }
}

/// What is asked of a backend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// The conversation so far; the answer is the assistant's next message.
    pub messages: Vec<Message>,
    /// The JSON schema that the answer is held to, where the backend can.
    pub schema: Option<Value>,
    /// Most tokens of the answer, those of hidden reasoning left out.
    pub max_output: u32,
    /// 0 takes the most probable token each time.
    pub temperature: f64,
    /// The most probable tokens that may come, so many of them; all where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// The most probable tokens that may come, until their probabilities add up to this; all where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// What chance follows from, where the temperature leaves any.
    pub seed: u64,
    /// Strings whose log-probabilities are wanted wherever one of them is written as a token, blanks around it left out.
    pub wanted: Vec<String>,
    /// Strings that end the answer, of which they are then no part; none of them is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Which of several askings of the same this is; each is a request of its own.
    pub repeat: u32,
    /// Which attempt at a readable answer this is, from 0.
    pub attempt: u32,
    /// What is asked here, in a word, for counting. It is no part of what is asked.
    #[serde(skip)]
    pub step: String,
}

impl Request {
    /// A request of one message, answered without chance.
    pub fn of_user(content: impl Into<String>, max_output: u32) -> Request {
        Request {
            messages: vec![Message::new(Role::User, content)],
            schema: None,
            max_output,
            temperature: 0.0,
            top_k: None,
            top_p: None,
            seed: 0,
            wanted: Vec::new(),
            stop: Vec::new(),
            repeat: 0,
            attempt: 0,
            step: String::new(),
        }
    }

    /// The hash that a reply to it is kept under: all of the request, what is done with it, and who is asked.
    pub fn key(&self, operation: &str, identity: &BTreeMap<String, String>) -> String {
        let canonical = serde_json::to_vec(&(operation, identity, self)).expect("strings and numbers have a JSON form");
        format!("{:x}", Sha256::digest(canonical))
    }

    /// Bytes of all messages.
    pub fn n_bytes(&self) -> usize {
        self.messages.iter().map(|message| message.content.len()).sum()
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model had said all.
    Stop,
    /// It reached the most tokens allowed.
    Length,
    /// The server withheld the rest.
    ContentFilter,
    /// It ended for a reason that we do not know.
    Other,
    /// What came is no answer of the protocol.
    NoAnswer,
}

/// A token of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token {
    /// Its text; what is not UTF-8 by itself is replaced.
    pub text: String,
    /// How many bytes of the answer it is.
    pub n_bytes: usize,
    /// Its log-probability, in nats; none where it has no context, and where nobody wanted to know.
    pub log_prob: Option<f64>,
    /// The entropy of what could have stood there, in nats; none unless the probability of all that could is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// What could have stood there of the strings that were [wanted](Request::wanted), as it was written, in nats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<(String, f64)>,
}

/// A text that was given, as a model reads it behind a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenText {
    /// Tokens of the prompt.
    pub n_prompt: usize,
    /// The tokens of the text, with their log-probabilities.
    pub tokens: Vec<Token>,
    /// The least, over the text's tokens, of what the probabilities that are known of a place add up to; none where there are those of
    /// the text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_mass: Option<f64>,
    /// Tokens that look like marks of the model's own, such as `<|im_end|>`, and stand for bytes of prompt or text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Tokens read and written, if the backend says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Tokens that were read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached ones among them.
    pub input: u64,
    /// Those of them that the server had read before.
    pub cached_input: u64,
    /// Tokens written, hidden reasoning among them.
    pub output: u64,
    /// Those of them that are hidden reasoning.
    pub reasoning: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input += other.input;
        self.cached_input += other.cached_input;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}

/// What a backend answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer's text.
    pub content: String,
    /// Why it ended.
    pub finish: Finish,
    /// What the server says in place of an answer that the model declines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Whether the model called a tool that it was not given.
    #[serde(default)]
    pub has_tool_calls: bool,
    /// The answer's tokens, if log-probabilities were wanted and given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<Token>>,
    /// Tokens read and written, if the backend says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// How probable each of some strings is at one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probabilities {
    /// The log-probability of each choice in nats, in the order that they were given; none where it is too small to be told.
    pub log_probs: Vec<Option<f64>>,
    /// Their probability together, of all that could have stood there.
    pub mass: f64,
    /// Tokens read and written, if the backend says so.
    pub usage: Option<Usage>,
}

/// What a backend can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Abilities {
    /// Log-probabilities of what could have stood at each token of an answer.
    pub log_probs: bool,
    /// Log-probabilities of a text that is given.
    pub text_log_probs: bool,
    /// Whether it makes an answer begin as [`Backend::choose`] wants it to, so that a choice takes no answer at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forces_prefix: bool,
    /// Whether the same request, without chance, is answered the same; none where nobody has tried.
    pub is_repeatable: Option<bool>,
}

/// Something that answers. It is asked from many threads at once, and bounds by itself how many requests are open.
pub trait Backend: Send + Sync {
    /// What its answers hang on, beside the request: part of every reply's key and of the table's metadata. No secrets.
    fn identity(&self) -> BTreeMap<String, String>;

    /// What is known of it that does not change which reply is meant, such as the model's name as a server reports it. It goes into
    /// the metadata alone.
    fn reported(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What it can give.
    fn abilities(&self) -> Abilities;

    /// Writes the next message of a conversation.
    ///
    /// # Errors
    /// There is no answer, after all repetitions that may help.
    fn complete(&self, request: &Request) -> Result<Reply, Failure>;

    /// How probable each of `choices` is as the next token behind `prefix`, with which the answer begins. A backend that can force the
    /// prefix does; of any other the answer has to begin with it by itself.
    ///
    /// # Errors
    /// There is no answer, or no log-probabilities in it ([`Kind::NoLogprobs`]).
    fn choose(&self, request: &Request, prefix: &str, choices: &[String]) -> Result<Probabilities, Failure> {
        let reply = self.complete(&Request { wanted: choices.to_vec(), ..request.clone() })?;
        if !reply.content.starts_with(prefix) {
            return Err(Failure::new(Kind::NoLogprobs, format!("the answer does not begin with `{prefix}`")));
        }
        let token = token_at(&reply, prefix.len())?;
        let log_prob = |choice: &String| log_sum(token.alternatives.iter().filter(|(t, _)| is_blank_around(t, choice)));
        let log_probs: Vec<Option<f64>> = choices.iter().map(log_prob).collect();
        let mass = log_probs.iter().flatten().map(|p| p.exp()).sum();
        Ok(Probabilities { log_probs, mass, usage: reply.usage })
    }

    /// The tokens of `text` behind `prompt` with their log-probabilities.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] unless the [abilities](Backend::abilities) have it; [`Kind::NoLogprobs`] if a token's is not told, or if it
    /// cannot be told which tokens are the text's.
    fn log_probs(&self, _prompt: &str, _text: &str) -> Result<GivenText, Failure> {
        Err(Failure::new(Kind::Unsupported, "this backend gives no log-probabilities of a text that is given"))
    }

    /// Most tokens that may be written for a request, hidden reasoning among them: what is paid at most.
    fn most_output(&self, request: &Request) -> u32 {
        request.max_output
    }

    /// How many requests it wants open at once; `writes` if they are for answers, and not for probabilities alone.
    fn most_at_once(&self, _writes: bool) -> usize {
        1
    }

    /// Whether asking further is of no use, and why.
    fn stopped(&self) -> Option<Failure> {
        None
    }
}

/// Whether a token is a string with nothing but ASCII blanks around it.
fn is_blank_around(token: &str, string: &str) -> bool {
    token.trim_matches(|c: char| c.is_ascii_whitespace()) == string
}

/// Below this a server writes a log-probability that it does not know.
const UNKNOWN_LOG_PROB: f64 = -9999.0;

/// The log-probability of any of some tokens; none if there is none, or only such as are too small to be told.
fn log_sum<'a>(tokens: impl Iterator<Item = &'a (String, f64)>) -> Option<f64> {
    let sum: f64 = tokens.map(|(_, p)| *p).filter(|p| *p > UNKNOWN_LOG_PROB).map(f64::exp).sum();
    (sum > 0.0).then(|| sum.ln())
}

/// The token of an answer that covers one of its bytes.
///
/// # Errors
/// [`Kind::NoLogprobs`] if the reply has no tokens, if they are not the answer's, or if a number is none.
pub fn token_at(reply: &Reply, byte: usize) -> Result<&Token, Failure> {
    let none = |why: &str| Failure::new(Kind::NoLogprobs, why);
    let tokens = reply.tokens.as_deref().ok_or_else(|| none("the reply has no log-probabilities"))?;
    let mut start = 0;
    for token in tokens {
        let end = start + token.n_bytes;
        // one that ends within a letter has no text of its own to compare
        if reply.content.get(start..end).is_some_and(|written| written != token.text) {
            return Err(none("the tokens with log-probabilities are not those of the answer"));
        }
        if byte < end {
            if token.alternatives.iter().any(|(_, p)| p.is_nan() || *p > 1e-3) {
                return Err(none("a log-probability is not a number of at most 0"));
            }
            return Ok(token);
        }
        start = end;
    }
    Err(none("the tokens with log-probabilities end before the score"))
}

/// The probability, of all there is at a token, that any of `strings` stands there, and that of each.
pub fn probabilities(token: &Token, strings: &[&str]) -> Vec<f64> {
    let of = |string: &&str| log_sum(token.alternatives.iter().filter(|(t, _)| is_blank_around(t, string)));
    strings.iter().map(|string| of(string).map_or(0.0, f64::exp)).collect()
}
