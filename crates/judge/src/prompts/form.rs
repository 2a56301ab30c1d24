//! The form of an answer: an example of JSON, from which the schema follows.
//!
//! | in the form | in the schema |
//! |---|---|
//! | `""` | a string of at most 400 characters |
//! | `"a\|b"` | one of these strings |
//! | `0`, under `answer` | one of the numbers 0 to 4 |
//! | `[x]` | at most 8 times `x` |
//! | `{…}` | an object with these keys, all of them, in this order, and no others |

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The key of the score.
pub const ANSWER: &str = "answer";

/// Most characters of a string in an answer.
const MOST_CHARACTERS: u32 = 400;

/// Most entries of a list in an answer.
const MOST_ENTRIES: u32 = 8;

/// The form of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    shown: String,
    value: Value,
}

impl Form {
    /// The score alone.
    pub fn brief() -> Form {
        Form { shown: r#"{"answer": 0}"#.to_owned(), value: json!({ ANSWER: 0 }) }
    }

    /// A form from how it is shown, or what is wrong with it.
    ///
    /// # Errors
    /// It is no JSON object with a number under `answer`, or holds what no schema follows from.
    pub fn parse(shown: &str) -> Result<Form, String> {
        let value: Value = serde_json::from_str(shown).map_err(|error| error.to_string())?;
        if value.get(ANSWER) != Some(&json!(0)) {
            return Err("it has no `\"answer\": 0`".to_owned());
        }
        check(&value, true)?;
        Ok(Form { shown: shown.to_owned(), value })
    }

    /// As it is shown to the judge.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The JSON schema of an answer; keys stand in the order of the form, which is the order in which they are to be written.
    pub fn schema(&self) -> Value {
        schema_of(&self.value)
    }

    /// An answer in this form, as an example: the form's own keys that are given.
    pub fn filled(&self, texts: &BTreeMap<String, String>, answer: u8) -> String {
        let object = self.value.as_object().expect("a form is an object");
        let entry = |key: &String| match texts.get(key) {
            Some(text) => Some((key.clone(), Value::from(text.as_str()))),
            None => (key == ANSWER).then(|| (key.clone(), answer.into())),
        };
        spaced(&object.keys().filter_map(entry).collect())
    }
}

/// An object of plain values in a line, with a blank behind every colon and comma: as the form is shown.
fn spaced(object: &Map<String, Value>) -> String {
    let entries: Vec<String> =
        object.iter().map(|(key, value)| format!("{}: {value}", Value::from(key.as_str()))).collect();
    format!("{{{}}}", entries.join(", "))
}

fn check(value: &Value, is_top: bool) -> Result<(), String> {
    match value {
        Value::String(_) => Ok(()),
        Value::Array(items) if items.len() == 1 => check(&items[0], false),
        Value::Object(object) if !object.is_empty() => {
            let inner = object.iter().filter(|(key, _)| !(is_top && *key == ANSWER));
            inner.map(|(_, value)| value).try_for_each(|value| check(value, false))
        }
        other => Err(format!("no schema follows from `{other}`")),
    }
}

fn schema_of(value: &Value) -> Value {
    match value {
        Value::String(choices) if choices.contains('|') => {
            json!({ "type": "string", "enum": choices.split('|').collect::<Vec<_>>() })
        }
        Value::Array(items) => {
            json!({ "type": "array", "items": schema_of(&items[0]), "maxItems": MOST_ENTRIES })
        }
        Value::Object(object) => {
            let properties: Map<String, Value> =
                object.iter().map(|(key, value)| (key.clone(), schema_of(value))).collect();
            let required: Vec<&String> = object.keys().collect();
            json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
        }
        Value::Number(_) => json!({ "enum": [0, 1, 2, 3, 4] }),
        _ => json!({ "type": "string", "maxLength": MOST_CHARACTERS }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_follows_from_the_form_in_its_order() {
        let form = Form::parse(r#"{"why": "", "kind": "a|b", "list": [{"q": ""}], "answer": 0}"#).unwrap();
        let schema = form.schema();
        assert_eq!(schema["required"], json!(["why", "kind", "list", "answer"]));
        assert_eq!(schema["properties"]["kind"]["enum"], json!(["a", "b"]));
        assert_eq!(schema["properties"]["list"]["items"]["properties"]["q"]["maxLength"], 400);
        assert_eq!(schema["properties"]["answer"], json!({ "enum": [0, 1, 2, 3, 4] }));
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["why", "kind", "list", "answer"]);
    }

    #[test]
    fn examples_take_the_form_of_the_answer() {
        let more = BTreeMap::from([("kind".to_owned(), "none".to_owned()), ("why".to_owned(), "a \"b\"".to_owned())]);
        let form = Form::parse(r#"{"why": "", "answer": 0}"#).unwrap();
        assert_eq!(form.filled(&more, 2), r#"{"why": "a \"b\"", "answer": 2}"#);
        assert_eq!(Form::brief().filled(&more, 2), r#"{"answer": 2}"#);
    }

    #[test]
    fn what_is_no_form_says_why() {
        for (form, says) in [
            ("[", "EOF"),
            ("[]", "answer"),
            (r#"{"answer": 1}"#, "answer"),
            (r#"{"answer": 0, "x": null}"#, "null"),
            (r#"{"answer": 0, "x": []}"#, "[]"),
            (r#"{"answer": 0, "x": {"y": 3}}"#, "3"),
        ] {
            let error = Form::parse(form).unwrap_err();
            assert!(error.contains(says), "{form}: {error}");
        }
    }
}
