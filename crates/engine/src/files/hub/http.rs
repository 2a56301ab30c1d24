//! The hub's protocol: where a file is, what it is, its content; whether there is a repository.

use std::{env, io, path::PathBuf, thread, time::Duration};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::{
    Agent, Body,
    http::{Method, Request, Response, Uri},
    tls::{RootCerts, TlsConfig},
};

/// What an address may hold as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Pauses before a request is sent again, 3 seconds in all.
const PAUSES_MS: [u64; 5] = [100, 200, 400, 800, 1600];

/// Redirects on the way to one file.
const MAX_REDIRECTS: usize = 10;

/// What can go wrong on the way. Addresses are shown without their query, which may hold a signature.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// No answer came.
    #[error("no answer from {url}")]
    Request { url: String, source: Box<ureq::Error> },
    /// The answer is not one of those that the protocol has.
    #[error("{url} answers with HTTP status {status}{message}")]
    Status {
        url: String,
        status: u16,
        /// What the hub says about it, after a colon.
        message: String,
    },
    /// The answer says too little.
    #[error("the answer of {url} has no {what}")]
    Lacks { url: String, what: &'static str },
    /// The answer ended early.
    #[error("the transfer from {url} broke off")]
    Body { url: String, source: io::Error },
    /// The cache takes no more.
    #[error("cannot write `{path}`")]
    Store { path: PathBuf, source: io::Error },
}

impl HttpError {
    /// An answer that is an error.
    pub(super) fn of_answer(url: &str, answer: &Response<Body>) -> Self {
        let message = answer.headers().get("x-error-message").and_then(|text| text.to_str().ok());
        let message = message.map(|text| format!(": {text}")).unwrap_or_default();
        HttpError::Status { url: bare(url), status: answer.status().as_u16(), message }
    }

    /// Whether another time it may be different: then what is cached does instead.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            HttpError::Request { source, .. } => no_connection(source),
            HttpError::Status { status, .. } => matches!(status, 500 | 502 | 503 | 504),
            _ => false,
        }
    }
}

fn no_connection(error: &ureq::Error) -> bool {
    use ureq::Error as E;
    matches!(error, E::Io(_) | E::Timeout(_) | E::HostNotFound | E::ConnectionFailed | E::ConnectProxyFailed(_))
}

/// An address without its query.
pub(super) fn bare(url: &str) -> String {
    url.split('?').next().unwrap_or(url).into()
}

/// A connection to the hub that `HF_ENDPOINT` names, through the proxies that the environment names, trusting the
/// system's certificates.
pub(super) struct Client {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

impl Client {
    pub(super) fn new(token: Option<String>) -> Self {
        let endpoint = env::var("HF_ENDPOINT").unwrap_or_else(|_| "https://huggingface.co".into());
        let agent = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .user_agent(concat!("veridiff/", env!("CARGO_PKG_VERSION")))
            // Sizes are those of the files.
            .accept_encoding("identity")
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .new_agent();
        Client { agent, endpoint: endpoint.trim_end_matches('/').into(), token }
    }

    /// Where a file of a repository is.
    pub(super) fn file_url(&self, repo: &str, revision: &str, file: &str) -> String {
        let escaped = |text| utf8_percent_encode(text, ESCAPED);
        format!("{}/{repo}/resolve/{}/{}", self.endpoint, escaped(revision), escaped(file))
    }

    /// What a file is: its headers, of the hub itself. Large files lie elsewhere, and the redirect there describes them.
    pub(super) fn head(&self, url: &str) -> Result<Response<Body>, HttpError> {
        self.follow(&Method::HEAD, url, 0)
    }

    /// A file's content from byte `first` on, or all of it where the server has no parts.
    pub(super) fn get(&self, url: &str, first: u64) -> Result<Response<Body>, HttpError> {
        self.follow(&Method::GET, url, first)
    }

    /// Whether the hub has a repository, or a revision of it.
    pub(super) fn has_repo(&self, repo: &str, revision: Option<&str>) -> Result<bool, HttpError> {
        let at = revision.map(|revision| format!("/revision/{}", utf8_percent_encode(revision, ESCAPED)));
        let url = format!("{}/api/models/{repo}{}", self.endpoint, at.unwrap_or_default());
        let answer = self.follow(&Method::GET, &url, 0)?;
        match answer.status().as_u16() {
            404 => Ok(false),
            _ if answer.status().is_success() => Ok(true),
            _ => Err(HttpError::of_answer(&url, &answer)),
        }
    }

