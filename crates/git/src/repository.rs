//! A repository, found and opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use veridiff_text::chain::one_line;

use crate::commit::Commit;
use crate::error::GitError;
use crate::objects::Objects;
use crate::revision::{self, Wanted};
use crate::snapshot::Snapshot;

/// A git repository, to be read. Cheap to clone, and usable from several threads.
#[derive(Clone)]
pub struct Repository {
    shared: Arc<gix::ThreadSafeRepository>,
}

impl Repository {
    /// The repository that a folder belongs to: its own, or that of a folder above it; bare ones and linked worktrees too.
    ///
    /// Only the repository's own configuration is read, and no variable of the environment: what is said of a commit must not
    /// depend on who asks.
    pub fn discover(dir: &Path) -> Result<Self, GitError> {
        let dir_or_here = || PathBuf::from(if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
        // discovery takes the end of `../bare` for a repository's `.git`
        let found = || dir_or_here().canonicalize().unwrap_or_else(|_| dir_or_here());
        let isolated = gix::open::Options::isolated;
        let trust = gix::sec::trust::Mapping { full: isolated(), reduced: isolated() };
        match gix::ThreadSafeRepository::discover_opts(found(), Default::default(), trust) {
            Ok(shared) => {
                let repository = Repository { shared: Arc::new(shared) };
                match repository.objects().keeps_references_in_tables() {
                    true => {
                        Err(GitError::Format { dir: dir_or_here(), format: "its references are a reftable".into() })
                    }
                    false => Ok(repository),
                }
            }
            Err(error) if error.classify().is_not_found() => Err(GitError::NoRepository { dir: dir_or_here() }),
            Err(error) if error.classify().is_unsupported() => {
                let why = one_line(&error);
                let format = if why.contains("\"sha256\"") { "its hashes are SHA-256".into() } else { why };
                Err(GitError::Format { dir: dir_or_here(), format })
            }
            Err(error) => Err(GitError::Open { dir: dir_or_here(), source: Box::new(error) }),
        }
    }

    /// The commit that a revision names, in any way that git knows: a hash or its beginning, a branch, a tag, `HEAD~2`, `:/text`.
    pub fn commit(&self, rev: &str) -> Result<Commit, GitError> {
        let objects = self.objects();
        let id = revision::resolve(&objects, rev, Wanted::Commit)?;
        Commit::read(self, &objects, id)
    }

    /// The tree that a revision names; a commit or a tag stands for its tree.
    pub fn snapshot(&self, rev: &str) -> Result<Snapshot, GitError> {
        let id = revision::resolve(&self.objects(), rev, Wanted::Tree)?;
        Ok(Snapshot::new(self.clone(), Some(id)))
    }

    /// The folder with the repository's objects and references, such as `.git`.
    pub fn git_dir(&self) -> &Path {
        self.shared.refs.git_dir()
    }

    /// For the thread that asks.
    pub(crate) fn objects(&self) -> Objects {
        Objects { repo: self.shared.to_thread_local() }
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").field("git_dir", &self.git_dir()).finish_non_exhaustive()
    }
}
