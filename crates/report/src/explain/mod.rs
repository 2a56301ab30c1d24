//! One sample, token by token: which lines of the diff a text rests on, how surprising its words are, and what that says of it.
//!
//! | file | owns |
//! |---|---|
//! | `explanation.rs` | [`Explanation`], the data once, as documented JSON |
//! | `basis.rs` | what chosen tokens of the text rest on: positions, lines, parts of the input |
//! | `features.rs` | the sample's features beside other rows', and a detector's verdict |
//! | `view.rs` | the tokens as they can be shown: parts of lines, whole characters, nothing hidden |
//! | `terminal/` | a page for the terminal: `screen.rs` its width and colours, `text.rs`, `diff.rs`, `tables.rs` what is shown |
//! | `html.rs`, `page.html`, `page.css`, `page.js` | a page for the browser, in one file (`web/` has what all pages share) |
//!
//! The pages read nothing but the data. Attribution is sensitivity, not cause: a large share says that the probability of a
//! token would move with that position's embedding, not that the position made the model write it, nor that it is true.

mod basis;
mod explanation;
mod features;
mod html;
mod terminal;
mod view;

pub use explanation::{
    About, AggregatesJson, DiffLine, DiffLineKind, Explanation, SCHEMA_VERSION, Timing, Token, TokenScores,
    TokenSegment,
};
pub use features::{ComparedRows, FeatureValue, LogOdds};
#[cfg(test)]
pub(crate) use html::PAGE;
pub use html::html_page;
pub use terminal::{Colours, Detail, Screen, terminal_page};
