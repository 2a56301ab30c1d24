//! A backend whose every reply is in a file before it is used, and which asks for none that is there.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    backend::{Abilities, Backend, GivenText, Message, Probabilities, Reply, Request, Role, Usage},
    cost::{Prices, Purse},
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
        let paid: Vec<(String, Paid)> = store.with_prefix(&prefix_of(&about.identity));
        paid.into_iter().filter_map(|(_, paid)| paid.usage).for_each(|usage| purse.count(usage));
        Ok(Recorder { name: name.to_owned(), about, backend: Some(backend), store, purse })
    }

    /// The study that a store holds, without what answered it: of the backend called `name`, or of the only one.
    ///
    /// # Errors
    /// The store has no such backend, or several and none is named; the message lists those that there are.
    pub fn replay(name: Option<&str>, store: Store, purse: Purse) -> Result<Recorder, JudgeError> {
        let mut known: Vec<(String, About)> = store.with_prefix("@");
        let names = known.iter().map(|(key, _)| format!("`{}`", &key[1..])).collect::<Vec<_>>().join(", ");
        known.retain(|(key, _)| name.is_none_or(|name| key[1..] == *name));
        if known.len() != 1 {
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
        }
        let (key, about) = known.remove(0);
        Ok(Recorder { name: key[1..].to_owned(), about, backend: None, store: Arc::new(store), purse })
    }

    /// What its columns are called after.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prices of its tokens, if they are known.
    pub fn prices(&self) -> Option<&Prices> {
        self.purse.prices()
    }

    fn key(&self, operation: &str, request: &Request) -> String {
        format!("{}{}", prefix_of(&self.about.identity), request.key(operation, &self.about.identity))
    }

    /// What answers a request that no line answers yet; money for it is laid aside until it did.
    fn asking<T>(
        &self,
        request: &Request,
        ask: impl FnOnce(&dyn Backend) -> Result<T, Failure>,
        usage: impl FnOnce(&T) -> Option<Usage>,
    ) -> Result<T, Failure> {
        let Some(backend) = &self.backend else {
            return Err(Failure::new(Kind::NotRecorded, "the file of replies holds none to this request"));
        };
        if let Some(failure) = backend.stopped() {
            return Err(failure);
        }
        let aside = self.purse.lay_aside(request, backend.most_output(request))?;
        let reply = ask(&**backend);
        self.purse.settle(aside, reply.as_ref().ok().map(usage));
        reply
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
        let ask = || self.asking(request, |backend| backend.complete(request), |reply: &Reply| reply.usage);
        self.store.get_or_ask(&self.key("complete", request), ask)
    }

    fn choose(&self, request: &Request, prefix: &str, choices: &[String]) -> Result<Probabilities, Failure> {
        let wanted = Request { wanted: choices.to_vec(), ..request.clone() };
        let key = self.key(&format!("choose behind {prefix}"), &wanted);
        let ask = || {
            self.asking(
                request,
                |backend| backend.choose(request, prefix, choices),
                |choice: &Probabilities| choice.usage,
            )
        };
        self.store.get_or_ask(&key, ask)
    }

    fn log_probs(&self, prompt: &str, text: &str) -> Result<GivenText, Failure> {
        let mut request = Request::of_user(prompt, 0);
        request.messages.push(Message::new(Role::Assistant, text));
        let ask = || self.asking(&request, |backend| backend.log_probs(prompt, text), |given: &GivenText| given.usage);
        self.store.get_or_ask(&self.key("log_probs", &request), ask)
    }

    fn stopped(&self) -> Option<Failure> {
        self.backend.as_ref().and_then(|backend| backend.stopped())
    }
}
