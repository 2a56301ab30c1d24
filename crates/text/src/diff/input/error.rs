//! Why an input is no diff, and what it may be instead.

use std::fmt;

use crate::{diff::DiffError, hint::Hint};

/// Why a text is not read as a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Nothing but blanks.
    #[error("the change is blank")]
    Blank,
    /// Something else than a diff.
    #[error("this is no diff: {0}")]
    NotADiff(Instead),
    /// A diff that cannot be read, however mended.
    #[error(transparent)]
    Diff(#[from] DiffError),
}

/// What stands where a diff was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instead {
    /// `--stat`, `--numstat`, `--summary` or `--raw`.
    Summary,
    /// `--name-only` or `--name-status`.
    Names,
    /// `git log` or a mail without a change.
    Messages,
    /// `git status`.
    Status,
    /// A mail whose body is not written as it is meant.
    EncodedMail,
    /// JSON or JSON lines.
    Json,
    /// `ls -l`.
    Listing,
    /// A file in which a merge left its markers.
    Conflict,
    /// A context diff, or one with `<` and `>`.
    OtherFormat,
    /// `--word-diff` or `--color-words`.
    WordDiff,
    /// A diff whose lines all stand behind something, such as `> ` of a quoted mail.
    Behind(String),
    /// File headers and nothing that changed.
    Headers,
    /// Hunks or lines without an added or removed one.
    Context,
    /// Source code.
    Code,
    /// Sentences.
    Prose,
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Instead::Summary => "it is a summary, as `--stat` gives it",
            Instead::Names => "it is a list of files",
            Instead::Messages => "it holds messages of commits without a change",
            Instead::Status => "it is what `git status` prints",
            Instead::EncodedMail => "it is a mail whose body is encoded",
            Instead::Json => "it is JSON",
            Instead::Listing => "it is the listing of a folder",
            Instead::Conflict => "it is a file with the markers of a merge conflict",
            Instead::OtherFormat => "it is a diff of another format than the unified one",
            Instead::WordDiff => "it is a diff by words",
            Instead::Behind(prefix) => return write!(f, "its lines stand behind `{}`", prefix.escape_debug()),
            Instead::Headers => "it names files and shows no change of them",
            Instead::Context => "no line of it is added or removed",
            Instead::Code => "it looks like source code",
            Instead::Prose => "it looks like a text",
        })
    }
}

impl InputError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            InputError::Blank => "`git diff` prints what changed, `git diff --cached` what is about to be committed",
            InputError::Diff(error) => return error.hint(),
            InputError::NotADiff(instead) => match instead {
                Instead::Summary => "this is a summary by --stat: drop --stat, or add -p",
                Instead::Names => "drop --name-only or --name-status, or add -p",
                Instead::Messages => {
                    "`git log -p` and `git show` print the changes too, an empty commit has none, and of a merge \
                                      `git show -m --first-parent REV` prints them"
                }
                Instead::Status => "`git diff HEAD` prints the changes themselves",
                Instead::EncodedMail => "decode it first: `git mailinfo MESSAGE PATCH < MAIL`, then give PATCH",
                Instead::Json => "samples: use --input",
                Instead::Listing => "give the output of `git diff`, or of `diff -ru OLD NEW`",
                Instead::Conflict => "resolve it, then give the output of `git diff HEAD`",
                Instead::OtherFormat => "write it with `diff -u`",
                Instead::WordDiff => "drop --word-diff or --color-words",
                Instead::Behind(_) => "take that off the front of each line; drop --graph if it comes from there",
                Instead::Headers | Instead::Context => {
                    "give a unified diff, or a hunk of it, whose changed lines begin with `+` or `-`"
                }
                Instead::Code => "give the change to the file, as `git diff` prints it",
                Instead::Prose => "is this the text? did you swap --diff and --text?",
            },
        };
        Some(hint.to_owned())
    }
}

impl Hint for InputError {
    fn hint(&self) -> Option<String> {
        InputError::hint(self)
    }
}
