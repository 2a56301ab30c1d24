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
struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
}

/// Bytes of a key that no text holds by chance. Servers on one's own machine take any word for a key.
const LEAST_OF_KEY: usize = 16;

impl Key {
    /// As [`Key::hidden_in`], in an answer with this status: a word that is a key may well stand in what a model writes, where it is left,
    /// and an error page that quotes what was asked is another matter.
    fn hidden_in_answer(&self, status: u16, bytes: Vec<u8>) -> Vec<u8> {
        if status == 200 && self.0.len() < LEAST_OF_KEY { bytes } else { self.hidden_in(bytes) }
    }

    /// Bytes with `[key]` wherever they hold the key, as it is or with signs escaped as in JSON or an address: whoever reads them
    /// unescapes it.
    fn hidden_in(&self, bytes: Vec<u8>) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::new(), &bytes[..]);
        while let Some((place, n)) = (0..rest.len()).find_map(|place| Some((place, self.n_spelt(&rest[place..])?))) {
            out.extend(&rest[..place]);
            out.extend(b"[key]");
            rest = &rest[place + n..];
        }
        if out.is_empty() {
            return bytes;
        }
        out.extend(rest);
        out
    }

    /// How many bytes at the beginning of a text spell the key, if they do.
    fn n_spelt(&self, text: &[u8]) -> Option<usize> {
        self.0.bytes().try_fold(0, |n, byte| Some(n + n_of_byte(&text[n..], byte)?))
    }
}

/// Backslashes that may stand before an escaped sign: JSON as a string of JSON has more than one.
const MOST_BACKSLASHES: usize = 8;

/// How many bytes at the beginning of a text spell a byte of the key, if they do.
fn n_of_byte(text: &[u8], byte: u8) -> Option<usize> {
    let is_hex = |digits: [u8; 2]| digits.eq_ignore_ascii_case(format!("{byte:02x}").as_bytes());
    let n_before = text.iter().take(MOST_BACKSLASHES).take_while(|byte| **byte == b'\\').count();
    let n = match text[n_before..] {
        _ if byte == b'\\' && n_before > 0 => 0,
        [b'u', b'0', b'0', a, b, ..] if n_before > 0 && is_hex([a, b]) => 5,
        [b'%', a, b, ..] if n_before == 0 && is_hex([a, b]) => 3,
        [sign, ..] if sign == byte && (n_before == 0 || !byte.is_ascii_alphanumeric()) => 1,
        _ => return None,
    };
    Some(n_before + n)
}

/// A server over HTTP, through the proxy that the environment names unless it is this machine.
#[derive(Debug)]
pub struct Http {
    agent: Agent,
    base_url: String,
    key: Option<Key>,
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
        Http { agent: config.build().new_agent(), base_url: settings.base_url.clone(), key: key.map(Key), most_bytes }
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
        Failure::new(kind, String::from_utf8_lossy(&self.without_key(what.into_bytes())))
    }

    fn without_key(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.key {
            Some(key) => key.hidden_in(bytes),
            None => bytes,
        }
    }
}

impl Transport for Http {
    fn post(&self, path: &str, body: &[u8]) -> Result<Answer, Failure> {
        let mut request = self.agent.post(format!("{}/{path}", self.base_url)).content_type("application/json");
        if let Some(Key(key)) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut answer = request.send(body).map_err(|error| self.failure(&error))?;
        let header = |name: &str| answer.headers().get(name).and_then(|text| text.to_str().ok()).map(str::to_owned);
        let (retry_after_ms, retry_after) = (header("retry-after-ms"), header("retry-after"));
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(self.most_bytes).read_to_vec();
        // an error page may quote the request's headers
        let body = body.map_err(|error| self.failure(&error))?;
        let body = match &self.key {
            Some(key) => key.hidden_in_answer(status, body),
            None => body,
        };
        Ok(Answer { status, retry_after_ms, retry_after, body })
    }
}

fn host_of(base_url: &str) -> &str {
    base_url.split_once("://").map_or(base_url, |(_, rest)| rest).split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hidden_however_it_is_spelt() {
        let key = Key("sk-a/b+c=\"".to_owned());
        for (said, hidden) in [
            ("sk-a/b+c=\"", "[key]"),
            (r#"bad key sk-a\/b\u002Bc=\", sk-a/b\u002bc\u003d\u0022!"#, "bad key [key], [key]!"),
            (r"\u0073\u006b-a\/b+c%3D%22 of two: sk-sk-a/b+c=%22", "[key] of two: sk-[key]"),
            (r#"{\"error\": \"sk-a\\/b\\u002bc=\\\"\"}"#, r#"{\"error\": \"[key]\"}"#),
            ("sk-a/b+c= and sk-a", "sk-a/b+c= and sk-a"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8(key.hidden_in(said.into())).unwrap(), hidden, "{said}");
        }
        assert_eq!(key.hidden_in(b"\xff sk-a/b+c=\" \xfe".to_vec()), b"\xff [key] \xfe", "all else stays as it is");
        assert_eq!(format!("{key:?}"), "a key");

        let (word, long) = (Key("none".to_owned()), Key("none-of-your-business".to_owned()));
        let of =
            |key: &Key, status: u16, said: &str| String::from_utf8(key.hidden_in_answer(status, said.into())).unwrap();
        let answer = r#"{"kind": "none", "quote": "none-of-your-business"}"#;
        assert_eq!(of(&word, 200, answer), answer, "a word that is a key is a word");
        assert_eq!(of(&word, 401, "no such key: none"), "no such key: [key]");
        assert_eq!(of(&long, 200, answer), r#"{"kind": "none", "quote": "[key]"}"#);
    }
}
