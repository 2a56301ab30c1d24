//! Git histories as labelled statements: what authors said of their changes, and twins of it that are certainly false.
//!
//! ```text
//!  histories ──► parts of 500 commits ──► cases ──────► statements ──► twins, road by road ──► parts on disk (the journal)
//!  (history,     (collect)                (case, aside)  (message,      (roads/*: one a file)    (part)
//!   licence)                                              truth)                                   │
//!      tells report ◄── rows ◄── pairs, as many of an edit as of its opposite ◄── duplicates out ◄─┘
//!      (tells, report)  (rows)   (select)                                         (assemble)
//! ```
//!
//! | file | what it owns |
//! |---|---|
//! | `history.rs`, `licence.rs` | a repository as a list of commits, what it is called, under which licence; bad ones are named |
//! | `aside.rs` | what must not be looked at: repositories, hashes of changed lines |
//! | `case.rs`, `undo.rs` | a commit that was chosen: its diff, also as `git revert` would make it, and its statements |
//! | `message.rs`, `verbs.rs`, `words.rs` | a message as statements that say one thing of the change; English |
//! | `comments.rs` | comments that were rewritten with their code |
//! | `truth.rs` | what facts say of a statement and of its twin |
//! | `roads/` | the trait [`roads::Road`], one list, and one file a road from a statement to its twin |
//! | `part.rs`, `collect.rs` | the unit of work: read once, written in one step, never changed by what else runs |
//! | `select.rs`, `assemble.rs` | which twins are taken, so that no edit is more frequent than its opposite |
//! | `rows.rs`, `tells.rs`, `likelihood.rs`, `report.rs` | samples, what a reader of the texts alone could guess, counts |
//!
//! A part depends on its commits and the [`Settings`] alone, and the corpus on the parts in the order of their names. So the same
//! histories and the same seed give the same bytes, whatever was interrupted and however the parts were shared among machines.

pub mod aside;
pub mod assemble;
pub mod case;
pub mod collect;
mod comments;
mod error;
pub mod history;
pub mod licence;
pub mod likelihood;
pub mod message;
pub mod part;
mod report;
pub mod roads;
pub mod rows;
pub mod select;
pub mod tells;
pub mod truth;
mod undo;
mod verbs;
mod words;

pub use assemble::{Corpus, Selection, assemble};
pub use error::CorpusError;
pub use report::Report;
pub use undo::undone;

use serde::Serialize;

/// What is read of histories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// Chooses among what is equally good.
    pub seed: u64,
    /// Of each history the youngest commits that are looked at.
    pub max_commits: usize,
    /// A commit with more files says too many things.
    pub max_files: usize,
    /// A longer diff is left out, in bytes.
    pub max_diff: usize,
    /// Of each history the youngest commits that are searched for comments that were rewritten with their code.
    pub max_searched: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { seed: 0, max_commits: 20_000, max_files: 3, max_diff: 6000, max_searched: 2000 }
    }
}

/// A number that depends on the seed and the words alone: the same on every machine.
pub(crate) fn chance(seed: u64, words: &[&str]) -> u64 {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for word in words {
        hash.update(word.as_bytes());
        hash.update([0]);
    }
    let bytes: [u8; 32] = hash.finalize().into();
    u64::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}
