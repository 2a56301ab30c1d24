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

    /// The hashes of the commits of a range such as `main..` or `HEAD~3..HEAD`, the oldest first: those that lead to its end and not to
    /// its beginning.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`] and its like for either end; [`GitError::NoRange`] for what is none, or has three dots;
    /// [`GitError::Broken`] where a commit on the way cannot be read.
    pub fn range(&self, range: &str) -> Result<Vec<String>, GitError> {
        let (from, to) = ends(range).ok_or_else(|| GitError::NoRange { range: range.into() })?;
        let objects = self.objects();
        let end = |rev: &str| revision::resolve(&objects, if rev.is_empty() { "HEAD" } else { rev }, Wanted::Commit);
        let (from, to) = (end(from)?, end(to)?);
        let wrong = |why: String| broken(format!("the history of `{range}`"), to, why);
        let walk = objects.repo.rev_walk([to]).with_hidden([from]).sorting(Sorting::BreadthFirst);
        let commits = walk.all().map_err(|error| wrong(one_line(&error)))?;
        let ids = commits.map(|commit| commit.map(|info| info.id.to_string()).map_err(|error| wrong(one_line(&error))));
        let mut ids = ids.collect::<Result<Vec<String>, _>>()?;
        ids.reverse();
        Ok(ids)
    }

    /// Whether the clone was cut off at a depth, so that its history ends too early.
    pub fn is_shallow(&self) -> bool {
        self.objects().repo.is_shallow().unwrap_or(false)
    }
}

/// The two ends of a range; blank is `HEAD`. None if it is no range, or one of three dots.
fn ends(range: &str) -> Option<(&str, &str)> {
    let (from, to) = range.split_once("..")?;
    (!to.starts_with('.')).then_some((from, to))
}
