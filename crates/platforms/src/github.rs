//! A pull request on GitHub.

use std::{fmt, str::FromStr};

#[cfg(feature = "http")]
use veridiff_text::{diff::input, sample::platforms::github_comments};

use crate::name::{is_name, split};
#[cfg(feature = "http")]
use crate::{GITHUB, Host, HostError, Read, WholeDiff};

/// A pull request, as people write it: `OWNER/REPO#N`, or its address in a browser.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PullRequest {
    /// `OWNER/REPO`.
    pub repository: String,
    /// Its number.
    pub number: u64,
}

impl FromStr for PullRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = split(text, '#', "/pull/").filter(|(repository, _)| is_repository(repository));
        let (repository, number) =
            named.ok_or_else(|| "give OWNER/REPO#N, such as octocat/hello-world#1347".to_owned())?;
        Ok(PullRequest { repository: repository.to_owned(), number })
    }
}

impl fmt::Display for PullRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repository, self.number)
    }
}

/// Whether a repository is called so: it goes into addresses as it is.
pub fn is_repository(name: &str) -> bool {
    name.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

impl PullRequest {
    /// Where the API has it.
    pub fn path(&self) -> String {
        format!("/repos/{}/pulls/{}", self.repository, self.number)
    }
}

#[cfg(feature = "http")]
impl PullRequest {
    /// Reads its review comments, once, and the whole diff behind them. Its diff is not asked for where there is no comment.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn read(&self) -> Result<Read, HostError> {
        let host = Host::of_environment(GITHUB)?;
        let exported = github_comments(&self.comments(&host)?)?;
        let whole = if exported.samples.is_empty() { None } else { self.whole(&host)? };
        Ok(Read { samples: exported.samples, n_left_out: exported.n_left_out, whole })
    }

    /// Its review comments, as GitHub gives them: one array after the other.
    ///
    /// # Errors
    /// Those of [`Host::pages`].
    pub fn comments(&self, host: &Host) -> Result<String, HostError> {
        host.pages(&format!("{}/comments?per_page=100", self.path()))
    }

    /// Its whole diff; none of one that GitHub finds too large.
    ///
    /// # Errors
    /// Those of [`Host::get`], and of its status.
    pub fn whole(&self, host: &Host) -> Result<Option<WholeDiff>, HostError> {
        const NOT_ACCEPTABLE: u16 = 406;
        let answer = host.get(&self.path(), "application/vnd.github.diff")?;
        if answer.status() == NOT_ACCEPTABLE {
            tracing::warn!("GitHub gives no diff that large: what other hunks of `{self}` name is not known");
            return Ok(None);
        }
        let diff = answer.checked()?.body;
        Ok(input::read(&diff).ok().map(|change| WholeDiff::new(change.diff)))
    }

    /// What GitHub says of it.
    ///
    /// # Errors
    /// Those of [`crate::Answer::json`].
    pub fn said(&self, host: &Host) -> Result<serde_json::Value, HostError> {
        host.get(&self.path(), GITHUB.json)?.json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_is_named_as_people_name_it() {
        let expected = Ok(PullRequest { repository: "octocat/hello-world".to_owned(), number: 7 });
        for text in [
            "octocat/hello-world#7",
            "https://github.com/octocat/hello-world/pull/7",
            "https://github.example/octocat/hello-world/pull/7/files",
            "https://github.com/octocat/hello-world/pull/7#discussion_r123",
            "https://github.com/octocat/hello-world/pull/7?w=1",
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in
            ["", "7", "a/b", "a/b#", "a/b#x", "a/b/c#1", "../..#1", "a/..#1", "a b/c#1", "a/b?x#1", "https://h/a/b"]
        {
            assert!(text.parse::<PullRequest>().is_err(), "{text}");
        }
    }
}
