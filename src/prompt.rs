//! Prompt templates.

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {}

impl PromptError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        None
    }
}
