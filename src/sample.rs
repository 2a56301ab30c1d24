//! One record: a diff, a text, and what is known about them.

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {}

impl SampleError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        None
    }
}
