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
