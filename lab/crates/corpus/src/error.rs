//! What can go wrong with a corpus as a whole; a history that cannot be read is not an error but is named.

use std::io;
use std::path::PathBuf;

use veridiff_text::hint::Hint;

/// Why there is no corpus.
///
/// Fields are named as in the messages: `path` is the file or folder at fault, `why` what is wrong with it, with the line where there is one,
/// `source` the error of the system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are described above, once")]
pub enum CorpusError {
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file of what is kept aside, or of samples, is not of its form.
    #[error("`{}`: {why}", path.display())]
    Form { path: PathBuf, why: String },
    /// A part of an earlier run is not of the form in which this one writes.
    #[error("`{}` is not a part of this corpus: {why}", path.display())]
    Part { path: PathBuf, why: String },
    /// Two histories have one name.
    #[error("`{first}` and `{second}` would both be called `{name}`")]
    SameName { name: String, first: String, second: String },
    /// A model cannot say how probable a text is.
    #[error("the model does not say how probable a text is: {why}")]
    Likelihood { why: String },
    /// No history gave a pair.
    #[error("no history gave a pair")]
    Empty,
}

impl Hint for CorpusError {
    fn hint(&self) -> Option<String> {
        match self {
            CorpusError::Part { .. } => Some("remove the file: it is made again from the history".into()),
            CorpusError::SameName { .. } => Some("give one of them another name: `--repo NAME=DIR`".into()),
            CorpusError::Empty => Some("a history gives pairs where it has a licence file, is whole, and its messages say in words of the change what was done".into()),
            _ => None,
        }
    }
}
