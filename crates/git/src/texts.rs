//! The text files of a tree, one after the other, within bounds.

use crate::bounds::{Bounds, MAX_BLOB};
use crate::error::GitError;
use crate::objects::{Objects, is_binary};
use crate::snapshot::File;

/// How much of a tree was looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Text files that were read.
    pub files: usize,
    /// Bytes of the texts, all together.
    pub bytes: u64,
    /// Files that are not text; they have no names.
    pub binary: usize,
    /// Files that were not read because a bound was met.
    pub unread: usize,
    /// Files that the repository does not have, as in a partial clone, or cannot read.
    pub missing: usize,
    /// Submodules; what they contain belongs to another repository.
    pub submodules: usize,
}

impl Coverage {
    /// Whether every text of the tree was read. Only then can something be said to be nowhere in it.
    pub fn is_complete(&self) -> bool {
        self.unread == 0 && self.missing == 0
    }
}

/// Calls `look` for each text file: first those of usual size in the order of their paths, then the large ones, as long as the
/// bound on bytes lets them in.
pub(crate) fn read_texts(
    objects: &Objects,
    files: &[File],
    bounds: Bounds,
    mut look: impl FnMut(&File, &[u8]),
) -> Result<Coverage, GitError> {
    let mut coverage = Coverage::default();
    let mut usual = Vec::new();
    let mut large = Vec::new();
    for file in files {
        if file.side.is_submodule() {
            coverage.submodules += 1;
        }
        if !file.side.is_regular() {
            continue;
        }
        match objects.blob_size(file.side.id, &file.bytes) {
            Ok(size) if size <= bounds.large_file => usual.push((size, file)),
            Ok(size) => large.push((size, file)),
            Err(_) => coverage.missing += 1,
        }
    }
    large.sort_by_key(|(size, _)| *size);
    let mut left = bounds.bytes;
    for (size, file) in usual.into_iter().chain(large) {
        if size > left.min(MAX_BLOB) {
            coverage.unread += 1;
            continue;
        }
        let Ok(content) = objects.blob(file.side.id, &file.bytes) else {
            coverage.missing += 1;
            continue;
        };
        if is_binary(&content) {
            coverage.binary += 1;
            continue;
        }
        left -= size;
        coverage.files += 1;
        coverage.bytes += size;
        look(file, &content);
    }
    Ok(coverage)
}

/// Where a text first stands in the content without going on as a longer word on either side.
pub(crate) fn whole_word(content: &[u8], text: &str) -> Option<usize> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let (first, last) = (*text.as_bytes().first()?, *text.as_bytes().last()?);
    let finder = memchr::memmem::Finder::new(text);
    let mut from = 0;
    while let Some(at) = finder.find(content.get(from..)?).map(|at| at + from) {
        let end = at + text.len();
        let goes_on_before = inside(first) && at > 0 && inside(content[at - 1]);
        let goes_on_after = inside(last) && content.get(end).is_some_and(|&byte| inside(byte));
        if !goes_on_before && !goes_on_after {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        assert_eq!(whole_word(b"failed --fail-on x", "fail"), Some(9));
        assert_eq!(whole_word(b"failed --fail-on x", "--fail-on"), Some(7));
        assert_eq!(whole_word(b"failed", "fail"), None);
        assert_eq!(whole_word(b"600", "60"), None);
        assert_eq!(whole_word(b"x = time.time()", "time.time()"), Some(4));
        assert_eq!(whole_word("größe".as_bytes(), "gr"), None);
        assert_eq!(whole_word(b"", "a"), None);
        assert_eq!(whole_word(b"a", ""), None);
        assert_eq!(whole_word(b"aa a", "a"), Some(3));
    }
}
