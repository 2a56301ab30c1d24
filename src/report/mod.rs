//! What a person looks at: tables and token-level views.

pub mod explain;
pub mod findings;
mod statistics;
pub mod tables;
