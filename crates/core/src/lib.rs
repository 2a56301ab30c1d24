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
pub mod error;
pub mod evidence;
pub mod families;
pub mod focus;
pub mod gate;
pub mod generator;
pub mod measurement;
pub mod preset;
pub mod run;
pub mod scorer;
pub mod self_check;
pub mod settings;
pub mod side;
pub mod tokens;

pub use error::{Error, Result};
