//! A server that is asked for the log-probabilities of given texts, and for nothing else: it need not answer conversations.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    COMPLETIONS, Exchange, ask_about, by_socket,
    client::Client,
    identity_of, once, reported,
    text::{TellsTexts, probe},
};
use crate::{
    backend::{Abilities, Backend, GivenText, Reply, Request, spec::ServerSettings},
    failure::{Failure, JudgeError, Kind},
    recorder::prefix_of,
    store::Store,
};

/// A model behind a server that tells log-probabilities of texts.
#[derive(Debug)]
pub struct TextEndpoint {
    client: Client,
    model: String,
    tops: Option<i32>,
    identity: BTreeMap<String, String>,
    tells: TellsTexts,
}

impl TextEndpoint {
    /// Asks a server how it tells log-probabilities of texts, or reads from `store` what it said before.
    ///
    /// # Errors
    /// [`JudgeError::Server`] if it cannot be reached or tells none.
    pub fn open(settings: &ServerSettings, store: &Arc<Store>) -> Result<TextEndpoint, JudgeError> {
        by_socket(settings, |client| TextEndpoint::with_client(client, settings, store))
    }

    /// As [`TextEndpoint::open`], by a client of the caller's.
    ///
    /// # Errors
    /// The server tells none.
    pub fn with_client(client: Client, settings: &ServerSettings, store: &Store) -> Result<TextEndpoint, Failure> {
        let tops = settings.top_log_probs;
        let mut identity = identity_of(settings);
        identity.extend(tops.map(|n| ("top_log_probs".to_owned(), n.to_string())));
        let prefix = prefix_of(&identity);
        let tells = probe(&settings.model, tops, &mut |step, body| {
            let is_about_request = |answer: &Exchange| !matches!(answer.status, 401 | 403 | 404);
            once(store, &format!("{prefix}probe/{step}"), is_about_request, || client.exchange(COMPLETIONS, body))
        })?;
        Ok(TextEndpoint { client, model: settings.model.clone(), tops, identity, tells })
    }
}

impl Backend for TextEndpoint {
    fn identity(&self) -> BTreeMap<String, String> {
        self.identity.clone()
    }

    fn reported(&self) -> BTreeMap<String, String> {
        reported(self.tells.summary(), self.tells.model.as_ref(), self.tells.fingerprint.as_ref())
    }

    fn abilities(&self) -> Abilities {
        let is_repeatable = Some(self.tells.is_repeatable);
        Abilities { log_probs: false, text_log_probs: true, forces_prefix: false, is_repeatable }
    }

    fn complete(&self, _request: &Request) -> Result<Reply, Failure> {
        Err(Failure::new(Kind::Unsupported, "this server is asked for log-probabilities of texts alone"))
    }

    fn log_probs(&self, prompt: &str, text: &str) -> Result<GivenText, Failure> {
        ask_about(&self.client, &self.tells, &self.model, prompt, text, self.tops)
    }

    fn most_at_once(&self, _writes: bool) -> usize {
        self.client.most_at_once()
    }

    fn most_output(&self, _request: &Request) -> u32 {
        1
    }

    fn stopped(&self) -> Option<Failure> {
        self.client.stopped()
    }
}
