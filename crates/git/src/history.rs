//! All commits that lead to a revision.

use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use veridiff_text::chain::one_line;

use crate::error::GitError;
use crate::objects::broken;
use crate::repository::Repository;
use crate::revision::{self, Wanted};

impl Repository {
    /// The hashes of a revision's commit and of all its ancestors, the youngest first.
    ///
    /// # Errors
    /// Those of [`Repository::commit`]; [`GitError::Broken`] where a commit on the way is missing or cannot be read.
    pub fn history(&self, rev: &str) -> Result<Vec<String>, GitError> {
        let objects = self.objects();
        let tip = revision::resolve(&objects, rev, Wanted::Commit)?;
        let wrong = |why: String| broken(format!("the history of `{rev}`"), tip, why);
        let walk = objects.repo.rev_walk([tip]).sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst));
        let commits = walk.all().map_err(|error| wrong(one_line(&error)))?;
        commits.map(|commit| commit.map(|info| info.id.to_string()).map_err(|error| wrong(one_line(&error)))).collect()
    }

    /// Whether the clone was cut off at a depth, so that its history ends too early.
    pub fn is_shallow(&self) -> bool {
        self.objects().repo.is_shallow().unwrap_or(false)
    }
}
