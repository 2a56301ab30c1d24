//! What a server really does, found by asking it: many say that they speak the protocol, refuse part of it, or ignore it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CHAT, COMPLETIONS, Exchange,
    text::{self, TellsTexts},
    wire,
};
use crate::{
    backend::{Finish, Reply},
    failure::{Failure, Kind},
};

/// How far a server holds an answer to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schemas {
    /// The answer is of the schema, even where the prompt asks for another.
    Strict,
    /// The answer is some JSON object.
    AnyObject,
    /// The answer is whatever the model writes.
    None,
}

/// What a server was found to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// It wants `max_completion_tokens` in place of `max_tokens`.
    pub says_completion_tokens: bool,
    /// It takes a temperature.
    pub takes_temperature: bool,
    /// It takes a seed.
    pub takes_seed: bool,
    /// How many alternatives a token it can be asked for; none if it gives no log-probabilities.
    pub top_log_probs: Option<u32>,
    /// Whether its log-probabilities are those after the temperature, so that they say nothing at temperature 0; `top_log_probs` is then
    /// none.
    #[serde(default)]
    pub follows_temperature: bool,
    /// How far it holds answers to a schema.
    pub schemas: Schemas,
    /// Whether the model reasons before it answers, which takes tokens.
    pub reasons: bool,
    /// Whether the same request was answered the same twice, log-probabilities included.
    pub is_repeatable: Option<bool>,
    /// How it tells the log-probabilities of a text that it is given, if it does.
    pub texts: Option<TellsTexts>,
    /// The model as the server calls it.
    pub model: Option<String>,
    /// The server's mark for its configuration.
    pub fingerprint: Option<String>,
}

/// What the steps are called that find out how a conversation is asked for at all.
pub(super) const FIRST: &str = "first-";

/// Tokens that a model which reasons may spend on it.
const REASONING: u32 = 4096;

/// Alternatives that are asked for, the most first.
const TOPS: [u32; 2] = [20, 5];

/// The temperature that leaves probabilities as the model has them: some servers take 0 for it, with the likeliest token alone drawn.
const WARM: f64 = 1.0;
/// Log-probabilities that differ by more, in nats, are not the same but for rounding.
const APART: f64 = 0.5;
/// Less likely tokens are not compared: rounding may move them further.
const LEAST: f64 = -8.0;

impl Found {
    /// Most tokens to allow for an answer of `max_output` tokens.
    pub fn output_limit(&self, max_output: u32) -> u32 {
        if self.reasons { max_output.saturating_add(REASONING) } else { max_output }
    }

    /// What makes answers of two servers differ, in a line for the metadata.
    pub fn summary(&self) -> String {
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let schemas = match self.schemas {
            Schemas::Strict => "strict",
            Schemas::AnyObject => "any object",
            Schemas::None => "none",
        };
        format!(
            "temperature {}, seed {}, log-probabilities {}, schema {schemas}, reasons {}",
            yes(self.takes_temperature),
            yes(self.takes_seed),
            match self.top_log_probs {
                Some(n) => n.to_string(),
                None if self.follows_temperature => "no (they follow the temperature)".to_owned(),
                None => "no".to_owned(),
            },
            yes(self.reasons),
        )
    }
}

/// Asks: takes a step's name, a path and a body, and gives what the server answers, an error status included.
pub type Ask<'a> = dyn FnMut(&str, &str, &Value) -> Result<Exchange, Failure> + 'a;

