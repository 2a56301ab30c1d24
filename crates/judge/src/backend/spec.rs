//! How a person names a backend.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;

use super::scripted::Scripted;
#[cfg(feature = "endpoint")]
use super::{Backend, Reply};
use crate::{
    batch::{BatchAnswers, BatchRequests},
    cost::{Prices, Purse},
    failure::JudgeError,
    recorder::Recorder,
    store::Store,
};
use veridiff_core::run::models::ModelOptions;

/// The environment variable that a key is read from unless another is named.
const DEFAULT_KEY_ENV: &str = "OPENAI_API_KEY";

/// A backend as it is named: `[NAME=]local:MODEL`, `[NAME=]openai:URL#MODEL`, `[NAME=]scripted:FILE`, `[NAME=]replay:FILE`, or a
/// `.toml` file.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What its columns are called after; where absent, after what answers.
    pub name: Option<String>,
    /// What answers.
    pub kind: SpecKind,
    /// What a token costs, if it is known.
    pub price: Option<Prices>,
}

/// What answers.
#[derive(Debug, Clone, PartialEq)]
pub enum SpecKind {
    /// Replies written down in a file.
    Scripted(PathBuf),
    /// A finished study.
    Replay(PathBuf),
    /// A model on this machine, named as everywhere.
    Local(String),
    /// A server.
    OpenAi(ServerSettings),
}

/// Where a server is, and how it may be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    /// The address before `/chat/completions`, without a slash at its end.
    pub base_url: String,
    /// The model's name, as the server knows it.
    pub model: String,
    /// The environment variable that holds the key; without one in the environment none is sent.
    pub api_key_env: String,
    /// Most requests that are open at once, at least 1.
    pub concurrency: usize,
    /// Most requests in a minute.
    pub rpm: Option<u32>,
    /// Most tokens in a minute.
    pub tpm: Option<u64>,
    /// Seconds that a request may take.
    pub timeout_s: f64,
    /// How many tokens beside its own are asked for at each place of a text that is scored, -1 for all; none where only those of the
    /// text are wanted. Nothing else hangs on it.
    pub top_log_probs: Option<i32>,
}

impl ServerSettings {
    /// Whether it is on this machine, so that asking it opens no way out.
    pub fn is_here(&self) -> bool {
        let host = self.base_url.split_once("://").map_or(self.base_url.as_str(), |(_, rest)| rest);
        is_loopback(host.split('/').next().unwrap_or_default())
    }
}

/// A `.toml` file that names a backend.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    backend: String,
    api_key_env: Option<String>,
    concurrency: Option<usize>,
    rpm: Option<u32>,
    tpm: Option<u64>,
    timeout_s: Option<f64>,
    top_logprobs: Option<i32>,
    price: Option<Prices>,
}

/// The keys of such a file, for hints.
const KEYS: &str = "backend = \"openai:URL#MODEL\" and, as wanted, name, api_key_env, concurrency, rpm, tpm, timeout_s, \
                    top_logprobs, price = { input, cached_input, output, per, currency }";

