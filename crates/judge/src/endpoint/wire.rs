//! The bodies that are sent and read.

use serde::Deserialize;
use serde_json::{Value, json};

use super::probe::{Found, Schemas};
use crate::backend::{Finish, Reply, Request, Token, Usage};

/// The body of a request, as this server takes it.
pub fn body(request: &Request, model: &str, found: &Found) -> Value {
    let mut body = json!({ "model": model, "messages": request.messages });
    let limit = if found.says_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = found.output_limit(request.max_output).into();
    if found.takes_temperature {
        body["temperature"] = request.temperature.into();
        if let Some(top_p) = request.top_p {
            body["top_p"] = top_p.into();
        }
        if let Some(top_k) = request.top_k {
            body["top_k"] = top_k.into();
        }
    }
    if found.takes_seed {
        body["seed"] = (request.seed + u64::from(request.repeat)).into();
    }
    if let (Some(n), false) = (found.top_log_probs, request.wanted.is_empty()) {
        body["logprobs"] = true.into();
        body["top_logprobs"] = n.into();
    }
    if !request.stop.is_empty() {
        body["stop"] = request.stop.clone().into();
    }
    if let Some(schema) = &request.schema {
        match found.schemas {
            Schemas::Strict => body["response_format"] = strict(schema),
            Schemas::AnyObject => body["response_format"] = json!({ "type": "json_object" }),
            Schemas::None => {}
        }
    }
    body
}

/// The part of a body that holds the answer to a schema.
pub fn strict(schema: &Value) -> Value {
    json!({ "type": "json_schema", "json_schema": { "name": "verdict", "strict": true, "schema": schema } })
}

#[derive(Debug, Deserialize)]
struct Body {
    choices: Vec<ChoiceBody>,
    usage: Option<UsageBody>,
}

#[derive(Debug, Deserialize)]
struct ChoiceBody {
    message: MessageBody,
    finish_reason: Option<String>,
    logprobs: Option<LogProbsBody>,
}

#[derive(Debug, Deserialize)]
struct MessageBody {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Value>>,
}

/// An answer's text, whole or in parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct LogProbsBody {
    content: Option<Vec<TokenBody>>,
}

#[derive(Debug, Deserialize)]
struct TokenBody {
    token: String,
    bytes: Option<Vec<u8>>,
    logprob: Option<f64>,
    #[serde(default)]
    top_logprobs: Vec<TokenBody>,
}

/// What an answer says that it took.
#[derive(Debug, Deserialize)]
pub(super) struct UsageBody {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl From<UsageBody> for Usage {
    fn from(body: UsageBody) -> Usage {
        Usage {
            input: body.prompt_tokens,
            cached_input: body.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0),
            output: body.completion_tokens,
            reasoning: body.completion_tokens_details.and_then(|details| details.reasoning_tokens).unwrap_or(0),
        }
    }
}

