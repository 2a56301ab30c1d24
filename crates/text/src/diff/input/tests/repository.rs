//! What git itself prints of a repository made here.

use std::{path::Path, process::Command};

use super::*;

/// A repository with two commits on `main`, a branch that was merged in, and a change that is not committed.
struct Repository(tempfile::TempDir);

const LIE: &str = "Switch the cache to Redis\n\n- with a connection pool\n@@ -1 +1 @@\n-and retry\ndiff of HTTP 503";

impl Repository {
    /// None where git is not installed.
    fn new() -> Option<Repository> {
        Command::new("git").arg("--version").output().ok()?;
        let repository = Repository(tempfile::tempdir().unwrap());
        let put = |name: &str, content: &[u8]| std::fs::write(repository.path().join(name), content).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        put("cache.py", b"def get(key):\n    return store[key]\n\n\ndef put(key, value):\n    store[key] = value\n");
        put("dos.txt", b"one\r\ntwo\r\nthree\r\n");
        put("logo.png", b"\x89PNG\r\n\0\0\0\x01");
        put("Cargo.lock", b"version = 1\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "Begin"]);
        put("cache.py", b"def get(key):\n    return store.get(key)\n\n\ndef put(key, value):\n    store[key] = value\n\n\ndef clear():\n    store.clear()\n");
        put("dos.txt", b"one\r\n2\r\nthree\r\n");
        put("logo.png", b"\x89PNG\r\n\0\0\0\x02");
        put("Cargo.lock", b"version = 2\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", LIE]);
        Some(repository)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let mut git = Command::new("git");
        for (name, value) in
            [("user.name", "A"), ("user.email", "a@b"), ("commit.gpgsign", "false"), ("color.ui", "never")]
        {
            git.args(["-c", &format!("{name}={value}")]);
        }
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env("GIT_PAGER", "cat");
        git.current_dir(self.path()).args(arguments).output().unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        decode(&output.stdout).0
    }

    fn read(&self, arguments: &[&str]) -> ChangeText {
        let change = read(&self.git(arguments)).unwrap_or_else(|error| panic!("git {arguments:?}: {error}"));
        assert_eq!(read(&change.diff).unwrap().diff, change.diff, "git {arguments:?}");
        for word in ["Redis", "pool", "retry", "503", "Author", "2.4"] {
            assert!(!change.diff.contains(word), "git {arguments:?}: {word}\n{}", change.diff);
        }
        change
    }
}

#[test]
fn the_same_change_is_read_of_every_command() {
    let Some(repository) = Repository::new() else { return };
    let alone = repository.read(&["diff", "HEAD^", "HEAD"]);
    assert_eq!(alone.message, None);
    let (files, lines) = changes(&alone.diff);
    assert_eq!(files, ["Cargo.lock", "cache.py", "dos.txt", "logo.png"]);
    assert_eq!(
        lines,
        [
            "-    return store[key]",
            "+    return store.get(key)",
            "+",
            "+",
            "+def clear():",
            "+    store.clear()",
            "-two\r",
            "+2\r"
        ]
    );
    let notes: Vec<String> = alone.notes.iter().map(Note::to_string).collect();
    assert_eq!(notes, ["written by a tool, not read: `Cargo.lock`", "binary, not read: `logo.png`"]);

    for arguments in [
        &["show"][..],
        &["show", "--color=always"],
        &["show", "--stat", "-p"],
        &["show", "--raw", "--summary", "-p"],
        &["show", "--format=fuller", "--binary"],
        &["show", "--format=raw"],
        &["show", "--format=email"],
        &["log", "-p", "-1", "--decorate"],
        &["log", "-p", "-1", "--numstat"],
        &["format-patch", "-1", "--stdout"],
        &["format-patch", "-1", "--stdout", "--binary", "--no-signature"],
        &["diff", "--patch-with-stat", "HEAD^", "HEAD"],
        &["diff", "--color=always", "--color-moved", "--ws-error-highlight=all", "HEAD^", "HEAD"],
        &["diff", "--binary", "HEAD^", "HEAD"],
    ] {
        let change = repository.read(arguments);
        assert_eq!(changes(&change.diff), (files.clone(), lines.clone()), "git {arguments:?}");
        assert_eq!(change.notes, alone.notes, "git {arguments:?}");
        if arguments[0] != "diff" {
            assert_eq!(change.message.as_deref(), Some(LIE), "git {arguments:?}");
        }
    }
    // words in an unknown order are told
    for format in ["--format=%B", "--oneline"] {
        let change = repository.read(&["show", format]);
        assert_eq!((changes(&change.diff).1, change.notes.len()), (lines.clone(), 3), "{format}");
    }
}