impl Spec {
    /// Understands a name, and reads the file if it is one.
    ///
    /// # Errors
    /// [`JudgeError::Spec`]; the file cannot be read or understood.
    pub fn parse(spec: &str) -> Result<Spec, JudgeError> {
        let (name, rest) = split_name(spec);
        let name = name.map(str::to_owned);
        let path = Path::new(rest);
        if !rest.contains("://") && path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
            return Spec::read(path, name);
        }
        Ok(Spec { name, kind: kind_of(rest)?, price: None })
    }

    fn read(path: &Path, name: Option<String>) -> Result<Spec, JudgeError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| JudgeError::Read { path: path.to_owned(), source })?;
        let unusable = |problem: String| JudgeError::File { path: path.to_owned(), problem, hint: KEYS.to_owned() };
        let file: File = toml::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        let name = name.or(file.name);
        if let Some(bad) = name.as_deref().filter(|name| !is_name(name)) {
            return Err(unusable(format!("the name `{bad}` has other signs than letters, digits, `.`, `_` and `-`")));
        }
        // a file's own files lie beside it
        let mut kind = kind_of(&file.backend)?;
        match &mut kind {
            SpecKind::Scripted(file) | SpecKind::Replay(file) => {
                *file = path.parent().unwrap_or(Path::new("")).join(&*file);
            }
            SpecKind::Local(_) => {
                let of_servers = [
                    ("api_key_env", file.api_key_env.is_some()),
                    ("concurrency", file.concurrency.is_some()),
                    ("rpm", file.rpm.is_some()),
                    ("tpm", file.tpm.is_some()),
                    ("timeout_s", file.timeout_s.is_some()),
                    ("top_logprobs", file.top_logprobs.is_some()),
                ];
                if let Some((key, _)) = of_servers.iter().find(|(_, given)| *given) {
                    return Err(JudgeError::File {
                        path: path.to_owned(),
                        problem: format!("`{key}` is for a server, and this is a model on this machine"),
                        hint: "leave it out; `--concurrency` says how many requests a model here gets at once"
                            .to_owned(),
                    });
                }
            }
            SpecKind::OpenAi(server) => {
                server.api_key_env = file.api_key_env.unwrap_or(server.api_key_env.clone());
                server.concurrency = file.concurrency.unwrap_or(server.concurrency);
                server.timeout_s = file.timeout_s.unwrap_or(server.timeout_s);
                (server.rpm, server.tpm, server.top_log_probs) = (file.rpm, file.tpm, file.top_logprobs);
                server.check().map_err(unusable)?;
            }
        }
        Ok(Spec { name, kind, price: file.price })
    }

    /// Opens a server whose requests go into a batch file: `requests` gets them, and none is answered.
    ///
    /// # Errors
    /// As [`Spec::open`]; it is no server.
    pub fn open_batch_out(&self, store: &Arc<Store>, requests: &Arc<BatchRequests>) -> Result<Recorder, JudgeError> {
        #[cfg(feature = "endpoint")]
        {
            use crate::endpoint::batch::{Batch, BatchEndpoint};
            let endpoint = BatchEndpoint::new(self.endpoint(store)?, Batch::Out(requests.clone()));
            let purse = Purse::new(self.price.clone(), None)?;
            Recorder::new(&self.column_name(), Box::new(endpoint), store.clone(), purse)
        }
        #[cfg(not(feature = "endpoint"))]
        {
            let _ = (store, requests);
            Err(without_servers())
        }
    }

    /// Opens a server that a batch has answered for it; answers go into `store` when their requests are made.
    ///
    /// # Errors
    /// As [`Spec::open`]; it is no server.
    pub fn open_batch_in(&self, store: &Arc<Store>, answers: &Arc<BatchAnswers>) -> Result<Recorder, JudgeError> {
        #[cfg(feature = "endpoint")]
        {
            use crate::endpoint::batch::{Batch, BatchEndpoint};
            let endpoint = BatchEndpoint::new(self.endpoint(store)?, Batch::In(answers.clone()));
            let prefix = crate::recorder::prefix_of(&endpoint.identity());
            let kept: Vec<&str> =
                answers.ids().filter(|id| store.get::<Reply>(&format!("{prefix}{id}")).is_some()).collect();
            kept.into_iter().for_each(|id| answers.was_kept(id));
            let purse = Purse::new(self.price.clone(), None)?;
            Recorder::new(&self.column_name(), Box::new(endpoint), store.clone(), purse)
        }
        #[cfg(not(feature = "endpoint"))]
        {
            let _ = (store, answers);
            Err(without_servers())
        }
    }

    /// The server that it names, asked what it does.
    #[cfg(feature = "endpoint")]
    fn endpoint(&self, store: &Arc<Store>) -> Result<crate::endpoint::Endpoint, JudgeError> {
        match &self.kind {
            SpecKind::OpenAi(server) => crate::endpoint::Endpoint::open(server, store),
            _ => Err(JudgeError::settings(
                format!("`{}` is no server, and batches are a server's", self.column_name()),
                "name one as openai:URL#MODEL",
            )),
        }
    }

    /// Whether a name of a model means one behind a server, or the replies of one: what is no model on this machine.
    pub fn is_remote(model: &str) -> bool {
        let (_, rest) = split_name(model);
        let says_backend = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("backend"))
        };
        rest.starts_with("openai:")
            || rest.starts_with("replay:")
            || (rest.ends_with(".toml") && says_backend(Path::new(rest)))
    }

    /// Opens it for the log-probabilities of given texts alone, which a server may tell that answers no conversations. Replies go into
    /// `store`.
    ///
    /// # Errors
    /// A file cannot be used, a server cannot be reached or tells none; it is no server.
    pub fn open_for_texts(&self, store: &Arc<Store>) -> Result<Recorder, JudgeError> {
        let purse = Purse::new(self.price.clone(), None)?;
        match &self.kind {
            SpecKind::Replay(file) => Recorder::replay(self.name.as_deref(), Store::read(file)?, purse),
            #[cfg(feature = "endpoint")]
            SpecKind::OpenAi(server) => {
                let endpoint = crate::endpoint::scorer::TextEndpoint::open(server, store)?;
                Recorder::new(&self.column_name(), Box::new(endpoint), store.clone(), purse)
            }
            #[cfg(not(feature = "endpoint"))]
            SpecKind::OpenAi(_) => Err(without_servers()),
            SpecKind::Local(_) | SpecKind::Scripted(_) => Err(JudgeError::settings(
                format!("`{}` is no server", self.column_name()),
                "name a model on this machine without local:, and a server as openai:URL#MODEL",
            )),
        }
    }

    /// What its columns are called after.
    pub fn column_name(&self) -> String {
        let own = match &self.kind {
            SpecKind::Scripted(_) => "scripted".to_owned(),
            SpecKind::Replay(_) => "replay".to_owned(),
            SpecKind::Local(model) => {
                let last = model.trim_end_matches('/').rsplit('/').next().unwrap_or(model);
                last.trim_end_matches(".gguf").to_owned()
            }
            SpecKind::OpenAi(server) => server.model.rsplit('/').next().unwrap_or(&server.model).to_owned(),
        };
        let plain = |c: char| if is_plain(c) { c } else { '-' };
        self.name.clone().unwrap_or_else(|| own.chars().map(plain).collect())
    }

    /// Opens it. Replies go into `store`, where those of an earlier run may be; a server is asked what it does, unless the store has
    /// that already; a model on this machine is loaded as `models` says.
    ///
    /// # Errors
    /// A file cannot be used, a server cannot be reached or does not do what is needed.
    pub fn open(
        &self,
        store: &Arc<Store>,
        max_cost: Option<f64>,
        models: &ModelOptions,
    ) -> Result<Recorder, JudgeError> {
        let purse = Purse::new(self.price.clone(), max_cost)?;
        #[cfg(not(feature = "local"))]
        let _ = models;
        match &self.kind {
            SpecKind::Replay(file) => Recorder::replay(self.name.as_deref(), Store::read(file)?, purse),
            SpecKind::Scripted(file) => {
                Recorder::new(&self.column_name(), Box::new(Scripted::read(file)?), store.clone(), purse)
            }
            #[cfg(feature = "local")]
            SpecKind::Local(model) => {
                let local = crate::local::Local::open(model, models)?;
                Recorder::new(&self.column_name(), Box::new(local), store.clone(), purse)
            }
            #[cfg(not(feature = "local"))]
            SpecKind::Local(_) => Err(JudgeError::settings(
                "this build loads no model to judge with",
                "build with the feature `local`, or judge from a file: scripted:FILE, replay:FILE",
            )),
            #[cfg(feature = "endpoint")]
            SpecKind::OpenAi(server) => {
                let endpoint = crate::endpoint::Endpoint::open(server, store)?;
                Recorder::new(&self.column_name(), Box::new(endpoint), store.clone(), purse)
            }
            #[cfg(not(feature = "endpoint"))]
            SpecKind::OpenAi(_) => Err(without_servers()),
        }
    }
}

