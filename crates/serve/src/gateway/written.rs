//! What a generator wrote: the texts of an answer, whole or gathered from the events of a stream, and what it says of their tokens.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use axum::http::{HeaderMap, header};
use serde_json::Value;

use super::events::{Splitter, data};
use crate::{
    limits::{Lent, Limits, Room},
    refusal::Refusal,
    service::Service,
};

/// What ends a stream.
pub(super) const DONE: &str = "[DONE]";

/// The field in which an answer says what was found in it.
const FIELD: &str = "veridiff";

/// Bytes for which room is asked at once.
const STEP: usize = 64 << 10;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON.
    Whole,
    /// Server-sent events.
    Events,
}

impl Form {
    /// That of an answer; none where it is packed, or something else.
    pub fn of(headers: &HeaderMap) -> Option<Form> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let coding = text(header::CONTENT_ENCODING);
        if !coding.is_empty() && !coding.eq_ignore_ascii_case("identity") {
            return None;
        }
        let kind = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "application/json" => Some(Form::Whole),
            "text/event-stream" => Some(Form::Events),
            _ => None,
        }
    }
}

/// Why an answer of another form is not checked.
pub(super) fn no_form() -> Refusal {
    Refusal::Unreadable("the answer is neither JSON nor a stream of events".to_owned(), None)
}

/// One text of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Choice {
    pub text: String,
    /// ln p of its tokens by the generator, nats; none where it does not say.
    pub logprobs: Vec<f64>,
}

/// The texts of an answer, by their index.
pub(super) type Choices = BTreeMap<u64, Choice>;

/// Takes what a whole answer, or one part of it, adds to its texts.
fn take(choices: &mut Choices, part: &Value, limits: &Limits) -> Result<(), Refusal> {
    for (place, choice) in (0..).zip(part.get("choices").and_then(Value::as_array).into_iter().flatten()) {
        let index = choice.get("index").and_then(Value::as_u64).unwrap_or(place);
        let n = choices.len() + usize::from(!choices.contains_key(&index));
        crate::asked::within("the answer's list of texts", "", n, limits.samples)?;
        let known = choices.entry(index).or_default();
        let content = ["/delta/content", "/message/content", "/text"].iter().find_map(|path| choice.pointer(path));
        match content {
            Some(Value::String(text)) => known.text += text,
            Some(Value::Array(parts)) => {
                known.text.extend(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)));
            }
            _ => {}
        }
        crate::asked::within("a text", " bytes", known.text.len(), limits.text_bytes)?;
        let logprobs = choice.get("logprobs");
        let list = |name: &str| logprobs.and_then(|logprobs| logprobs.get(name)).and_then(Value::as_array);
        let of_tokens = list("content").into_iter().flatten().map(|token| token.get("logprob").and_then(Value::as_f64));
        let of_texts = list("token_logprobs").into_iter().flatten().map(Value::as_f64);
        known.logprobs.extend(of_tokens.chain(of_texts).flatten());
        crate::asked::within("a text", " tokens", known.logprobs.len(), limits.text_bytes)?;
    }
    Ok(())
}

/// What one event adds.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    /// The stream ends with it.
    End,
    /// Something is written. Whether a text has ended with it.
    Text { has_ended: bool },
    /// Something else, such as what was used, or a comment.
    Other,
}

/// Reads an answer while it passes, within the limits, and never fails: what it cannot read it tells at the end.
pub(super) struct Reader {
    form: Option<Form>,
    bytes: Vec<u8>,
    events: Splitter,
    choices: Choices,
    problem: Option<Refusal>,
    is_done: bool,
    limits: Limits,
    room: Room,
    lent: Vec<Lent>,
}

impl Reader {
    /// One for an answer of this form.
    pub fn new(form: Option<Form>, service: &Arc<Service>) -> Reader {
        Reader {
            form,
            bytes: Vec::new(),
            events: Splitter::default(),
            choices: Choices::new(),
            problem: if form.is_none() { Some(no_form()) } else { None },
            is_done: false,
            limits: service.limits.clone(),
            room: service.room.clone(),
            lent: Vec::new(),
        }
    }

