//! A commit that was chosen.

use serde::{Deserialize, Serialize};
use veridiff_text::diff::Diff;
use veridiff_text::language;

use crate::message::Statement;
use crate::roads::Twin;

/// A commit with what its author said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitCase {
    /// The commit's hash.
    pub commit: String,
    /// The change as git shows it.
    pub diff: String,
    /// Its changed lines, by [`crate::aside::changed_lines_hash`].
    pub hash: String,
    /// The programming language of its first file of code.
    pub language: Option<String>,
    /// Its files.
    pub paths: Vec<String>,
    /// The hash, or its beginning, of the commit that this one takes back.
    pub reverts: Option<String>,
    /// Of a comment that was rewritten in the commit its place among those; none for what the message says of the whole.
    pub comment: Option<usize>,
    /// What its author said; empty for one that only takes back another.
    pub statements: Vec<Told>,
}

/// A statement with all twins that could be made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// What the author said.
    #[serde(flatten)]
    pub statement: Statement,
    /// Twins, in the order of the roads.
    pub twins: Vec<Twin>,
}

impl CommitCase {
    /// A commit without its twins.
    pub fn new(
        commit: &str,
        diff: &Diff,
        hash: String,
        statements: Vec<Statement>,
        reverts: Option<String>,
    ) -> CommitCase {
        let paths = diff.files().to_vec();
        CommitCase {
            commit: commit.to_owned(),
            diff: diff.text().to_owned(),
            hash,
            language: paths.iter().find_map(|path| code_language(path)).map(str::to_owned),
            paths,
            reverts,
            comment: None,
            statements: statements.into_iter().map(|statement| Told { statement, twins: Vec::new() }).collect(),
        }
    }

    /// What a statement is called: its commit and its place there.
    pub fn key(&self, index: usize) -> String {
        match self.comment {
            Some(comment) => format!("{}#comment{comment}", self.commit),
            None => format!("{}#{index}", self.commit),
        }
    }

    /// How many lines more it adds than it removes.
    pub(crate) fn net_lines(diff: &Diff) -> i64 {
        use veridiff_text::diff::LineKind::{Added, Removed};
        let count = |kind| diff.lines().iter().filter(|line| line.kind == kind).count() as i64;
        count(Added) - count(Removed)
    }
}

/// The language of a file of code.
pub(crate) fn code_language(path: &str) -> Option<&'static str> {
    language::of_file(path).filter(|name| *name != "markdown")
}
