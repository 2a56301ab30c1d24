//! What `check` found: as a page, as JSON lines, and in the formats of review tools.

mod batch;
mod card;
mod codequality;
mod executed;
mod github;
mod judged;
mod message;
mod page;
mod rdjson;
mod sarif;

#[cfg(test)]
pub(crate) use batch::PAGE;
pub(crate) use card::{Card, Odds, meaning};
pub(crate) use message::against;
pub(crate) use page::{fact_lines, look};

pub use batch::{TEXT_HTML, TEXT_SCRIPT, TEXT_STYLE, html_page, text_data};
pub use codequality::codequality;
pub use github::github;
pub use judged::judge_lines;
pub use page::{page, summary};
pub use rdjson::rdjson_lines;
pub use sarif::sarif;
