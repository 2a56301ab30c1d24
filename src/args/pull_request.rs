//! A pull request on GitHub, read once by its REST API: its review comments, and the whole diff behind them.

use std::str::FromStr;

use veridiff_core::gate::SharedTree;
use veridiff_text::sample::Sample;

/// A pull request, as people write it: `OWNER/REPO#N`, or its address in a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    repository: String,
    number: u64,
}

impl FromStr for PullRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "give OWNER/REPO#N, such as octocat/hello-world#1347".to_owned();
        let (repository, number) = match text.split_once("://") {
            Some((_, address)) => {
                let path = address.split_once('/').ok_or_else(wrong)?.1;
                path.split_once("/pull/").ok_or_else(wrong)?
            }
            None => text.split_once('#').ok_or_else(wrong)?,
        };
        // both go into addresses as they are
        let is_name = |name: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.chars().all(is_plain) && !name.chars().all(|c| c == '.')
        };
        let (owner, name) = repository.split_once('/').ok_or_else(wrong)?;
        let number = number.split('/').next().and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
        if !is_name(owner) || !is_name(name) {
            return Err(wrong());
        }
        Ok(PullRequest { repository: repository.to_owned(), number })
    }
}

/// What a pull request has to look at.
pub struct Read {
    /// Its comments, each beside the hunk that it stands under.
    pub samples: Vec<Sample>,
    /// What its whole diff names.
    pub tree: Option<SharedTree>,
}

impl PullRequest {
    /// Reads it.
    #[cfg(not(feature = "platforms"))]
    pub fn read(&self) -> anyhow::Result<Read> {
        Err(crate::terminal::UsageError::error(
            "this program was built without reading from code hosts",
            "build it with `cargo build --release --features platforms`",
        ))
    }

    /// Reads it.
    #[cfg(feature = "platforms")]
    pub fn read(&self) -> anyhow::Result<Read> {
        reading::read(self)
    }
}

#[cfg(feature = "platforms")]
mod reading {
    use std::{env, sync::Arc, time::Duration};

    use anyhow::Context;
    use ureq::{
        Agent,
        config::RedirectAuthHeaders,
        http::{Response, StatusCode},
        tls::{RootCerts, TlsConfig},
    };
    use veridiff_core::gate::SharedTree;
    use veridiff_facts::change::Tree;
    use veridiff_text::{
        diff::{Diff, input},
        sample::platforms::github_comments,
    };

    use super::{PullRequest, Read};
    use crate::{
        args::subject::of_platform,
        terminal::{UsageError, note},
    };

    /// Where GitHub answers, unless `GITHUB_API_URL` names another server.
    const GITHUB: &str = "https://api.github.com";

    /// What holds a token, the first that does: as GitHub's own program reads them.
    const TOKENS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

    /// Bytes of one answer at most.
    const MOST_BYTES: u64 = 64 << 20;

    /// Pages of comments at most, of 100 each.
    const MOST_PAGES: usize = 100;

    const CONNECT: Duration = Duration::from_secs(10);
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Reads comments and diff.
    pub fn read(pull: &PullRequest) -> anyhow::Result<Read> {
        let host = Host::of_environment()?;
        let path = format!("/repos/{}/pulls/{}", pull.repository, pull.number);
        let pages = host.pages(&format!("{path}/comments?per_page=100"))?;
        let samples = of_platform(github_comments(&pages))?;
        if samples.is_empty() {
            let shown = format!("{}#{}", pull.repository, pull.number);
            note(&format!("note: `{shown}` has no review comment on a line of its diff, so there is nothing to check"));
            return Ok(Read { samples, tree: None });
        }
        let tree = host.diff(&path)?.map(|diff| SharedTree(Arc::new(Whole { diff })));
        Ok(Read { samples, tree })
    }

    /// What is known of a tree by the whole diff of a pull request: that a name is there, and never that it is not.
    struct Whole {
        diff: String,
    }

    impl Tree for Whole {
        fn contains(&self, name: &str) -> Option<bool> {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let mut places = self.diff.match_indices(name);
            let stands = places.any(|(start, found)| {
                let (before, after) = (&self.diff[..start], &self.diff[start + found.len()..]);
                !is_part(before.chars().next_back()) && !is_part(after.chars().next())
            });
            (stands && !name.is_empty()).then_some(true)
        }

        fn has_file(&self, path: &str) -> Option<bool> {
            let diff = Diff::parse(&self.diff).ok()?;
            diff.files().iter().any(|file| file == path).then_some(true)
        }
    }

    /// GitHub, or a server of one's own.
    struct Host {
        agent: Agent,
        base: String,
        token: Option<String>,
    }

    impl Host {
        fn of_environment() -> anyhow::Result<Host> {
            let set = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
            let base = set("GITHUB_API_URL").unwrap_or_else(|| GITHUB.to_owned());
            let base = base.trim_end_matches('/').to_owned();
            let (scheme, rest) = base.split_once("://").unwrap_or_default();
            let host = rest.split('/').next().unwrap_or_default();
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            let is_here = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
            if host.is_empty() || host.contains('@') || !(scheme == "https" || scheme == "http" && is_here) {
                return Err(UsageError::error(
                    "GITHUB_API_URL is no address that a token may be sent to",
                    "give https://HOST/api/v3 for a server of your own; unset it for github.com",
                ));
            }
            let config = Agent::config_builder()
                .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
                .user_agent(concat!("veridiff/", env!("CARGO_PKG_VERSION")))
                .http_status_as_error(false)
                // a repository that was renamed is elsewhere on the same host; nobody else is shown the token
                .redirect_auth_headers(RedirectAuthHeaders::SameHost)
                .timeout_connect(Some(CONNECT))
                .timeout_global(Some(PATIENCE));
            let config = if is_here { config.proxy(None) } else { config };
            let token = TOKENS.into_iter().find_map(set);
            Ok(Host { agent: config.build().new_agent(), base, token })
        }