#[cfg(not(feature = "endpoint"))]
fn without_servers() -> JudgeError {
    JudgeError::settings(
        "this build asks no servers",
        "build with the feature `endpoint`, or take replies from a file: scripted:FILE, replay:FILE",
    )
}

impl ServerSettings {
    /// Whether anything could be asked.
    ///
    /// # Errors
    /// Which number is none to work with.
    pub fn check(&self) -> Result<(), String> {
        match self {
            s if s.concurrency == 0 => Err("concurrency is 0, so nothing would be asked".to_owned()),
            s if s.rpm == Some(0) || s.tpm == Some(0) => Err("rpm or tpm is 0, so nothing would be asked".to_owned()),
            s if !(s.timeout_s > 0.0 && s.timeout_s <= 86_400.0) => {
                Err(format!("timeout_s is {}, which is not between 0 and a day", s.timeout_s))
            }
            s if s.top_log_probs.is_some_and(|n| n < -1 || n == 0) => {
                Err("top_logprobs is neither a number from 1 on nor -1, which is all".to_owned())
            }
            _ => Ok(()),
        }
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// `NAME=REST` into its parts.
fn split_name(spec: &str) -> (Option<&str>, &str) {
    match spec.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, spec),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain)
}

fn kind_of(spec: &str) -> Result<SpecKind, JudgeError> {
    let bad = |problem: &str| JudgeError::Spec { spec: shown(spec), problem: problem.to_owned() };
    match spec.split_once(':') {
        Some(("scripted", file)) if !file.is_empty() => Ok(SpecKind::Scripted(file.into())),
        Some(("replay", file)) if !file.is_empty() => Ok(SpecKind::Replay(file.into())),
        Some(("openai", address)) => server_of(address).map(SpecKind::OpenAi).map_err(|problem| bad(&problem)),
        Some(("local", model)) if !model.is_empty() => Ok(SpecKind::Local(model.to_owned())),
        _ if spec.ends_with(".toml") => Err(bad("there is no such file")),
        _ => Err(bad("it does not begin with the kind of one")),
    }
}

