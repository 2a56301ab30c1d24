//! `check` with a repository: the change of a commit, and the names of the whole tree behind a change.

use std::process::Command;

use serde_json::Value;

use super::{Desk, Run, sample};

/// A file that the last commit leaves alone.
const OTHER: &str = "RETRY_LIMIT = 60.0\n\ndef flush_queue(queue):\n    return queue.drain()\n";

fn git(desk: &Desk, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.current_dir(desk.path("tree")).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]);
    command.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A desk with a repository in `tree`, whose last commit has this message and changes `count.py` only.
fn desk(message: &str) -> Desk {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path("tree/lib")).unwrap();
    git(&desk, &["init", "-q", "."]);
    desk.write("tree/lib/queue.py", OTHER);
    desk.write("tree/count.py", "def count(rows):\n    total = 1\n    return total\n");
    desk.write("tree/gone.py", "legacy_counter = 1\n");
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "-q", "-m", "start"]);
    desk.write("tree/count.py", "def count(rows):\n    total = len(rows)\n    return total\n");
    git(&desk, &["commit", "-q", "-a", "-m", message]);
    desk
}

fn check(desk: &Desk, args: &str) -> Run {
    desk.run_line(&format!("check --detector none --json {args}"))
}

/// The verdict of the first finding and the rules that object, as `CODE ruling`.
#[track_caller]
fn found(run: &Run) -> (String, Vec<String>) {
    let lines = run.lines();
    assert_eq!(lines.len(), 1, "{}", run.stderr);
    assert_eq!(lines[0]["error"], Value::Null);
    let rules = lines[0]["statements"].as_array().unwrap().iter().flat_map(|s| s["facts"].as_array().unwrap().clone());
    let objections = rules.filter(|rule| rule["ruling"] != "holds");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let objections = objections.map(|rule| format!("{} {}", text(&rule["rule"]), text(&rule["ruling"]))).collect();
    (text(&lines[0]["verdict"]), objections)
}

const ELSEWHERE: &str = "Count the rows in `total`, as `flush_queue` does";
const NOWHERE: &str = "Count the rows in `total`, as `frobnicate_matrix` does";

#[test]
fn what_the_tree_has_elsewhere_is_not_absent() {
    let desk = desk(ELSEWHERE);
    let (verdict, objections) = found(&check(&desk, "--commit HEAD --repo tree"));
    assert_eq!((verdict.as_str(), objections), ("clear", vec![]));
    // a folder of the repository is as good as its root
    assert_eq!(found(&check(&desk, "--commit HEAD --repo tree/lib")).0, "clear");
    // the diff alone does not know
    desk.write("change.diff", git(&desk, &["show", "--format="]));
    desk.write("text", ELSEWHERE);
    let alone = found(&check(&desk, "--diff change.diff --text text --task commit"));
    assert_eq!(alone, ("abstain".into(), vec!["VD001 not_here".into()]));
}

/// Of a commit as of a diff that is piped in.
#[test]
fn what_of_a_commit_is_not_read_is_said() {
    let desk = desk("start");
    desk.write("tree/logo.bin", [0, 159, 146, 150, 0]);
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "-q", "-m", "Add a logo"]);
    check(&desk, "HEAD --repo tree").ends(0, &["note: `HEAD`: ", "logo.bin"]);
    check(&desk, "HEAD -m Logo --repo tree").ends(0, &["note: `HEAD`: ", "logo.bin"]);
    assert!(!check(&desk, "HEAD~1 --repo tree").stderr.contains("logo.bin"));
}

#[test]
fn what_is_nowhere_in_the_tree_is_unsupported() {
    let desk = desk(NOWHERE);
    let run = check(&desk, "--commit HEAD --repo tree");
    assert_eq!(found(run.ends(1, &[])), ("unsupported".into(), vec!["VD001 nowhere".into()]));
    assert!(run.stdout.contains("`frobnicate_matrix` is in no file of the tree"), "{}", run.stdout);
}

