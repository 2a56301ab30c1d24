//! One request over a socket.

use std::{env, fmt, time::Duration};

use ureq::{
    Agent,
    tls::{RootCerts, TlsConfig},
};

use crate::{
    backend::spec::{ServerSettings, is_loopback},
    failure::{Failure, Kind},
};

/// Bytes of an answer at most.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// The same where the probabilities of many tokens are asked for at each place of a text.
const MOST_BYTES_OF_TOPS: u64 = 64 * 1024 * 1024;

/// Until a connection stands.
const CONNECT: Duration = Duration::from_secs(10);

/// An answer with any status.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// What the header `retry-after-ms` says.
    pub retry_after_ms: Option<String>,
    /// What the header `retry-after` says.
    pub retry_after: Option<String>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

/// Something that carries a body to a path of a server, and the answer back.
pub trait Transport: Send + Sync {
    /// Sends a body of JSON.
    ///
    /// # Errors
    /// No whole answer came: [`Kind::Timeout`], [`Kind::Connect`], or [`Kind::TooLong`]. An error status is an answer.
    fn post(&self, path: &str, body: &[u8]) -> Result<Answer, Failure>;
}

/// A key that is sent and never shown.
struct Key(Option<String>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a key" } else { "no key" })
    }
}

/// A server over HTTP, through the proxy that the environment names unless it is this machine.
#[derive(Debug)]
pub struct Http {
    agent: Agent,
    base_url: String,
    key: Key,
    most_bytes: u64,
}

impl Http {
    /// A server at an address; its key is read from the environment now.
    pub fn new(settings: &ServerSettings) -> Http {
        let config = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .user_agent(concat!("veridiff/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .http_status_as_error(false)
            // a redirect would carry diff and key to a host that nobody has named
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections_per_host(settings.concurrency)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(Duration::from_secs_f64(settings.timeout_s)));
        let host = host_of(&settings.base_url);
        let config = if is_loopback(host) { config.proxy(None) } else { config };
        let key = env::var(&settings.api_key_env).ok().filter(|key| !key.is_empty());
        let most_bytes = if settings.top_log_probs.is_some() { MOST_BYTES_OF_TOPS } else { MOST_BYTES };
        Http { agent: config.build().new_agent(), base_url: settings.base_url.clone(), key: Key(key), most_bytes }
    }

    /// Name and port.
    pub fn host(&self) -> &str {
        host_of(&self.base_url)
    }

    /// What a person may read of an error: nothing that repeats the key.
    fn failure(&self, error: &ureq::Error) -> Failure {
        use ureq::Error as E;
        let (kind, what) = match error {
            E::Timeout(which) => (Kind::Timeout, format!("no whole answer in time ({which})")),
            E::BodyExceedsLimit(bytes) => (Kind::TooLong, format!("the answer has more than {bytes} bytes")),
            E::HostNotFound => (Kind::Connect, "the host is not known".to_owned()),
            E::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                (Kind::Timeout, "no whole answer in time".to_owned())
            }
            other => (Kind::Connect, other.to_string()),
        };
        Failure::new(kind, self.without_key(&what))
    }

    fn without_key(&self, text: &str) -> String {
        self.key.0.as_ref().map_or_else(|| text.to_owned(), |key| text.replace(key.as_str(), "[key]"))
    }
}

impl Transport for Http {
    fn post(&self, path: &str, body: &[u8]) -> Result<Answer, Failure> {
        let mut request = self.agent.post(format!("{}/{path}", self.base_url)).content_type("application/json");
        if let Some(key) = &self.key.0 {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut answer = request.send(body).map_err(|error| self.failure(&error))?;
        let header = |name: &str| answer.headers().get(name).and_then(|text| text.to_str().ok()).map(str::to_owned);
        let (retry_after_ms, retry_after) = (header("retry-after-ms"), header("retry-after"));
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(self.most_bytes).read_to_vec();
        let body = body.map_err(|error| self.failure(&error))?;
        // an error page may quote the request's headers
        let body = match &self.key.0 {
            Some(key) if contains(&body, key.as_bytes()) => {
                self.without_key(&String::from_utf8_lossy(&body)).into_bytes()
            }
            _ => body,
        };
        Ok(Answer { status, retry_after_ms, retry_after, body })
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn host_of(base_url: &str) -> &str {
    base_url.split_once("://").map_or(base_url, |(_, rest)| rest).split('/').next().unwrap_or_default()
}
