//! The command line. A verb parses, calls the library and prints.
//!
//! These modules are public for the programs of this workspace, `veridiff` and `veridiff-lab`, which share options, progress
//! bars and the configuration file. They are not part of the library's interface and change without notice.

#![allow(rustdoc::all, reason = "the documentation of an option is its help, which is plain text")]

mod allocator;
pub mod args;
pub mod config;
pub mod interrupt;
#[cfg(test)]
mod options;
pub mod program;
pub mod progress;
pub mod terminal;
pub mod verbs;
