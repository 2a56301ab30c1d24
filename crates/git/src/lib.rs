//! The repository behind a diff: a commit as git shows it, and the whole tree on both sides of it.
//!
//! ```text
//!  Repository ──► Commit ──► diff()             the text of `git show --format= --first-parent`, by git's defaults
//!      │            ├──────► before(), after() ─┐
//!      ├────────────────────► history(rev)             every commit that leads there
//!      ├────────────────────► merge_base(), diff_between()   where two histories part, and what leads from one commit to another
//!      └────────────────────► snapshot(rev) ────┴─► Snapshot ──► file(), paths()   whole files
//!                                                      └───────► names(), find()   is it anywhere in the tree?
//! ```
//!
//! Nothing is written, nothing is fetched and no other program is run: neither filters nor external diffs. What stands in a
//! configuration or in `.gitattributes` does not change what is said of a commit, so the same commit always gives the same text.
//!
//! ```no_run
//! use veridiff_git::{Presence, Repository};
//!
//! let commit = Repository::discover(".".as_ref())?.commit("HEAD")?;
//! println!("{}", commit.diff()?);
//! if commit.after()?.names()?.presence("retry_count") == Presence::Nowhere {
//!     println!("nothing in the whole tree is called so");
//! }
//! # Ok::<(), veridiff_git::GitError>(())
//! ```

mod between;
mod bounds;
mod commit;
mod diff;
mod error;
mod history;
mod message;
mod names;
mod objects;
mod repository;
mod revision;
mod snapshot;
mod texts;
mod tree;

pub use bounds::Bounds;
pub use commit::Commit;
pub use diff::diff_of_texts;
pub use error::{Clone, GitError};
pub use names::{NameIndex, Presence};
pub use repository::Repository;
pub use snapshot::{Occurrence, Snapshot};
pub use texts::Coverage;
