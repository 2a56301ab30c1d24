//! Log-probabilities of a text that is given: the two ways in which servers tell them, which of them one does, and what its answers say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Exchange, next,
    place::{Placed, Shown, place},
    wire::UsageBody,
};
use crate::{
    backend::{GivenText, Token, Usage},
    failure::{Failure, Kind},
};

/// How a server is asked for the log-probabilities of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// It repeats the text with them: `echo` and `logprobs`.
    Echo,
    /// It tells them apart from its answer, by token ids: vLLM's `prompt_logprobs`.
    PromptLogprobs,
}

/// The ways there are, the one that more servers know first.
const WAYS: [Way; 2] = [Way::Echo, Way::PromptLogprobs];

/// Tokens that every answer may have behind the text: some servers refuse to write none, others then write without an end.
const N_WRITTEN: usize = 1;

/// Below this a server writes a log-probability that it does not know.
const UNKNOWN: f64 = -9999.0;

/// Probability that may be missing from that of all there is. What it adds to an entropy is below 3e-5 nats over a million tokens.
const MISSING: f64 = 1e-6;

/// What probabilities that were rounded may add up to beyond 1.
const BEYOND: f64 = 1e-3;

/// Marks of models' own whose form does not tell them from text.
const MARKS: [&str; 10] =
    ["<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]"];

impl Way {
    /// Its name among the steps of a probe and in metadata.
    fn name(self) -> &'static str {
        match self {
            Way::Echo => "echo",
            Way::PromptLogprobs => "prompt_logprobs",
        }
    }

    /// The body that asks for a text's log-probabilities, with those of `tops` more tokens at each place; -1 is all of them to vLLM.
    fn body(self, model: &str, text: &str, tops: Option<i32>) -> Value {
        let mut body = json!({ "model": model, "prompt": text, "max_tokens": N_WRITTEN, "temperature": 0.0 });
        let tops = tops.unwrap_or(1);
        match self {
            Way::Echo => {
                body["echo"] = true.into();
                body["logprobs"] = tops.into();
            }
            Way::PromptLogprobs => body["prompt_logprobs"] = tops.into(),
        }
        body
    }
}

/// How one server tells the log-probabilities of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TellsTexts {
    /// The way that it knows.
    pub way: Way,
    /// Whether it told the same twice.
    pub is_repeatable: bool,
    /// The model as the server calls it.
    pub model: Option<String>,
    /// The server's mark for its configuration.
    pub fingerprint: Option<String>,
}

impl TellsTexts {
    /// What makes answers of two servers differ, in a line for the metadata.
    pub fn summary(&self) -> String {
        let repeats = if self.is_repeatable { "the same" } else { "not the same" };
        format!("log-probabilities of texts by {}, twice {repeats}", self.way.name())
    }

    /// The body that asks about a text behind a prompt.
    pub fn body(&self, model: &str, prompt: &str, text: &str, tops: Option<i32>) -> Value {
        self.way.body(model, &[prompt, text].concat(), tops)
    }

    /// What an answer says of a text behind a prompt.
    ///
    /// # Errors
    /// [`Kind::NoLogprobs`]: it tells not all log-probabilities, or it cannot be told which of them are the text's.
    pub fn read(&self, answer: &[u8], prompt: &str, text: &str, tops: Option<i32>) -> Result<GivenText, Failure> {
        read(self.way, answer, prompt, text, tops.is_some())
    }
}