    /// Whether all that there is has been read.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Takes bytes of the answer. A panic of ours ends the reading and nothing else.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.problem.is_some() || self.is_done {
            return;
        }
        let fed = catch_unwind(AssertUnwindSafe(|| match self.form {
            Some(Form::Events) => self.feed_events(bytes),
            _ => self.keep(bytes),
        }));
        if let Err(refusal) = fed.unwrap_or(Err(Refusal::Fault)) {
            self.give_up(refusal);
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        crate::asked::within("the answer", " bytes", self.bytes.len() + bytes.len(), self.limits.body_bytes)?;
        lend(&self.room, &mut self.lent, self.bytes.len() + bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn feed_events(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.events.push(bytes);
        while let Some(event) = self.events.next().map_err(|_| too_long())? {
            self.event(&event);
        }
        Ok(())
    }

    /// Takes one event of a stream, and says what it is. None after a panic of ours.
    pub fn take_event(&mut self, event: &[u8]) -> Option<Part> {
        let taken = catch_unwind(AssertUnwindSafe(|| self.event(event)));
        if taken.is_err() {
            self.give_up(Refusal::Fault);
        }
        taken.ok()
    }

    fn event(&mut self, event: &[u8]) -> Part {
        let Some(data) = data(event) else { return Part::Other };
        if data.trim() == DONE {
            self.is_done = true;
            return Part::End;
        }
        let unreadable = |what: &str| Refusal::Unreadable(what.to_owned(), None);
        let Ok(part) = serde_json::from_str::<Value>(&data) else {
            self.give_up(unreadable("an event of the answer is no JSON"));
            return Part::Other;
        };
        if part.get("error").is_some_and(|error| !error.is_null()) {
            self.give_up(unreadable("the generator broke off with an error"));
        }
        if self.problem.is_none()
            && let Err(refusal) = take(&mut self.choices, &part, &self.limits)
        {
            self.give_up(refusal);
        }
        let written = part.get("choices").and_then(Value::as_array).filter(|choices| !choices.is_empty());
        let has_ended = |choice: &Value| choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
        written.map_or(Part::Other, |choices| Part::Text { has_ended: choices.iter().all(has_ended) })
    }

    /// Reads no further.
    pub fn give_up(&mut self, refusal: Refusal) {
        self.problem.get_or_insert(refusal);
        (self.bytes, self.choices) = (Vec::new(), Choices::new());
        self.lent.clear();
    }

    /// The texts of the answer, now that it has ended: those in which something stands.
    pub fn end(mut self) -> Result<Choices, Refusal> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        if self.form == Some(Form::Whole) {
            let answer = serde_json::from_slice(&self.bytes)
                .map_err(|_| Refusal::Unreadable("the answer is no JSON".to_owned(), None))?;
            take(&mut self.choices, &answer, &self.limits)?;
        }
        self.choices.retain(|_, choice| !choice.text.trim().is_empty());
        if self.choices.is_empty() {
            return Err(Refusal::Unreadable("there is no text in the answer".to_owned(), None));
        }
        Ok(self.choices)
    }
}

fn too_long() -> Refusal {
    Refusal::Unreadable("an event of the answer is too long".to_owned(), None)
}

/// Has room for as many bytes.
pub(super) fn lend(room: &Room, lent: &mut Vec<Lent>, bytes: usize) -> Result<(), Refusal> {
    while lent.len() * STEP < bytes {
        lent.push(room.lend(STEP)?);
    }
    Ok(())
}

