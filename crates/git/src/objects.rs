//! Objects by their hash, with bounds, and with errors that say what they were to be.

use gix::objs::Kind;
use gix::{ObjectId, bstr::BStr};
use veridiff_text::chain::one_line;

use crate::bounds::{MAX_BLOB, MAX_META};
use crate::error::{Clone, GitError};

/// A repository in the hands of one thread.
pub(crate) struct Objects {
    pub(crate) repo: gix::Repository,
}

/// What a tree says of one of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) side: TreeSide,
}

/// What stands at a path: a mode as git writes it in a diff, and the hash of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeSide {
    pub(crate) mode: u32,
    pub(crate) id: ObjectId,
}

const DIRECTORY: u32 = 0o040000;
const REGULAR: u32 = 0o100000;
const LINK: u32 = 0o120000;
const SUBMODULE: u32 = 0o160000;

impl TreeSide {
    /// From the mode that a tree has, of which git only knows these five; old programs wrote others.
    fn new(mode: u16, id: ObjectId) -> Self {
        let mode = match u32::from(mode) & 0o170000 {
            DIRECTORY => DIRECTORY,
            LINK => LINK,
            REGULAR if mode & 0o100 != 0 => 0o100755,
            REGULAR => 0o100644,
            _ => SUBMODULE,
        };
        TreeSide { mode, id }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.mode == DIRECTORY
    }

    pub(crate) fn is_regular(&self) -> bool {
        self.kind() == REGULAR
    }

    pub(crate) fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }

    /// The mode without permissions.
    pub(crate) fn kind(&self) -> u32 {
        self.mode & 0o170000
    }
}

impl Objects {
    /// Why objects may be missing.
    pub(crate) fn clone_kind(&self) -> Clone {
        // A promisor remote is what makes a clone partial, whichever name it has.
        let partial = self.repo.config_snapshot().plumbing().sections_by_name("remote").is_some_and(|mut remotes| {
            remotes.any(|remote| {
                remote.value("promisor").is_some_and(|value| value.as_ref() as &[u8] == b"true")
                    || remote.value("partialclonefilter").is_some()
            })
        });
        match (partial, self.repo.is_shallow()) {
            (true, _) => Clone::Partial,
            (false, Ok(true)) => Clone::Shallow,
            (false, _) => Clone::Full,
        }
    }

    /// Whether its branches and tags are in git's newer format, which is not understood.
    pub(crate) fn keeps_references_in_tables(&self) -> bool {
        let format = self.repo.config_snapshot().string("extensions.refStorage");
        format.is_some_and(|format| format.eq_ignore_ascii_case(b"reftable"))
    }

    /// The size of an object in bytes, as its header promises; `what` is for the error.
    pub(crate) fn size(&self, id: ObjectId, kind: Kind, what: impl Fn() -> String) -> Result<u64, GitError> {
        let header = match self.repo.try_find_header(id) {
            Ok(Some(header)) => header,
            Ok(None) => return Err(GitError::Missing { what: what(), id: id.to_string(), clone: self.clone_kind() }),
            Err(error) => return Err(broken(what(), id, one_line(&error))),
        };
        if header.kind() != kind {
            return Err(broken(what(), id, format!("it is a {}, not a {kind}", header.kind())));
        }
        Ok(header.size())
    }

    fn data(&self, id: ObjectId, kind: Kind, bound: u64, what: impl Fn() -> String) -> Result<Vec<u8>, GitError> {
        if self.size(id, kind, &what)? > bound {
            return Err(GitError::TooLarge { what: what(), bound: format!("{} MB", bound >> 20) });
        }
        match self.repo.find_object(id) {
            Ok(mut object) => Ok(std::mem::take(&mut object.data)),
            Err(error) => Err(broken(what(), id, one_line(&error))),
        }
    }

    /// The bytes of a file; `path` is for the error.
    pub(crate) fn blob(&self, id: ObjectId, path: &[u8]) -> Result<Vec<u8>, GitError> {
        self.data(id, Kind::Blob, MAX_BLOB, || named_blob(path))
    }

    /// The size of a file in bytes.
    pub(crate) fn blob_size(&self, id: ObjectId, path: &[u8]) -> Result<u64, GitError> {
        self.size(id, Kind::Blob, || named_blob(path))
    }

    /// The bytes of a commit.
    pub(crate) fn commit(&self, id: ObjectId, what: &str) -> Result<Vec<u8>, GitError> {
        self.data(id, Kind::Commit, MAX_META, || what.to_owned())
    }

    /// What a tree has, in git's order even where the tree is not; `path` is for the error.
    pub(crate) fn tree(&self, id: ObjectId, path: &[u8]) -> Result<Vec<Entry>, GitError> {
        let what = || match path {
            [] => "the tree at the root".to_owned(),
            path => format!("the tree of `{}`", BStr::new(path.strip_suffix(b"/").unwrap_or(path))),
        };
        let data = self.data(id, Kind::Tree, MAX_META, what)?;
        let mut entries = Vec::new();
        for entry in gix::objs::TreeRefIter::from_bytes(&data, id.kind()) {
            let entry = entry.map_err(|error| broken(what(), id, one_line(&error)))?;
            let name = entry.filename.to_vec();
            if name.is_empty() || name.contains(&b'/') {
                return Err(broken(what(), id, format!("`{}` cannot be the name of a file", BStr::new(&name))));
            }
            entries.push(Entry { name, side: TreeSide::new(entry.mode.value(), entry.oid.to_owned()) });
        }
        entries.sort_by(|a, b| {
            gix::objs::tree::name_order(&a.name, a.side.is_directory(), &b.name, b.side.is_directory())
        });
        Ok(entries)
    }
}

fn named_blob(path: &[u8]) -> String {
    format!("the file `{}`", BStr::new(path))
}

pub(crate) fn broken(what: String, id: ObjectId, why: String) -> GitError {
    GitError::Broken { what, id: id.to_string(), why }
}

/// Whether git would call the content binary: a zero byte among the first 8,000.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content.iter().take(8000).any(|&byte| byte == 0)
}
