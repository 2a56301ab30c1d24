//! Models behind servers among those that `score` is given.

use std::{path::Path, sync::Arc};

use crate::cli::{
    args::{
        judges::{distinct_specs, replies_of, tell_hosts},
        scoring::ModelArgs,
    },
    terminal::{UsageError, note},
};
use veridiff_core::settings::Settings;
use veridiff_judge::{
    backend::{
        Backend,
        spec::{Spec, SpecKind},
    },
    recorder::Recorder,
    remote::RemoteScorer,
    store::Store,
};

/// The models that are behind servers.
pub struct Remotes(Vec<Spec>);

impl Remotes {
    /// Models behind servers, and the arguments with the others alone.
    pub fn split(args: &ModelArgs) -> anyhow::Result<(Remotes, ModelArgs)> {
        let (remote, local): (Vec<String>, Vec<String>) =
            args.model.iter().cloned().partition(|model| Spec::is_remote(model));
        let specs = distinct_specs(&remote)?;
        let server = specs.iter().find(|spec| matches!(spec.kind, SpecKind::OpenAi(_)));
        if let Some(server) = server.filter(|_| args.place.offline) {
            return Err(UsageError::error(
                format!("`{}` is a server, and --offline opens no socket", server.column_name()),
                "name the replies of an earlier run: --model NAME=replay:TABLE.replies.jsonl",
            ));
        }
        Ok((Remotes(specs), ModelArgs { model: local, ..args.clone() }))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sources of their columns; `taken` are the names that other models have. Replies go beside the output before they are used,
    /// and where texts go is told before any does.
    pub fn sources(
        &self,
        settings: &Settings,
        taken: &[String],
        output: Option<&Path>,
        n_samples: usize,
    ) -> anyhow::Result<Vec<RemoteScorer>> {
        if let Some(name) = self.0.iter().map(Spec::column_name).find(|name| taken.contains(name)) {
            return Err(UsageError::error(format!("two models are called `{name}`"), "write NAME= before one of them"));
        }
        // what no server gives is refused before one is asked
        self.0.iter().try_for_each(|spec| RemoteScorer::check(&spec.column_name(), settings))?;
        let asks = self.0.iter().any(|spec| matches!(spec.kind, SpecKind::OpenAi(_)));
        let store = Arc::new(match output {
            Some(output) if asks => Store::open(&replies_of(output))?,
            _ => Store::in_memory(),
        });
        tell_hosts(&self.0, n_samples);
        let source = |spec: &Spec| {
            let recorder = Arc::new(spec.open_for_texts(&store)?);
            let at_once = recorder.most_at_once(false);
            Ok(RemoteScorer::new(recorder, at_once, settings)?)
        };
        self.0.iter().map(source).collect()
    }
}

/// Servers of which it may turn out that asking further is of no use.
pub struct Stopped(Vec<Arc<Recorder>>);

impl Stopped {
    /// The servers of some sources.
    pub fn of(sources: &[RemoteScorer]) -> Stopped {
        Stopped(sources.iter().map(RemoteScorer::recorder).collect())
    }

    /// Says of which it did, and why.
    pub fn tell(&self) {
        for stopped in self.0.iter().filter_map(|recorder| recorder.stopped()) {
            note(&format!(
                "{}\n  hint: mend this and run again with --resume; what is answered is kept",
                stopped.message
            ));
        }
    }
}
