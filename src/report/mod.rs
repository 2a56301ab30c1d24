//! What a person looks at: tables and token-level views.

pub mod annotation;
pub mod explanation;
mod statistics;
pub mod tables;
