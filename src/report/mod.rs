//! What a person looks at: tables and token-level views.

pub mod explanation;
pub mod findings;
mod statistics;
pub mod tables;
