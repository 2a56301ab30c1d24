//! veridiff finds what a generated code review comment or commit message says that the change does not support.
//!
//! ```text
//!  diff + text ──► prompt ──► tokens ──► model ──► uncertainty ─┐
//!  (sample)        (template)  (segment,   │                    ├─► features ──► table ──► detector ──► report
//!                               line kind) └─────► attribution ─┘
//!                                                  └► aggregate
//! ```
//!
//! Dependencies point down that line. The numeric modules ([`uncertainty`], [`attribution`], [`aggregate`], [`detector`])
//! do no input or output and print nothing; the command line computes nothing.

pub mod aggregate;
pub mod annotation;
pub mod attribution;
pub mod batch;
pub mod check;
pub mod contrast;
pub mod diff;
pub mod error;
pub mod features;
pub(crate) mod files;
pub mod grounding;
pub mod model;
pub mod plan;
pub mod preset;
pub mod prompt;
pub mod reference;
pub mod sample;
pub mod scorer;
pub mod self_check;
pub mod shape;
pub mod similarity;
pub mod table;
pub mod tokens;
pub mod uncertainty;

pub mod detector;
pub mod report;

pub mod cli;

pub use error::{Error, Result};
