//! Every name in a tree.

mod near;
mod words;

use std::collections::HashSet;

use crate::bounds::Bounds;
use crate::error::GitError;
use crate::objects::Objects;
use crate::snapshot::File;
use crate::texts::{Coverage, read_texts};

/// Whether a name is in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It is in a text or a path.
    Present,
    /// It is not, and every text was read.
    Nowhere,
    /// It was not found, but not everything was read, or it is no name that the index would keep.
    Unknown,
}

/// The identifiers and numbers in the text files of a tree, and in its paths.
#[derive(Debug, Clone)]
pub struct NameIndex {
    names: HashSet<Box<str>>,
    coverage: Coverage,
    is_full: bool,
}

impl NameIndex {
    pub(crate) fn build(objects: &Objects, files: &[File], bounds: Bounds) -> Result<Self, GitError> {
        let mut names = HashSet::new();
        let mut is_full = false;
        let mut add = |name: &str| {
            if !names.contains(name) {
                if names.len() < bounds.names {
                    names.insert(name.into());
                } else {
                    is_full = true;
                }
            }
        };
        for file in files {
            words::each(&file.path, &mut add);
        }
        let coverage = read_texts(objects, files, bounds, |_, content| {
            words::each(&String::from_utf8_lossy(content), &mut add);
        })?;
        Ok(NameIndex { names, coverage, is_full })
    }

    /// Whether the tree has a name or a number exactly so, upper and lower case as given. A number is one literal: `60` is not in
    /// `60.0`, but `10` is in `10ms`.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the tree has a name or a number, as far as that can be said.
    pub fn presence(&self, name: &str) -> Presence {
        match () {
            () if self.contains(name) => Presence::Present,
            () if self.is_complete() && words::is_one(name) => Presence::Nowhere,
            () => Presence::Unknown,
        }
    }

    /// The closest names to one, at most `count`, best first: first those that differ in case and separators only (`MAX_SIZE` and
    /// `maxSize`), then those a few letters away. The name itself is not among them.
    pub fn near(&self, name: &str, count: usize) -> Vec<&str> {
        near::closest(self.names.iter().map(|known| &**known), name, count)
    }

    /// How many different names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the tree has no name at all.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How much of the tree was read.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// Whether every name of the tree is here, so that one that is not here is nowhere in it.
    pub fn is_complete(&self) -> bool {
        self.coverage.is_complete() && !self.is_full
    }
}