/// Finds out in which way a server tells the log-probabilities of a text, if any.
///
/// # Errors
/// It cannot be reached, refuses the key, or knows neither way ([`Kind::Unsupported`]); the message says what it did instead.
pub fn probe(
    model: &str,
    tops: Option<i32>,
    ask: &mut dyn FnMut(&str, &Value) -> Result<Exchange, Failure>,
) -> Result<TellsTexts, Failure> {
    // letters of several bytes, and blanks at both sides of the border
    let (prompt, text) = ("One, two:\n", "dreißig – 3 × 10\n");
    let mut said = Vec::new();
    for way in WAYS {
        let body = way.body(model, &[prompt, text].concat(), tops);
        let mut told = |n: u32| -> Result<_, Failure> {
            let answer = match ask(&format!("text-{}-{n}", way.name()), &body) {
                // so answer some that do not know the way
                Err(failure @ Failure { kind: Kind::Http(500..=599), .. }) => return Ok((Err(failure), None)),
                answer => answer?,
            };
            Ok((read_exchange(&answer).and_then(|body| read(way, body, prompt, text, tops.is_some())), Some(answer)))
        };
        match told(1)? {
            (Ok(first), answer) => {
                let same = told(2)?.0.is_ok_and(|second| second.tokens == first.tokens);
                let json = answer.and_then(|answer| answer.json()).unwrap_or_default();
                if let Some(away) = next::away(way, &json, [prompt, text], &mut |n, text| {
                    let body = way.body(model, text, tops);
                    Ok(ask(&format!("text-{}-next-{n}", way.name()), &body)?.json().unwrap_or_default())
                })? {
                    said.push(format!(
                        "{}: its numbers are not those of its tokens: what it calls likeliest has a number {away:.1} nats away once it stands \
                         in the text, as where numbers are told a place too late",
                        way.name()
                    ));
                    continue;
                }
                let own = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
                let (model, fingerprint) = (own("model"), own("system_fingerprint"));
                return Ok(TellsTexts { way, is_repeatable: same, model, fingerprint });
            }
            (Err(failure @ Failure { kind: Kind::Http(401 | 403), .. }), _) => return Err(failure),
            (Err(failure), _) => said.push(format!("{}: {failure}", way.name())),
        }
    }
    let message = format!("it tells no log-probabilities of a text that it is given ({})", said.join("; "));
    Err(Failure::new(Kind::Unsupported, message))
}

/// The body of an answer that is no error.
fn read_exchange(answer: &Exchange) -> Result<&[u8], Failure> {
    match answer.status {
        200 => Ok(answer.body.as_bytes()),
        status => Err(Failure::new(Kind::Http(status), answer.reason())),
    }
}

/// A token as a server tells it.
pub(super) struct Told<'a> {
    /// Its text; none of a first token that is not told.
    pub(super) text: Option<&'a str>,
    pub(super) log_prob: Option<f64>,
    /// The likeliest of what is told of its place.
    pub(super) likeliest: Option<(&'a str, f64)>,
    /// The log-probabilities of all that is told of its place, its own among them.
    all: Vec<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Body {
    choices: Vec<Choice>,
    usage: Option<UsageBody>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    logprobs: Option<Echoed>,
    prompt_logprobs: Option<Vec<Option<Map<String, Value>>>>,
}

#[derive(Debug, Deserialize)]
struct Echoed {
    tokens: Vec<String>,
    token_logprobs: Vec<Option<f64>>,
    #[serde(default)]
    top_logprobs: Option<Vec<Option<BTreeMap<String, f64>>>>,
}

fn none(why: impl Into<String>) -> Failure {
    Failure::new(Kind::NoLogprobs, why)
}

impl Echoed {
    /// The tokens in their order.
    fn told(&self) -> Result<Vec<Told<'_>>, Failure> {
        let n = self.tokens.len();
        let tops = self.top_logprobs.as_deref().unwrap_or_default();
        if self.token_logprobs.len() != n || !(tops.is_empty() || tops.len() == n) {
            let (m, places) = (self.token_logprobs.len(), tops.len());
            return Err(none(format!(
                "the answer has {n} tokens, {m} log-probabilities and the likeliest of {places} places"
            )));
        }
        let told = |(i, text): (usize, &'_ String)| {
            let (log_prob, top) = (self.token_logprobs[i], tops.get(i).and_then(Option::as_ref));
            let mut all: Vec<f64> = top.iter().flat_map(|top| top.values().copied()).collect();
            // some servers leave the text's own token out of those beside it
            all.extend(log_prob.filter(|_| top.is_some_and(|top| !top.contains_key(text))));
            let likeliest = top.and_then(|top| top.iter().max_by(|a, b| a.1.total_cmp(b.1)));
            (log_prob, likeliest.map(|(text, p)| (text.as_str(), *p)), all)
        };
        let numbers: Vec<_> = self.tokens.iter().enumerate().map(told).collect();
        let tokens = self.tokens.iter().zip(numbers);
        let told = tokens.map(|(text, (log_prob, likeliest, all))| Told { text: Some(text), log_prob, likeliest, all });
        Ok(told.collect())
    }
}

/// The text of the token that stands in the text at a place.
fn decoded(place: Option<&Map<String, Value>>) -> Option<&str> {
    place?.values().next()?.get("decoded_token")?.as_str()
}

