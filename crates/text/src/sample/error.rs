//! What can be wrong with a line of samples.

use super::Task;

/// Why a line is not a sample.
///
/// Fields are named as in the messages, and described where the message leaves a question: `line` counts from 1, `field` is a
/// sample's key, and `found` is what stands there: the value as JSON, or the kind of value (`a number`).
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum SampleError {
    /// The input cannot be read on.
    #[error("line {line}: cannot read the samples")]
    Read {
        /// The line that was being read.
        line: usize,
        source: std::io::Error,
    },
    /// The line's bytes are not UTF-8.
    #[error("line {line}: not UTF-8 at byte {byte} of the line")]
    NotUtf8 {
        line: usize,
        /// 1-based position in the line of the first bad byte.
        byte: usize,
    },
    /// The line does not parse as JSON.
    #[error("line {line}: broken JSON at byte {column} of the line: {message}")]
    Json {
        line: usize,
        /// 1-based byte of the line at which the parser gave up.
        column: usize,
        /// What the parser expected there.
        message: String,
    },
    /// The line is JSON but not an object.
    #[error("line {line}: expected a JSON object, found {found}")]
    NotObject { line: usize, found: &'static str },
    /// A required field is not there.
    #[error("line {line}: field `{field}` is missing")]
    Missing { line: usize, field: &'static str },
    /// A field holds another kind of value.
    #[error("line {line}: field `{field}` is {found}, expected a string")]
    Type { line: usize, field: &'static str, found: &'static str },
    /// A required text is null, empty or all blanks.
    #[error("line {line}: field `{field}` is empty")]
    Empty { line: usize, field: &'static str },
    /// A label is neither 0, 1 nor null.
    #[error("line {line}: label is `{found}`, expected 1 (hallucinated), 0 (not) or null (unknown)")]
    Label { line: usize, found: String },
    /// The name that `task` holds is that of no task.
    #[error(
        "line {line}: unknown task `{}`, expected one of {}",
        found.escape_debug(), Task::ALL.map(|task| format!("`{task}`")).join(", ")
    )]
    Task { line: usize, found: String },
}

impl SampleError {
    /// 1-based number of the line.
    pub fn line(&self) -> usize {
        match self {
            SampleError::Read { line, .. }
            | SampleError::NotUtf8 { line, .. }
            | SampleError::Json { line, .. }
            | SampleError::NotObject { line, .. }
            | SampleError::Missing { line, .. }
            | SampleError::Type { line, .. }
            | SampleError::Empty { line, .. }
            | SampleError::Label { line, .. }
            | SampleError::Task { line, .. } => *line,
        }
    }

    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            SampleError::Read { .. } => return None,
            SampleError::NotUtf8 { .. } => "convert the file to UTF-8, for example with iconv",
            SampleError::Json { .. } | SampleError::NotObject { .. } => {
                "every line is one JSON object; line feeds inside a string are written \\n"
            }
            SampleError::Missing { .. } | SampleError::Empty { .. } => {
                "a sample needs `id`, `diff` and `text`, none of them blank"
            }
            SampleError::Type { .. } => "put the value in quotes, or null if it is optional and unknown",
            SampleError::Label { .. } => "write 1, 0 or null; keep other ratings under a key of their own",
            SampleError::Task { .. } => "leave the key out for `review`",
        };
        Some(hint.to_owned())
    }
}
