//! What a person looks at: tables, pictures, pages and token-level views.
//!
//! | part | owns |
//! |---|---|
//! | `grid.rs`, `names.rs`, `csv.rs`, `format.rs` | a table of text; names, numbers and escapes in it; its formats |
//! | `table.rs` | one table of a report: as printed, and as records |
//! | `web/`, `hidden.rs`, `columns.rs` | what pages with a script share; characters that hide; widths in a terminal |
//! | `views/` | what is shown of an evaluation: its figures and each analysis, one file each, one list of all |
//! | [`pages`] | an evaluation and a fit in every format; the report as a folder with its page |
//! | `figures/` | the pictures (feature `figures`, on by default) |
//! | [`explain`] | one sample token by token |
//! | [`findings`] | what `check` found, for people and for review tools |
//! | [`notebook`] | a Jupyter notebook of an evaluation |
//!
//! Pages use views, views use pictures and tables, tables use grids; nothing points back.

mod columns;
mod csv;
mod describe;
pub mod explain;
#[cfg(feature = "figures")]
mod figures;
pub mod findings;
mod fonts;
mod format;
mod grid;
mod hidden;
mod names;
pub mod notebook;
pub mod pages;
mod pictures;
mod predictors;
mod table;
mod views;
pub mod web;

pub use csv::{CsvText, Name, Number};
pub use format::{TableFormat, json, note_lines};
pub use grid::{Grid, part, rate, with_interval};
pub use table::{NamedTable, records_csv};
