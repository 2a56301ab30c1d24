//! What a person looks at: tables and token-level views.

pub mod explain;
mod statistics;
pub mod tables;
