//! One commit.

use gix::ObjectId;
use veridiff_text::chain::one_line;

use crate::diff;
use crate::error::GitError;
use crate::message::decode;
use crate::objects::{Objects, broken};
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::tree::differences;

/// A commit, and what it changes against its first parent.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The commit's hash, all hex digits.
    pub id: String,
    /// The hashes of its parents, the first one first; none for the first commit of a history.
    pub parents: Vec<String>,
    /// Its message as text, with the final line feed if it has one.
    pub message: String,
    /// When it was written, in seconds since 1970; none where the commit has no readable date.
    pub author_time: Option<i64>,
    repository: Repository,
    tree: ObjectId,
    parent: Option<ObjectId>,
}

impl Commit {
    pub(crate) fn read(repository: &Repository, objects: &Objects, id: ObjectId) -> Result<Self, GitError> {
        let data = objects.commit(id, "the commit")?;
        let wrong = |why: String| broken("the commit".into(), id, why);
        let commit = gix::objs::CommitRef::from_bytes(&data, id.kind()).map_err(|error| wrong(one_line(&error)))?;
        let parents: Vec<ObjectId> = commit.parents().collect();
        Ok(Commit {
            id: id.to_string(),
            parents: parents.iter().map(ObjectId::to_string).collect(),
            message: decode(commit.message, commit.encoding.map(|name| &**name as &[u8])),
            author_time: commit.author().ok().and_then(|author| author.time().ok()).map(|time| time.seconds),
            repository: repository.clone(),
            tree: commit.tree(),
            parent: parents.first().copied(),
        })
    }

    /// The change as a unified diff, with [`Commit::diff_bytes`]' text and `\u{fffd}` for what is not UTF-8.
    pub fn diff(&self) -> Result<String, GitError> {
        Ok(match String::from_utf8(self.diff_bytes()?) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    /// The change as a unified diff, as `git show --format= --first-parent` prints it where nothing is configured: against the
    /// first parent, or against nothing for the first commit; three lines of context; renames of at least 50%; `Binary files …
    /// differ` for what is not text. Attributes are not read, so a file shown by a driver of its own differs from git's text.
    pub fn diff_bytes(&self) -> Result<Vec<u8>, GitError> {
        let objects = self.repository.objects();
        let before = self.parent_tree(&objects)?;
        diff::between(&objects, before, Some(self.tree))
    }

    /// The paths that are not the same on both sides, in the order of their bytes; one that was renamed counts twice. It costs much
    /// less than the diff.
    pub fn paths(&self) -> Result<Vec<String>, GitError> {
        let objects = self.repository.objects();
        let before = self.parent_tree(&objects)?;
        let changes = differences(&objects, before, Some(self.tree))?;
        Ok(changes.into_iter().map(|change| String::from_utf8_lossy(&change.path).into_owned()).collect())
    }

    /// The tree before the change: the first parent's, or an empty one.
    pub fn before(&self) -> Result<Snapshot, GitError> {
        let tree = self.parent_tree(&self.repository.objects())?;
        Ok(Snapshot::new(self.repository.clone(), tree))
    }

    /// The tree after the change.
    pub fn after(&self) -> Result<Snapshot, GitError> {
        Ok(Snapshot::new(self.repository.clone(), Some(self.tree)))
    }

    fn parent_tree(&self, objects: &Objects) -> Result<Option<ObjectId>, GitError> {
        let Some(parent) = self.parent else { return Ok(None) };
        // Git shows the last commit of a shallow clone as if it had added everything, which is not what its author did.
        let what = format!("the parent of commit {}", self.id.get(..12).unwrap_or(&self.id));
        let data = objects.commit(parent, &what)?;
        let commit = gix::objs::CommitRef::from_bytes(&data, parent.kind())
            .map_err(|error| broken(what, parent, one_line(&error)))?;
        Ok(Some(commit.tree()))
    }
}
