//! The change that a request names: by a header, by a field of its metadata, or between markers in its prompt.

use axum::http::HeaderMap;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use veridiff_text::sample::Task;

use crate::{asked::within, limits::Limits, refusal::Refusal};

/// The header that holds a diff: base64 of UTF-8.
pub(crate) const DIFF: &str = "veridiff-diff";

/// The header that says what the answer is: `review` or `commit`.
pub(crate) const TASK: &str = "veridiff-task";

/// How changes are named.
#[derive(Debug, Clone)]
pub(super) struct Naming {
    /// What stands before and behind a diff in a prompt.
    pub markers: Option<(String, String)>,
    /// What an answer is, where the request does not say it.
    pub task: Task,
}

/// A change, and what the answer about it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub diff: String,
    pub task: Task,
}

/// What a request names.
#[derive(Debug)]
pub(super) enum Named {
    Nothing,
    Change(Change),
    /// Something that is no change.
    Wrong(Refusal),
}

impl Naming {
    /// What a request names: the header counts before the metadata, and these before the prompt.
    pub fn named(&self, headers: &HeaderMap, body: &[u8], limits: &Limits) -> Named {
        match self.find(headers, body, limits) {
            Ok(None) => Named::Nothing,
            Ok(Some(change)) => Named::Change(change),
            Err(refusal) => Named::Wrong(refusal),
        }
    }

    fn find(&self, headers: &HeaderMap, body: &[u8], limits: &Limits) -> Result<Option<Change>, Refusal> {
        let by_header = headers.get(DIFF).map(|value| of_header(value.as_bytes())).transpose()?;
        // what is no JSON is for the generator to refuse
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let metadata = |name: &str| body.get("metadata").and_then(|metadata| metadata.get(name));
        let diff = match (by_header, metadata("veridiff_diff")) {
            (Some(diff), _) => Some(diff),
            (None, Some(Value::String(diff))) => Some(diff.clone()),
            (None, Some(Value::Null) | None) => self.between_markers(&body),
            (None, Some(_)) => return Err(Refusal::Shape("`metadata.veridiff_diff` is no text".to_owned())),
        };
        let Some(diff) = diff.filter(|diff| !diff.trim().is_empty()) else { return Ok(None) };
        within("a diff", " bytes", diff.len(), limits.diff_bytes)?;
        let no_task = || Refusal::Shape("the task is neither `review` nor `commit`".to_owned());
        let named = match (headers.get(TASK), metadata("veridiff_task")) {
            (Some(name), _) => Some(name.to_str().map_err(|_| no_task())?),
            (None, Some(Value::String(name))) => Some(name.as_str()),
            (None, Some(Value::Null) | None) => None,
            (None, Some(_)) => return Err(no_task()),
        };
        let task = match named {
            Some(name) => Task::from_name(name.trim()).ok_or_else(no_task)?,
            None => self.task,
        };
        Ok(Some(Change { diff, task }))
    }

    /// The diff that stands between the markers in the last text that has both.
    fn between_markers(&self, body: &Value) -> Option<String> {
        let (begin, end) = self.markers.as_ref()?;
        let found = texts(body).into_iter().rev().find_map(|text| {
            let start = text.rfind(begin.as_str())? + begin.len();
            let length = text[start..].find(end.as_str())?;
            Some(&text[start..start + length])
        })?;
        // the line on which the first marker stands is not the diff's
        let found = found.strip_prefix("\r\n").or_else(|| found.strip_prefix('\n')).unwrap_or(found);
        Some(found.to_owned())
    }
}

