//! The detector: logistic regression over features, and the statistics that judge it.

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectorError {}

impl DetectorError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        None
    }
}
