//! One question to a backend: prompts as data, filled in once; asked again where the answer cannot be read.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path};

use serde::{Deserialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use veridiff_judge::{
    backend::{Backend, Reply, Request},
    failure::{Failure, Kind},
    parallel::in_parallel,
    prompts::filled,
    recorder::Recorder,
};

use crate::{SuiteError, lines};

/// How often a question is asked whose answer cannot be read.
pub const ATTEMPTS: u32 = 3;

/// A prompt with places for data, such as `{review}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The text around the data.
    pub text: String,
    /// Most tokens of the answer.
    #[serde(default = "many_tokens")]
    pub max_output: u32,
}

fn many_tokens() -> u32 {
    2048
}

impl Template {
    /// The hash of its text: what every result says of the prompt that it came from.
    pub fn sha256(&self) -> String {
        format!("{:x}", Sha256::digest(&self.text))
    }

    /// Whether it has a place of this name.
    pub fn has(&self, name: &str) -> bool {
        self.text.contains(&format!("{{{name}}}"))
    }

    /// The prompt with data in its places, in one pass: what looks like a place within data stays as it is. `{nonce}` becomes a code
    /// that stands nowhere in the data, so that nobody who wrote them can end them.
    pub fn fill(&self, data: &[(&str, &str)]) -> String {
        let nonce = nonce(data);
        filled(&self.text, &[data, &[("nonce", nonce.as_str())]].concat())
    }
}

impl Template {
    /// The prompt with data in its places, of which the code for `{nonce}` follows from the first alone, and how many of its first
    /// bytes hang on the first alone: many questions about one text then begin alike.
    pub fn fill_behind(&self, first: (&str, &str), second: (&str, &str)) -> (String, usize) {
        let code = (0..)
            .map(|n: u64| nonce_from(n, &[first]))
            .find(|code| !first.1.contains(code.as_str()) && !second.1.contains(code.as_str()));
        let code = code.expect("a finite text does not hold every code");
        let data = [first, second, ("nonce", code.as_str())];
        let head = self.text.find(&format!("{{{}}}", second.0)).unwrap_or(0);
        (filled(&self.text, &data), filled(&self.text[..head], &data).len())
    }
}

/// 16 hexadecimal digits that follow from the data and stand in none of them.
fn nonce(data: &[(&str, &str)]) -> String {
    let is_free = |code: &String| !data.iter().any(|(_, value)| value.contains(code.as_str()));
    (0..).map(|n| nonce_from(n, data)).find(is_free).expect("a finite text does not hold every code")
}

/// The nth code of some data.
fn nonce_from(n: u64, data: &[(&str, &str)]) -> String {
    let mut hash = Sha256::new();
    hash.update(n.to_le_bytes());
    data.iter().for_each(|(_, value)| hash.update(value));
    format!("{:x}", hash.finalize())[..16].to_owned()
}

/// Prompts by the name of the step that they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    templates: BTreeMap<String, Template>,
}

impl Prompts {
    /// Prompts that come with the program, from a text as [`Prompts::parse`] takes it.
    ///
    /// # Panics
    /// If the text is none, which a test of whose prompts they are would show.
    pub(crate) fn own(text: &'static str) -> Prompts {
        Prompts::parse(text).expect("the program's own prompts are read by a test")
    }

    /// The prompts of a TOML text: a table a step, with `text` and, if wanted, `max_output`.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Prompts, String> {
        toml::from_str(text).map(|templates| Prompts { templates }).map_err(|error| error.to_string())
    }

    /// These prompts, with those of a file in the place of their namesakes.
    ///
    /// # Errors
    /// [`SuiteError::Read`]; [`SuiteError::Form`] for a text that is none or a step that there is not.
    pub fn with_file(mut self, path: &Path) -> Result<Prompts, SuiteError> {
        let steps = self.templates.keys().cloned().collect::<Vec<_>>().join(", ");
        let wrong = |why: String| SuiteError::Form {
            path: path.to_owned(),
            why,
            hint: format!("a file of prompts has tables such as [count] with a `text`; the steps are {steps}"),
        };
        let file = Prompts::parse(&lines::text(path)?).map_err(wrong)?;
        for (step, template) in file.templates {
            match self.templates.get_mut(&step) {
                Some(known) => *known = template,
                None => return Err(wrong(format!("there is no step `{step}`"))),
            }
        }
        Ok(self)
    }

    /// The prompt of a step.
    ///
    /// # Panics
    /// If there is none: the names of steps are the program's own, and a test asks for each.
    pub fn step(&self, name: &str) -> &Template {
        &self.templates[name]
    }

    /// The hash of every prompt.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        self.templates.iter().map(|(step, template)| (step.clone(), template.sha256())).collect()
    }
}

