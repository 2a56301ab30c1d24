//! Samples, a server's scores and a folder for the tests of verbs that call language models.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use super::{
    ROOT, program,
    server::{Act, Asked},
};

/// `n` samples, each about its own number.
pub fn samples(n: usize) -> String {
    let line = |i: usize| {
        let diff = format!("@@ -1 +1 @@\n-x = {i}\n+x = {}\n", i + 1);
        format!(
            "{}\n",
            json!({ "id": format!("s{i}"), "diff": diff, "text": format!("Number {i} is raised."), "label": i % 2 })
        )
    };
    (0..n).map(line).collect()
}

/// A score that hangs on the request alone.
pub fn score_of(asked: &Asked) -> Act {
    let text = asked.text();
    let number =
        text.split("Number ").last().and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok()).unwrap_or(0);
    // now and then not readable the first time
    if number % 7 == 3 && asked.body["messages"].as_array().is_some_and(|messages| messages.len() == 2) {
        return Act::content("I would say three.");
    }
    let key = if text.contains("branch_a") { 3 } else { 1 };
    Act::content(&format!("{{\"explanation\": \"line {number}\", \"answer\": {}}}", number * key % 5))
}

pub struct Desk(pub tempfile::TempDir);

impl Desk {
    pub fn new(samples: &str) -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        fs::write(desk.path("in.jsonl"), samples).unwrap();
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(program(args.split_whitespace().next().unwrap_or_default()));
        command.current_dir(self.0.path()).args(args.split_whitespace()).stdin(Stdio::null());
        command.env_remove("OPENAI_API_KEY").env_remove("HTTP_PROXY").env_remove("http_proxy");
        command
    }

    pub fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    #[track_caller]
    pub fn ends(&self, args: &str, code: i32) -> String {
        let output = self.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args}: {stderr}");
        stderr
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A table of JSON lines, by id.
    pub fn rows(&self, name: &str) -> BTreeMap<String, Value> {
        let text = String::from_utf8(self.read(name)).unwrap();
        let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter(|row| row["id"].is_string()).map(|row| (row["id"].as_str().unwrap().to_owned(), row)).collect()
    }
}

/// The model of a few thousand weights that the tests have.
pub fn tiny() -> String {
    format!("tiny=local:{ROOT}/tests/fixtures/qwen2")
}

/// A provider that answers the lines of a batch file as the server would at once.
pub fn answers_to(batch: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(batch).unwrap().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answer = |line: Value| {
        assert_eq!((&line["method"], &line["url"]), (&json!("POST"), &json!("/v1/chat/completions")));
        let asked = Asked { path: String::new(), head: String::new(), body: line["body"].clone() };
        let Act::Answer { status, body, .. } = score_of(&asked) else { panic!("an answer") };
        let body: Value = serde_json::from_slice(&body).unwrap();
        let response = json!({ "status_code": status, "request_id": "r", "body": body });
        json!({ "id": "b", "custom_id": line["custom_id"], "response": response, "error": null })
    };
    lines.map(answer).collect()
}

pub fn lines_of(answers: &[Value]) -> String {
    answers.iter().map(|answer| format!("{answer}\n")).collect()
}