/// An object of JSON with one field more, behind all others; the bytes before it stay as they are. None if it is no object.
pub(super) fn with_field(json: &[u8], field: &str) -> Option<Vec<u8>> {
    let Ok(Value::Object(mut object)) = serde_json::from_slice(json) else { return None };
    if object.contains_key(FIELD) {
        // another gateway's, whose place this one's takes
        object.insert(FIELD.to_owned(), serde_json::from_str(field).ok()?);
        return Some(Value::Object(object).to_string().into_bytes());
    }
    let end = json.iter().rposition(|byte| *byte == b'}')?;
    let comma = if object.is_empty() { "" } else { "," };
    let more = format!("{comma}\"{FIELD}\":{field}");
    Some([&json[..end], more.as_bytes(), &json[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choices(parts: &[Value]) -> Result<Choices, &'static str> {
        let limits = Limits { samples: 2, text_bytes: 10, ..Limits::default() };
        let mut choices = Choices::new();
        parts.iter().try_for_each(|part| take(&mut choices, part, &limits)).map_err(|refusal| refusal.code())?;
        Ok(choices)
    }

    #[test]
    fn texts_are_those_of_every_form_of_answer() {
        let texts = |parts: &[Value]| {
            choices(parts).map(|choices| choices.into_iter().map(|(index, it)| (index, it.text)).collect::<Vec<_>>())
        };
        let one = |text: &str| Ok(vec![(0, text.to_owned())]);
        assert_eq!(texts(&[json!({ "choices": [{ "message": { "content": "whole" } }] })]), one("whole"));
        let listed = json!([{ "type": "text", "text": "in " }, { "type": "text", "text": "parts" }]);
        assert_eq!(texts(&[json!({ "choices": [{ "message": { "content": listed } }] })]), one("in parts"));
        assert_eq!(texts(&[json!({ "choices": [{ "text": "plain" }] })]), one("plain"));
        let delta = |index: u64, text: &str| json!({ "choices": [{ "index": index, "delta": { "content": text } }] });
        let two = texts(&[delta(1, "b"), delta(0, "a"), delta(1, "c"), json!({ "choices": [], "usage": {} })]);
        assert_eq!(two, Ok(vec![(0, "a".to_owned()), (1, "bc".to_owned())]));
        assert_eq!(texts(&[delta(0, "a"), delta(1, "a"), delta(2, "a")]), Err("too_large"));
        assert_eq!(texts(&[delta(0, "01234"), delta(0, "56789"), delta(0, "x")]), Err("too_large"));
        // calls of tools are no text, and what has another form is none
        for odd in
            [json!({ "choices": [{ "message": { "content": null, "tool_calls": [] } }] }), json!({ "choices": [3] })]
        {
            assert_eq!(texts(&[odd]), one(""));
        }
        assert_eq!(texts(&[json!([]), json!({ "choices": "x" })]), Ok(vec![]));
    }

    #[test]
    fn log_probabilities_are_those_of_the_generator() {
        let chat = |values: &[f64]| {
            let tokens: Vec<Value> = values.iter().map(|value| json!({ "token": "t", "logprob": value })).collect();
            json!({ "choices": [{ "delta": { "content": "t" }, "logprobs": { "content": tokens } }] })
        };
        let read = choices(&[chat(&[-1.0]), chat(&[-3.0, -2.0])]).unwrap();
        assert_eq!(read[&0].logprobs, [-1.0, -3.0, -2.0]);
        let text = json!({ "choices": [{ "text": "t", "logprobs": { "token_logprobs": [null, -0.5] } }] });
        assert_eq!(choices(&[text]).unwrap()[&0].logprobs, [-0.5]);
        assert!(choices(&[json!({ "choices": [{ "text": "t", "logprobs": null }] })]).unwrap()[&0].logprobs.is_empty());
        assert_eq!(choices(&[chat(&[-1.0; 11])]).unwrap_err(), "too_large");
    }

    #[test]
    fn a_field_more_leaves_the_others_as_they_are() {
        let with = |json: &str| with_field(json.as_bytes(), "{\"x\":1}").map(|it| String::from_utf8(it).unwrap());
        assert_eq!(with("{ \"a\": 1.50 }\n").as_deref(), Some("{ \"a\": 1.50 ,\"veridiff\":{\"x\":1}}\n"));
        assert_eq!(with("{}").as_deref(), Some("{\"veridiff\":{\"x\":1}}"));
        assert_eq!(with(r#"{"veridiff":0,"a":"}"}"#).as_deref(), Some(r#"{"veridiff":{"x":1},"a":"}"}"#));
        for other in ["[]", "3", "", "{", "{} {}"] {
            assert_eq!(with(other), None, "{other}");
        }
    }

    #[test]
    fn the_form_is_that_of_the_header() {
        let of = |kind: &'static str, coding: &'static str| {
            let pairs = [(header::CONTENT_TYPE, kind), (header::CONTENT_ENCODING, coding)];
            Form::of(&pairs.into_iter().map(|(name, value)| (name, value.parse().unwrap())).collect())
        };
        assert_eq!(of("application/json", ""), Some(Form::Whole));
        assert_eq!(of("Text/Event-Stream; charset=utf-8", "identity"), Some(Form::Events));
        assert_eq!(of("application/json", "gzip"), None);
        assert_eq!(of("audio/mpeg", ""), None);
    }
}
