//! Token ids with byte spans, segments and line kinds.

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {}

impl TokensError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        None
    }
}
