//! What a person looks at: tables and token-level views.

pub mod explanation;
pub mod tables;