    /// The answer at the end of all redirects; for HEAD, at the end of those that stay on the host.
    fn follow(&self, method: &Method, url: &str, first: u64) -> Result<Response<Body>, HttpError> {
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send(method, &url, first)?;
            let location = answer.headers().get("location").and_then(|location| location.to_str().ok());
            let Some(location) = location.filter(|_| answer.status().is_redirection()) else { return Ok(answer) };
            let (next, stays) = joined(&url, location);
            if *method == Method::HEAD && !stays {
                return Ok(answer);
            }
            url = next;
        }
        Err(HttpError::Request { url: bare(&url), source: Box::new(ureq::Error::TooManyRedirects) })
    }

    /// One request, sent again after a pause where the hub cannot be reached or is busy.
    fn send(&self, method: &Method, url: &str, first: u64) -> Result<Response<Body>, HttpError> {
        let mut pauses = PAUSES_MS.into_iter();
        loop {
            let mut request = Request::builder().method(method).uri(url);
            // The token is the hub's alone: whoever it sends us to has signed the address.
            if let Some(token) = self.token.as_ref().filter(|_| origin(url) == origin(&self.endpoint)) {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            if first > 0 {
                request = request.header("range", format!("bytes={first}-"));
            }
            let answer = request.body(()).map_err(ureq::Error::from).and_then(|request| self.agent.run(request));
            let again = match &answer {
                Ok(answer) => matches!(answer.status().as_u16(), 408 | 429 | 500 | 502 | 503 | 504),
                Err(error) => no_connection(error),
            };
            match pauses.next() {
                Some(pause) if again => thread::sleep(Duration::from_millis(pause)),
                _ => return answer.map_err(|source| HttpError::Request { url: bare(url), source: Box::new(source) }),
            }
        }
    }
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> Option<(String, String)> {
    let url: Uri = url.parse().ok()?;
    Some((url.scheme_str()?.into(), url.authority()?.as_str().to_ascii_lowercase()))
}

/// The address that a redirect from `url` leads to, and whether it names no host.
fn joined(url: &str, location: &str) -> (String, bool) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if location.contains("://") && !location.starts_with('/') {
        (location.into(), false)
    } else if location.starts_with("//") {
        (format!("{scheme}:{location}"), false)
    } else if location.starts_with('/') {
        (format!("{scheme}://{host}{location}"), true)
    } else {
        let path = path.split('?').next().unwrap_or_default();
        let folder = &path[..path.rfind('/').unwrap_or(0)];
        (format!("{scheme}://{host}{folder}/{location}"), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_read_from_where_it_stands() {
        let from = "https://hub.test/org/name/resolve/main/config.json";
        for (location, want, stays) in [
            ("https://cdn.test/x?sig=1", "https://cdn.test/x?sig=1", false),
            ("//cdn.test/x", "https://cdn.test/x", false),
            ("/Org/Name/resolve/main/config.json", "https://hub.test/Org/Name/resolve/main/config.json", true),
            ("other.json", "https://hub.test/org/name/resolve/main/other.json", true),
            ("/x?to=https://cdn.test", "https://hub.test/x?to=https://cdn.test", true),
        ] {
            assert_eq!(joined(from, location), (want.to_owned(), stays), "{location}");
        }
    }

    #[test]
    fn the_token_stays_with_scheme_host_and_port() {
        assert_eq!(origin("https://Hub.test/a"), origin("https://hub.test/b?c"));
        for other in ["http://hub.test/a", "https://hub.test:8443/a", "https://cdn.hub.test/a"] {
            assert_ne!(origin("https://hub.test/a"), origin(other), "{other}");
        }
    }

    #[test]
    fn names_are_escaped_and_signatures_hidden() {
        let client = Client { agent: Agent::new_with_defaults(), endpoint: "http://hub.test".into(), token: None };
        let url = client.file_url("org/name", "refs/pr/1", "a b#1.safetensors");
        assert_eq!(url, "http://hub.test/org/name/resolve/refs%2Fpr%2F1/a%20b%231.safetensors");
        assert_eq!(bare("https://cdn.test/x?signature=secret"), "https://cdn.test/x");
    }
}