/// Finds out what a server does.
///
/// # Errors
/// It cannot be reached, or answers not even the plainest request.
pub fn probe(model: &str, ask: &mut Ask<'_>) -> Result<Found, Failure> {
    let mut found = Found {
        says_completion_tokens: false,
        takes_temperature: true,
        takes_seed: true,
        top_log_probs: None,
        follows_temperature: false,
        schemas: Schemas::None,
        reasons: false,
        is_repeatable: None,
        texts: None,
        model: None,
        fingerprint: None,
    };
    let first = options(model, &mut found, ask)?;
    let own = |key: &str| first.get(key).and_then(Value::as_str).map(str::to_owned);
    (found.model, found.fingerprint) = (own("model"), own("system_fingerprint"));
    found.reasons = reasons(&chat(model, &found, ask, "reasoning", "What is 17 + 25? Answer with the number.", 256)?);
    let question = "Answer with one digit: how many legs has a dog?";
    for n in TOPS {
        let body = with_log_probs(plain(model, &found, question, 8), n);
        let answer = ask(&format!("logprobs-{n}"), CHAT, &body)?;
        if has_log_probs(&answer) {
            found.top_log_probs = Some(n);
            break;
        }
        if answer.status == 200 {
            break; // accepted and left out
        }
    }
    found.schemas = schemas(model, &found, ask)?;
    let again = |found: &Found| {
        let body = plain(model, found, question, 8);
        found.top_log_probs.map_or(body.clone(), |n| with_log_probs(body, n))
    };
    let (one, two) = (ask("same-1", CHAT, &again(&found))?, ask("same-2", CHAT, &again(&found))?);
    found.is_repeatable = answered(&one).zip(answered(&two)).map(|(one, two)| one == two);
    if found.top_log_probs.is_some() && found.takes_temperature {
        // of a question with one answer a model may be so sure that there is nothing to compare
        let cold = with_log_probs(plain(model, &found, "Answer with one digit, whichever you like.", 8), TOPS[1]);
        let mut warm = cold.clone();
        warm["temperature"] = WARM.into();
        found.follows_temperature = are_apart(&ask("cold", CHAT, &cold)?, &ask("warm", CHAT, &warm)?);
        found.top_log_probs = found.top_log_probs.filter(|_| !found.follows_temperature);
    }
    // a server without that path may answer anything
    found.texts = text::probe(model, None, &mut |step, body| ask(step, COMPLETIONS, body)).ok();
    Ok(found)
}

/// A body with a question and what is known to be taken.
fn plain(model: &str, found: &Found, question: &str, max_output: u32) -> Value {
    wire::body(&crate::backend::Request::of_user(question, max_output), model, found)
}

fn with_log_probs(mut body: Value, n: u32) -> Value {
    body["logprobs"] = true.into();
    body["top_logprobs"] = n.into();
    body
}

fn chat(
    model: &str,
    found: &Found,
    ask: &mut Ask<'_>,
    step: &str,
    question: &str,
    max_output: u32,
) -> Result<Exchange, Failure> {
    ask(step, CHAT, &plain(model, found, question, max_output))
}

/// Whether a server may refuse what is asked for, and not who asks.
fn is_of_request(answer: &Exchange) -> bool {
    matches!(answer.status, 400 | 422)
}

/// Whether a first answer finds something out: that the server answers, or an option that it refuses.
pub(super) fn is_found(answer: &Exchange) -> bool {
    let said = answer.body.to_ascii_lowercase();
    let names_option = || ["max_tokens", "temperature", "seed"].iter().any(|option| said.contains(option));
    answer.status == 200 || is_of_request(answer) && names_option()
}

/// Leaves out or renames what the server refuses until it answers; its first answer.
fn options(model: &str, found: &mut Found, ask: &mut Ask<'_>) -> Result<Value, Failure> {
    let mut step = 0;
    loop {
        let answer = chat(model, found, ask, &format!("{FIRST}{step}"), "Answer with the word yes.", 1)?;
        if answer.status == 200 {
            let none = || Failure::new(Kind::Malformed, "its answer is none of chat completions");
            return match answer.json() {
                Some(json) if json.get("choices").is_some_and(Value::is_array) => Ok(json),
                _ => Err(none()),
            };
        }
        let said = answer.body.to_ascii_lowercase();
        let is_of_request = is_of_request(&answer);
        match () {
            // the name that it wants stands in many a refusal of the other
            () if is_of_request && said.contains("max_tokens") && !found.says_completion_tokens => {
                found.says_completion_tokens = true;
            }
            () if is_of_request && said.contains("temperature") && found.takes_temperature => {
                found.takes_temperature = false;
            }
            () if is_of_request && said.contains("seed") && found.takes_seed => found.takes_seed = false,
            () => {
                let message: String = answer.body.chars().take(300).collect();
                return Err(Failure::new(Kind::Http(answer.status), message));
            }
        }
        step += 1;
    }
}

