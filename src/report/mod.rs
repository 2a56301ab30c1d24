//! What a person looks at: tables, pictures, pages and token-level views.

pub mod explanation;
pub mod figures;
pub mod folder;
mod page;
pub mod paper_tables;
mod statistics;
pub mod tables;
