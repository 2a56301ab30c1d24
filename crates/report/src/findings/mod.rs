//! What `check` found: as a page, as JSON lines, and in the formats of review tools.

mod message;
mod page;
mod rdjson;
mod sarif;

pub use page::page;
pub use rdjson::rdjson_line;
pub use sarif::sarif;
