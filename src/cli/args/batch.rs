//! Requests to a server by files of a provider's batches, for verbs that ask one much.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context;

use crate::cli::terminal::{UsageError, note};
use veridiff_core::run::models::ModelOptions;
use veridiff_judge::{
    backend::spec::{Spec, SpecKind},
    batch::{BatchAnswers, BatchRequests},
    recorder::Recorder,
    store::Store,
};
use veridiff_table::files;

/// The heading of these options.
const BATCHES: &str = "Batches of a provider";

/// Most requests that providers take in one file.
const MOST_REQUESTS: usize = 50_000;

/// Most bytes of such a file.
const MOST_BYTES: usize = 200_000_000;

/// Files in place of a socket.
#[derive(Debug, clap::Args)]
pub struct BatchArgs {
    /// Only write what a server would be asked and has not answered yet, as a file of OpenAI's batches; the server is asked no more than
    /// what it can do
    #[arg(long, value_name = "FILE", help_heading = BATCHES, hide_short_help = true, conflicts_with = "batch_in")]
    batch_out: Option<PathBuf>,
    /// Take answers from the file that such a batch came to, in place of a server; repeatable. What has no answer is skipped
    #[arg(long, value_name = "FILE", help_heading = BATCHES, hide_short_help = true)]
    batch_in: Vec<PathBuf>,
}

/// What backends ask, and of whom.
pub enum Asking {
    /// Those that they name, at once.
    Now,
    /// Nobody: requests are noted.
    Noting(PathBuf, Arc<BatchRequests>),
    /// The answers of a batch.
    Answered(Arc<BatchAnswers>),
}

impl BatchArgs {
    /// Reads the answers, if there are any, and sees that a batch is of one server.
    pub fn asking(&self, specs: &[Spec]) -> anyhow::Result<Asking> {
        if self.batch_out.is_none() && self.batch_in.is_empty() {
            return Ok(Asking::Now);
        }
        if !matches!(specs, [Spec { kind: SpecKind::OpenAi(_), .. }]) {
            return Err(UsageError::error(
                "a batch is of one server, and not of several backends or of another kind",
                "name one --backend openai:URL#MODEL",
            ));
        }
        Ok(match &self.batch_out {
            Some(path) => Asking::Noting(path.clone(), Arc::default()),
            None => Asking::Answered(Arc::new(BatchAnswers::read(&self.batch_in)?)),
        })
    }
}

impl Asking {
    /// Whether backends are asked at once, so that what is asked about goes to them.
    pub fn is_now(&self) -> bool {
        matches!(self, Asking::Now)
    }

    /// Whether requests are only noted, so that nothing is computed.
    pub fn is_noting(&self) -> bool {
        matches!(self, Asking::Noting(..))
    }

    /// Opens a backend.
    pub fn open(
        &self,
        spec: &Spec,
        store: &Arc<Store>,
        max_cost: Option<f64>,
        models: &ModelOptions,
    ) -> anyhow::Result<Recorder> {
        Ok(match self {
            Asking::Now => spec.open(store, max_cost, models)?,
            Asking::Noting(_, requests) => spec.open_batch_out(store, requests)?,
            Asking::Answered(answers) => spec.open_batch_in(store, answers)?,
        })
    }

    /// Writes what was noted, or says what was found of answers.
    pub fn finish(&self) -> anyhow::Result<()> {
        match self {
            Asking::Now => {}
            Asking::Answered(answers) => answers.told().iter().for_each(|told| note(told)),
            Asking::Noting(path, requests) => {
                let lines = requests.lines();
                if lines.is_empty() {
                    note("nothing is left to ask, so no batch is written");
                    return Ok(());
                }
                let text = lines.join("\n") + "\n";
                files::write(path, &text).with_context(|| format!("cannot write `{}`", path.display()))?;
                note(&format!(
                    "{} requests are in `{}`; give what they come to to the same command as --batch-in FILE",
                    lines.len(),
                    path.display()
                ));
                if lines.len() > MOST_REQUESTS || text.len() > MOST_BYTES {
                    note(&format!(
                        "providers take {MOST_REQUESTS} requests and 200 MB in one file: make several by --shard 1/N --output …"
                    ));
                }
            }
        }
        Ok(())
    }
}
