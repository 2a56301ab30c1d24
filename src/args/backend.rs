//! One backend that answers, for verbs that ask in words of their own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::terminal::{UsageError, note};
use veridiff_core::run::models::ModelOptions;
use veridiff_engine::files::source::ResolveOptions;
use veridiff_judge::{
    backend::spec::{Spec, SpecKind},
    recorder::Recorder,
    store::Store,
};
use veridiff_suites::{SuiteError, ask::Prompts};

/// The heading of options about what answers.
const ANSWERS: &str = "What answers";

/// What answers, and in whose words it is asked.
#[derive(Debug, clap::Args)]
pub struct BackendArgs {
    /// What answers: `[NAME=]local:MODEL`, `openai:URL#MODEL`, `scripted:FILE`, `replay:FILE` or a `.toml` that names one with its settings
    #[arg(long, value_name = "SPEC", help_heading = ANSWERS)]
    backend: String,
    /// Prompts in the place of the program's own, a table a step
    #[arg(long, value_name = "FILE", help_heading = ANSWERS)]
    prompts: Option<PathBuf>,
    /// Most requests open at once [default: 8, or what the .toml says]
    #[arg(long, value_name = "N", help_heading = ANSWERS)]
    concurrency: Option<usize>,
    /// Where every reply goes before it is used: a run that is repeated asks nothing twice [default: OUTPUT.replies.jsonl]
    #[arg(long, value_name = "FILE", help_heading = ANSWERS)]
    replies: Option<PathBuf>,
    /// Ask nobody on other machines, and fetch nothing
    #[arg(long, help_heading = ANSWERS)]
    pub offline: bool,
}

/// A backend ready to be asked.
pub struct Opened {
    /// It, and the file of its replies.
    pub recorder: Recorder,
    /// How many requests may be open at once.
    pub concurrency: usize,
}

impl BackendArgs {
    /// What answers, as it was named.
    pub fn name(&self) -> &str {
        &self.backend
    }

    /// The prompts: the program's own, those of the user in their place.
    pub fn prompts(&self, own: Prompts) -> Result<Prompts, SuiteError> {
        self.prompts.as_deref().map_or(Ok(own.clone()), |path| own.with_file(path))
    }

    /// Opens it; replies go beside `output` unless a file was named.
    pub fn open(&self, output: &Path) -> anyhow::Result<Opened> {
        open(&self.backend, self.concurrency, &self.replies.clone().unwrap_or_else(|| beside(output)), self.offline)
    }
}

/// Opens what a name says; its replies go to a file, unless they come from one.
pub fn open(spec: &str, concurrency: Option<usize>, replies: &Path, offline: bool) -> anyhow::Result<Opened> {
    let mut spec = Spec::parse(spec)?;
    let mut open_at_once = 1;
    if let SpecKind::OpenAi(server) = &mut spec.kind {
        if offline && !server.is_here() {
            let problem = format!("{} is another machine, and --offline asks nobody there", server.base_url);
            return Err(UsageError::error(
                problem,
                "leave --offline out, or name a server on this machine or local:MODEL",
            ));
        }
        server.concurrency = concurrency.unwrap_or(server.concurrency);
        open_at_once = server.concurrency;
        note(&format!("changes and comments go to {} ({})", server.base_url, server.model));
    }
    let store = match &spec.kind {
        SpecKind::Replay(_) => Store::in_memory(),
        _ => Store::open(replies)?,
    };
    // a model on this machine runs where models do by default: on the processor, in f32
    let models = models(offline);
    Ok(Opened { recorder: spec.open(&Arc::new(store), None, &models)?, concurrency: open_at_once })
}

/// Where models on this machine run, and whether what is missing is fetched.
pub fn models(offline: bool) -> ModelOptions {
    let fetch = ResolveOptions { offline, ..ResolveOptions::default() };
    ModelOptions { fetch, ..ModelOptions::default() }
}

/// `OUTPUT.replies.jsonl`.
pub fn beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".replies.jsonl");
    PathBuf::from(name)
}