#[test]
fn both_sides_of_a_commit_count() {
    // the commit takes away a name of which its diff shows nothing but that a file is renamed
    let desk = desk("middle");
    git(&desk, &["rm", "-q", "gone.py"]);
    desk.write("tree/count.py", "def count(rows):\n    return len(rows)\n");
    git(&desk, &["commit", "-q", "-a", "-m", "Return the rows at once, not by `legacy_counter`"]);
    assert_eq!(found(&check(&desk, "--commit HEAD --repo tree")).1, Vec::<String>::new());
    // a tree after it does not have the name any more, one before it does
    desk.write("change.diff", git(&desk, &["show", "--format=", "HEAD", "--", "count.py"]));
    desk.write("text", "`legacy_counter` returns the rows.");
    let given = |rev: &str| found(&check(&desk, &format!("--diff change.diff --text text --repo tree --rev {rev}")));
    assert_eq!(given("HEAD").1, ["VD001 nowhere"]);
    assert_eq!(given("HEAD~1").1, Vec::<String>::new());
}

#[test]
fn a_tree_stands_behind_a_diff_given_by_hand() {
    let desk = desk("total");
    desk.write("change.diff", git(&desk, &["show", "--format="]));
    let given = |text: &str, with: &str| {
        desk.write("text", text);
        found(&check(&desk, &format!("--diff change.diff --text text {with}")))
    };
    for with in ["--repo tree --rev HEAD", "--repo tree --rev HEAD~1", "--repo tree"] {
        assert_eq!(given("`flush_queue` gets `total` rows.", with).1, Vec::<String>::new(), "{with}");
        let nowhere = given("`frobnicate_matrix` gets `total` rows.", with);
        assert_eq!(nowhere, ("unsupported".into(), vec!["VD001 nowhere".into()]), "{with}");
        // 60.0 in the other file
        assert_eq!(given("`total` is at most 60 rows.", with).1, Vec::<String>::new(), "{with}");
        assert_eq!(given("`total` is at most 6172 rows.", with).1, ["VD002 nowhere"], "{with}");
    }
    // one repository for all samples
    let diff = desk.text("change.diff");
    desk.write("in.jsonl", sample("a", &diff, "`flush_queue` gets it.") + &sample("b", &diff, "`frob_it` gets it."));
    let findings = check(&desk, "--input in.jsonl --repo tree").lines();
    let verdicts: Vec<&str> = findings.iter().map(|finding| finding["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[1], "unsupported");
    assert_ne!(verdicts[0], "unsupported");
}

#[test]
fn the_change_of_a_commit_is_what_git_shows() {
    let desk = desk("Count the `rows` in `total`");
    // neither configuration nor attributes change it
    git(&desk, &["config", "diff.context", "0"]);
    git(&desk, &["config", "diff.noprefix", "true"]);
    let args =
        ["-c", "diff.context=3", "-c", "diff.noprefix=false", "show", "--no-color", "--format=", "--first-parent"];
    desk.write("change.diff", git(&desk, &args));
    let model = super::fixture("llama_tied");
    let of = |args: &str| {
        let run = desk.run_line(&format!("explain --model {model} --json {args}"));
        let page: Value = serde_json::from_str(&run.ends(0, &[]).stdout).unwrap();
        let tokens = page["tokens"].as_array().unwrap().iter();
        tokens.filter(|t| t["segment"] != "response").map(|t| t["text"].as_str().unwrap()).collect::<String>()
    };
    desk.write("text", "Count the `rows` in `total`");
    let by_hand = of("--diff change.diff --text text --task commit");
    assert!(by_hand.contains("+    total = len(rows)") && by_hand.contains("index "), "{by_hand}");
    // `explain` looks for the repository where it runs
    let mut command = desk.command("");
    command.current_dir(desk.path("tree")).args(["explain", "--model", &model, "--json", "HEAD"]);
    let page: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let tokens = page["tokens"].as_array().unwrap().iter();
    let text: String = tokens.filter(|t| t["segment"] != "response").map(|t| t["text"].as_str().unwrap()).collect();
    assert_eq!(text, by_hand);
}

#[test]
fn what_the_repository_does_not_have_is_refused_with_a_hint() {
    let desk = desk("total");
    desk.write("change.diff", git(&desk, &["show", "--format="]));
    desk.write("text", "`total` is new.");
    check(&desk, "--commit nope --repo tree").refused(&["the repository has no revision `nope`", "hint: `git log"]);
    check(&desk, "--commit HEAD~1..HEAD --repo tree").refused(&["is a range", "hint: "]);
    check(&desk, "nope --repo tree").refused(&["the repository has no revision `nope`", "hint: `git log"]);
    check(&desk, "HEAD~9 --repo tree")
        .refused(&["there is no `HEAD~9`: `HEAD` has 1 commit before it", "hint: the first commit is `HEAD~1`"]);
    check(&desk, "HEAD~9.. --repo tree").refused(&["there is no `HEAD~9`", "hint: "]);
    check(&desk, "nope.jsonl --repo tree").refused(&["there is no file `nope.jsonl`", "hint: check the path"]);
    check(&desk, "nope..HEAD --repo tree").refused(&["the repository has no revision `nope`"]);
    check(&desk, "HEAD~1...HEAD --repo tree").refused(&["is not a range of commits", "hint: write two revisions"]);
    check(&desk, "HEAD HEAD~1 -m x --repo tree").refused(&["more than one change"]);
    check(&desk, "HEAD~1.. -m x --repo tree").refused(&["is a range, and there is one text", "hint: name one commit"]);
    check(&desk, "--commit HEAD").refused(&["there is no git repository in `.`", "hint: name a folder", "--repo DIR"]);
    let by_hand = |args: &str| check(&desk, &format!("--diff change.diff --text text {args}"));
    by_hand("--rev HEAD").refused(&["there is no git repository in `.`", "hint: "]);
    by_hand("--repo nowhere --rev HEAD").refused(&["nowhere"]);
    by_hand("--repo tree --rev nope").refused(&["no revision `nope`", "hint: "]);
    check(&desk, "--commit HEAD --repo tree --rev HEAD").refused_by_usage(&["--rev", "--commit"]);
    std::fs::create_dir(desk.path("new")).unwrap();
    git(&desk, &["init", "-q", desk.path("new").to_str().unwrap()]);
    check(&desk, "HEAD --repo new").refused(&["no revision `HEAD`", "hint: it has no commit yet"]);
}

#[test]
fn commits_are_named_as_git_names_them() {
    let desk = desk(NOWHERE);
    // the very same as the option
    let (named, option) = (check(&desk, "HEAD --repo tree"), check(&desk, "--commit HEAD --repo tree"));
    assert_eq!((&named.stdout, named.code), (&option.stdout, option.code));
    desk.write("tree/count.py", "def count(rows):\n    total = len(rows) + 1\n    return total\n");
    git(&desk, &["commit", "-q", "-a", "-m", "Add one to `total`"]);
    git(&desk, &["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    git(&desk, &["checkout", "-q", "-b", "side", "HEAD~2"]);
    desk.write("tree/side.py", "side = 1\n");
    git(&desk, &["add", "."]);
    git(&desk, &["commit", "-q", "-m", "Add `side`"]);
    git(&desk, &["merge", "-q", "--no-edit", "-"]);
    let run = check(&desk, "HEAD~2.. --repo tree");
    run.ends(0, &["changes nothing: passes untested", "is a merge: passes untested"]);
    let ids = |rev: &str| String::from_utf8(git(&desk, &["rev-parse", "--short=10", rev])).unwrap().trim().to_owned();
    let checked: Vec<String> = run.lines().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(checked.iter().collect::<std::collections::BTreeSet<_>>().len(), 2);
    assert!(checked.contains(&ids("HEAD^1")) && checked.contains(&ids("HEAD^2~1")), "{checked:?}");
    // each against its own tree
    assert_eq!(check(&desk, "HEAD^2~1 HEAD^2~2 --repo tree").lines().len(), 2);
    assert_eq!(check(&desk, "HEAD --skip none --repo tree").lines().len(), 1);
    check(&desk, "HEAD..HEAD --repo tree").ends(0, &["there is no commit in `HEAD..HEAD`"]);
    // another text about the same change
    let about = check(&desk, "HEAD^1 -m Adds-`frobnicate_matrix`. --repo tree");
    assert_eq!(found(&about).1, ["VD001 nowhere"]);
}
