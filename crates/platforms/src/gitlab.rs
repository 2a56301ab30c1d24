//! A merge request on GitLab.

use std::{fmt, str::FromStr};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
#[cfg(feature = "http")]
use serde_json::Value;
#[cfg(feature = "http")]
use veridiff_text::{
    diff::input,
    sample::platforms::{Exported, gitlab_discussions},
};

use crate::name::{is_name, split};
#[cfg(feature = "http")]
use crate::{GITLAB, Host, HostError, Read, WholeDiff, entries};

/// A merge request, as people write it: `GROUP/PROJECT!N` with as many groups as there are, or its address in a browser.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MergeRequest {
    /// `GROUP/PROJECT`, or `GROUP/SUBGROUP/PROJECT`.
    pub project: String,
    /// Its number in the project.
    pub number: u64,
}

impl FromStr for MergeRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = split(text, '!', "/-/merge_requests/").filter(|(project, _)| is_project(project));
        let (project, number) = named.ok_or_else(|| "give GROUP/PROJECT!N, such as gitlab-org/cli!1347".to_owned())?;
        Ok(MergeRequest { project: project.to_owned(), number })
    }
}

impl fmt::Display for MergeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}!{}", self.project, self.number)
    }
}

/// Whether a project is called so, with its groups.
pub fn is_project(name: &str) -> bool {
    name.contains('/') && name.split('/').all(is_name)
}

/// Where the API has a project.
pub fn project_path(project: &str) -> String {
    format!("/projects/{}", utf8_percent_encode(project, NON_ALPHANUMERIC))
}

impl MergeRequest {
    /// Where the API has it.
    pub fn path(&self) -> String {
        format!("{}/merge_requests/{}", project_path(&self.project), self.number)
    }
}

#[cfg(feature = "http")]
impl MergeRequest {
    /// Reads its discussions, once, and the whole diff behind them. Its diff is not asked for where no discussion is on a line.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn read(&self) -> Result<Read, HostError> {
        let host = Host::of_environment(GITLAB)?;
        let discussions = self.discussions(&host)?;
        let whole = if has_position(&discussions) { self.whole(&host)? } else { None };
        let exported = match &whole {
            Some(whole) => gitlab_discussions(&discussions, whole.diff())?,
            None => Exported::default(),
        };
        Ok(Read { samples: exported.samples, n_left_out: exported.n_left_out, whole })
    }

    /// Its discussions, as GitLab gives them: one array after the other.
    ///
    /// # Errors
    /// Those of [`Host::pages`].
    pub fn discussions(&self, host: &Host) -> Result<String, HostError> {
        host.pages(&format!("{}/discussions?per_page=100", self.path()))
    }

    /// Its whole diff, put together of its files'; none where GitLab shows no line of it.
    ///
    /// # Errors
    /// Those of [`Host::pages`], and [`HostError::Unlike`].
    pub fn whole(&self, host: &Host) -> Result<Option<WholeDiff>, HostError> {
        let pages = host.pages(&format!("{}/diffs?per_page=100", self.path()))?;
        put_together(&pages, &self.to_string())
    }

    /// What GitLab says of it.
    ///
    /// # Errors
    /// Those of [`crate::Answer::json`].
    pub fn said(&self, host: &Host) -> Result<Value, HostError> {
        host.get(&self.path(), GITLAB.json)?.json()
    }
}

/// The diff of a commit, put together of its files'; none where GitLab shows no line of it.
///
/// # Errors
/// Those of [`Host::pages`], and [`HostError::Unlike`].
#[cfg(feature = "http")]
pub fn commit_diff(host: &Host, project: &str, sha: &str) -> Result<Option<WholeDiff>, HostError> {
    let path = format!(
        "{}/repository/commits/{}/diff?per_page=100",
        project_path(project),
        utf8_percent_encode(sha, NON_ALPHANUMERIC)
    );
    put_together(&host.pages(&path)?, sha)
}

/// The diff of files that are listed one by one.
#[cfg(feature = "http")]
fn put_together(pages: &str, shown: &str) -> Result<Option<WholeDiff>, HostError> {
    let (mut diff, mut n_hidden) = (String::new(), 0);
    for file in entries(GITLAB, pages)? {
        let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
        let is = |key: &str| file.get(key).and_then(Value::as_bool) == Some(true);
        let lines = text("diff");
        if lines.is_empty() {
            n_hidden += usize::from(is("too_large") || is("collapsed"));
            continue;
        }
        let (old, new) = (text("old_path"), text("new_path"));
        diff += &format!("diff --git a/{old} b/{new}\n");
        if !lines.starts_with("--- ") {
            let before = if is("new_file") { "/dev/null".to_owned() } else { format!("a/{old}") };
            let after = if is("deleted_file") { "/dev/null".to_owned() } else { format!("b/{new}") };
            diff += &format!("--- {before}\n+++ {after}\n");
        }
        diff += lines;
        if !lines.ends_with('\n') {
            diff.push('\n');
        }
    }
    if n_hidden > 0 {
        tracing::warn!(
            "GitLab shows no diff of {n_hidden} files of `{shown}` that are too large: comments on them are left out"
        );
    }
    Ok(input::read(&diff).ok().map(|change| WholeDiff::new(change.diff)))
}

/// Whether any note stands on a line of the diff.
#[cfg(feature = "http")]
fn has_position(discussions: &str) -> bool {
    // what is no list is told by who reads it
    let Ok(discussions) = entries(GITLAB, discussions) else { return true };
    let notes = discussions.iter().filter_map(|discussion| discussion.get("notes")?.as_array());
    notes.flatten().any(|note| note.get("position").is_some_and(Value::is_object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_request_is_named_as_people_name_it() {
        let expected = MergeRequest { project: "group/sub/project".to_owned(), number: 7 };
        assert_eq!(expected.path(), "/projects/group%2Fsub%2Fproject/merge_requests/7");
        for text in [
            "group/sub/project!7",
            "https://gitlab.com/group/sub/project/-/merge_requests/7",
            "https://gitlab.example:8443/group/sub/project/-/merge_requests/7/diffs#note_1",
        ] {
            assert_eq!(text.parse().as_ref(), Ok(&expected), "{text}");
        }
        for text in [
            "",
            "7",
            "a/b",
            "a/b!",
            "a/b!x",
            "project!1",
            "../..!1",
            "a/../b!1",
            "a//b!1",
            "a b/c!1",
            "a/b#1",
            "https://h/a/b",
        ] {
            assert!(text.parse::<MergeRequest>().is_err(), "{text}");
        }
    }
}