/// The likeliest token that is told of a place.
fn likeliest(place: &Map<String, Value>) -> Option<(&str, f64)> {
    let told = place.values().filter_map(|of| Some((of.get("decoded_token")?.as_str()?, of.get("logprob")?.as_f64()?)));
    told.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The tokens that are told by their ids, the one that stands in the text first at each place.
fn by_ids(places: &[Option<Map<String, Value>>]) -> Result<Vec<Told<'_>>, Failure> {
    let told = |place: &'_ Option<Map<String, Value>>| {
        let Some(place) = place else { return Ok(None) };
        let number =
            |of: &Value| of.get("logprob").and_then(Value::as_f64).ok_or_else(|| none("a log-probability is none"));
        let all = place.values().map(number).collect::<Result<Vec<f64>, _>>()?;
        let log_prob = *all.first().ok_or_else(|| none("nothing is told of one place"))?;
        Ok(Some((log_prob, all)))
    };
    let told = places.iter().map(told).collect::<Result<Vec<_>, Failure>>()?;
    let tokens = places.iter().zip(told).enumerate().map(|(i, (place, told))| match (decoded(place.as_ref()), told) {
        (Some(text), Some((log_prob, all))) => {
            let likeliest = place.as_ref().and_then(likeliest);
            Ok(Told { text: Some(text), log_prob: Some(log_prob), likeliest, all })
        }
        (None, None) if i == 0 => Ok(Told { text: None, log_prob: None, likeliest: None, all: Vec::new() }),
        _ => Err(none(format!("token {} is not told as text with its log-probability", i + 1))),
    });
    tokens.collect()
}

impl Choice {
    /// What it tells of all tokens, and how many of them it may have written itself.
    pub(super) fn told(&self, way: Way) -> Result<(Vec<Told<'_>>, usize), Failure> {
        Ok(match way {
            Way::Echo => {
                let told = self.logprobs.as_ref().ok_or_else(|| none("the answer has no log-probabilities"))?;
                (told.told()?, N_WRITTEN)
            }
            Way::PromptLogprobs => {
                let places = self.prompt_logprobs.as_ref();
                (by_ids(places.ok_or_else(|| none("the answer has no log-probabilities of the prompt"))?)?, 0)
            }
        })
    }
}

impl Body {
    /// Its first choice.
    pub(super) fn choice(&self) -> Result<&Choice, Failure> {
        self.choices.first().ok_or_else(|| none("the answer has no choices"))
    }
}

