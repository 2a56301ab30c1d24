//! Replies written down in a file, for tests and for judging without a model: the same request gets the same reply.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{Abilities, Backend, Finish, Reply, Request, Token, Usage};
use crate::failure::{Failure, JudgeError, Kind};

/// A line of the file: which requests it answers, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Strings that must all stand in the request's messages.
    #[serde(default)]
    all: Vec<String>,
    /// The replies to the first, second, … attempt; the last answers all further ones.
    replies: Vec<ScriptedReply>,
}

/// A reply as it is written down. A string alone is an answer that ended by itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum ScriptedReply {
    Content(String),
    Whole {
        content: String,
        #[serde(default = "stop")]
        finish: Finish,
        #[serde(default)]
        refusal: Option<String>,
        #[serde(default)]
        tokens: Option<Vec<Token>>,
        #[serde(default)]
        usage: Option<Usage>,
    },
    Failure {
        failure: Kind,
    },
}

fn stop() -> Finish {
    Finish::Stop
}

/// A backend that answers from a file of rules, of which the first that fits a request answers it.
#[derive(Debug)]
pub struct Scripted {
    rules: Vec<Rule>,
    sha256: String,
}

impl Scripted {
    /// Reads the rules, one JSON object a line.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no rule.
    pub fn read(path: &Path) -> Result<Scripted, JudgeError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| JudgeError::Read { path: path.to_owned(), source })?;
        Scripted::parse(&text).map_err(|(line, problem)| JudgeError::File {
            path: path.to_owned(),
            problem: format!("line {line}: {problem}"),
            hint: r#"every line is {"all": ["words of the request"], "replies": ["the answer"]}"#.to_owned(),
        })
    }

    /// The rules of a text, or the line that is none and why.
    pub(crate) fn parse(text: &str) -> Result<Scripted, (usize, String)> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let rule = |(i, line): (usize, &str)| {
            let rule: Rule = serde_json::from_str(line).map_err(|error| (i + 1, error.to_string()))?;
            if rule.replies.is_empty() { Err((i + 1, "it has no replies".to_owned())) } else { Ok(rule) }
        };
        let rules = lines.map(rule).collect::<Result<_, _>>()?;
        Ok(Scripted { rules, sha256: format!("{:x}", Sha256::digest(text)) })
    }
}

impl Backend for Scripted {
    fn identity(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("backend".to_owned(), "scripted".to_owned()),
            ("script_sha256".to_owned(), self.sha256.clone()),
        ])
    }

    fn abilities(&self) -> Abilities {
        let has_tokens = |reply: &ScriptedReply| matches!(reply, ScriptedReply::Whole { tokens: Some(_), .. });
        let log_probs = self.rules.iter().flat_map(|rule| &rule.replies).any(has_tokens);
        Abilities { log_probs, text_log_probs: false, forces_prefix: false, is_repeatable: Some(true) }
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        let has = |string: &String| request.messages.iter().any(|message| message.content.contains(string.as_str()));
        let Some(rule) = self.rules.iter().find(|rule| rule.all.iter().all(has)) else {
            return Err(Failure::new(Kind::NotRecorded, "no line of the script fits the request"));
        };
        let place = (request.attempt as usize).min(rule.replies.len() - 1);
        match rule.replies[place].clone() {
            ScriptedReply::Content(content) => Ok(Reply {
                content,
                finish: Finish::Stop,
                refusal: None,
                has_tool_calls: false,
                tokens: None,
                usage: None,
            }),
            ScriptedReply::Whole { content, finish, refusal, tokens, usage } => {
                Ok(Reply { content, finish, refusal, has_tool_calls: false, tokens, usage })
            }
            ScriptedReply::Failure { failure } => Err(Failure::new(failure, "the script says so")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Scripted {
        let text = r#"
{"all": ["width", "height"], "replies": ["first", {"content": "second", "finish": "length"}, {"failure": "timeout"}]}
{"replies": [{"content": "3", "tokens": [{"text": "3", "n_bytes": 1, "log_prob": -0.2, "alternatives": [["3", -0.2], [" 1", -2.0]]}]}]}"#;
        Scripted::parse(text).unwrap()
    }

    #[test]
    fn the_first_rule_that_fits_answers_attempt_by_attempt() {
        let ask = |text: &str, attempt| script().complete(&Request { attempt, ..Request::of_user(text, 9) });
        assert_eq!(ask("height of width", 0).unwrap().content, "first");
        assert_eq!(ask("height of width", 1).unwrap().finish, Finish::Length);
        for attempt in [2, 3] {
            assert_eq!(ask("height of width", attempt).unwrap_err().kind, Kind::Timeout);
        }
        assert_eq!(ask("width", 0).unwrap().content, "3");
    }

    #[test]
    fn a_choice_is_read_behind_its_prefix() {
        let choices = ["1", "3", "4"].map(str::to_owned);
        let choice = script().choose(&Request::of_user("?", 1), "", &choices).unwrap();
        for (got, want) in choice.log_probs.iter().zip([Some(-2.0), Some(-0.2), None]) {
            assert_eq!(got.map(|p| (p * 1e9f64).round() / 1e9), want);
        }
        assert!((choice.mass - ((-0.2f64).exp() + (-2f64).exp())).abs() < 1e-12);
        let error = script().choose(&Request::of_user("?", 1), "{", &choices).unwrap_err();
        assert_eq!(error.kind, Kind::NoLogprobs);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [("{}", 1), ("\n{\"replies\": []}", 2), ("{\"replies\": [\"a\"], \"al\": []}", 1)] {
            assert_eq!(Scripted::parse(text).unwrap_err().0, line, "{text}");
        }
    }
}
