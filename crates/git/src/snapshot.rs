//! A tree as its reader sees it: names of files, and whole files.

use std::sync::OnceLock;

use gix::ObjectId;

use crate::bounds::Bounds;
use crate::error::GitError;
use crate::names::NameIndex;
use crate::objects::{TreeSide, is_binary};
use crate::repository::Repository;
use crate::texts::{Coverage, read_texts};
use crate::tree::{TreeChange, differences};

/// All files of a tree, at one moment of a history.
#[derive(Debug)]
pub struct Snapshot {
    repository: Repository,
    /// None is an empty one: what a first commit changes.
    tree: Option<ObjectId>,
    files: OnceLock<Vec<File>>,
    names: OnceLock<NameIndex>,
}

/// A path and what stands there.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) path: String,
    pub(crate) side: TreeSide,
}

/// Where a text stands in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The file's path from the root of the tree.
    pub path: String,
    /// The line in which it begins, counted from 1.
    pub line: usize,
}

impl Snapshot {
    pub(crate) fn new(repository: Repository, tree: Option<ObjectId>) -> Self {
        Snapshot { repository, tree, files: OnceLock::new(), names: OnceLock::new() }
    }

    /// The whole text of a file, with `\u{fffd}` for what is not UTF-8; none where the tree has no such file, or one that is not
    /// text, a link or a submodule. The path is from the root of the repository, with slashes.
    pub fn file(&self, path: &str) -> Result<Option<String>, GitError> {
        let files = self.files()?;
        let Ok(at) = files.binary_search_by(|file| file.bytes.as_slice().cmp(path.as_bytes())) else { return Ok(None) };
        let file = &files[at];
        if !file.side.is_regular() {
            return Ok(None);
        }
        let content = self.repository.objects().blob(file.side.id, &file.bytes)?;
        Ok((!is_binary(&content)).then(|| String::from_utf8_lossy(&content).into_owned()))
    }

    /// The paths of everything in the tree but folders, in the order of their bytes: files, links and submodules.
    pub fn paths(&self) -> Result<impl Iterator<Item = &str>, GitError> {
        Ok(self.files()?.iter().map(|file| file.path.as_str()))
    }

    /// Every name and number of the tree's texts and paths, within the usual [`Bounds`]. They are read when first asked for.
    pub fn names(&self) -> Result<&NameIndex, GitError> {
        match self.names.get() {
            Some(names) => Ok(names),
            None => {
                let names = self.names_within(Bounds::default())?;
                Ok(self.names.get_or_init(|| names))
            }
        }
    }

    /// Every name and number of the tree's texts and paths, within other bounds; they are read again at each call.
    pub fn names_within(&self, bounds: Bounds) -> Result<NameIndex, GitError> {
        NameIndex::build(&self.repository.objects(), self.files()?, bounds)
    }

    /// For each of some texts, the first place in the tree where it stands letter for letter, and how much of the tree was looked
    /// through. A text that begins or ends with a letter, a digit or `_` does not go on there with another one: `fail` is not
    /// found in `failed`. An empty text is nowhere. The files are read at each call, all texts at once.
    pub fn find(&self, texts: &[&str]) -> Result<(Vec<Option<Occurrence>>, Coverage), GitError> {
        let mut found: Vec<Option<Occurrence>> = vec![None; texts.len()];
        let coverage = read_texts(&self.repository.objects(), self.files()?, Bounds::default(), |file, content| {
            for (text, place) in texts.iter().zip(&mut found).filter(|(_, place)| place.is_none()) {
                if let Some(at) = crate::texts::whole_word(content, text) {
                    let line = content[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
                    *place = Some(Occurrence { path: file.path.clone(), line });
                }
            }
        })?;
        Ok((found, coverage))
    }

    fn files(&self) -> Result<&[File], GitError> {
        if self.files.get().is_none() {
            let listed = differences(&self.repository.objects(), None, self.tree)?;
            let files = listed.into_iter().filter_map(|TreeChange { path: bytes, after, .. }| {
                after.map(|side| File { path: String::from_utf8_lossy(&bytes).into_owned(), bytes, side })
            });
            let files = files.collect();
            self.files.get_or_init(|| files);
        }
        Ok(self.files.get().map_or(&[], Vec::as_slice))
    }
}