/// A name without what may be a secret in it: what stands before a host, or in a query.
fn shown(spec: &str) -> String {
    let is_secret = spec.contains("://") && (spec.contains('@') || spec.contains('?'));
    if is_secret { "openai:…".to_owned() } else { spec.to_owned() }
}

fn server_of(address: &str) -> Result<ServerSettings, String> {
    let (url, model) = address.rsplit_once('#').ok_or("`#MODEL` is missing behind the address")?;
    if model.is_empty() {
        return Err("the model has no name".to_owned());
    }
    let (scheme, rest) = url.split_once("://").ok_or("the address does not begin with https://")?;
    if rest.contains(['@', '?']) {
        return Err("keys are read from the environment only; leave user, password and query out".to_owned());
    }
    let host = rest.split('/').next().unwrap_or_default();
    match scheme {
        _ if host.is_empty() => Err("the address has no host".to_owned()),
        "https" => Ok(()),
        "http" if is_loopback(host) => Ok(()),
        "http" => Err("diffs go to other machines by https only".to_owned()),
        _ => Err(format!("`{scheme}` is not https")),
    }?;
    Ok(ServerSettings {
        base_url: url.trim_end_matches('/').to_owned(),
        model: model.to_owned(),
        api_key_env: DEFAULT_KEY_ENV.to_owned(),
        concurrency: 8,
        rpm: None,
        tpm: None,
        timeout_s: 120.0,
        top_log_probs: None,
    })
}

