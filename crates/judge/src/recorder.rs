//! A backend whose every reply is in a file before it is used, and which asks for none that is there.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    backend::{Abilities, Backend, GivenText, Message, Probabilities, Reply, Request, Role, Usage},
    cost::{BYTES_PER_TOKEN, Prices, Purse},
    failure::{Failure, JudgeError, Kind},
    store::Store,
};

/// What a file of replies says about a backend, so that a study can be replayed without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct About {
    identity: BTreeMap<String, String>,
    reported: BTreeMap<String, String>,
    abilities: Abilities,
}

/// The part of a reply that is paid for.
#[derive(Debug, Deserialize)]
struct Paid {
    usage: Option<Usage>,
}

/// A backend under a name, and its replies.
pub struct Recorder {
    name: String,
    about: About,
    /// None where a finished study is replayed.
    backend: Option<Box<dyn Backend>>,
    store: Arc<Store>,
    purse: Purse,
    counts: Mutex<BTreeMap<String, Counts>>,
}

/// What became of the requests of one step in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Requests that were made.
    pub calls: u64,
    /// Replies that were there already.
    pub cached: u64,
    /// Requests that were made because an answer could not be read.
    pub retries: u64,
    /// Requests without a reply.
    pub failed: u64,
    /// Tokens read: as replies say, or about so many where they do not.
    pub prompt_tokens: u64,
    /// Those of them that the server had read before.
    pub cached_tokens: u64,
    /// Tokens written, likewise.
    pub completion_tokens: u64,
    /// Replies that were made and do not say how many tokens they took, so that these are estimated from bytes.
    pub untold: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.calls += other.calls;
        self.cached += other.cached;
        self.retries += other.retries;
        self.failed += other.failed;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
        self.untold += other.untold;
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("name", &self.name).field("about", &self.about).finish_non_exhaustive()
    }
}

/// The beginning of the keys of a backend's lines.
pub fn prefix_of(identity: &BTreeMap<String, String>) -> String {
    let bytes = serde_json::to_vec(identity).expect("strings have a JSON form");
    format!("{}/", &format!("{:x}", Sha256::digest(bytes))[..16])
}

/// The mean of the seconds that replies of the backend called `name` were waited for, those of attempts that could not be read among them;
/// none if the store has none that says so. Replies that were waited for at once have the whole of the time each.
pub fn mean_seconds(store: &Store, name: &str) -> Option<f64> {
    let about: About = store.get(&format!("@{name}"))?;
    store.mean_seconds(&prefix_of(&about.identity))
}

impl Recorder {
    /// A backend called `name`, whose replies go into `store`. What an earlier run has paid counts against the purse's bound.
    ///
    /// # Errors
    /// The store takes nothing.
    pub fn new(name: &str, backend: Box<dyn Backend>, store: Arc<Store>, purse: Purse) -> Result<Recorder, JudgeError> {
        let about =
            About { identity: backend.identity(), reported: backend.reported(), abilities: backend.abilities() };
        let key = format!("@{name}");
        if store.get::<About>(&key).as_ref() != Some(&about) {
            store.put(&key, &about).map_err(|failure| {
                JudgeError::settings(
                    failure.to_string(),
                    "make room for the file of replies, or name another by --replies",
                )
            })?;
        }
        if purse.prices().is_some() {
            let prefix = prefix_of(&about.identity);
            store
                .each_with_prefix(&prefix, |_, paid: Paid| paid.usage.into_iter().for_each(|usage| purse.count(usage)));
        }
        let counts = Mutex::default();
        Ok(Recorder { name: name.to_owned(), about, backend: Some(backend), store, purse, counts })
    }

    /// The study that a store holds, without what answered it: of the backend called `name`, or of the only one.
    ///
    /// # Errors
    /// The store has no such backend, or several and none is named; the message lists those that there are.
    pub fn replay(name: Option<&str>, store: Store, purse: Purse) -> Result<Recorder, JudgeError> {
        let mut known: BTreeMap<String, About> = BTreeMap::new();
        store.each_with_prefix("@", |key, about| drop(known.insert(key[1..].to_owned(), about)));
        let names = known.keys().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        known.retain(|known, _| name.is_none_or(|name| known == name));
        let Some((name, about)) = known.pop_first().filter(|_| known.is_empty()) else {
            let problem = match name {
                Some(name) => format!("the file of replies has none of a backend called `{name}`"),
                None => "the file of replies does not have those of one backend".to_owned(),
            };
            let hint = if names.is_empty() {
                "name the file of replies of an earlier `judge`, TABLE.replies.jsonl".to_owned()
            } else {
                format!("write NAME=replay:FILE with one of {names}")
            };
            return Err(JudgeError::settings(problem, hint));
        };
        Ok(Recorder { name, about, backend: None, store: Arc::new(store), purse, counts: Mutex::default() })
    }

    /// The same, of which at most so many requests are made from now on.
    pub fn with_most_calls(self, most: Option<u64>) -> Recorder {
        Recorder { purse: self.purse.with_most_calls(most), ..self }
    }

    /// What its columns are called after.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prices of its tokens, if they are known.
    pub fn prices(&self) -> Option<&Prices> {
        self.purse.prices()
    }

