//! `veridiff.toml`: where it is found, what it sets, and what is refused.

use super::{Desk, Run, sample};

const DIFF: &str = "@@ -1,2 +1,2 @@\n-    return width * width\n+    return width * height\n";

/// A desk with a repository in `repo`, a folder in it, and samples there: one names something that is not in the diff.
fn desk() -> Desk {
    let desk = Desk::new();
    for folder in ["repo", "repo/.git", "repo/deep"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    desk.write("repo/deep/in.jsonl", sample("a", DIFF, "`frobnicate_matrix` multiplies by `height`."));
    desk
}

/// `check` in the deep folder, by the change alone.
fn check(desk: &Desk, args: &str) -> Run {
    let mut command = desk.command("");
    command.current_dir(desk.path("repo/deep")).args(["check", "--detector", "none", "in.jsonl"]);
    let output = command.args(args.split_whitespace()).output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_file_at_the_root_of_the_repository_sets_what_the_command_line_may_change() {
    let desk = desk();
    check(&desk, "").ends(0, &[]);
    desk.write("repo/veridiff.toml", "fail-on = \"VD001\"\nformat = \"json\"\n");
    let run = check(&desk, "");
    assert!(run.ends(1, &[]).stdout.starts_with("{\""), "{}", run.stdout);
    assert!(!check(&desk, "--format text --fail-on contradicted").ends(0, &[]).stdout.starts_with('{'));
    assert!(!check(&desk, "--isolated").ends(0, &[]).stdout.starts_with('{'));
    desk.write("other.toml", "ignore = [\"VD001\"]\nfail-on = \"VD001\"\n");
    let other = desk.path("other.toml").display().to_string();
    check(&desk, &format!("--config {other}")).ends(0, &[]);
}

/// A detector by its name is that one, whatever stands beside the file.
#[test]
fn a_folder_that_is_called_as_a_detector_is_none() {
    let desk = desk();
    for folder in ["repo/none", "repo/commit"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    let all = |args: &str| {
        let mut command = desk.command("");
        command.current_dir(desk.path("repo/deep")).args(["check", "in.jsonl", "--json"]).args(args.split_whitespace());
        command.output().unwrap()
    };
    for name in ["none", "commit"] {
        desk.write("repo/veridiff.toml", format!("detector = \"{name}\"\n"));
        let output = all("");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let given = all(&format!("--isolated --detector {name}"));
        assert_eq!(output.stdout, given.stdout);
    }
}

#[test]
fn what_a_file_cannot_set_is_refused_with_its_line() {
    let desk = desk();
    desk.write("repo/veridiff.toml", "# the gate\nfail_on = \"abstain\"\n");
    check(&desk, "").refused(&["veridiff.toml` line 2: unknown key `fail_on`", "hint: did you mean `fail-on`?"]);
    check(&desk, "--isolated").ends(0, &[]);
    desk.write("repo/veridiff.toml", "fail-on = \"VD03\"\n");
    check(&desk, "").refused(&["line 1: invalid value 'VD03' for '--fail-on", "did you mean `VD003`?"]);
    check(&desk, "--config none.toml").refused(&["cannot read `none.toml`", "hint: check the path of --config"]);
    check(&desk, "--config x --isolated").refused_by_usage(&["cannot be used with"]);
}
