//! What leads from one commit to another.

use veridiff_text::chain::one_line;

use crate::diff;
use crate::error::GitError;
use crate::objects::{Objects, broken};
use crate::repository::Repository;
use crate::revision::{self, Wanted};

impl Repository {
    /// Whether a revision names a commit that is here.
    pub fn has(&self, rev: &str) -> bool {
        revision::resolve(&self.objects(), rev, Wanted::Commit).is_ok()
    }

    /// The hash of the commit at which the histories of two revisions part, the first one where there are several, as `git merge-base`
    /// gives it; none where they have nothing in common.
    ///
    /// # Errors
    /// Those of [`Repository::commit`]; [`GitError::Broken`] where a commit on the way is missing or cannot be read.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        let objects = self.objects();
        let (one, other) = (commit(&objects, one)?, commit(&objects, other)?);
        match objects.repo.merge_base(one, other) {
            Ok(base) => Ok(base.map(|id| id.to_string())),
            Err(error) => Err(broken("the history of both".into(), one, one_line(&error))),
        }
    }

    /// The change from one revision to another as a unified diff, as `git diff --no-ext-diff --no-textconv FROM TO` prints it where
    /// nothing is configured.
    ///
    /// # Errors
    /// Those of [`Repository::commit`], and of reading the trees.
    pub fn diff_between(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        let objects = self.objects();
        let tree = |rev: &str| revision::resolve(&objects, rev, Wanted::Tree);
        diff::between(&objects, Some(tree(from)?), Some(tree(to)?))
    }
}

fn commit(objects: &Objects, rev: &str) -> Result<gix::ObjectId, GitError> {
    revision::resolve(objects, rev, Wanted::Commit)
}
