//! What a person looks at: tables, pictures, pages and token-level views.

pub mod annotation;
pub mod explain;
pub mod figures;
pub mod findings;
pub mod folder;
pub mod notebook;
mod page;
pub mod paper_tables;
mod repeats;
mod statistics;
pub mod tables;
