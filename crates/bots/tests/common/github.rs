//! GitHub with one pull request by a script: what is posted is there when it is asked for again.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};

use super::{Call, HUNK, Host, whole};

/// What a host answers: a status line with headers, and a body.
pub type Answer = (String, String);

/// Every kind of answer.
pub const ALL: &str = "check = \"unsupported\"\nsarif = \"unsupported\"\nreply = \"contradicted\"\nlabel = \"contradicted\"\nhide = \"contradicted\"\nmessages = \"unsupported\"";

pub struct State {
    pub comments: Mutex<Vec<Value>>,
    pub runs: Mutex<Vec<Value>>,
    pub labels: Mutex<Vec<Value>>,
    /// Nodes of GraphQL that were minimised.
    pub hidden: Mutex<Vec<Value>>,
    n_ids: AtomicU64,
}

pub fn comment(id: u64, author: &str, body: &str) -> Value {
    json!({
        "id": id, "node_id": format!("PRRC_{id}"), "path": "src/area.py", "line": 8, "diff_hunk": HUNK, "user": { "login": author },
        "body": body, "author_association": "NONE",
    })
}

/// A comment below another one.
pub fn reply(id: u64, to: u64, author: &str, association: &str, body: &str) -> Value {
    let mut reply = comment(id, author, body);
    reply["in_reply_to_id"] = to.into();
    reply["author_association"] = association.into();
    reply
}

/// GitHub, where `around` sees each call and may answer in its place.
pub fn github(
    comments: Vec<Value>,
    around: impl Fn(&Call, &dyn Fn() -> Answer) -> Answer + Send + Sync + 'static,
) -> (Host, Arc<State>) {
    let state = Arc::new(State {
        comments: Mutex::new(comments),
        runs: Mutex::default(),
        labels: Mutex::default(),
        hidden: Mutex::default(),
        n_ids: AtomicU64::new(1000),
    });
    let of = Arc::clone(&state);
    let host = Host::new(move |call| around(call, &|| of.answer(call)));
    (host, state)
}

/// GitHub as it is.
pub fn plain(comments: Vec<Value>) -> (Host, Arc<State>) {
    github(comments, |_, answer| answer())
}

impl State {
    /// The replies below a comment.
    pub fn replies(&self, to: u64) -> Vec<Value> {
        let comments = self.comments.lock().unwrap();
        comments.iter().filter(|comment| comment["in_reply_to_id"] == to).cloned().collect()
    }

    fn answer(&self, call: &Call) -> Answer {
        let ok = |body: Value| ("200 OK".to_owned(), body.to_string());
        let next = || self.n_ids.fetch_add(1, Ordering::Relaxed);
        let path = call.path.split('?').next().unwrap_or_default();
        let is_diff = call.head.to_ascii_lowercase().contains("github.diff");
        match (call.method.as_str(), path) {
            ("GET", "/repos/octocat/hello/pulls/7") if is_diff => ("200 OK".to_owned(), whole()),
            ("GET", "/repos/octocat/hello/pulls/7") => {
                ok(json!({ "number": 7, "title": "<script>alert(1)</script>", "head": { "sha": "abc" } }))
            }
            ("GET", "/repos/octocat/hello/pulls/7/comments") => ok(json!(*self.comments.lock().unwrap())),
            ("GET", path) if path.ends_with("/check-runs") => ok(json!({ "check_runs": *self.runs.lock().unwrap() })),
            ("GET", path) if path.starts_with("/repos/octocat/hello/commits/") => ("200 OK".to_owned(), whole()),
            ("POST", path) if path.ends_with("/replies") => {
                let first: u64 = path.split('/').rev().nth(1).unwrap().parse().unwrap();
                let said = reply(next(), first, "veridiff", "NONE", call.body["body"].as_str().unwrap());
                self.comments.lock().unwrap().push(said.clone());
                ok(said)
            }
            ("POST", "/repos/octocat/hello/check-runs") => {
                let mut run = call.body.clone();
                run["id"] = next().into();
                run["output"]["annotations_count"] = annotations(call).into();
                self.runs.lock().unwrap().push(run.clone());
                ok(run)
            }
            ("PATCH", path) => {
                let id: u64 = path.rsplit('/').next().unwrap().parse().unwrap();
                let mut runs = self.runs.lock().unwrap();
                let run = runs.iter_mut().find(|run| run["id"] == id).unwrap();
                let n = run["output"]["annotations_count"].as_u64().unwrap() + annotations(call) as u64;
                run["output"]["annotations_count"] = n.into();
                for key in ["status", "conclusion"] {
                    if let Some(value) = call.body.get(key) {
                        run[key] = value.clone();
                    }
                }
                ok(run.clone())
            }
            ("POST", "/repos/octocat/hello/issues/7/labels") => {
                self.labels.lock().unwrap().push(call.body["labels"].clone());
                ok(json!([]))
            }
            ("POST", "/repos/octocat/hello/code-scanning/sarifs") => {
                ("202 Accepted".to_owned(), json!({ "id": "47177e22" }).to_string())
            }
            ("POST", "/graphql") => {
                self.hidden.lock().unwrap().push(call.body["variables"]["id"].clone());
                ok(json!({ "data": { "minimizeComment": { "minimizedComment": { "isMinimized": true } } } }))
            }
            _ => ("404 Not Found".to_owned(), json!({ "message": "Not Found" }).to_string()),
        }
    }
}

fn annotations(call: &Call) -> usize {
    call.body["output"]["annotations"].as_array().map_or(0, Vec::len)
}

/// Each call as its method and the last part of its path.
pub fn kinds(calls: &[Call]) -> Vec<String> {
    let last = |call: &Call| call.path.split('?').next().unwrap().rsplit('/').next().unwrap_or_default().to_owned();
    calls.iter().map(|call| format!("{} {}", call.method, last(call))).collect()
}
