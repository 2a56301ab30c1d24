//! Unified diffs and bare hunks as lines with byte spans.

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {}

impl DiffError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        None
    }
}
