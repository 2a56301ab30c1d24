//! Paths that two trees do not have in common.

use std::cmp::Ordering;

use gix::ObjectId;
use gix::objs::tree::name_order;

use crate::bounds::{MAX_ENTRIES, MAX_PATH_BYTES};
use crate::error::GitError;
use crate::objects::{Entry, Objects, TreeSide};

/// What stands at a path on both sides; one of them is there, and they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeChange {
    pub(crate) path: Vec<u8>,
    pub(crate) before: Option<TreeSide>,
    pub(crate) after: Option<TreeSide>,
}

/// Every path that is not the same in both trees, in the order of their bytes, which is git's. No tree is an empty one.
pub(crate) fn differences(
    objects: &Objects,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
) -> Result<Vec<TreeChange>, GitError> {
    let mut walk = Walk { changes: Vec::new(), folders: vec![(Vec::new(), before, after)], entries: 0, path_bytes: 0 };
    // A list of folders instead of recursion: a hostile tree can be deeper than the stack.
    while let Some((path, before, after)) = walk.folders.pop() {
        if before == after {
            continue;
        }
        let read = |id: Option<ObjectId>| id.map_or(Ok(Vec::new()), |id| objects.tree(id, &path));
        walk.folder(&path, read(before)?, read(after)?)?;
    }
    walk.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.changes)
}

struct Walk {
    changes: Vec<TreeChange>,
    /// A path with its slash, and its trees.
    folders: Vec<(Vec<u8>, Option<ObjectId>, Option<ObjectId>)>,
    entries: usize,
    path_bytes: usize,
}

impl Walk {
    fn folder(&mut self, path: &[u8], before: Vec<Entry>, after: Vec<Entry>) -> Result<(), GitError> {
        let (mut before, mut after) = (before.into_iter().peekable(), after.into_iter().peekable());
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => name_order(&a.name, a.side.is_directory(), &b.name, b.side.is_directory()),
            };
            let old = if order.is_le() { before.next() } else { None };
            let new = if order.is_ge() { after.next() } else { None };
            let Some(name) = old.as_ref().or(new.as_ref()).map(|entry| &entry.name) else { return Ok(()) };
            let whole = [path, name].concat();
            self.entry(whole, old.map(|entry| entry.side), new.map(|entry| entry.side))?;
        }
    }

    /// One name of a folder. Both sides, where there are two, are folders or neither is: their names would not be equal otherwise.
    fn entry(&mut self, mut path: Vec<u8>, before: Option<TreeSide>, after: Option<TreeSide>) -> Result<(), GitError> {
        if before == after {
            return Ok(());
        }
        self.entries += 1;
        self.path_bytes += path.len();
        if self.entries > MAX_ENTRIES || self.path_bytes > MAX_PATH_BYTES {
            let bound = format!("{MAX_ENTRIES} entries with {} MB of paths", MAX_PATH_BYTES >> 20);
            return Err(GitError::TooLarge { what: "the list of paths".into(), bound });
        }
        if before.or(after).is_some_and(|side| side.is_directory()) {
            path.push(b'/');
            self.folders.push((path, before.map(|side| side.id), after.map(|side| side.id)));
        } else {
            self.changes.push(TreeChange { path, before, after });
        }
        Ok(())
    }
}
