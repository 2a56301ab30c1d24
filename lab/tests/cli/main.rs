//! The research tools as their users meet them: exit status, stdout and stderr together, in a fresh folder, offline.

mod annotate;
mod asking;
mod bench;
#[path = "../../../tests/common/desk.rs"]
mod desk;
mod generate;
#[path = "../../../tests/common/judging.rs"]
mod judging;
#[cfg(target_os = "linux")]
mod packs;
#[path = "../../../crates/judge/tests/common/mod.rs"]
mod server;
mod snapshots;
#[path = "../../../tests/common/transcript.rs"]
mod transcript;
mod two_repositories;
#[cfg(target_os = "linux")]
mod verify;

use std::path::{Path, PathBuf};

/// The repository's root.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The examples that ship with the program: 48 samples, labelled.
const DEMO: &str = include_str!("../../../examples/demo.jsonl");

/// Verbs of the command itself, which some tests run before or after a research tool.
const OF_THE_COMMAND: [&str; 5] = ["check", "eval", "fit", "judge", "score"];

/// The program that has a verb: this package's own, or `veridiff`, which is built next to it.
fn program(verb: &str) -> PathBuf {
    let lab = Path::new(env!("CARGO_BIN_EXE_veridiff-lab"));
    if !OF_THE_COMMAND.contains(&verb) {
        return lab.to_owned();
    }
    let command = lab.with_file_name(format!("veridiff{}", std::env::consts::EXE_SUFFIX));
    assert!(command.is_file(), "these tests need the command too: run `cargo build -p veridiff` with the same profile");
    command
}
