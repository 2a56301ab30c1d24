//! Requests as the lines of a provider's batch file, and the answers of such a batch: the form of OpenAI's batches, which other
//! providers and vLLM read too. A request's `custom_id` is the hash that its reply is kept under, so that an answer finds its request
//! whenever it comes, and one to another study finds none.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::{Failure, JudgeError, Kind};

/// The address that a batch is for, as providers name it.
const URL: &str = "/v1/chat/completions";

/// Bytes of a provider's reason that are told.
const TOLD: usize = 200;

/// Bad lines that are told one by one.
const MOST_TOLD: usize = 5;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requests on their way into a batch file, each once.
#[derive(Debug, Default)]
pub struct BatchRequests(Mutex<(HashSet<String>, Vec<String>)>);

impl BatchRequests {
    /// Adds a request, unless it is there.
    pub fn add(&self, id: &str, body: &Value) {
        let (ids, lines) = &mut *locked(&self.0);
        if ids.insert(id.to_owned()) {
            lines.push(json!({ "custom_id": id, "method": "POST", "url": URL, "body": body }).to_string());
        }
    }

    /// The file's lines, in the order of the requests.
    pub fn lines(&self) -> Vec<String> {
        locked(&self.0).1.clone()
    }
}

/// A line of a file of answers.
#[derive(Debug, Deserialize)]
struct Line {
    custom_id: String,
    response: Option<Response>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Response {
    status_code: u16,
    body: Value,
}

/// What came of one request.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    /// A body of status 200.
    Body(Vec<u8>),
    /// The provider refused or dropped it.
    Refused(Failure),
}

impl Line {
    fn answer(self) -> Result<(String, Answer), String> {
        let code_of = |value: &Value| value.get("code").and_then(Value::as_str).map(str::to_owned);
        let said = |value: &Value| {
            let message = value.pointer("/error/message").or(value.get("message")).and_then(Value::as_str);
            let code = code_of(value).map_or(String::new(), |code| format!("{code}: "));
            let message = message.map_or_else(|| value.to_string(), str::to_owned);
            format!("{code}{}", message.chars().take(TOLD).collect::<String>())
        };
        let answer = match (self.response, self.error) {
            (Some(Response { status_code: 200, body }), _) => Answer::Body(body.to_string().into_bytes()),
            (Some(Response { status_code, body }), _) => {
                Answer::Refused(Failure::new(Kind::Http(status_code), said(&body)))
            }
            // it was never tried, so it is not the request that is at fault
            (None, Some(error)) if !error.is_null() => Answer::Refused(Failure::new(Kind::Stopped, said(&error))),
            (None, _) => return Err("it has neither a response nor an error".to_owned()),
        };
        Ok((self.custom_id, answer))
    }
}

/// The answers of a batch, and what was found of them.
#[derive(Debug)]
pub struct BatchAnswers {
    answers: HashMap<String, Answer>,
    /// What is wrong with lines, and where.
    bad: Vec<String>,
    n_doubled: usize,
    used: Mutex<BTreeSet<String>>,
    n_missing: Mutex<usize>,
}

impl BatchAnswers {
    /// Reads files of answers. Of several answers to one request the first counts.
    ///
    /// # Errors
    /// A file cannot be read, or not one line of all is an answer.
    pub fn read(paths: &[PathBuf]) -> Result<BatchAnswers, JudgeError> {
        let mut read = BatchAnswers {
            answers: HashMap::new(),
            bad: Vec::new(),
            n_doubled: 0,
            used: Mutex::default(),
            n_missing: Mutex::default(),
        };
        for path in paths {
            let unreadable = |source| JudgeError::Read { path: path.to_owned(), source };
            let lines = BufReader::new(File::open(path).map_err(unreadable)?).split(b'\n');
            for (i, line) in lines.enumerate() {
                read.take(path, i + 1, &line.map_err(unreadable)?);
            }
        }
        if let (true, Some(first)) = (read.answers.is_empty(), paths.first()) {
            return Err(JudgeError::File {
                path: first.clone(),
                problem: read.bad.first().cloned().unwrap_or_else(|| "it is empty".to_owned()),
                hint: "name the file of answers that the provider gives for a batch of --batch-out".to_owned(),
            });
        }
        Ok(read)
    }

    fn take(&mut self, path: &Path, number: usize, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let place = || format!("line {number} of `{}`", path.display());
        let parsed = serde_json::from_slice::<Line>(line).map_err(|error| error.to_string()).and_then(Line::answer);
        match parsed {
            Err(problem) => self.bad.push(format!("{} is no answer of a batch: {problem}", place())),
            Ok((id, _)) if self.answers.contains_key(&id) => {
                self.n_doubled += 1;
                self.bad.push(format!("{} answers a request again; the first answer counts", place()));
            }
            Ok((id, answer)) => {
                self.answers.insert(id, answer);
            }
        }
    }

