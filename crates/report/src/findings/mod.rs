//! What `check` found: as a page, as JSON lines, and in the formats of review tools.

mod github;
mod message;
mod page;
mod rdjson;
mod sarif;

pub(crate) use message::against;
pub(crate) use page::{about, fact_lines, place_of};

pub use github::github;
pub use page::{page, summary};
pub use rdjson::rdjson_lines;
pub use sarif::sarif;
