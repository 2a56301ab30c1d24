//! GitHub, by a token or an App.

use std::{collections::HashMap, io::Write, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use ureq::http::Method;
use veridiff_platforms::{GITHUB, Host, HostError, entries, github::PullRequest};
use veridiff_text::{diff::input, sample::platforms::github_comments};

use crate::{
    login::Login,
    remote::{Comment, Remote, Reply, Request, change, change_at, id, text},
    said::{Annotation, Report},
};

/// Annotations of one request at most, as GitHub takes them.
const BATCH: usize = 50;

/// Whose words count as feedback.
const OF_PROJECT: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];

const MINIMIZE: &str = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OFF_TOPIC}) { minimizedComment { isMinimized } } }";

/// GitHub as a host of requests.
pub(crate) struct GitHub {
    pub login: Login,
    pub pause: Duration,
}

impl GitHub {
    /// Changes something in a repository, of which this is the path.
    fn change(&self, repository: &str, method: Method, path: &str, body: &Value) -> Result<Value, HostError> {
        let host = self.login.host(repository)?;
        change(&host, self.pause, method, &format!("/repos/{repository}{path}"), body)?.json()
    }
}

/// Where GraphQL is: of a server of one's own it is beside the REST API.
fn graphql(host: &Host) -> String {
    let base = host.base();
    format!("{}/graphql", base.strip_suffix("/v3").unwrap_or(base))
}

fn thumbs(comment: &Value) -> (u64, u64) {
    let of = |pointer: &str| comment.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    (of("/reactions/+1"), of("/reactions/-1"))
}

impl Remote for GitHub {
    fn read(&self, repository: &str, number: u64) -> Result<Request, HostError> {
        let host = self.login.host(repository)?;
        let pull = PullRequest { repository: repository.to_owned(), number };
        let head = text(&pull.said(&host)?, "/head/sha").to_owned();
        let pages = pull.comments(&host)?;
        let all = entries(GITHUB, &pages)?;
        let mut samples: HashMap<String, _> =
            github_comments(&pages)?.samples.into_iter().map(|sample| (sample.id.clone(), sample)).collect();
        let mut replies: HashMap<String, Vec<Reply>> = HashMap::new();
        for comment in &all {
            if let Some(first) = id(comment, "/in_reply_to_id") {
                replies.entry(first).or_default().push(Reply {
                    author: text(comment, "/user/login").to_owned(),
                    body: text(comment, "/body").to_owned(),
                    is_of_project: OF_PROJECT.contains(&text(comment, "/author_association")),
                    thumbs: thumbs(comment),
                });
            }
        }
        let of = |comment: &Value| {
            let id_ = id(comment, "/id")?;
            let thread = id(comment, "/in_reply_to_id").unwrap_or_else(|| id_.clone());
            Some(Comment {
                sample: samples.remove(&format!("github-{id_}"))?,
                replies: replies.remove(&id_).unwrap_or_default(),
                node: comment["node_id"].as_str().map(str::to_owned),
                author: text(comment, "/user/login").to_owned(),
                body: text(comment, "/body").to_owned(),
                thumbs: thumbs(comment),
                is_resolved: None,
                id: id_,
                thread,
            })
        };
        let comments: Vec<Comment> = all.iter().filter_map(of).collect();
        let whole = if comments.is_empty() { None } else { pull.whole(&host)? };
        let bodies = all.iter().map(|comment| text(comment, "/body").to_owned()).collect();
        Ok(Request { repository: pull.repository, number, head, comments, bodies, whole })
    }

    fn commit(&self, repository: &str, sha: &str) -> Result<Option<String>, HostError> {
        let host = self.login.host(repository)?;
        let answer = host.get(&format!("/repos/{repository}/commits/{sha}"), "application/vnd.github.diff")?;
        let diff = answer.checked()?.body;
        Ok(input::read(&diff).ok().map(|change| change.diff))
    }

    fn reply(&self, request: &Request, comment: &Comment, body: &str) -> Result<(), HostError> {
        let path = format!("/pulls/{}/comments/{}/replies", request.number, comment.thread);
        self.change(&request.repository, Method::POST, &path, &json!({ "body": body })).map(drop)
    }

