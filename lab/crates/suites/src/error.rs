//! What can go wrong with a benchmark as a whole. What is wrong with one row is a state of that row.

use std::{io, path::PathBuf};

use veridiff_judge::failure::JudgeError;
use veridiff_text::hint::Hint;

/// Why there are no figures.
///
/// Fields are named as in the messages: `path` is the file at fault, `line` its line from 1, `why` what is wrong there, `source` the
/// error of the system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are described above, once")]
pub enum SuiteError {
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A line is not what the file should hold.
    #[error("`{}`, line {line}: {why}", path.display())]
    Line { path: PathBuf, line: usize, why: String },
    /// A whole file is not what it should be.
    #[error("`{}`: {why}", path.display())]
    Form { path: PathBuf, why: String, hint: String },
    /// Two files do not go together, or one with itself.
    #[error("{why}")]
    Mismatch { why: String, hint: String },
    /// Nothing is left to measure.
    #[error("there is nothing to measure: {why}")]
    Nothing { why: String },
    /// The backend cannot be used.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

impl SuiteError {
    /// Two files that do not go together, and how to mend it.
    pub fn mismatch(why: impl Into<String>, hint: impl Into<String>) -> SuiteError {
        SuiteError::Mismatch { why: why.into(), hint: hint.into() }
    }
}

impl Hint for SuiteError {
    fn hint(&self) -> Option<String> {
        match self {
            SuiteError::Line { .. } => {
                Some("every line is one JSON object; docs/checklists.md and docs/aacr.md have the keys".into())
            }
            SuiteError::Form { hint, .. } | SuiteError::Mismatch { hint, .. } => Some(hint.clone()),
            SuiteError::Judge(error) => error.hint(),
            _ => None,
        }
    }
}
