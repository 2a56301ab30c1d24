//! One file of a diff: the lines above its hunks, and its hunks.

use super::abbreviation::Abbreviation;
use super::content::Content;
use super::hunks;
use super::pairs::Pair;
use super::quote::quoted;
use crate::error::GitError;
use crate::objects::Objects;

/// Writes one file.
pub(super) fn write(
    out: &mut Vec<u8>,
    objects: &Objects,
    abbreviation: &Abbreviation,
    pair: &Pair,
) -> Result<(), GitError> {
    let (old, new) = (quoted("a/", &pair.old_path), quoted("b/", &pair.new_path));
    line(out, &[b"diff --git ", &old, b" ", &new]);
    extended(out, abbreviation, pair);
    let (before, after) = (pair.before.map(|side| side.id), pair.after.map(|side| side.id));
    if before == after {
        return Ok(());
    }
    let label = |there: bool, name: &[u8]| if there { name.to_vec() } else { b"/dev/null".to_vec() };
    let (old, new) = (label(before.is_some(), &old), label(after.is_some(), &new));
    let contents =
        (Content::read(objects, pair.before, &pair.old_path)?, Content::read(objects, pair.after, &pair.new_path)?);
    let (Content::Text(before), Content::Text(after)) = contents else {
        line(out, &[b"Binary files ", &old, b" and ", &new, b" differ"]);
        return Ok(());
    };
    if before == after {
        // Empty files have no hunks, and no names above them.
        return Ok(());
    }
    // Where a name has a blank, a tab says where it ends.
    let tab = |name: &[u8]| if name.contains(&b' ') { b"\t" as &[u8] } else { b"" };
    line(out, &[b"--- ", &old, tab(&old)]);
    line(out, &[b"+++ ", &new, tab(&new)]);
    hunks::write(out, &before, &after);
    Ok(())
}

/// What changed but the content: modes, the name, the hashes.
fn extended(out: &mut Vec<u8>, abbreviation: &Abbreviation, pair: &Pair) {
    let text = |out: &mut Vec<u8>, text: String| line(out, &[text.as_bytes()]);
    match (pair.before, pair.after) {
        (None, Some(after)) => text(out, format!("new file mode {:06o}", after.mode)),
        (Some(before), None) => text(out, format!("deleted file mode {:06o}", before.mode)),
        (Some(before), Some(after)) if before.mode != after.mode => {
            text(out, format!("old mode {:06o}", before.mode));
            text(out, format!("new mode {:06o}", after.mode));
        }
        _ => {}
    }
    if let Some(percent) = pair.similarity {
        text(out, format!("similarity index {percent}%"));
        line(out, &[b"rename from ", &quoted("", &pair.old_path)]);
        line(out, &[b"rename to ", &quoted("", &pair.new_path)]);
    }
    let (before, after) = (pair.before.map(|side| side.id), pair.after.map(|side| side.id));
    if before != after {
        let mut index = format!("index {}..{}", abbreviation.of(before), abbreviation.of(after));
        if let (Some(before), Some(after)) = (pair.before, pair.after)
            && before.mode == after.mode
        {
            index.push_str(&format!(" {:06o}", before.mode));
        }
        text(out, index);
    }
}

fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
    out.push(b'\n');
}
