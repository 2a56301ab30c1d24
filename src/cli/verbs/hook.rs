//! The commit gate: `check` as git's commit-msg hook. It warns, and stops a commit only if the text fails.
//!
//! What is staged is asked of git's own program, whose variables say what a partial commit takes: a hook runs where git is.

use std::process::Command;

use anyhow::Context;

use super::Exit;
use crate::cli::{
    args::{
        change::{read, without_comments},
        subject::{Group, Purpose, Subject, SubjectArgs, passes},
    },
    terminal::{UsageError, note},
};
use veridiff_facts::{finding::Finding, verdict::Verdict};
use veridiff_text::{
    chain::one_line,
    diff::input,
    message::{Made, made},
    sample::{Sample, Task},
};

/// What the message is called in findings.
const ID: &str = "message";

/// The message and what is staged; nothing where there is nothing to compare.
pub fn subject(args: &SubjectArgs, purpose: Purpose<'_>) -> anyhow::Result<Subject> {
    let message = without_comments(&read(args.only_file()?)?);
    let mut subject = Subject::default();
    let is_merge = git(&["rev-parse", "--quiet", "--verify", "MERGE_HEAD"])?.is_some();
    let made = if is_merge { Some(Made::Merge) } else { made(&message) };
    if let Some(made) = made.filter(|made| purpose.skips(*made)) {
        passes(&format!("the message is that of {}", made.what()));
        return Ok(subject);
    }
    // whatever the user has set for what he looks at, names stand as they are in the tree
    let names = ["-c", "core.quotePath=false", "diff", "--src-prefix=a/", "--dst-prefix=b/"];
    let staged = git(&[&names[..], &["--cached", "--no-color", "--no-ext-diff", "--no-textconv", "-U3"]].concat())?;
    let Some(staged) = staged else {
        return Err(UsageError::error("git cannot show what is staged", "a commit-msg hook runs within a repository"));
    };
    // git itself refuses a blank message; an empty commit or a reworded one changes nothing
    if message.is_empty() || staged.trim().is_empty() {
        return Ok(subject);
    }
    match input::read(&staged) {
        Ok(change) => {
            let sample = Sample { task: Task::Commit, ..Sample::new(ID, &change.diff, &message) };
            let tree = match git(&["rev-parse", "--quiet", "--verify", "HEAD"])? {
                Some(head) => args.repository().at(head.trim())?,
                None => None,
            };
            subject.groups.push(Group { tree, samples: vec![sample] });
        }
        // such as nothing but binary files
        Err(problem) => note(&format!("note: veridiff cannot read what is staged: {}", one_line(&problem))),
    }
    Ok(subject)
}

/// Whether a person should see a finding.
pub fn objects(finding: &Finding) -> bool {
    finding.verdict >= Some(Verdict::Unsupported) || finding.error.is_some()
}

/// Says what becomes of the commit, and how to go on.
pub fn end(findings: &[Finding], fails: bool) -> Exit {
    if fails {
        note("veridiff stopped this commit. Mend the message, or commit as it is: git commit --no-verify");
        return Exit::Flagged;
    }
    // what could not be checked is no reason to stop anybody
    if findings.iter().any(objects) {
        note("veridiff only warns of this; the commit goes on");
    }
    Exit::Done
}

/// What git prints; none where it ends with a failure.
fn git(args: &[&str]) -> anyhow::Result<Option<String>> {
    let output = Command::new("git").args(args).output().context("cannot run `git`, which a hook needs")?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}