/// Whether a host, perhaps with a port, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        let spec = Spec::parse("mine=openai:https://host/v1/#org/model:8b").unwrap();
        let SpecKind::OpenAi(server) = &spec.kind else { panic!("{spec:?}") };
        assert!(!server.is_here());
        assert_eq!((&*server.base_url, &*server.model), ("https://host/v1", "org/model:8b"));
        assert_eq!(spec.column_name(), "mine");
        assert_eq!(Spec::parse("openai:http://127.0.0.1:80/v1#org/m@el:8b").unwrap().column_name(), "m-el-8b");
        assert_eq!(Spec::parse("local:models/tiny.gguf").unwrap().column_name(), "tiny");
        assert_eq!(Spec::parse("scripted:a=b").unwrap().kind, SpecKind::Scripted("a=b".into()));
    }

    #[test]
    fn what_is_no_backend_says_why() {
        for (spec, says) in [
            ("gpt", "does not begin"),
            ("openai:https://host/v1", "#MODEL"),
            ("openai:http://host/v1#m", "https only"),
            ("openai:http://127.0.0.1.evil.org/v1#m", "https only"),
            ("openai:https://#m", "no host"),
            ("local:", "does not begin"),
            ("none.toml", "no such file"),
        ] {
            let error = Spec::parse(spec).unwrap_err();
            assert!(error.to_string().contains(says), "{spec}: {error}");
            assert!(error.hint().is_some());
        }
        for secret in ["openai:https://me:s3cret@host/v1#m", "openai:https://host/v1?key=s3cret#m"] {
            let error = format!("{:?}", Spec::parse(secret).unwrap_err());
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_server_is_no_model_on_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let server = file("server.toml", "backend = \"openai:https://host/v1#m\"\ntop_logprobs = -1\n");
        let card = file("card.toml", "id = \"m\"\n");
        for (model, is_remote) in [
            ("openai:https://host/v1#m", true),
            ("big=openai:https://host/v1#m", true),
            ("replay:t.parquet.replies.jsonl", true),
            (&*server, true),
            (&*format!("big={server}"), true),
            (&*card, false),
            ("none.toml", false),
            ("smollm2-135m", false),
            ("big=org/openai", false),
        ] {
            assert_eq!(Spec::is_remote(model), is_remote, "{model}");
        }
        let SpecKind::OpenAi(settings) = Spec::parse(&server).unwrap().kind else { panic!("a server") };
        assert_eq!(settings.top_log_probs, Some(-1));
        for n in [0, -2] {
            assert!(ServerSettings { top_log_probs: Some(n), ..settings.clone() }.check().is_err());
        }
        let error = Spec::parse("local:m").unwrap().open_for_texts(&Arc::new(Store::in_memory())).unwrap_err();
        assert!(error.hint().unwrap().contains("local:"));
    }

    #[test]
    fn a_file_names_one_with_its_settings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judge.toml");
        let text =
            "name = \"big\"\nbackend = \"openai:https://host/v1#m\"\nrpm = 60\nprice = { input = 2, output = 12.5 }\n";
        std::fs::write(&path, text).unwrap();
        let spec = Spec::parse(path.to_str().unwrap()).unwrap();
        let SpecKind::OpenAi(server) = &spec.kind else { panic!("{spec:?}") };
        assert_eq!((spec.column_name(), server.rpm, server.concurrency), ("big".to_owned(), Some(60), 8));
        assert_eq!(spec.price.as_ref().unwrap().currency, "USD");
        for (bad, says) in [
            ("backend = \"openai:https://h#m\"\nrpm = 0", "rpm"),
            ("backend = \"local:m\"\nconcurrency = 2", "is for a server"),
            ("kind = 1", "backend"),
            ("x = 1", "x"),
        ] {
            std::fs::write(&path, bad).unwrap();
            let error = Spec::parse(path.to_str().unwrap()).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(error.hint().unwrap().contains("leave it out"), says == "is for a server");
        }
    }
}
