//! A file before and after a change.

use crate::objects::TreeSide;

/// What a diff shows under one `diff --git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    /// The path before; for a new file, the new one.
    pub(super) old_path: Vec<u8>,
    /// The path after; for a deleted file, the old one.
    pub(super) new_path: Vec<u8>,
    /// Nothing for a new file.
    pub(super) before: Option<TreeSide>,
    /// Nothing for a deleted file.
    pub(super) after: Option<TreeSide>,
    /// For a renamed file, how much of it is the same, in percent.
    pub(super) similarity: Option<u32>,
}

impl Pair {
    /// The pair itself; or, where a file became a link or a submodule, its deletion and a creation, which is how git shows that.
    pub(super) fn parts(&self) -> Vec<Pair> {
        match (self.before, self.after) {
            (Some(before), Some(after)) if before.kind() != after.kind() => {
                let path = || self.old_path.clone();
                let none = Pair { old_path: path(), new_path: path(), before: None, after: None, similarity: None };
                vec![Pair { before: Some(before), ..none.clone() }, Pair { after: Some(after), ..none }]
            }
            _ => vec![self.clone()],
        }
    }
}