impl TokenBody {
    fn text(&self) -> String {
        self.bytes.as_ref().map_or_else(|| self.token.clone(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The token, with what else could have stood there of the strings wanted. The written one is among these.
    fn token(self, wanted: &[String]) -> Option<Token> {
        let log_prob = self.logprob?;
        let (text, n_bytes) = (self.text(), self.bytes.as_ref().map_or(self.token.len(), Vec::len));
        let mut alternatives: Vec<(String, f64)> = Vec::new();
        let written = (text.clone(), log_prob);
        for (text, log_prob) in
            std::iter::once(written).chain(self.top_logprobs.into_iter().filter_map(|t| Some((t.text(), t.logprob?))))
        {
            let is_new = alternatives.iter().all(|(known, _)| *known != text);
            if is_new && wanted.iter().any(|wanted| text.trim_matches(|c: char| c.is_ascii_whitespace()) == wanted) {
                alternatives.push((text, log_prob));
            }
        }
        Some(Token { text, n_bytes, log_prob: Some(log_prob), entropy: None, alternatives })
    }
}

/// The reply that a body of status 200 is, whole or as a stream, since some servers stream unasked. What is no answer of the protocol is
/// a reply too, which has no verdict: it was paid for.
pub fn reply(body: &[u8], wanted: &[String]) -> Reply {
    let none = |usage| Reply {
        content: String::new(),
        finish: Finish::NoAnswer,
        refusal: None,
        has_tool_calls: false,
        tokens: None,
        usage,
    };
    let parsed = match super::sse::joined(body) {
        Some(stream) => Body::deserialize(stream),
        None => serde_json::from_slice(body),
    };
    let Ok(body) = parsed else { return none(None) };
    let usage = body.usage.map(Usage::from);
    let Some(choice) = body.choices.into_iter().next() else { return none(usage) };
    let content = match choice.message.content {
        None => String::new(),
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
    };
    let finish = match choice.finish_reason.as_deref() {
        Some("stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        _ => Finish::Other,
    };
    let tokens = choice.logprobs.and_then(|log_probs| log_probs.content);
    let tokens = tokens.filter(|_| !wanted.is_empty());
    Reply {
        content,
        finish,
        refusal: choice.message.refusal.filter(|refusal| !refusal.is_empty()),
        has_tool_calls: choice.message.tool_calls.is_some_and(|calls| !calls.is_empty()),
        // one token without a number, and none can be relied on
        tokens: tokens.and_then(|tokens| tokens.into_iter().map(|token| token.token(wanted)).collect()),
        usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_keeps_what_was_wanted_and_what_it_cost() {
        let body = json!({
            "choices": [{
                "finish_reason": "stop",
                "message": { "content": "{\"answer\": 3}" },
                "logprobs": { "content": [
                    { "token": "{\"answer\":", "bytes": null, "logprob": -0.1, "top_logprobs": [] },
                    { "token": " 3", "bytes": [32, 51], "logprob": -0.5, "top_logprobs": [
                        { "token": " 3", "bytes": [32, 51], "logprob": -0.5 },
                        { "token": "3", "bytes": [51], "logprob": -4.0 },
                        { "token": "x", "bytes": [120], "logprob": -1.0 },
                        { "token": "4", "logprob": -2.0 }
                    ] },
                    { "token": "}", "logprob": 0.0, "top_logprobs": [{ "token": "}", "logprob": 0.0 }] }
                ] }
            }],
            "usage": {
                "prompt_tokens": 100, "completion_tokens": 70, "total_tokens": 170,
                "prompt_tokens_details": { "cached_tokens": 64 }, "completion_tokens_details": { "reasoning_tokens": 50 }
            }
        });
        let wanted = ["0", "1", "2", "3", "4"].map(str::to_owned);
        let reply = reply(body.to_string().as_bytes(), &wanted);
        let tokens = reply.tokens.as_ref().unwrap();
        let alternatives = [(" 3".to_owned(), -0.5), ("3".to_owned(), -4.0), ("4".to_owned(), -2.0)];
        assert_eq!(tokens[1].alternatives, alternatives);
        assert_eq!(crate::backend::token_at(&reply, 11).unwrap(), &tokens[1]);
        assert_eq!(reply.usage, Some(Usage { input: 100, cached_input: 64, output: 70, reasoning: 50 }));
        // a reply is the same after the file of replies
        let kept: Reply = serde_json::from_str(&serde_json::to_string(&reply).unwrap()).unwrap();
        assert_eq!(kept, reply);
    }

    #[test]
    fn what_is_no_answer_is_a_reply_without_one() {
        for body in ["", "<html>", "{}", "{\"choices\": []}", "\u{fffd}", "[{\"answer\": 0}]", "{\"answer\": 0}"] {
            let reply = reply(body.as_bytes(), &[]);
            assert_eq!((reply.finish, &*reply.content), (Finish::NoAnswer, ""), "{body}");
        }
        assert_eq!(reply(b"\"\xff\"", &[]).finish, Finish::NoAnswer);
    }
}
