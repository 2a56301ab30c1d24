//! Feature tables: rows to Parquet, CSV and JSONL and back; the journal that survives a kill.

/// What can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {}

impl TableError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        None
    }
}
