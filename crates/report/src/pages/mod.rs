//! Whole pages: an evaluation and a fit in every format, and the report of an evaluation as a folder.
//!
//! | file | owns |
//! |---|---|
//! | `evaluation.rs`, `evaluation_csv.rs` | an evaluation as text, Markdown, LaTeX, CSV and JSON |
//! | `book.rs` | tables of any kind, in the formats and the style of an evaluation's |
//! | `fit.rs` | a fitted detector in the same formats |
//! | `folder.rs` | every file of a report |
//! | `html.rs`, `page.html`, `page.css` | its page |

mod book;
mod evaluation;
mod evaluation_csv;
mod fit;
mod folder;
mod html;

#[cfg(feature = "figures")]
pub use crate::figures::png::PngError;
pub use book::Book;
pub use evaluation::evaluation_page;
pub use fit::fit_page;
pub use folder::{ReportError, ReportFile, report_files, write_report};
pub use html::Tile;
