//! GitLab, by a token of a project or a group.

use std::{collections::HashMap, time::Duration};

use serde_json::{Value, json};
use ureq::http::Method;
use veridiff_platforms::{
    GITLAB, HostError, entries,
    gitlab::{MergeRequest, commit_diff, project_path},
};
use veridiff_text::sample::{Sample, platforms::gitlab_discussions};

use crate::{
    login::Login,
    remote::{Comment, Remote, Reply, Request, change, id, text},
    said::Report,
};

/// GitLab as a host of requests.
pub(crate) struct GitLab {
    pub login: Login,
    pub pause: Duration,
}

impl GitLab {
    /// Changes something in a project.
    fn change(&self, project: &str, method: Method, path: &str, body: &Value) -> Result<(), HostError> {
        change(&self.login.host(project)?, self.pause, method, path, body).map(drop)
    }
}

fn of(request: &Request) -> MergeRequest {
    MergeRequest { project: request.repository.clone(), number: request.number }
}

/// The comments of a discussion that stand on lines: its first note, with the others below it.
fn comment(discussion: &Value, samples: &mut HashMap<String, Sample>) -> Option<Comment> {
    let (first, others) = discussion["notes"].as_array()?.split_first()?;
    let note = id(first, "/id")?;
    let reply = |note: &Value| Reply {
        author: text(note, "/author/username").to_owned(),
        body: text(note, "/body").to_owned(),
        // who may resolve is of the project, and the note itself does not say who may
        is_of_project: false,
        thumbs: (0, 0),
    };
    Some(Comment {
        sample: samples.remove(&format!("gitlab-{note}"))?,
        thread: text(discussion, "/id").to_owned(),
        node: None,
        author: text(first, "/author/username").to_owned(),
        body: text(first, "/body").to_owned(),
        thumbs: (0, 0),
        is_resolved: first["resolved"].as_bool(),
        replies: others.iter().filter(|note| note["system"] != true).map(reply).collect(),
        id: note,
    })
}

impl Remote for GitLab {
    fn read(&self, repository: &str, number: u64) -> Result<Request, HostError> {
        let host = self.login.host(repository)?;
        let merge = MergeRequest { project: repository.to_owned(), number };
        let head = text(&merge.said(&host)?, "/sha").to_owned();
        let pages = merge.discussions(&host)?;
        let whole = merge.whole(&host)?;
        let mut samples: HashMap<String, Sample> = HashMap::new();
        if let Some(whole) = &whole {
            let found = gitlab_discussions(&pages, whole.diff())?.samples;
            samples.extend(found.into_iter().map(|sample| (sample.id.clone(), sample)));
        }
        let discussions = entries(GITLAB, &pages)?;
        let comments = discussions.iter().filter_map(|discussion| comment(discussion, &mut samples)).collect();
        let notes = discussions.iter().filter_map(|discussion| discussion["notes"].as_array()).flatten();
        let bodies = notes.map(|note| text(note, "/body").to_owned()).collect();
        Ok(Request { repository: merge.project, number, head, comments, bodies, whole })
    }

    fn commit(&self, repository: &str, sha: &str) -> Result<Option<String>, HostError> {
        Ok(commit_diff(&self.login.host(repository)?, repository, sha)?.map(|whole| whole.diff().to_owned()))
    }

    fn reply(&self, request: &Request, comment: &Comment, body: &str) -> Result<(), HostError> {
        let path = format!("{}/discussions/{}/notes", of(request).path(), plain(&comment.thread));
        self.change(&request.repository, Method::POST, &path, &json!({ "body": body }))
    }

    fn label(&self, request: &Request, name: &str) -> Result<(), HostError> {
        self.change(&request.repository, Method::PUT, &of(request).path(), &json!({ "add_labels": name }))
    }

    fn hide(&self, request: &Request, comment: &Comment) -> Result<(), HostError> {
        let path = format!("{}/discussions/{}", of(request).path(), plain(&comment.thread));
        self.change(&request.repository, Method::PUT, &path, &json!({ "resolved": true }))
    }

    /// A status of the commit: GitLab has no annotations beside those of a pipeline's reports. A status of the same name and state
    /// takes the place of the one before, so that it is said once however often it is sent.
    fn report(&self, repository: &str, sha: &str, report: &Report) -> Result<(), HostError> {
        let path = format!("{}/statuses/{sha}", project_path(repository));
        let body = json!({ "state": "success", "name": report.name, "description": report.title });
        match self.change(repository, Method::POST, &path, &body) {
            // "Cannot transition status via :enqueue from :success": it is there
            Err(HostError::Status { status: 400, said, .. }) if said.contains("Cannot transition") => Ok(()),
            other => other,
        }
    }

    /// GitLab takes such reports of pipelines alone, so that no file asks for them.
    fn sarif(&self, _: &Request, _: &Value) -> Result<(), HostError> {
        Ok(())
    }
}

/// What of a discussion's id can stand in a path: it is of hexadecimal digits.
fn plain(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).collect()
}
