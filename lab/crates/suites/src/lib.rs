//! Benchmarks of what review bots write, and of who judges programs: foreign files become figures.
//!
//! ```text
//!  checklists + reviews ─► verdicts (a judge, by any backend) ─► figures, rewards      checklist/
//!  references + comments ─► pairs ─► one assignment a decider ─► figures               aacr/
//!  programs of known truth ─► answers ─► errors, and what execution refutes of them    study/
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `lines.rs` | JSON lines in, with the line of every fault; JSON lines out, in one step |
//! | `resample.rs` | intervals: groups drawn anew, the same draws for everything that is compared |
//! | `nearness.rs` | how near two texts are, and whether one follows from the other: an encoder and a classifier |
//! | `ask.rs` | one question to a backend, asked again where the answer cannot be read; prompts as data |
//! | [`checklist`] | what a review covers of the points that a review has to raise, and what it makes up |
//! | [`aacr`] | comments on pull requests beside those that experts accepted and rejected |
//! | `study/` | judges' errors on programs whose truth execution has found, where programs can be confined |
//!
//! Nothing here prints, and nothing knows a command line. Every figure has its count beside it, and what failed is left out and
//! counted, never taken for a zero.

pub mod aacr;
pub mod ask;
pub mod checklist;
mod error;
pub mod lines;
pub mod nearness;
pub mod resample;
#[cfg(target_os = "linux")]
pub mod study;

pub use error::SuiteError;
