//! veridiff finds what a generated code review comment or commit message says that the change does not support.
//!
//! This package is the command, and the library's face: its parts stand under `crates/`.

pub use veridiff_core::{Error, Result};
