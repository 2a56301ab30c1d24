//! What a reader of the change should know of how it was read.

use std::fmt;

/// Something of the input that was mended or left out.
///
/// Lines count from 1 in the input as it was given: `line` is the first that the note is about, `first` and `last` bound a run of them.
/// `files` are names as the diff has them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum Note {
    /// A hunk has other line counts than its header says; the header was written anew.
    Recounted {
        line: usize,
        /// Old and new lines by the header.
        promised: (usize, usize),
        /// Old and new lines found.
        found: (usize, usize),
    },
    /// A merge against several parents was read as the change against the first one.
    FirstParent {
        /// The first hunk of that kind.
        line: usize,
    },
    /// Lines that belong neither to a diff nor to what git prints around one.
    Outside { first: usize, last: usize },
    /// The input is not UTF-8, so that some characters are not known.
    NotUtf8 {
        /// The first line with such bytes.
        line: usize,
    },
    /// Binary files, of which nothing can be read.
    Binary { files: Vec<String> },
    /// Files that a tool writes, whose hunks were left out.
    Generated { files: Vec<String> },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Recounted { line, promised, found } => write!(
                f,
                "line {line}: the hunk header promises {} old and {} new lines, found {} old and {} new: read as found",
                promised.0, promised.1, found.0, found.1
            ),
            Note::FirstParent { line } => write!(
                f,
                "line {line}: this is a combined diff of a merge: read against its first parent, as far as it tells (`git show -m \
                 --first-parent REV` prints all of it)"
            ),
            Note::Outside { first, last } if first == last => write!(f, "line {first} is no part of a diff: not read"),
            Note::Outside { first, last } => write!(f, "lines {first} to {last} are no part of a diff: not read"),
            Note::NotUtf8 { line } => {
                write!(
                    f,
                    "line {line} is the first that is not UTF-8: characters that cannot be told are read as `\u{fffd}`"
                )
            }
            Note::Binary { files } => write!(f, "binary, not read: {}", named(files)),
            Note::Generated { files } => write!(f, "written by a tool, not read: {}", named(files)),
        }
    }
}

/// The first names, and how many more there are.
fn named(files: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = files.iter().take(SHOWN).map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
