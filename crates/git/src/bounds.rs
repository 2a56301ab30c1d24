//! How much of a repository is read at most, so that a hostile one costs bounded memory.

/// The largest blob whose lines are compared, in bytes. Git shows what is larger than its `core.bigFileThreshold` as binary, and
/// so does this crate, at a smaller size.
pub(crate) const MAX_BLOB: u64 = 64 << 20;

/// The largest commit or tree object, in bytes.
pub(crate) const MAX_META: u64 = 64 << 20;

/// How many entries of trees are looked at for one diff or one list of paths.
pub(crate) const MAX_ENTRIES: usize = 1_000_000;

/// How many bytes the paths of one diff or one list may have together.
pub(crate) const MAX_PATH_BYTES: usize = 256 << 20;

/// How many bytes a diff may have.
pub(crate) const MAX_DIFF: usize = 256 << 20;

/// How many bytes are read to find renames among changed files; over it only identical files are paired.
pub(crate) const MAX_RENAME_BYTES: u64 = 256 << 20;

/// How much of a tree's text is read for its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of text in all.
    pub bytes: u64,
    /// Files larger than this come last, so that data does not crowd out code.
    pub large_file: u64,
    /// Different names in all.
    pub names: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { bytes: 64 << 20, large_file: 1 << 20, names: 4_000_000 }
    }
}
