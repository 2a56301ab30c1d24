//! The crate's error: one variant per area, each area's own enum beside the code that raises it.

use crate::{annotation::AnnotationError, tokens::TokensError};
use veridiff_detector::DetectorError;
use veridiff_engine::{ModelError, plan::PlanError};
use veridiff_table::TableError;
use veridiff_text::{diff::DiffError, prompt::PromptError, sample::SampleError};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in the library. The areas' enums say what, where and with which values;
/// [`Error::hint`] says how to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A diff that is not one.
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
    /// Samples that cannot be annotated, or an annotation file that cannot be used.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
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
    /// What the reader can do next, if we know; printed after the error as `hint: …`.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Diff(e) => e.hint(),
            Error::Sample(e) => e.hint(),
            Error::Prompt(e) => e.hint(),
            Error::Tokens(e) => e.hint(),
            Error::Model(e) => e.hint(),
            Error::Plan(e) => e.hint(),
            Error::Table(e) => e.hint(),
            Error::Detector(e) => e.hint(),
            Error::Annotation(e) => e.hint(),
            Error::Tensor(_) => None,
        }
    }
}

/// An error and its causes in one line, each behind a colon.
pub fn one_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