    /// The ids of all answers.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.answers.keys().map(String::as_str)
    }

    /// Says that a request had its reply before.
    pub fn was_kept(&self, id: &str) {
        locked(&self.used).insert(id.to_owned());
    }

    /// The body that answers a request.
    ///
    /// # Errors
    /// The provider refused it, or the batch has no answer to it ([`Kind::Stopped`]).
    pub fn body(&self, id: &str) -> Result<&[u8], Failure> {
        let answer = self.answers.get(id);
        match answer {
            None => {
                *locked(&self.n_missing) += 1;
                Err(Failure::new(Kind::Stopped, "the batch has no answer to it; --batch-out writes what is missing"))
            }
            Some(answer) => {
                self.was_kept(id);
                match answer {
                    Answer::Body(body) => Ok(body),
                    Answer::Refused(failure) => Err(failure.clone()),
                }
            }
        }
    }

    /// What a person should know of the answers, once all requests were looked up: bad and doubled lines, refusals by their kind,
    /// answers to requests that were not made, and requests without an answer.
    pub fn told(&self) -> Vec<String> {
        let mut told: Vec<String> = self.bad.iter().take(MOST_TOLD).cloned().collect();
        if self.bad.len() > MOST_TOLD {
            told.push(format!("… and {} lines more", self.bad.len() - MOST_TOLD));
        }
        let mut refused: BTreeMap<String, (usize, &str)> = BTreeMap::new();
        let used = locked(&self.used);
        for (id, answer) in &self.answers {
            if let (Answer::Refused(failure), true) = (answer, used.contains(id)) {
                let of_kind = refused.entry(failure.kind.to_string()).or_insert((0, &failure.message));
                // of several reasons the first in their order, so that the same is told each time
                *of_kind = (of_kind.0 + 1, of_kind.1.min(&failure.message));
            }
        }
        told.extend(
            refused.into_iter().map(|(kind, (n, why))| format!("{n} requests were refused as {kind}, such as: {why}")),
        );
        let n_foreign = self.answers.len() - self.answers.keys().filter(|id| used.contains(*id)).count();
        if n_foreign > 0 {
            told.push(format!("{n_foreign} answers are to requests that this run does not make, and were left aside"));
        }
        let n_missing = *locked(&self.n_missing);
        if n_missing > 0 {
            told.push(format!("{n_missing} requests have no answer yet; --batch-out writes them"));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> Result<BatchAnswers, JudgeError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        std::fs::write(&path, text).unwrap();
        BatchAnswers::read(&[path])
    }

    fn line(id: &str, status: u16, body: &Value) -> String {
        json!({ "id": "b", "custom_id": id, "response": { "status_code": status, "body": body }, "error": null })
            .to_string()
    }

    #[test]
    fn a_request_stands_in_the_file_once() {
        let requests = BatchRequests::default();
        requests.add("k1", &json!({ "model": "m" }));
        requests.add("k2", &json!({ "model": "m" }));
        requests.add("k1", &json!({ "model": "m" }));
        let lines = requests.lines();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], r#"{"custom_id":"k1","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}"#);
    }

    #[test]
    fn every_line_is_used_or_told() {
        let expired =
            json!({ "custom_id": "e", "response": null, "error": { "code": "batch_expired", "message": "late" } });
        let text = [
            line("a", 200, &json!({ "choices": [] })),
            line("r", 400, &json!({ "error": { "message": "too long" } })),
            expired.to_string(),
            line("a", 200, &json!({ "choices": [1] })),
            line("foreign", 200, &json!({})),
            "{\"custom_id\": 3}".to_owned(),
            json!({ "custom_id": "n" }).to_string(),
            // a file that was cut while it was fetched
            "{\"id\": \"b\", \"custom_id\": \"t".to_owned(),
        ];
        let answers = answers(&text.join("\n")).unwrap();
        assert_eq!(answers.body("a"), Ok(&b"{\"choices\":[]}"[..]));
        assert_eq!(answers.body("r").unwrap_err(), Failure::new(Kind::Http(400), "too long"));
        assert_eq!(answers.body("e").unwrap_err(), Failure::new(Kind::Stopped, "batch_expired: late"));
        assert_eq!(answers.body("missing").unwrap_err().kind, Kind::Stopped);
        let told = answers.told().join("\n");
        for says in [
            "line 4 of",
            "answers a request again",
            "line 6 of",
            "line 7 of",
            "neither a response nor an error",
            "line 8 of",
            "1 requests were refused as http_400, such as: too long",
            "1 requests were refused as stopped, such as: batch_expired: late",
            "1 answers are to requests that this run does not make",
            "1 requests have no answer yet",
        ] {
            assert!(told.contains(says), "{says}: {told}");
        }
    }

    #[test]
    fn what_is_no_file_of_answers_is_refused() {
        for text in ["", "\n", "hello\n", "{\"answer\": 3}\n"] {
            let error = answers(text).unwrap_err();
            assert!(error.hint().unwrap().contains("--batch-out"), "{error}");
        }
        assert!(BatchAnswers::read(&["/no/such/file".into()]).is_err());
        // a batch of which every request was refused is one
        assert!(answers(&line("a", 500, &Value::Null)).is_ok());
    }
}