fn reasons(answer: &Exchange) -> bool {
    let json = answer.json().unwrap_or_default();
    let tokens = json.pointer("/usage/completion_tokens_details/reasoning_tokens").and_then(Value::as_u64);
    let text = |path: &str| json.pointer(path).and_then(Value::as_str).unwrap_or_default();
    tokens.is_some_and(|n| n > 0)
        || !text("/choices/0/message/reasoning_content").is_empty()
        || text("/choices/0/message/content").contains("<think>")
}

fn has_log_probs(answer: &Exchange) -> bool {
    let json = answer.json().unwrap_or_default();
    let tokens = json.pointer("/choices/0/logprobs/content").and_then(Value::as_array);
    tokens.is_some_and(|tokens| {
        tokens.iter().any(|token| token["top_logprobs"].as_array().is_some_and(|tops| !tops.is_empty()))
    })
}

/// Whether two answers to one question, the second at another temperature, have other probabilities at their first token.
fn are_apart(cold: &Exchange, warm: &Exchange) -> bool {
    let tops = |answer: &Exchange| -> BTreeMap<String, f64> {
        let json = answer.json().unwrap_or_default();
        let tops = json.pointer("/choices/0/logprobs/content/0/top_logprobs").and_then(Value::as_array).cloned();
        let entry = |top: Value| Some((top["token"].as_str()?.to_owned(), top["logprob"].as_f64()?));
        tops.unwrap_or_default().into_iter().filter_map(entry).collect()
    };
    let (cold, warm) = (tops(cold), tops(warm));
    let likely: Vec<(&String, f64)> = warm.iter().map(|(token, p)| (token, *p)).filter(|(_, p)| *p > LEAST).collect();
    // what has no probability at temperature 0 may not be listed there at all; rounding changes who is listed last
    let n_apart =
        likely.iter().filter(|(token, p)| cold.get(*token).is_none_or(|other| (other - p).abs() > APART)).count();
    !cold.is_empty() && likely.len() > 1 && 2 * n_apart >= likely.len()
}

/// Tries a schema that the prompt contradicts, since some servers take one and ignore it.
fn schemas(model: &str, found: &Found, ask: &mut Ask<'_>) -> Result<Schemas, Failure> {
    let schema = json!({
        "type": "object",
        "properties": { "colour": { "type": "string", "enum": ["red"] } },
        "required": ["colour"],
        "additionalProperties": false
    });
    let mut body = plain(model, found, r#"Answer with the JSON object {"colour": "blue"}."#, 32);
    body["response_format"] = wire::strict(&schema);
    let object =
        |answer: &Exchange| answered(answer).and_then(|reply| serde_json::from_str::<Value>(reply.content.trim()).ok());
    let colour = object(&ask("schema", CHAT, &body)?);
    if colour.is_some_and(|object| object["colour"] == "red") {
        return Ok(Schemas::Strict);
    }
    let mut body = plain(model, found, "Answer with the word yes alone. If you must, write it as JSON.", 32);
    body["response_format"] = json!({ "type": "json_object" });
    let some = object(&ask("object", CHAT, &body)?);
    Ok(if some.is_some_and(|object| object.is_object()) { Schemas::AnyObject } else { Schemas::None })
}

/// The reply, without what it cost; none of an error.
fn answered(answer: &Exchange) -> Option<Reply> {
    let wanted: Vec<String> = (0..10).map(|digit: u32| digit.to_string()).collect();
    let reply = wire::reply(answer.body.as_bytes(), &wanted);
    (answer.status == 200 && reply.finish != Finish::NoAnswer).then_some(Reply { usage: None, ..reply })
}