fn of_header(value: &[u8]) -> Result<String, Refusal> {
    let wrong = || Refusal::Shape("the header `Veridiff-Diff` is no base64 of a text".to_owned());
    let bytes = STANDARD.decode(value.trim_ascii()).map_err(|_| wrong())?;
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// The texts of a prompt: of its messages, or of a completion.
fn texts(body: &Value) -> Vec<&str> {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let contents = messages.map(|message| message.get("content")).chain([body.get("prompt")]);
    contents.flat_map(texts_of).collect()
}

/// A text, or those of a list of texts or of parts that have one.
fn texts_of(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str())).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn naming() -> Naming {
        Naming { markers: Some(("<diff>".to_owned(), "</diff>".to_owned())), task: Task::Review }
    }

    fn found(headers: &[(&'static str, &str)], body: &Value) -> Result<Option<Change>, &'static str> {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let limits = Limits { diff_bytes: 20, ..Limits::default() };
        naming().find(&headers, body.to_string().as_bytes(), &limits).map_err(|refusal| refusal.code())
    }

    fn change(diff: &str, task: Task) -> Result<Option<Change>, &'static str> {
        Ok(Some(Change { diff: diff.to_owned(), task }))
    }

    #[test]
    fn a_header_counts_before_the_metadata_and_these_before_the_prompt() {
        let header = STANDARD.encode("in header");
        let body = json!({
            "metadata": { "veridiff_diff": "in metadata", "veridiff_task": "commit" },
            "messages": [{ "role": "user", "content": "<diff>\nin prompt</diff>" }],
        });
        assert_eq!(found(&[(DIFF, &header)], &body), change("in header", Task::Commit));
        assert_eq!(found(&[(DIFF, &header), (TASK, "review")], &body), change("in header", Task::Review));
        assert_eq!(found(&[], &body), change("in metadata", Task::Commit));
        let only_prompt = json!({ "messages": body["messages"] });
        assert_eq!(found(&[], &only_prompt), change("in prompt", Task::Review));
        assert_eq!(found(&[], &json!({ "metadata": { "veridiff_diff": null } })), Ok(None));
        assert_eq!(found(&[], &json!({ "metadata": { "veridiff_diff": "  " } })), Ok(None));
    }

    #[test]
    fn between_markers_the_last_diff_counts() {
        let prompt = |content: Value| json!({ "messages": [{ "content": content }, { "content": null }] });
        let of = |content: Value| found(&[], &prompt(content));
        assert_eq!(of(json!("<diff>1</diff> and <diff>\r\n2\n</diff>.")), change("2\n", Task::Review));
        assert_eq!(
            of(json!([{ "type": "text", "text": "<diff>3</diff>" }, { "type": "image_url" }])),
            change("3", Task::Review)
        );
        assert_eq!(of(json!("</diff> <diff> without an end")), Ok(None));
        assert_eq!(found(&[], &json!({ "prompt": "<diff>4</diff>" })), change("4", Task::Review));
        assert_eq!(found(&[], &json!({ "prompt": ["<diff>5</diff>", "6"] })), change("5", Task::Review));
        let none = Naming { markers: None, task: Task::Review };
        let body = prompt(json!("<diff>7</diff>")).to_string();
        assert!(matches!(none.named(&HeaderMap::new(), body.as_bytes(), &Limits::default()), Named::Nothing));
    }

    #[test]
    fn what_is_no_change_has_a_name() {
        let nothing = json!({});
        assert_eq!(found(&[(DIFF, "no base64!")], &nothing), Err("shape"));
        assert_eq!(found(&[(DIFF, &STANDARD.encode(b"\xff\xfe"))], &nothing), Err("shape"));
        assert_eq!(found(&[(DIFF, &STANDARD.encode("x".repeat(21)))], &nothing), Err("too_large"));
        assert_eq!(found(&[(DIFF, &STANDARD.encode("x")), (TASK, "poem")], &nothing), Err("shape"));
        assert_eq!(found(&[], &json!({ "metadata": { "veridiff_diff": 3 } })), Err("shape"));
        // a body that is none, or has other forms where texts are expected, names nothing
        for odd in [json!([]), json!(3), json!({ "messages": 3, "metadata": "x", "prompt": [[1, 2]] })] {
            assert_eq!(found(&[], &odd), Ok(None), "{odd}");
        }
        assert!(matches!(naming().named(&HeaderMap::new(), b"\xff{", &Limits::default()), Named::Nothing));
    }
}