        /// All pages of a list, one after the other.
        fn pages(&self, path: &str) -> anyhow::Result<String> {
            let (mut pages, mut next) = (String::new(), Some(format!("{}{path}", self.base)));
            for _ in 0..MOST_PAGES {
                let Some(address) = next else { return Ok(pages) };
                let mut answer = self.get(&address, "application/vnd.github+json")?;
                self.check(&answer)?;
                next = self.next(&answer)?;
                pages += &text(&mut answer)?;
                pages.push('\n');
            }
            if next.is_some() {
                note(&format!("warning: only the first {} comments were read", 100 * MOST_PAGES));
            }
            Ok(pages)
        }

        /// The diff of a pull request; none of one that GitHub finds too large.
        fn diff(&self, path: &str) -> anyhow::Result<Option<String>> {
            let mut answer = self.get(&format!("{}{path}", self.base), "application/vnd.github.diff")?;
            if answer.status() == StatusCode::NOT_ACCEPTABLE {
                note("note: GitHub gives no diff that large: what other hunks name is not known");
                return Ok(None);
            }
            self.check(&answer)?;
            let diff = text(&mut answer)?;
            Ok(input::read(&diff).ok().map(|change| change.diff))
        }

        fn get(&self, address: &str, kind: &str) -> anyhow::Result<Response<ureq::Body>> {
            let mut request =
                self.agent.get(address).header("accept", kind).header("x-github-api-version", "2022-11-28");
            if let Some(token) = &self.token {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            request.call().map_err(|error| {
                // an error of a header may show it
                let told = self.without_token(&error.to_string());
                UsageError::error(
                    format!("GitHub gives no answer: {told}"),
                    "is the network there, and GITHUB_API_URL right?",
                )
            })
        }

        fn without_token(&self, text: &str) -> String {
            self.token.as_ref().map_or_else(|| text.to_owned(), |token| text.replace(token.as_str(), "[token]"))
        }

        /// Whether an answer is one, and if not how to mend it.
        fn check(&self, answer: &Response<ureq::Body>) -> anyhow::Result<()> {
            let status = answer.status();
            let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
            let is_spent = header("x-ratelimit-remaining") == Some("0") || header("retry-after").is_some();
            let (problem, hint) = match status.as_u16() {
                200 => return Ok(()),
                403 | 429 if is_spent || status == StatusCode::TOO_MANY_REQUESTS => {
                    let wait = header("retry-after").map_or(String::new(), |seconds| format!(" in {seconds} s"));
                    let hint = match self.token {
                        None => "set GITHUB_TOKEN: with a token it has more".to_owned(),
                        Some(_) => format!("try again{wait}"),
                    };
                    ("GitHub's rate is spent".to_owned(), hint)
                }
                401 => {
                    ("GitHub does not take the token".to_owned(), "GH_TOKEN, or else GITHUB_TOKEN, holds it".to_owned())
                }
                403 | 404 => (
                    format!("GitHub shows no such pull request ({status})"),
                    "check its name; one that is private needs a token that may read it, in GITHUB_TOKEN".to_owned(),
                ),
                _ => (format!("GitHub answered {status}"), "try again later".to_owned()),
            };
            Err(UsageError::error(problem, hint))
        }

        /// The address of the next page, which must be one of the same server.
        fn next(&self, answer: &Response<ureq::Body>) -> anyhow::Result<Option<String>> {
            let links = answer.headers().get("link").and_then(|links| links.to_str().ok()).unwrap_or_default();
            let next = links.split(',').find_map(|link| {
                let (address, of) = link.split_once(';')?;
                let is_next = of.split(';').any(|of| matches!(of.trim(), "rel=\"next\"" | "rel=next"));
                is_next.then(|| address.trim().trim_start_matches('<').trim_end_matches('>').to_owned())
            });
            let is_of_server =
                |address: &String| address.strip_prefix(&self.base).is_some_and(|rest| rest.starts_with('/'));
            match next {
                Some(address) if !is_of_server(&address) => {
                    Err(UsageError::error("GitHub's next page is on another server", "is GITHUB_API_URL right?"))
                }
                next => Ok(next),
            }
        }
    }

    fn text(answer: &mut Response<ureq::Body>) -> anyhow::Result<String> {
        let body = answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        let body = body.context("GitHub's answer broke off")?;
        String::from_utf8(body).context("GitHub's answer is not UTF-8")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_whole_diff_knows_what_is_there_and_never_what_is_not() {
            let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old_name(x)\n+new_name(x2)\n".to_owned();
            let whole = Whole { diff };
            for (name, known) in [("new_name", Some(true)), ("x", Some(true)), ("name", None), ("x3", None), ("", None)]
            {
                assert_eq!(whole.contains(name), known, "{name}");
            }
            assert_eq!((whole.has_file("a.py"), whole.has_file("b.py")), (Some(true), None));
        }
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
