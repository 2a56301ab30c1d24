//! What can go wrong when a repository is read.

use std::path::PathBuf;

use veridiff_text::hint::Hint;

/// What kind of clone a repository is, which says why an object may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clone {
    /// It should have everything.
    Full,
    /// Its history was cut off, as `git clone --depth` and most CI systems do.
    Shallow,
    /// Its objects come when they are asked for, as after `git clone --filter`.
    Partial,
}

/// Why something of a repository cannot be read.
///
/// Fields are named as in the messages: `dir` is the folder where the search for a repository began, `rev` the revision as it was given,
/// `what` the object in words ("the tree of `HEAD`") and `id` its hash, `found` and `wanted` kinds of objects, `source` the error of the
/// library that reads repositories.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
pub enum GitError {
    /// No repository is in the folder or above it.
    #[error("there is no git repository in `{}` or above it", dir.display())]
    NoRepository { dir: PathBuf },
    /// A repository is there and cannot be opened.
    #[error("cannot open the git repository of `{}`", dir.display())]
    Open { dir: PathBuf, source: Box<gix::Error> },
    /// A repository is there, of a format that is not read here.
    #[error("the git repository of `{}` is of a format that cannot be read here: {format}", dir.display())]
    Format { dir: PathBuf, format: String },
    /// A revision that names nothing.
    #[error("the repository has no revision `{rev}`{}", why.as_ref().map_or(String::new(), |why| format!(": {why}")))]
    UnknownRevision {
        rev: String,
        /// A branch or tag of a similar name.
        near: Option<String>,
        /// Whether history may be missing.
        clone: Clone,
        /// What the reader of revisions says, unless it is just that there is no such name.
        why: Option<String>,
    },
    /// So many steps back, and the history is shorter.
    #[error("there is no `{rev}`: `{from}` has {n_before} commit{} before it", if *n_before == 1 { "" } else { "s" })]
    TooFarBack {
        rev: String,
        /// What the steps are counted from.
        from: String,
        /// How many first parents there are.
        n_before: usize,
        /// Whether history may be missing.
        clone: Clone,
    },
    /// An abbreviated hash that several objects share.
    #[error("`{rev}` is the beginning of several objects' hashes")]
    AmbiguousRevision {
        rev: String,
        /// Hashes that are long enough, commits before others.
        candidates: Vec<String>,
    },
    /// A range where one commit is wanted.
    #[error("`{rev}` is a range, not one commit")]
    Range { rev: String },
    /// Something else where a range of commits is wanted.
    #[error("`{range}` is not a range of commits")]
    NoRange { range: String },
    /// A file where a commit or a tree is wanted.
    #[error("`{rev}` is a {found}, not a {wanted}")]
    Kind { rev: String, found: String, wanted: &'static str },
    /// An object that is referred to and is not there.
    #[error("{what} ({id}) is not in the repository")]
    Missing {
        what: String,
        id: String,
        /// Whether that is to be expected.
        clone: Clone,
    },
    /// An object that is there and cannot be read.
    #[error("{what} ({id}) is broken: {why}")]
    Broken {
        what: String,
        id: String,
        /// What is wrong with it, with the causes.
        why: String,
    },
    /// More than is read of any repository.
    #[error("{what} is larger than the bound of {bound}")]
    TooLarge {
        what: String,
        /// How much is read at most, with its unit.
        bound: String,
    },
}

impl Hint for GitError {
    fn hint(&self) -> Option<String> {
        match self {
            GitError::NoRepository { .. } => {
                Some("name a folder inside a repository (`--repo DIR`), or give the change as a diff".into())
            }
            GitError::Open { .. } => Some("`git fsck` in that folder says whether git itself can read it".into()),
            GitError::Format { .. } => Some("give the change as a diff: `git show REV`".into()),
            GitError::UnknownRevision { rev, near: Some(near), .. } if rev == near => Some(
                "it has no commit yet: `git commit` makes one; what is staged is a diff, `git diff --cached`".into(),
            ),
            GitError::UnknownRevision { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            GitError::UnknownRevision { clone: Clone::Shallow, .. } => {
                Some("the clone is shallow: `git fetch --unshallow` brings the rest of its history".into())
            }
            GitError::UnknownRevision { .. } => {
                Some("`git log --oneline --all` lists commits, `git branch -a` and `git tag` names".into())
            }
            GitError::TooFarBack { clone: Clone::Shallow, .. } => {
                Some("the clone is shallow: `git fetch --unshallow` brings the rest of its history".into())
            }
            GitError::TooFarBack { from, n_before: 0, .. } => Some(format!("`{from}` is the first commit there is")),
            GitError::TooFarBack { from, n_before, .. } => Some(format!("the first commit is `{from}~{n_before}`")),
            GitError::AmbiguousRevision { candidates, .. } => {
                Some(format!("give more of the hash: {}", candidates.join(", ")))
            }
            GitError::Range { rev } => {
                let last = rev.rsplit("..").next().filter(|last| !last.is_empty()).unwrap_or("HEAD");
                Some(format!("name one commit, such as `{last}`; `git diff {rev}` gives the range as a diff"))
            }
            GitError::NoRange { .. } => {
                Some("write two revisions with two dots, such as `main..HEAD`; one that is left out is HEAD".into())
            }
            GitError::Kind { wanted: "commit", .. } => Some("name a commit, a tag or a branch".into()),
            GitError::Kind { .. } => Some("name a commit, a tag, a branch or a tree".into()),
            GitError::Missing { clone: Clone::Shallow, .. } => Some(
                "the clone is shallow: `git fetch --deepen=1` brings one more commit, `--unshallow` all of them \
                 (in GitHub Actions: `fetch-depth: 2` at the checkout)"
                    .into(),
            ),
            GitError::Missing { clone: Clone::Partial, .. } => Some(
                "the clone is partial and nothing is fetched here: `git show` of the commit brings what it needs"
                    .into(),
            ),
            GitError::Missing { clone: Clone::Full, .. } | GitError::Broken { .. } => {
                Some("`git fsck` lists what is damaged; a fresh clone mends it".into())
            }
            GitError::TooLarge { .. } => Some("give the part of interest as a diff".into()),
        }
    }
}
