//! A request as a host has it, and the answers that it takes.

use std::{thread, time::Duration};

use serde_json::Value;
use ureq::http::Method;
use veridiff_platforms::{Answer, Host, HostError, WholeDiff};
use veridiff_text::sample::Sample;

use crate::said::Report;

/// A request to merge, read.
#[derive(Debug)]
pub(crate) struct Request {
    pub repository: String,
    pub number: u64,
    /// The commit that a report is about.
    pub head: String,
    pub comments: Vec<Comment>,
    /// All that anybody wrote there, for who looks for a key.
    pub bodies: Vec<String>,
    pub whole: Option<WholeDiff>,
}

/// A comment on a line.
#[derive(Debug)]
pub(crate) struct Comment {
    pub id: String,
    /// What an answer to it names: on GitHub the first comment of its thread, on GitLab its discussion.
    pub thread: String,
    /// Its name in GraphQL.
    pub node: Option<String>,
    pub author: String,
    pub body: String,
    pub sample: Sample,
    pub thumbs: (u64, u64),
    pub is_resolved: Option<bool>,
    pub replies: Vec<Reply>,
}

/// What somebody wrote below a comment.
#[derive(Debug)]
pub(crate) struct Reply {
    pub author: String,
    pub body: String,
    /// Whether its author is of the project.
    pub is_of_project: bool,
    pub thumbs: (u64, u64),
}

/// A host that a bot works on.
pub(crate) trait Remote: Send + Sync {
    /// Reads a request.
    fn read(&self, repository: &str, number: u64) -> Result<Request, HostError>;
    /// The diff of a commit; none where it has none that can be read.
    fn commit(&self, repository: &str, sha: &str) -> Result<Option<String>, HostError>;
    /// Answers a comment.
    fn reply(&self, request: &Request, comment: &Comment, body: &str) -> Result<(), HostError>;
    /// Puts a label on a request.
    fn label(&self, request: &Request, name: &str) -> Result<(), HostError>;
    /// Takes a comment out of sight, which everybody can undo: on GitHub it is minimised, on GitLab its discussion is resolved.
    fn hide(&self, request: &Request, comment: &Comment) -> Result<(), HostError>;
    /// Says what was found of a commit as a whole, unless that is said already.
    fn report(&self, repository: &str, sha: &str, report: &Report) -> Result<(), HostError>;
    /// Hands over findings about a request as SARIF.
    fn sarif(&self, request: &Request, sarif: &Value) -> Result<(), HostError>;
}

/// Changes something on a host, not sooner than a pause after what came before: hosts ask for that of who writes much.
pub(crate) fn change(
    host: &Host,
    pause: Duration,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Answer, HostError> {
    change_at(host, pause, method, &format!("{}{path}", host.base()), body)
}

/// As [`change`], at a whole address of the host.
pub(crate) fn change_at(
    host: &Host,
    pause: Duration,
    method: Method,
    address: &str,
    body: &Value,
) -> Result<Answer, HostError> {
    thread::sleep(pause);
    host.send_to(method, address, body)?.checked()
}

/// A string within JSON.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number within JSON, as text.
pub(crate) fn id(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_u64).map(|id| id.to_string())
}
