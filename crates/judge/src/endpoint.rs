//! Servers that speak the protocol of OpenAI's chat completions.
//!
//! | file | owns |
//! |---|---|
//! | `http.rs` | one request over a socket: address, key, timeouts, the most bytes of an answer |
//! | `retry.rs` | which answers are worth another try, and after how long |
//! | `limits.rs` | how many requests are open, in how long; the clock |
//! | `client.rs` | one request with its repetitions |
//! | `probe.rs` | what a server really does, found by asking it |
//! | `wire.rs` | the bodies of conversations, sent and read |
//! | `text.rs`, `place.rs` | log-probabilities of a text that is given; which bytes of it each token is |
//! | `scorer.rs` | a server that is asked for nothing else |
//! | `batch.rs` | a server that is asked and answers by files |
//! | `sse.rs` | answers that come as a stream of events |

pub mod batch;
pub mod client;
pub mod http;
pub mod limits;
mod next;
mod place;
pub mod probe;
pub mod retry;
pub mod scorer;
pub mod sse;
pub mod text;
pub mod wire;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    backend::{Abilities, Backend, GivenText, Reply, Request, spec::ServerSettings},
    cost::BYTES_PER_TOKEN,
    failure::{Failure, JudgeError, Kind},
    recorder::prefix_of,
    store::Store,
};
use client::Client;
use http::Http;
use limits::SystemClock;
use probe::Found;
use text::TellsTexts;

/// The path under a base address that answers conversations.
const CHAT: &str = "chat/completions";

/// The path under a base address that continues texts.
const COMPLETIONS: &str = "completions";

/// A model behind a server.
#[derive(Debug)]
pub struct Endpoint {
    client: Client,
    model: String,
    identity: BTreeMap<String, String>,
    found: Found,
}

impl Endpoint {
    /// Asks a server what it does, or reads from `store` what it said before.
    ///
    /// # Errors
    /// [`JudgeError::Server`] if it cannot be reached or answers nothing.
    pub fn open(settings: &ServerSettings, store: &Arc<Store>) -> Result<Endpoint, JudgeError> {
        by_socket(settings, |client| Endpoint::with_client(client, settings, store))
    }

    /// As [`Endpoint::open`], by a client of the caller's.
    ///
    /// # Errors
    /// The server answers nothing.
    pub fn with_client(client: Client, settings: &ServerSettings, store: &Store) -> Result<Endpoint, Failure> {
        let identity = identity_of(settings);
        let prefix = prefix_of(&identity);
        let found = probe::probe(&settings.model, &mut |step, path, body| {
            let ask = || client.exchange(path, body);
            let key = format!("{prefix}probe/{step}");
            // without the first answer there is nothing, whatever else is kept
            if step.starts_with(probe::FIRST) {
                once(store, &key, probe::is_found, ask)
            } else {
                store.get_or_ask(&key, ask)
            }
        })?;
        Ok(Endpoint { client, model: settings.model.clone(), identity, found })
    }

    /// What the server was found to do.
    pub fn found(&self) -> &Found {
        &self.found
    }
}

impl Backend for Endpoint {
    fn identity(&self) -> BTreeMap<String, String> {
        self.identity.clone()
    }

    fn reported(&self) -> BTreeMap<String, String> {
        reported(self.found.summary(), self.found.model.as_ref(), self.found.fingerprint.as_ref())
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            log_probs: self.found.top_log_probs.is_some(),
            text_log_probs: self.found.texts.is_some(),
            forces_prefix: false,
            is_repeatable: self.found.is_repeatable,
        }
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        let body = wire::body(request, &self.model, &self.found);
        let answer = self.client.ask(CHAT, &body, self.tokens(request))?;
        Ok(wire::reply(&answer, &request.wanted))
    }

    fn log_probs(&self, prompt: &str, text: &str) -> Result<GivenText, Failure> {
        let Some(tells) = &self.found.texts else {
            let message = "this server tells no log-probabilities of a text that is given";
            return Err(Failure::new(Kind::Unsupported, message));
        };
        ask_about(&self.client, tells, &self.model, prompt, text, None)
    }

    fn most_output(&self, request: &Request) -> u32 {
        self.found.output_limit(request.max_output)
    }

    fn most_at_once(&self, _writes: bool) -> usize {
        self.client.most_at_once()
    }

    fn stopped(&self) -> Option<Failure> {
        self.client.stopped()
    }
}

/// Asks for the log-probabilities of a text behind a prompt, with those of `tops` more tokens at each place.
fn ask_about(
    client: &Client,
    tells: &TellsTexts,
    model: &str,
    prompt: &str,
    text: &str,
    tops: Option<i32>,
) -> Result<GivenText, Failure> {
    let estimate = ((prompt.len() + text.len()) as f64 / BYTES_PER_TOKEN) as u64;
    let answer = client.ask(COMPLETIONS, &tells.body(model, prompt, text, tops), estimate)?;
    tells.read(&answer, prompt, text, tops)
}

/// An answer to a step of a probe, kept for good if it is one about what was asked. One about who asks, or for what is not there, may be
/// another as soon as the key or the server is, and is read from no file either.
///
/// # Errors
/// Those of `ask`, and [`Kind::NotKept`].
fn once(
    store: &Store,
    key: &str,
    is_kept: fn(&Exchange) -> bool,
    ask: impl FnOnce() -> Result<Exchange, Failure>,
) -> Result<Exchange, Failure> {
    if let Some(known) = store.get::<Exchange>(key).filter(is_kept) {
        return Ok(known);
    }
    let answer = ask()?;
    if is_kept(&answer) {
        store.put(key, &answer)?;
    }
    Ok(answer)
}

/// What is asked over a socket.
///
/// # Errors
/// [`JudgeError::Server`] with what `open` fails of.
fn by_socket<E>(settings: &ServerSettings, open: impl FnOnce(Client) -> Result<E, Failure>) -> Result<E, JudgeError> {
    let http = Http::new(settings);
    let host = http.host().to_owned();
    open(Client::new(Box::new(http), Arc::new(SystemClock), settings.into()))
        .map_err(|failure| JudgeError::Server { host, failure })
}

/// What a server was found to be, for the metadata.
fn reported(summary: String, model: Option<&String>, fingerprint: Option<&String>) -> BTreeMap<String, String> {
    let told = [("server", Some(&summary)), ("model", model), ("system_fingerprint", fingerprint)];
    told.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.clone()))).collect()
}

/// What the replies of a server hang on beside the request.
fn identity_of(settings: &ServerSettings) -> BTreeMap<String, String> {
    [("backend", "openai"), ("base_url", &settings.base_url), ("asked_model", &settings.model)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

impl Endpoint {
    /// The tokens that a request takes about, for the server's limits a minute.
    fn tokens(&self, request: &Request) -> u64 {
        (request.n_bytes() as f64 / BYTES_PER_TOKEN) as u64 + u64::from(self.most_output(request))
    }
}

/// What a server answered to a step of the probe: kept as it came.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Exchange {
    /// The status.
    pub status: u16,
    /// The body as text, cut where an error page is long.
    pub body: String,
}

impl Exchange {
    /// What an error says of itself.
    pub fn reason(&self) -> String {
        client::reason(&self.body)
    }

    /// The body as JSON, of an answer that is no error.
    pub fn json(&self) -> Option<Value> {
        (self.status == 200).then(|| serde_json::from_str(&self.body).ok()).flatten()
    }
}