    /// What became of the requests of this run, by their steps.
    pub fn counts(&self) -> BTreeMap<String, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is kept under a key or else asked for, and counted.
    fn counted<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        key: &str,
        request: &Request,
        ask: impl FnOnce(&dyn Backend) -> Result<T, Failure>,
        usage: impl Fn(&T) -> Option<Usage>,
        n_written: impl Fn(&T) -> usize,
    ) -> Result<T, Failure> {
        let mut one = Counts { cached: 1, ..Counts::default() };
        let reply = self.store.get_or_ask(key, || {
            let (reply, is_made) = self.asking(request, ask, &usage);
            let told = reply.as_ref().ok().and_then(&usage);
            let about = |n_bytes: usize| (n_bytes as f64 / BYTES_PER_TOKEN).ceil() as u64;
            let used = reply.as_ref().ok().map(|reply| {
                let estimated =
                    || Usage { input: about(request.n_bytes()), output: about(n_written(reply)), ..Usage::default() };
                told.unwrap_or_else(estimated)
            });
            one = Counts {
                calls: u64::from(is_made),
                retries: u64::from(is_made && request.attempt > 0),
                failed: u64::from(reply.is_err()),
                prompt_tokens: used.map_or(0, |used| used.input),
                cached_tokens: used.map_or(0, |used| used.cached_input),
                completion_tokens: used.map_or(0, |used| used.output),
                untold: u64::from(reply.is_ok() && told.is_none()),
                cached: 0,
            };
            reply
        });
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(request.step.clone()).or_default() += one;
        reply
    }

    fn key(&self, operation: &str, request: &Request) -> String {
        format!("{}{}", prefix_of(&self.about.identity), request.key(operation, &self.about.identity))
    }

    /// What answers a request that no line answers yet, and whether it was asked at all; money for it is laid aside until it did.
    fn asking<T>(
        &self,
        request: &Request,
        ask: impl FnOnce(&dyn Backend) -> Result<T, Failure>,
        usage: impl FnOnce(&T) -> Option<Usage>,
    ) -> (Result<T, Failure>, bool) {
        let Some(backend) = &self.backend else {
            return (Err(Failure::new(Kind::NotRecorded, "the file of replies holds none to this request")), false);
        };
        if let Some(failure) = backend.stopped() {
            return (Err(failure), false);
        }
        let aside = match self.purse.lay_aside(request, backend.most_output(request)) {
            Ok(aside) => aside,
            Err(failure) => return (Err(failure), false),
        };
        let reply = ask(&**backend);
        self.purse.settle(aside, reply.as_ref().ok().map(usage));
        (reply, true)
    }

    /// Whether a request has its reply already.
    pub fn has(&self, request: &Request) -> bool {
        self.store.get::<Reply>(&self.key("complete", request)).is_some()
    }

    /// How many attempts that begin with this request ended without a verdict in runs that are over.
    pub fn n_given_up(&self, first: &Request) -> u32 {
        self.store.get(&self.key("given_up", first)).unwrap_or(0)
    }

    /// Remembers that so many attempts ended without a verdict: a resumed run then asks anew. A replay keeps no such thing.
    pub fn give_up(&self, first: &Request, n_attempts: u32) -> Result<(), Failure> {
        if self.backend.is_some() { self.store.put(&self.key("given_up", first), &n_attempts) } else { Ok(()) }
    }
}

impl Backend for Recorder {
    fn identity(&self) -> BTreeMap<String, String> {
        self.about.identity.clone()
    }

    fn reported(&self) -> BTreeMap<String, String> {
        self.about.reported.clone()
    }

    fn abilities(&self) -> Abilities {
        self.about.abilities
    }

    fn complete(&self, request: &Request) -> Result<Reply, Failure> {
        let key = self.key("complete", request);
        self.counted(
            &key,
            request,
            |backend| backend.complete(request),
            |reply: &Reply| reply.usage,
            |reply| reply.content.len(),
        )
    }

    fn choose(&self, request: &Request, prefix: &str, choices: &[String]) -> Result<Probabilities, Failure> {
        let wanted = Request { wanted: choices.to_vec(), ..request.clone() };
        let key = self.key(&format!("choose behind {prefix}"), &wanted);
        let ask = |backend: &dyn Backend| backend.choose(request, prefix, choices);
        self.counted(&key, request, ask, |choice: &Probabilities| choice.usage, |_| 1)
    }

    fn log_probs(&self, prompt: &str, text: &str) -> Result<GivenText, Failure> {
        let mut request = Request::of_user(prompt, 0);
        request.messages.push(Message::new(Role::Assistant, text));
        let key = self.key("log_probs", &request);
        self.counted(&key, &request, |backend| backend.log_probs(prompt, text), |given: &GivenText| given.usage, |_| 0)
    }

    fn most_at_once(&self, writes: bool) -> usize {
        self.backend.as_ref().map_or(1, |backend| backend.most_at_once(writes))
    }

    fn stopped(&self) -> Option<Failure> {
        self.backend.as_ref().and_then(|backend| backend.stopped())
    }
}
