//! A job about a push: the messages of its commits are checked, and one report says what was found.

use serde_json::Value;
use veridiff_serve::Service;
use veridiff_text::{
    message::made,
    sample::{Sample, Task},
};

use crate::{
    answers::About,
    bot::{Bot, Site},
    problem::{Problem, may_pass, told},
    remote::text,
    request::{findings, met},
    store::Job,
};

/// Digits of a commit's hash by which a finding calls it.
const DIGITS: usize = 10;

impl Bot {
    /// Looks at the messages of a push.
    pub(crate) fn push(&self, service: &Service, site: &Site, job: &Job) -> Result<(), Problem> {
        let Some(limit) = site.config.does.messages else { return Ok(()) };
        let push: Value = serde_json::from_str(&job.push).unwrap_or_default();
        let mut samples = Vec::new();
        for commit in push["commits"].as_array().into_iter().flatten() {
            let (sha, message) = (text(commit, "/id"), text(commit, "/message").trim());
            // what git made of other messages is nobody's statement
            if message.is_empty() || made(message).is_some() {
                continue;
            }
            match site.remote.commit(&job.repository, sha) {
                Ok(Some(diff)) => {
                    let short: String = sha.chars().take(DIGITS).collect();
                    samples.push(Sample { task: Task::Commit, ..Sample::new(&short, &diff, message) });
                }
                Ok(None) => {}
                // a commit may be gone again by another push, or too large to be shown
                Err(error) if !may_pass(&error) => tracing::warn!(sha, "not checked: {}", told(&error)),
                Err(error) => return Err(error.into()),
            }
        }
        if samples.is_empty() {
            return Ok(());
        }
        let findings = findings(service, &samples, None)?;
        let about = About {
            repository: &job.repository,
            sha: text(&push, "/head"),
            name: "veridiff messages",
            what: "messages",
            n_texts: findings.len(),
        };
        self.report(site, about, &met(limit, &findings))
    }
}
