//! From a change and a text to features, a verdict and its evidence.
//!
//! ```text
//!  diff + text ──► prompt ──► tokens ──► model ──► uncertainty ─┐
//!  (sample)        (template)  (segment,   │                    ├─► features ──► table ──► detector ──► report
//!                               line kind) └─────► attribution ─┘
//!                                                  └► aggregate
//! ```
//!
//! Dependencies point down that line. Nothing here prints, and nothing knows a command line.

pub mod analysis;
pub mod case;
pub mod error;
pub mod execution;
pub mod families;
pub mod finding;
pub mod focus;
pub mod gate;
pub mod generator;
pub mod judged;
mod known;
pub mod measurement;
pub mod preset;
pub mod run;
pub mod scorer;
pub mod self_check;
pub mod settings;
pub mod side;
pub mod tokens;
pub mod verdict;

pub use error::{Error, Result};
