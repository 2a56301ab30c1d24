//! What a request about samples asks for: one sample by itself, or a list of them.

use serde_json::Value;
use veridiff_text::sample::{Sample, from_value, make_ids_distinct, settle_changes};

use crate::{body::json_problem, limits::Limits, refusal::Refusal};

/// The samples of a request, in the form in which a file's would be.
#[derive(Debug)]
pub(crate) struct Asked {
    pub samples: Vec<Sample>,
    /// Whether they stood in a list, as which they are answered.
    pub is_list: bool,
    /// The features that are asked for.
    pub features: Vec<String>,
}

impl Asked {
    /// Reads a body: a sample as a line of a file has it, or an object with `samples`, and `features` where rows are asked for.
    pub fn read(limits: &Limits, bytes: &[u8], takes_features: bool) -> Result<Asked, Refusal> {
        let body: Value = serde_json::from_slice(bytes).map_err(|error| Refusal::Json(json_problem(&error)))?;
        let Value::Object(mut object) = body else {
            return Err(Refusal::Shape(
                "the body is no object: give a sample, or `samples`, a list of them".to_owned(),
            ));
        };
        let Some(samples) = object.shift_remove("samples") else {
            return Asked::of(limits, vec![Value::Object(object)], false, Vec::new());
        };
        let Value::Array(samples) = samples else {
            return Err(Refusal::Shape("`samples` is no list".to_owned()));
        };
        let features = match takes_features.then(|| object.shift_remove("features")).flatten() {
            None | Some(Value::Null) => Vec::new(),
            Some(names) => serde_json::from_value(names)
                .map_err(|_| Refusal::Shape("`features` is no list of names".to_owned()))?,
        };
        if let Some(key) = object.keys().next() {
            let key: String = key.escape_debug().take(80).collect();
            return Err(Refusal::Shape(format!("`{key}` means nothing beside `samples`")));
        }
        Asked::of(limits, samples, true, features)
    }

    fn of(limits: &Limits, samples: Vec<Value>, is_list: bool, features: Vec<String>) -> Result<Asked, Refusal> {
        if samples.is_empty() {
            return Err(Refusal::Shape("`samples` is empty".to_owned()));
        }
        within("the list of samples", "", samples.len(), limits.samples)?;
        let samples = samples.into_iter().zip(1..).map(|(sample, number)| from_value(sample, number));
        let mut samples: Vec<Sample> = samples.collect::<Result<_, _>>()?;
        for sample in &samples {
            within("a diff", " bytes", sample.diff.len(), limits.diff_bytes)?;
            within("a text", " bytes", sample.text.len(), limits.text_bytes)?;
        }
        make_ids_distinct(&mut samples);
        // what there is to tell of a change is in its finding
        settle_changes(&mut samples);
        Ok(Asked { samples, is_list, features })
    }
}

/// Whether something is as large as it may be.
pub(crate) fn within(what: &'static str, unit: &str, got: usize, most: usize) -> Result<(), Refusal> {
    if got > most { Err(Refusal::TooLarge { what, got: format!("{got}{unit}"), most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{"id": "a", "diff": "@@ -1 +1 @@\n-x\n+y\n", "text": "t"}"#;

    fn read(body: &str) -> Result<Asked, Refusal> {
        let limits = Limits { samples: 2, diff_bytes: 40, text_bytes: 9, ..Limits::default() };
        Asked::read(&limits, body.as_bytes(), true)
    }

    #[test]
    fn one_sample_or_a_list_of_them_is_read_as_from_a_file() {
        let one = read(SAMPLE).unwrap();
        assert_eq!((one.samples.len(), one.is_list), (1, false));
        let two = read(&format!(r#"{{"samples": [{SAMPLE}, {SAMPLE}], "features": ["form"]}}"#)).unwrap();
        assert_eq!(two.samples.iter().map(|sample| sample.id.as_str()).collect::<Vec<_>>(), ["a", "a-2"]);
        assert_eq!((two.is_list, two.features), (true, vec!["form".to_owned()]));
    }

    #[test]
    fn each_mistake_and_each_limit_has_its_name() {
        let code = |body: &str| read(body).unwrap_err().code();
        for (body, expected) in [
            ("", "json"),
            ("{", "json"),
            (&"[".repeat(10_000), "json"),
            ("[]", "shape"),
            ("3", "shape"),
            (r#"{"samples": {}}"#, "shape"),
            (r#"{"samples": []}"#, "shape"),
            (&format!(r#"{{"samples": [{SAMPLE}], "other": 1}}"#), "shape"),
            (&format!(r#"{{"samples": [{SAMPLE}], "features": [1]}}"#), "shape"),
            (&format!(r#"{{"samples": [{SAMPLE}, {SAMPLE}, {SAMPLE}]}}"#), "too_large"),
            (&SAMPLE.replace(r#""t""#, r#""0123456789""#), "too_large"),
            (&SAMPLE.replace("-x", &format!("-{}", "x".repeat(50))), "too_large"),
            (r#"{"samples": [3]}"#, "sample"),
            (r#"{"id": "a"}"#, "sample"),
        ] {
            assert_eq!(code(body), expected, "{}", &body[..body.len().min(60)]);
        }
        assert!(Asked::read(&Limits::default(), b"\xff", true).is_err());
        // where no rows are asked for, features mean nothing
        let body = format!(r#"{{"samples": [{SAMPLE}], "features": []}}"#);
        assert!(Asked::read(&Limits::default(), body.as_bytes(), false).is_err());
    }
}
