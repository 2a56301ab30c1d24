//! What a diff compares at a path.

use crate::bounds::MAX_BLOB;
use crate::error::GitError;
use crate::objects::{Objects, TreeSide, is_binary};

/// One side of a file.
pub(super) enum Content {
    /// Lines, of a file, of a link's target, or of the line that stands for a submodule.
    Text(Vec<u8>),
    /// What has no lines to show.
    Binary,
}

impl Content {
    /// The content at a path; nothing where the file is not there.
    pub(super) fn read(objects: &Objects, side: Option<TreeSide>, path: &[u8]) -> Result<Content, GitError> {
        let Some(side) = side else { return Ok(Content::Text(Vec::new())) };
        if side.is_submodule() {
            return Ok(Content::Text(format!("Subproject commit {}\n", side.id).into_bytes()));
        }
        if objects.blob_size(side.id, path)? > MAX_BLOB {
            return Ok(Content::Binary);
        }
        let bytes = objects.blob(side.id, path)?;
        Ok(if is_binary(&bytes) { Content::Binary } else { Content::Text(bytes) })
    }
}
