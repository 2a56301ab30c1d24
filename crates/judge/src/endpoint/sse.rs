//! An answer that comes as a stream of server-sent events, joined to the whole answer that it is.

use serde_json::{Value, json};

/// The whole answer that a stream of events is; none if the body is no stream.
///
/// A stream that holds an error is that error, which is no answer. One that ends before the model has, which tells by a finish reason
/// and then `[DONE]`, ended too early.
pub fn joined(body: &[u8]) -> Option<Value> {
    // the event's own bytes are looked at only when it is whole, so that no character is divided
    let text = std::str::from_utf8(body).ok()?;
    let first = text.trim_start_matches('\u{feff}').trim_start();
    if !["data:", "event:", "id:", ":"].iter().any(|field| first.starts_with(field)) {
        return None;
    }
    let mut whole = Whole::default();
    for event in events(first) {
        if event.trim() == "[DONE]" {
            whole.is_done = true;
            break;
        }
        let Ok(event) = serde_json::from_str::<Value>(&event) else { return Some(Value::Null) };
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Some(Value::Null);
        }
        whole.take(event);
    }
    Some(whole.body())
}

/// The data of every event: its lines joined. Comments and other fields are left out.
fn events(text: &str) -> Vec<String> {
    let (mut events, mut data) = (Vec::new(), Vec::new());
    for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).chain([""]) {
        if let Some(part) = line.strip_prefix("data:") {
            data.push(part.strip_prefix(' ').unwrap_or(part));
        } else if line.is_empty() && !data.is_empty() {
            events.push(std::mem::take(&mut data).join("\n"));
        }
    }
    events
}

/// What the events so far add up to.
#[derive(Debug, Default)]
struct Whole {
    content: String,
    refusal: String,
    tokens: Vec<Value>,
    has_tokens: bool,
    has_tool_calls: bool,
    finish: Option<Value>,
    usage: Value,
    model: Value,
    is_done: bool,
}

impl Whole {
    fn take(&mut self, mut event: Value) {
        let mut taken = |path: &str| event.pointer_mut(path).map(Value::take).filter(|value| !value.is_null());
        self.usage = taken("/usage").unwrap_or(self.usage.take());
        self.model = taken("/model").unwrap_or(self.model.take());
        self.finish = taken("/choices/0/finish_reason").or(self.finish.take());
        if let Some(Value::Array(mut tokens)) = taken("/choices/0/logprobs/content") {
            self.has_tokens = true;
            self.tokens.append(&mut tokens);
        }
        let delta = |key: &str| event.pointer(&format!("/choices/0/delta/{key}"));
        self.content += delta("content").and_then(Value::as_str).unwrap_or_default();
        self.refusal += delta("refusal").and_then(Value::as_str).unwrap_or_default();
        self.has_tool_calls |= delta("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    }

    fn body(self) -> Value {
        let finish = self.finish.unwrap_or_else(|| if self.is_done { Value::Null } else { "length".into() });
        let calls: &[Value] = if self.has_tool_calls { &[Value::Null] } else { &[] };
        json!({
            "model": self.model,
            "choices": [{
                "finish_reason": finish,
                "message": { "content": self.content, "refusal": self.refusal, "tool_calls": calls },
                "logprobs": self.has_tokens.then(|| json!({ "content": self.tokens })),
            }],
            "usage": self.usage,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::{Finish, Reply},
        endpoint::wire,
    };

    fn reply(stream: &str) -> Reply {
        wire::reply(stream.as_bytes(), &["3".to_owned()])
    }

    fn event(delta: Value, finish: Value) -> String {
        format!("data: {}\r\n\r\n", json!({ "choices": [{ "delta": delta, "finish_reason": finish }] }))
    }

    #[test]
    fn a_stream_is_the_answer_that_it_adds_up_to() {
        let tokens = |text: &str| json!({ "content": [{ "token": text, "logprob": -0.5, "top_logprobs": [] }] });
        let part = |text: &str| json!({ "choices": [{ "delta": { "content": text }, "logprobs": tokens(text) }] });
        let stream = format!(
            ": keep-alive\n\nevent: x\ndata: {}\n\ndata:{}\r\n\r\n{}data: {}\n\ndata: [DONE]\n\n",
            part("{\"answer\": "),
            part("3"),
            event(json!({ "content": "é}" }), "stop".into()),
            json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 4 } }),
        );
        let reply = reply(&stream);
        assert_eq!((&*reply.content, reply.finish), ("{\"answer\": 3é}", Finish::Stop));
        assert_eq!(reply.usage.unwrap().input, 9);
        assert_eq!(reply.tokens.unwrap()[1].alternatives, [("3".to_owned(), -0.5)]);
    }

    #[test]
    fn a_stream_that_breaks_off_anywhere_never_gives_another_score() {
        let whole = event(json!({ "content": "{\"why\": \"é\", " }), Value::Null)
            + &event(json!({ "content": "\"answer\": 3}" }), Value::Null)
            + &event(json!({}), "stop".into())
            + "data: [DONE]\n\n";
        let scores: Vec<Option<u8>> = (0..=whole.len())
            .map(|end| {
                let reply = wire::reply(&whole.as_bytes()[..end], &[]);
                crate::parse::parse(&reply).ok().map(|verdict| verdict.answer)
            })
            .collect();
        assert!(scores.iter().flatten().all(|score| *score == 3));
        assert_eq!((scores[0], scores[whole.len()]), (None, Some(3)));
    }

    #[test]
    fn an_error_in_a_stream_is_no_answer() {
        let stream =
            event(json!({ "content": "{\"answer\": 3}" }), Value::Null) + "data: {\"error\": {\"message\": \"x\"}}\n\n";
        assert_eq!(reply(&stream).finish, Finish::NoAnswer);
        assert_eq!(reply("data: {broken\n\n").finish, Finish::NoAnswer);
        // an answer that ends without a reason ended too early
        assert_eq!(reply(&event(json!({ "content": "{\"answer\": 3}" }), Value::Null)).finish, Finish::Length);
        assert_eq!(joined(b"{\"data\": 1}"), None);
        for odd in [
            "data: 3\n\n",
            "data: []\n\n",
            "data: {\"choices\": [3]}\n\n",
            "data: {\"choices\": [{\"logprobs\": \"x\"}]}\n\n",
        ] {
            assert_eq!(reply(odd).content, "", "{odd}");
        }
    }
}