    fn label(&self, request: &Request, name: &str) -> Result<(), HostError> {
        let path = format!("/issues/{}/labels", request.number);
        self.change(&request.repository, Method::POST, &path, &json!({ "labels": [name] })).map(drop)
    }

    fn hide(&self, request: &Request, comment: &Comment) -> Result<(), HostError> {
        let Some(node) = &comment.node else { return Ok(()) };
        let host = self.login.host(&request.repository)?;
        let asked = json!({ "query": MINIMIZE, "variables": { "id": node } });
        let said = change_at(&host, self.pause, Method::POST, &graphql(&host), &asked)?.json()?;
        match said.pointer("/errors/0") {
            None => Ok(()),
            // an error of GraphQL comes with 200
            Some(error) if text(error, "/type") == "RATE_LIMITED" => {
                Err(HostError::Rate { site: host.site(), wait: None, has_token: true })
            }
            Some(error) => {
                let said = text(error, "/message").chars().take(300).collect();
                Err(HostError::Status { site: host.site(), status: 422, said })
            }
        }
    }

    fn report(&self, repository: &str, sha: &str, report: &Report) -> Result<(), HostError> {
        let host = self.login.host(repository)?;
        let name = report.name.replace(' ', "%20");
        let known = format!("/repos/{repository}/commits/{sha}/check-runs?check_name={name}&filter=all&per_page=100");
        let known = host.get(&known, host.site().json)?.json()?;
        let runs = known["check_runs"].as_array();
        // one that says the same and was followed by another is past
        let newest = runs.into_iter().flatten().max_by_key(|run| run["id"].as_u64());
        let run = newest.filter(|run| text(run, "/external_id") == report.key);
        let n = report.annotations.len();
        let (mut run, mut n_there) = match run {
            Some(run) if text(run, "/status") == "completed" => return Ok(()),
            // what a kill interrupted goes on behind the batches that are there
            Some(run) => {
                (id(run, "/id"), run.pointer("/output/annotations_count").and_then(Value::as_u64).unwrap_or(0))
            }
            None => (None, 0),
        };
        loop {
            let begin = usize::try_from(n_there).unwrap_or(n).min(n);
            let end = (begin + BATCH).min(n);
            let batch: Vec<Value> = report.annotations[begin..end].iter().map(annotation).collect();
            let mut body =
                json!({ "output": { "title": report.title, "summary": report.title, "annotations": batch } });
            let is_last = end == n;
            if is_last {
                body["status"] = "completed".into();
                body["conclusion"] = if n == 0 { "success" } else { "neutral" }.into();
            }
            let said = match &run {
                Some(run) => self.change(repository, Method::PATCH, &format!("/check-runs/{run}"), &body)?,
                None => {
                    body["name"] = report.name.into();
                    body["head_sha"] = sha.into();
                    body["external_id"] = report.key.as_str().into();
                    if !is_last {
                        body["status"] = "in_progress".into();
                    }
                    self.change(repository, Method::POST, "/check-runs", &body)?
                }
            };
            if is_last {
                return Ok(());
            }
            run = run.or_else(|| id(&said, "/id"));
            if run.is_none() {
                return Err(HostError::Unlike { site: host.site(), found: "no check run".to_owned() });
            }
            n_there = end as u64;
        }
    }

    /// To code scanning, where an analysis of the same commit by the same tool takes the place of the one before.
    fn sarif(&self, request: &Request, sarif: &Value) -> Result<(), HostError> {
        let unlike = |_| HostError::Unlike { site: GITHUB, found: "not what can be packed".to_owned() };
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(sarif.to_string().as_bytes()).map_err(unlike)?;
        let packed = STANDARD.encode(packed.finish().map_err(unlike)?);
        let body = json!({
            "commit_sha": request.head, "ref": format!("refs/pull/{}/head", request.number), "sarif": packed, "tool_name": "veridiff",
        });
        self.change(&request.repository, Method::POST, "/code-scanning/sarifs", &body).map(drop)
    }
}

fn annotation(of: &Annotation) -> Value {
    json!({
        "path": of.path,
        "start_line": of.line,
        "end_line": of.line,
        "annotation_level": if of.accuses { "warning" } else { "notice" },
        "title": of.rule,
        "message": of.message,
    })
}
