//! `veridiff lab` and the verbs that moved there: the other program runs in the place of this one.

#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt};

use super::desk::{Desk, Run};

/// Runs a copy of the program with a `veridiff-lab` next to it that prints its arguments and exits with 3.
fn run(args: &[&str]) -> Run {
    let desk = Desk::new();
    fs::copy(env!("CARGO_BIN_EXE_veridiff"), desk.path("veridiff")).unwrap();
    desk.write("veridiff-lab", "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 3\n");
    fs::set_permissions(desk.path("veridiff-lab"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = std::process::Command::new(desk.path("veridiff")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn arguments_and_exit_status_are_passed_on() {
    let ran = run(&["lab", "corpus", "--repo", "a b", "--help"]);
    ran.ends(3, &[]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("<corpus><--repo><a b><--help>", ""));
    assert_eq!(run(&["doctor", "--sandbox", "--json"]).stdout, "<doctor><--json>");
}

#[test]
fn a_verb_that_moved_runs_with_a_note() {
    let ran = run(&["verify", "--input", "cases.jsonl"]);
    ran.ends(3, &["note: `veridiff verify` is `veridiff lab verify` now"]);
    assert_eq!(ran.stdout, "<verify><--input><cases.jsonl>");
    let quiet = run(&["-q", "agree", "a.jsonl"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("<-q><agree><a.jsonl>", ""));
    // options before the verb are passed on, and the value of one is no verb
    assert_eq!(run(&["--isolated", "lab", "agree"]).stdout, "<--isolated><agree>");
    assert_eq!(run(&["--config", "f.toml", "agree", "x"]).stdout, "<--config><f.toml><agree><x>");
    assert_eq!(run(&["--config", "agree", "--version"]).stdout.split(' ').next(), Some("veridiff"));
    assert_eq!(run(&["lab", "--version"]).stdout, "<--version>");
}

#[test]
fn without_the_other_program_the_error_names_the_package() {
    let desk = Desk::new();
    fs::copy(env!("CARGO_BIN_EXE_veridiff"), desk.path("veridiff")).unwrap();
    let output =
        std::process::Command::new(desk.path("veridiff")).args(["lab", "corpus"]).env("PATH", "").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot find `veridiff-lab`") && stderr.contains("cargo install --path lab"), "{stderr}");
}
