//! What a person looks at: tables and token-level views.

pub mod annotation;
pub mod explanation;
pub mod notebook;
mod statistics;
pub mod tables;