/// Where the tokens stand in prompt and text, of which the last `n_written` may be none.
pub(super) fn placed(told: &[Told<'_>], prompt: &str, text: &str, n_written: usize) -> Result<Placed, Failure> {
    let starts_all = |token: &str| [prompt, text].concat().starts_with(token.trim_start_matches(' '));
    let shown: Vec<Shown<'_>> = told
        .iter()
        .enumerate()
        .map(|(i, token)| match token.text {
            None => Shown::Untold,
            // the mark of a beginning, before which nothing stands
            Some(text) if i == 0 && token.log_prob.is_none() && !starts_all(text) && !text.contains('\u{fffd}') => {
                Shown::Beginning
            }
            Some(text) => Shown::Text(text),
        })
        .collect();
    place(&shown, prompt, text, n_written).map_err(|why| none(why.to_string()))
}

fn read(way: Way, answer: &[u8], prompt: &str, text: &str, wants_all: bool) -> Result<GivenText, Failure> {
    let body: Body = serde_json::from_slice(answer).map_err(|_| none("the answer is none of the protocol"))?;
    let (told, n_written) = body.choice()?.told(way)?;
    let placed = placed(&told, prompt, text, n_written)?;
    let is_data = |i: &usize| placed.n_bytes[*i] > 0;
    let marks = (0..placed.text.end).filter(is_data).filter_map(|i| told[i].text).filter(|text| is_mark(text));
    let marks = marks.map(str::to_owned).collect();
    let (mut tokens, mut least_mass) = (Vec::new(), None::<f64>);
    for i in placed.text.clone() {
        let Told { text, log_prob, all, .. } = &told[i];
        let log_prob = log_prob.ok_or_else(|| none(format!("token {} has no log-probability", i + 1)))?;
        if log_prob.is_nan() || log_prob > BEYOND || log_prob <= UNKNOWN {
            return Err(none(format!("the log-probability {log_prob} of token {} is none", i + 1)));
        }
        let entropy = if wants_all { Some(entropy_of(all)?) } else { None };
        if let Some((mass, _)) = entropy {
            least_mass = Some(least_mass.map_or(mass, |least| least.min(mass)));
        }
        tokens.push(Token {
            text: text.unwrap_or_default().to_owned(),
            n_bytes: placed.n_bytes[i],
            log_prob: Some(log_prob.min(0.0)),
            entropy: entropy.filter(|(mass, _)| 1.0 - mass <= MISSING).map(|(_, entropy)| entropy),
            alternatives: Vec::new(),
        });
    }
    Ok(GivenText { n_prompt: placed.text.start, tokens, least_mass, marks, usage: body.usage.map(Usage::from) })
}

/// What the probabilities that are told of a place add up to, and their entropy in nats.
fn entropy_of(log_probs: &[f64]) -> Result<(f64, f64), Failure> {
    let known = log_probs.iter().copied().filter(|p| *p > UNKNOWN);
    let (mass, entropy) = known.fold((0.0, 0.0), |(mass, entropy), p| (mass + p.exp(), entropy - p.exp() * p));
    // NaN is not above either
    if mass <= 1.0 + BEYOND {
        Ok((mass, entropy))
    } else {
        Err(none(format!("the probabilities of a place add up to {mass:.3}")))
    }
}

/// Whether a token looks like a mark that a tokenizer reads and text cannot spell.
pub(super) fn is_mark(token: &str) -> bool {
    MARKS.contains(&token) || (token.len() > 4 && token.starts_with("<|") && token.ends_with("|>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "a\n";

    fn echo(tokens: &Value, log_probs: &Value, tops: &Value) -> String {
        let log_probs = json!({ "tokens": tokens, "token_logprobs": log_probs, "top_logprobs": tops });
        let usage = json!({ "prompt_tokens": 4, "completion_tokens": 1 });
        json!({ "choices": [{ "text": "", "logprobs": log_probs }], "usage": usage }).to_string()
    }

    fn by_echo(tokens: Value, log_probs: Value) -> Result<GivenText, Failure> {
        read(Way::Echo, echo(&tokens, &log_probs, &Value::Null).as_bytes(), PROMPT, "b c", false)
    }

    #[track_caller]
    fn fails(given: Result<GivenText, Failure>, says: &str) {
        let failure = given.unwrap_err();
        assert!(failure.kind == Kind::NoLogprobs && failure.message.contains(says), "{failure}");
    }

    #[test]
    fn a_text_has_the_log_probabilities_of_its_own_tokens() {
        let given = by_echo(json!(["a", "\n", "b", " c", "!"]), json!([null, -0.5, -1.0, -2.0, -3.0])).unwrap();
        assert_eq!(given.tokens.iter().map(|token| token.log_prob).collect::<Vec<_>>(), [Some(-1.0), Some(-2.0)]);
        assert_eq!((given.n_prompt, given.usage.unwrap().input, given.least_mass), (2, 4, None));
        // a mark of the beginning, and no token behind
        let given = by_echo(json!(["<s>", "a\n", "b", " c"]), json!([null, -0.5, -1.0, -2.0])).unwrap();
        assert_eq!((given.n_prompt, given.marks.len()), (2, 0));
    }

    #[test]
    fn what_is_not_told_is_never_made_up() {
        let four = || json!(["a", "\n", "b", " c"]);
        fails(by_echo(four(), json!([null, -0.5, -1.0])), "4 tokens, 3 log-probabilities");
        fails(by_echo(four(), json!([null, -0.5, null, -2.0])), "token 3 has no log-probability");
        fails(by_echo(four(), json!([null, -0.5, -9999.0, -2.0])), "-9999 of token 3");
        fails(by_echo(four(), json!([null, -0.5, 0.7, -2.0])), "0.7 of token 3");
        fails(by_echo(json!(["a", "\nb", " c"]), json!([null, -0.5, -1.0])), "across the end of the prompt");
        fails(by_echo(json!(["b", " c"]), json!([-0.5, -1.0])), "not those of the text from byte 0");
        fails(by_echo(json!(["!"]), json!([-0.5])), "not those of the text");
        for body in ["", "{}", "{\"choices\": []}", "{\"choices\": [{}]}", "{\"choices\": [{\"logprobs\": 1}]}"] {
            for way in WAYS {
                fails(read(way, body.as_bytes(), PROMPT, "b", false), "the answer");
            }
        }
    }

    #[test]
    fn the_entropy_is_that_of_all_there_is_or_none() {
        let of = |tops: Value| {
            let body = echo(&json!(["a\n", "b", " c"]), &json!([null, 0.25f64.ln(), 0.5f64.ln()]), &tops);
            read(Way::Echo, body.as_bytes(), PROMPT, "b c", true)
        };
        let ln = |p: f64| p.ln();
        // 1/4, 1/4, 1/2 at the first place, and 1/2, 1/2, where the text's own token is not among those beside it, at the second
        let whole = of(json!([null, { "b": ln(0.25), "x": ln(0.25), "y": ln(0.5) }, { "x": ln(0.5) }])).unwrap();
        let entropies: Vec<f64> = whole.tokens.iter().map(|token| token.entropy.unwrap()).collect();
        assert!((entropies[0] - 1.5 * 2f64.ln()).abs() < 1e-12 && (entropies[1] - 2f64.ln()).abs() < 1e-12);
        assert!((whole.least_mass.unwrap() - 1.0).abs() < 1e-12);
        let cut = of(json!([null, { "b": ln(0.25), "y": ln(0.5) }, { "x": ln(0.5) }])).unwrap();
        assert_eq!((cut.tokens[0].entropy, cut.tokens[1].entropy.is_some()), (None, true));
        assert!((cut.least_mass.unwrap() - 0.75).abs() < 1e-12);
        fails(of(json!([null, { "b": ln(0.25), "y": ln(0.9) }, {}])), "add up to 1.15");
        fails(of(json!([null, {}])), "of 2 places");
        // without the others there is no entropy
        assert_eq!(of(Value::Null).unwrap().tokens[0].entropy, None);
    }

    #[test]
    fn tokens_are_told_by_ids_too() {
        let place = |of: &[(&str, &str, f64)]| {
            let told = of
                .iter()
                .map(|(id, text, p)| ((*id).to_owned(), json!({ "logprob": p, "rank": 1, "decoded_token": text })));
            Value::Object(told.collect())
        };
        let body = |places: Value| json!({ "choices": [{ "text": "!", "prompt_logprobs": places }] }).to_string();
        let half = 0.5f64.ln();
        let b = place(&[("9", "b", half), ("1", "B", half)]);
        let places = json!([null, place(&[("5", "\n", -1.0)]), b, place(&[("7", " c", -2.0)])]);
        let given = read(Way::PromptLogprobs, body(places).as_bytes(), PROMPT, "b c", true).unwrap();
        assert_eq!(given.tokens.iter().map(|token| token.log_prob).collect::<Vec<_>>(), [Some(half), Some(-2.0)]);
        assert!((given.tokens[0].entropy.unwrap() - 2f64.ln()).abs() < 1e-12);
        assert_eq!(given.tokens[1].entropy, None);
        for (places, says) in [
            (json!([null, null, {}]), "nothing is told"),
            (json!([null, null, b]), "token 2 is not told"),
            (json!([null, { "5": { "logprob": "x" } }]), "a log-probability is none"),
            (json!([null, b]), "ends before the text"),
        ] {
            fails(read(Way::PromptLogprobs, body(places).as_bytes(), PROMPT, "b c", false), says);
        }
    }

    #[test]
    fn marks_in_the_data_are_told() {
        let of = |tokens: Value, text: &str| {
            let n = tokens.as_array().unwrap().len();
            let log_probs: Vec<Option<f64>> = (0..n).map(|i| (i > 0).then_some(-1.0)).collect();
            read(Way::Echo, echo(&tokens, &json!(log_probs), &Value::Null).as_bytes(), PROMPT, text, false)
                .unwrap()
                .marks
        };
        assert_eq!(of(json!(["a\n", "<|im_end|>"]), "<|im_end|>"), ["<|im_end|>"]);
        assert_eq!(of(json!(["a\n", "<|", "im_end", "|>"]), "<|im_end|>"), [""; 0]);
        assert_eq!(of(json!(["<s>", "a\n", "<s>"]), "<s>"), ["<s>"]);
    }
}