/// Asks until `read` understands the answer, at most [`ATTEMPTS`] times, and no further where a backend that has no chance says the same
/// twice; gives what it understood beside the last reply.
///
/// # Errors
/// The backend's failure, or [`Kind::Malformed`] with what is wrong with the last answer.
pub fn ask<T>(
    recorder: &Recorder,
    request: &Request,
    read: impl Fn(&Reply) -> Result<T, String>,
) -> Result<(T, Reply), Failure> {
    // attempts of an earlier run that ended without an answer are not read again: a resumed run asks anew
    let first = recorder.n_given_up(request);
    let mut last = Failure::new(Kind::Empty, "nothing was asked");
    let mut before: Option<String> = None;
    for attempt in first..first + ATTEMPTS {
        let reply = recorder.complete(&Request { attempt, ..request.clone() })?;
        match read(&reply) {
            Ok(understood) => return Ok((understood, reply)),
            Err(why) => last = Failure::new(Kind::Malformed, why),
        }
        // who says the same again will say it a third time
        if before.as_ref() == Some(&reply.content) && recorder.abilities().is_repeatable == Some(true) {
            break;
        }
        before = Some(reply.content);
    }
    recorder.give_up(request, first + ATTEMPTS)?;
    Err(last)
}

/// The first JSON object of a reply, whatever stands around it.
///
/// # Errors
/// There is none, or it is not of this form.
pub fn object<T: DeserializeOwned>(reply: &str) -> Result<T, String> {
    const NONE: &str = "the reply has no JSON object";
    let start = reply.find('{').ok_or(NONE)?;
    let mut objects = serde_json::Deserializer::from_str(&reply[start..]).into_iter();
    objects.next().ok_or(NONE)?.map_err(|error| format!("the reply's JSON object: {error}"))
}

/// The answers to many questions, in their order, so many of them open at once. Each is asked on a thread that does nothing else
/// meanwhile: one of rayon's takes up other work while it waits, such as a question that waits for the same reply.
pub fn side_by_side<T: Send>(n: usize, concurrency: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut all: Vec<Option<T>> = (0..n).map(|_| None).collect();
    in_parallel(n, concurrency, one, |at, answer| {
        all[at] = Some(answer);
        ControlFlow::Continue(())
    });
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once_and_codes_stand_in_no_data() {
        let template = Template { text: "{a} {b} {c} {nonce}".into(), max_output: 1 };
        let filled = template.fill(&[("a", "{b}"), ("b", "x")]);
        assert!(filled.starts_with("{b} x {c} ") && filled.len() == 10 + 16, "{filled}");
        let code = filled[10..].to_owned();
        let forged = template.fill(&[("a", "{b}"), ("b", "x"), ("d", &code)]);
        assert!(!forged.ends_with(&code), "{forged}");
        assert!(template.has("b") && !template.has("d"));
        // two questions about one text begin alike, as far as they are said to
        let (one, shared) =
            Template { text: "{nonce}{a}{nonce} {b}".into(), max_output: 1 }.fill_behind(("a", "{b}"), ("b", "x"));
        assert_eq!((one[..shared].len(), &one[shared..], &one[16..19]), (36, "x", "{b}"));
    }

    #[test]
    fn a_file_replaces_prompts_and_adds_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.toml");
        let own = || Prompts::parse("[count]\ntext = 'a'\n[items]\ntext = 'b'\n").unwrap();
        std::fs::write(&path, "[count]\ntext = 'c {review}'\nmax_output = 8\n").unwrap();
        let prompts = own().with_file(&path).unwrap();
        assert_eq!((prompts.step("count").max_output, &*prompts.step("items").text), (8, "b"));
        assert_ne!(prompts.hashes()["count"], own().hashes()["count"]);
        for (bad, says) in [("[other]\ntext = 'x'", "no step `other`"), ("[count]\ntxt = 1", "txt")] {
            std::fs::write(&path, bad).unwrap();
            let error = own().with_file(&path).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn answers_keep_the_order_of_questions() {
        assert_eq!(side_by_side(50, 4, |i| i * i), (0..50).map(|i| i * i).collect::<Vec<_>>());
    }
}
