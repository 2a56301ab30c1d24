//! The program as its users meet it: exit status, stdout and stderr together, in a fresh folder, offline. One binary for all, so that
//! what waits for a server or a notebook leaves its processor to the others.

mod bad_input;
mod batch;
mod check;
mod config;
#[path = "../common/desk.rs"]
mod desk;
mod encoder_decoder;
mod evidence;
mod explain;
mod fetching;
mod fit_and_eval;
mod hook;
mod hub;
mod judge;
#[path = "../common/judging.rs"]
mod judging;
mod lab;
mod merge;
mod notebook;
#[cfg(feature = "platforms")]
mod platforms;
mod references;
mod report;
mod repository;
mod resume;
#[path = "../../crates/judge/tests/common/mod.rs"]
mod server;
mod snapshots;
#[path = "../common/transcript.rs"]
mod transcript;
mod verbs;
mod verdicts;
mod waiting;

use std::path::PathBuf;

use desk::{Desk, Run, fixture, sample};

/// The repository's root.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The examples that ship with the program: 48 samples, labelled.
const DEMO: &str = include_str!("../../examples/demo.jsonl");

/// The program that has a verb.
fn program(_verb: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_veridiff"))
}