#[test]
fn several_commits_are_one_change_with_their_messages() {
    let Some(repository) = Repository::new() else { return };
    for arguments in [&["log", "-p", "--stat"][..], &["format-patch", "--root", "--stdout", "HEAD"]] {
        let change = repository.read(arguments);
        let message = change.message.unwrap();
        assert!(message.contains("Begin") && message.contains(LIE), "{message}");
        assert_eq!(changes(&change.diff).0.len(), 8, "{}", change.diff);
        assert_eq!(change.notes.len(), 2);
    }
}

#[test]
fn a_merge_with_a_conflict_is_read_against_its_first_parent() {
    let Some(repository) = Repository::new() else { return };
    let put = |text: &str| std::fs::write(repository.path().join("x.txt"), text).unwrap();
    let commit = |message: &str| {
        repository.git(&["add", "x.txt"]);
        repository.git(&["commit", "-qm", message]);
    };
    put("a\nb\nc\n");
    commit("base");
    repository.git(&["checkout", "-qb", "topic"]);
    put("a\ntopic\nc\n");
    commit("topic");
    repository.git(&["checkout", "-q", "main"]);
    put("a\nmain\nc\n");
    commit("main");
    assert!(!repository.run(&["merge", "-q", "topic"]).status.success());
    let unmerged = repository.read(&["diff"]);
    let marked = ["+<<<<<<< HEAD", "+=======", "+topic", "+>>>>>>> topic"];
    assert_eq!(changes(&unmerged.diff).1, marked);
    put("a\nboth\nc\n");
    commit("Merge");
    let merged = repository.read(&["show"]);
    assert_eq!(changes(&merged.diff), (vec!["x.txt".into()], vec!["-main".into(), "+both".into()]));
    assert_eq!(changes(&merged.diff), changes(&repository.git(&["diff", "HEAD^1", "HEAD"])));
    assert_eq!(merged.notes, [Note::FirstParent { line: 12 }]);
    assert_eq!(changes(&repository.read(&["show", "-c"]).diff).1, ["-main", "+both"]);
}

#[test]
fn renames_modes_submodules_and_empty_files_are_kept() {
    let Some(repository) = Repository::new() else { return };
    repository.git(&["mv", "cache.py", "a cache.py"]);
    repository.git(&["rm", "-q", "dos.txt"]);
    std::fs::write(repository.path().join("empty"), "").unwrap();
    repository.git(&["add", "."]);
    let pointer = "160000,0123456789012345678901234567890123456789,module";
    repository.git(&["update-index", "--add", "--cacheinfo", pointer]);
    repository.git(&["update-index", "--chmod=+x", "Cargo.lock"]);
    let staged = repository.git(&["diff", "--cached", "-M"]);
    let change = read(&staged).unwrap();
    assert_eq!((change.diff.as_str(), change.notes), (staged.as_str(), vec![]));
    let (files, lines) = changes(&change.diff);
    assert_eq!(files, ["Cargo.lock", "a cache.py", "dos.txt", "empty", "module"]);
    assert_eq!(lines[3], "+Subproject commit 0123456789012345678901234567890123456789");
}

#[test]
fn what_git_prints_without_a_change_is_refused() {
    let Some(repository) = Repository::new() else { return };
    let instead = |arguments: &[&str]| match read(&repository.git(arguments)) {
        Err(InputError::NotADiff(instead)) => instead,
        other => panic!("git {arguments:?}: {other:?}"),
    };
    assert_eq!(instead(&["diff", "--stat", "HEAD^"]), Instead::Summary);
    assert_eq!(instead(&["diff", "--stat", "--color=always", "HEAD^"]), Instead::Summary);
    assert_eq!(instead(&["show", "--stat"]), Instead::Summary);
    assert_eq!(instead(&["diff", "--numstat", "HEAD^"]), Instead::Summary);
    assert_eq!(instead(&["diff", "--name-only", "HEAD^"]), Instead::Names);
    assert_eq!(instead(&["diff", "--name-status", "HEAD^"]), Instead::Names);
    assert_eq!(instead(&["log"]), Instead::Messages);
    assert_eq!(instead(&["status"]), Instead::Status);
    assert_eq!(instead(&["log", "-p", "-1", "--graph"]), Instead::Behind("| ".into()));
    assert_eq!(instead(&["diff", "--word-diff", "HEAD^", "HEAD", "dos.txt"]), Instead::WordDiff);
}
