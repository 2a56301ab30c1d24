//! Two trees as a unified diff in git's own format.

mod abbreviation;
mod content;
mod header;
mod hunks;
mod pairs;
mod quote;
mod renames;
mod similarity;

use gix::ObjectId;

use crate::bounds::MAX_DIFF;
use crate::error::GitError;
use crate::objects::Objects;
use crate::tree::differences;

/// What leads from one text of a file to another, as git shows it; empty where they are the same.
pub fn diff_of_texts(path: &str, before: &str, after: &str) -> String {
    let mut hunks = Vec::new();
    hunks::write(&mut hunks, before.as_bytes(), after.as_bytes());
    match String::from_utf8(hunks) {
        Ok(hunks) if !hunks.is_empty() => format!("--- a/{path}\n+++ b/{path}\n{hunks}"),
        // whole lines of two texts are text
        _ => String::new(),
    }
}

/// What leads from one tree to the other; no tree is an empty one.
pub(crate) fn between(
    objects: &Objects,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
) -> Result<Vec<u8>, GitError> {
    let pairs = renames::paired(objects, differences(objects, before, after)?)?;
    let abbreviation = abbreviation::Abbreviation::new(objects);
    let mut out = Vec::new();
    for pair in pairs.iter().flat_map(pairs::Pair::parts) {
        header::write(&mut out, objects, &abbreviation, &pair)?;
        if out.len() > MAX_DIFF {
            return Err(GitError::TooLarge { what: "the diff".into(), bound: format!("{} MB", MAX_DIFF >> 20) });
        }
    }
    Ok(out)
}
