//! The crate's error: one variant per area, each area's own enum beside the code that raises it.

use std::path::PathBuf;

use crate::{run::references::ReferenceError, tokens::TokensError};
use veridiff_detector::DetectorError;
use veridiff_engine::{ModelError, plan::PlanError};
use veridiff_facts::checker::CheckError;
use veridiff_table::TableError;
use veridiff_text::{diff::DiffError, prompt::PromptError, sample::SampleError};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in the library. The areas' enums say what, where and with which values;
/// [`Error::hint`] says how to mend it.
///
/// Fields are named as in the messages, and described where the message leaves a question: `name` is what stands behind the `@` of a
/// model's columns, `id` a sample's, `source` what went wrong beneath.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum Error {
    /// A diff whose hunks and headers do not fit each other.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A sample (JSONL line) that cannot be used.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A prompt template that cannot be used.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Text that cannot become tokens.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// A sample that cannot be checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A model that cannot be found, fetched or loaded.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A bound on memory that cannot be kept.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A feature table that cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A detector that cannot be fitted, read or applied.
    #[error(transparent)]
    Detector(#[from] DetectorError),
    /// Features whose models are not named, or models that no feature uses.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A model that was found cannot be loaded.
    #[error("cannot load the model `{name}`")]
    Loading { name: String, source: Box<Error> },
    /// No model is loaded that could read the text to explain.
    #[error("no model reads the text")]
    NoReader,
    /// A model is asked for columns after its loading has failed.
    #[error("the model `{name}` is not loaded")]
    NotLoaded { name: String },
    /// A feature asks an adapter, and the model was named without one.
    #[error("the model `{name}` has no adapter, which the features `adapter_text` and `adapter_worst` are read from")]
    NoAdapter { name: String },
    /// Models are given that stand for none of those that are needed.
    #[error("{} models are given for {} that the detector uses", given.len(), names.len())]
    OtherModels {
        /// The models as they were given.
        given: Vec<String>,
        /// The names that the detector knows its models by.
        names: Vec<String>,
    },
    /// A row was computed that the journal cannot take: the run stops, since whatever it went on to compute would be lost too.
    #[error("row `{id}` could not be kept; finished rows are in `{}`", journal.display())]
    RowNotKept {
        id: String,
        /// Where the rows are that were finished before.
        journal: PathBuf,
        source: Box<TableError>,
    },
    /// All rows are computed, but their table cannot be written.
    #[error(
        "the table is not written; its rows are safe in `{}`: mend this, run again with --resume",
        journal.display()
    )]
    TableNotWritten {
        /// Where the rows are.
        journal: PathBuf,
        source: Box<TableError>,
    },
    /// Whoever is told of a run's progress wanted no more of it.
    #[error("the run was stopped before its end")]
    Stopped,
    /// A tensor operation failed: a fault of ours or of the device, not of the input.
    #[error("tensor operation failed")]
    Tensor(#[source] candle_core::Error),
}

impl From<candle_core::Error> for Error {
    // Weights are read behind candle's trait, so a missing tensor or a wrong shape arrives inside one of its errors.
    fn from(error: candle_core::Error) -> Self {
        ModelError::recover(error).map_or_else(Error::Tensor, Error::Model)
    }
}

impl Error {
    /// That a model could not be loaded, and why.
    pub(crate) fn loading(name: &str, error: impl Into<Error>) -> Error {
        Error::Loading { name: name.to_owned(), source: Box::new(error.into()) }
    }

    /// What the reader can do next, if we know; printed after the error as `hint: …`.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Diff(e) => e.hint(),
            Error::Check(e) => e.hint(),
            Error::Sample(e) => e.hint(),
            Error::Prompt(e) => e.hint(),
            Error::Tokens(e) => e.hint(),
            Error::Model(e) => e.hint(),
            Error::Plan(e) => e.hint(),
            Error::Table(e) => e.hint(),
            Error::Detector(e) => e.hint(),
            Error::Reference(e) => e.hint(),
            Error::Loading { source, .. } => source.hint(),
            Error::RowNotKept { source, .. } | Error::TableNotWritten { source, .. } => source.hint(),
            Error::OtherModels { names, .. } if names.len() > 1 => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                Some(format!("give each as NAME=SOURCE under one of the detector's names: {}", names.join(", ")))
            }
            Error::OtherModels { names, .. } => Some(match names.first() {
                Some(name) => format!("give one, which then stands for the detector's `{name}`"),
                None => "give one".to_owned(),
            }),
            Error::NoAdapter { .. } => {
                Some(
                    "name it with the model: `--model smollm2-135m+truth`, or your own, `--model SOURCE+ADAPTER.safetensors` \
                     (docs/adapter.md)"
                        .to_owned(),
                )
            }
            Error::NoReader | Error::NotLoaded { .. } | Error::Stopped | Error::Tensor(_) => None,
        }
    }
}
