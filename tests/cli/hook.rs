//! The commit gate: `check --hook commit-msg` as git runs it, with real commits, merges and reverts.

use std::{fs, process::Output};

use super::Desk;

/// A desk with a repository in `tree` whose commit-msg hook is the gate.
fn desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path("tree")).unwrap();
    git(&desk, &["init", "-q", "-b", "main", "."]).ends_well();
    desk.write("tree/cache.py", "def get(key, ttl=30):\n    return cache[key]\n");
    git(&desk, &["add", "."]).ends_well();
    git(&desk, &["commit", "-q", "-m", "Start"]).ends_well();
    let hook = format!("#!/bin/sh\nexec '{}' check --hook commit-msg \"$1\"\n", env!("CARGO_BIN_EXE_veridiff"));
    desk.write("tree/.git/hooks/commit-msg", hook);
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(desk.path("tree/.git/hooks/commit-msg"), fs::Permissions::from_mode(0o755)).unwrap();
    desk
}

struct Git(Output);

impl Git {
    fn told(&self) -> String {
        format!("{}{}", String::from_utf8_lossy(&self.0.stdout), String::from_utf8_lossy(&self.0.stderr))
    }

    #[track_caller]
    fn ends_well(&self) -> String {
        assert!(self.0.status.success(), "{}", self.told());
        self.told()
    }

    #[track_caller]
    fn is_stopped(&self) -> String {
        assert!(!self.0.status.success(), "{}", self.told());
        self.told()
    }
}

fn git(desk: &Desk, args: &[&str]) -> Git {
    let mut command = std::process::Command::new("git");
    command.current_dir(desk.path("tree")).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(args);
    // without a model and without a network: the gate asks the change alone
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    Git(command.env("VERIDIFF_CACHE", desk.path("cache")).env("HF_HUB_OFFLINE", "1").output().unwrap())
}

/// Raises the default of `ttl` and tries to commit it.
fn commit(desk: &Desk, ttl: u32, args: &[&str]) -> Git {
    desk.write("tree/cache.py", format!("def get(key, ttl={ttl}):\n    return cache[key]\n"));
    git(desk, &[&["commit", "-q", "-a"], args].concat())
}

#[test]
fn only_what_the_change_contradicts_stops_a_commit_and_the_way_round_is_told() {
    let desk = desk();
    assert_eq!(commit(&desk, 60, &["-m", "Raise the default of `ttl` from 30 to 60"]).ends_well(), "");
    let told = commit(&desk, 90, &["-m", "Change the default of `ttl` from 60 to 300"]).is_stopped();
    assert!(told.contains("VD") && told.contains("git commit --no-verify"), "{told}");
    commit(&desk, 90, &["--no-verify", "-m", "Change the default of `ttl` from 60 to 300"]).ends_well();
    // what is nowhere in the repository is a warning
    let told = commit(&desk, 120, &["-m", "Let `frobnicate_matrix` wait longer"]).ends_well();
    assert!(told.contains("`frobnicate_matrix`") && told.contains("only warns"), "{told}");
    assert_eq!(commit(&desk, 121, &["-m", "wip"]).ends_well(), "");
}

#[test]
fn merges_reverts_fixups_and_what_changes_nothing_pass() {
    let desk = desk();
    git(&desk, &["checkout", "-q", "-b", "frobnicate"]).ends_well();
    desk.write("tree/other.py", "x = 1\n");
    git(&desk, &["add", "."]).ends_well();
    git(&desk, &["commit", "-q", "-m", "Add x"]).ends_well();
    git(&desk, &["checkout", "-q", "main"]).ends_well();
    commit(&desk, 60, &["-m", "Raise the default of `ttl`"]).ends_well();
    let told = git(&desk, &["merge", "--no-edit", "frobnicate"]).ends_well();
    assert!(told.contains("the message is that of a merge: passes untested"), "{told}");
    // git asks the hook of a revert only where a person ends it
    git(&desk, &["revert", "--no-commit", "HEAD~1"]).ends_well();
    let told = git(&desk, &["commit", "--no-edit"]).ends_well();
    assert!(told.contains("a revert: passes untested"), "{told}");
    let told = commit(&desk, 75, &["--fixup", "HEAD"]).ends_well();
    assert!(told.contains("a fixup: passes untested"), "{told}");
    assert_eq!(git(&desk, &["commit", "-q", "--allow-empty", "-m", "Lower `ttl` to 1"]).ends_well(), "");
    let reworded = git(&desk, &["commit", "-q", "--amend", "--allow-empty", "-m", "Lower it"]);
    assert_eq!(reworded.ends_well(), "");
}

#[test]
fn a_file_or_an_option_makes_the_gate_stricter_or_looser() {
    let desk = desk();
    let nowhere = ["-m", "Let `frobnicate_matrix` wait longer"];
    // what fails elsewhere is not what stops commits
    desk.write("tree/veridiff.toml", "fail-on = \"unsupported\"\n");
    commit(&desk, 60, &nowhere).ends_well();
    desk.write("tree/veridiff.toml", "[hook]\nfail-on = \"unsupported\"\n");
    commit(&desk, 90, &nowhere).is_stopped();
    desk.write("tree/veridiff.toml", "[hook]\nignore = [\"VD\"]\n");
    commit(&desk, 90, &["-m", "Change the default of `ttl` from 60 to 300"]).ends_well();
    desk.write("tree/veridiff.toml", "[hook]\nskip = [\"none\"]\nfail-on = \"VD001\"\n");
    let told = commit(&desk, 100, &["-m", "fixup! Let `frobnicate_matrix` wait"]);
    assert!(told.is_stopped().contains("frobnicate_matrix"));
}

#[test]
fn a_hook_is_called_as_git_calls_it() {
    let desk = desk();
    let run = |args: &[&str]| {
        let mut command = desk.command("");
        let output = command.current_dir(desk.path("tree")).args(["check", "--hook"]).args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = run(&["commit-msg"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("REV|FILE"), "{told}");
    let (code, told) = run(&["commit-msg", "a", "b"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("commit-msg \"$1\""), "{told}");
    assert_eq!(run(&["pre-push", "a"]).0, Some(2));
    // the first commit of a repository, and a folder that is in none
    desk.write("message", "Start\n# a comment\n");
    let message = desk.path("message").display().to_string();
    assert_eq!(run(&["commit-msg", &message]).0, Some(0));
    let outside = desk.run(&["check", "--hook", "commit-msg", "message"]);
    outside.ends(2, &["git cannot show what is staged", "hint: "]);
}
