//! The diff of a commit is git's own, byte for byte. Git is required.

mod support;

use support::{Fixture, git_in, same_as_git, shown_by_git};

/// Lines of a file of code, numbered so that each is its own.
fn code(lines: std::ops::Range<usize>) -> String {
    lines
        .map(|n| match n % 10 {
            0 => format!("def function_{n}(argument):\n"),
            5 => "\n".to_owned(),
            _ => format!("    value_{n} = argument + {n}\n"),
        })
        .collect()
}

#[test]
fn the_first_commit_and_empty_files() {
    let fixture = Fixture::new();
    fixture.write("a.py", code(0..20)).write("empty", "").write("no end", "x").write("folder/deep/b.txt", "b\n");
    fixture.commit("first");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(
        diff.contains("diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\ndiff --git"),
        "{diff}"
    );
    assert!(diff.contains("+++ b/no end\t\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"), "{diff}");
    fixture.remove("empty").remove("folder/deep/b.txt").write("other", "");
    fixture.commit("an empty file moves, another goes");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(diff.contains("similarity index 100%\nrename from empty\nrename to other\n"), "{diff}");
    fixture.commit("nothing");
    assert_eq!(same_as_git(&fixture, "HEAD"), "");
}

#[test]
fn renames_with_and_without_edits() {
    let fixture = Fixture::new();
    fixture.write("old/name.py", code(0..100)).write("other.py", code(200..300)).write("third.py", code(400..420));
    fixture.write("copied.py", code(500..600));
    fixture.commit("first");
    fixture.remove("old/name.py").remove("other.py").remove("third.py");
    fixture.write("new/name.py", code(0..100).replace("value_7 ", "value_seven "));
    fixture.write("changed a lot.py", code(240..300) + &code(1000..1030));
    fixture.write("unrelated.py", code(2000..2020));
    fixture.write("copy.py", code(500..600));
    fixture.commit("names");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(diff.contains("rename from old/name.py\nrename to new/name.py\n"), "{diff}");
    assert!(diff.contains("rename from other.py\nrename to changed a lot.py\n"), "{diff}");
    assert!(diff.contains("new file mode 100644\nindex 0000000..") && !diff.contains("copy from"), "{diff}");
    assert!(diff.contains("--- a/third.py\n+++ /dev/null\n"), "{diff}");
}

#[test]
fn many_candidates_for_one_name() {
    let fixture = Fixture::new();
    // Files that share most of their lines, and identical ones, so that the order of candidates decides.
    for n in 0..12 {
        fixture.write(&format!("a/{n}/mod.rs"), code(0..40) + &code(100 * n..100 * n + 10));
        fixture.write(&format!("same/{n}.txt"), "the same\ncontent\n");
    }
    fixture.commit("first");
    for n in 0..12 {
        fixture.remove(&format!("a/{n}/mod.rs")).remove(&format!("same/{n}.txt"));
        let file = if n % 3 == 0 { "lib.rs" } else { "mod.rs" };
        fixture.write(&format!("b/{n}/{file}"), code(0..40) + &code(100 * n + 2..100 * n + 15));
        if n != 5 {
            fixture.write(&format!("moved/{}.txt", 14 - n), "the same\ncontent\n");
        }
    }
    fixture.commit("all of them");
    assert_eq!(same_as_git(&fixture, "HEAD").matches("rename from").count(), 12 + 11);
}

#[cfg(unix)]
#[test]
fn modes_links_and_what_becomes_what() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture = Fixture::new();
    let dir = fixture.dir();
    let executable =
        |path: &str| std::fs::set_permissions(dir.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.write("run.sh", "echo\n").write("both.sh", code(0..50)).write("becomes", "a file\n").write("sub/x", "x\n");
    symlink("run.sh", dir.join("link")).unwrap();
    fixture.commit("first");
    executable("run.sh");
    fixture.remove("both.sh").write("both2.sh", code(0..50) + "end\n");
    executable("both2.sh");
    fixture.remove("link").remove("becomes").remove("sub/x");
    symlink("elsewhere/run.sh", dir.join("link")).unwrap();
    symlink("run.sh", dir.join("becomes")).unwrap();
    std::fs::remove_dir(dir.join("sub")).unwrap();
    fixture.write("sub", "a folder became a file\n");
    fixture.commit("modes");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(diff.contains("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\ndiff --git"), "{diff}");
    assert!(diff.contains("old mode 100644\nnew mode 100755\nsimilarity index"), "{diff}");
    assert!(diff.contains("deleted file mode 100644") && diff.contains("new file mode 120000"), "{diff}");
}

#[test]
fn ends_of_lines_and_names_of_other_alphabets() {
    let fixture = Fixture::new();
    fixture.write("crlf.txt", "one\r\ntwo\r\nthree").write("größe \"x\".txt", "ä\n").write("tab\there", "t\n");
    fixture.write("latin1.py", b"def gr\xfc\xdfe():\n\n\n\n\n x\n").write("long.py", "á".repeat(60) + "\n\n\n\n\n1\n");
    fixture.write("name_é_long.py", "def ".to_owned() + &"é".repeat(60) + "\n\n\n\n\n1\n");
    fixture.commit("first");
    fixture.write("crlf.txt", "one\r\nTWO\r\nthree\r\n").write("größe \"x\".txt", "ö\n").write("tab\there", "T\n");
    fixture.write("latin1.py", b"def gr\xfc\xdfe():\n\n\n\n\n y\n").write("long.py", "á".repeat(60) + "\n\n\n\n\n2\n");
    fixture.write("name_é_long.py", "def ".to_owned() + &"é".repeat(60) + "\n\n\n\n\n2\n");
    fixture.commit("second");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(
        diff.contains(r#"diff --git "a/gr\303\266\303\237e \"x\".txt" "b/gr\303\266\303\237e \"x\".txt""#),
        "{diff}"
    );
    assert!(diff.contains("-two\r\n-three\n\\ No newline at end of file\n+TWO\r\n+three\r\n"), "{diff}");
    assert!(diff.contains("@@ -3,4 +3,4 @@ def gr\n"), "{diff}");
    assert!(fixture.repository().commit("HEAD").unwrap().diff().unwrap().contains("@@ def gr\n"));
}

#[test]
fn a_merge_is_compared_with_its_first_parent() {
    let fixture = Fixture::new();
    fixture.write("a.py", code(0..60)).write("b.py", code(100..160));
    fixture.commit("first");
    fixture.git(&["checkout", "--quiet", "-b", "side"]);
    fixture.write("b.py", code(100..150) + "side\n");
    fixture.commit("on the side");
    fixture.git(&["checkout", "--quiet", "main"]);
    fixture.write("a.py", "main\n".to_owned() + &code(0..60));
    fixture.commit("on main");
    fixture.git(&["merge", "--quiet", "--no-edit", "side"]);
    let diff = same_as_git(&fixture, "HEAD");
    assert!(diff.contains("+side") && !diff.contains("+main"), "{diff}");
    let merge = fixture.repository().commit("HEAD").unwrap();
    assert_eq!(merge.parents.len(), 2);
    assert_eq!(merge.message, "Merge branch 'side'\n");
}

#[test]
fn submodules_and_binary_files() {
    let fixture = Fixture::new();
    let other = Fixture::new();
    other.write("x", "x\n");
    let first = other.commit("first");
    let second = other.commit("second");
    let entry = |hash: &str| format!("160000,{hash},modules/other");
    fixture.git(&["update-index", "--add", "--cacheinfo", &entry(&first)]);
    fixture.write("image.png", b"\x89PNG\r\n\x1a\n\0\0\0").write("text.bin", "text\n");
    fixture.git(&["add", "image.png", "text.bin"]);
    fixture.commit_index("first");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(diff.contains("Binary files /dev/null and b/image.png differ\n"), "{diff}");
    assert!(diff.contains(&format!("new file mode 160000\nindex 0000000..{}", &first[..7])), "{diff}");
    fixture.git(&["update-index", "--cacheinfo", &entry(&second)]);
    fixture
        .write("image.png", b"\x89PNG\r\n\x1a\n\0\0\x01")
        .write("text.bin", b"no text\0\n")
        .write("late.bin", code(0..500) + "\0");
    fixture.git(&["add", "image.png", "text.bin", "late.bin"]);
    fixture.commit_index("second");
    let diff = same_as_git(&fixture, "HEAD");
    assert!(diff.contains("Binary files a/image.png and b/image.png differ\n"), "{diff}");
    assert!(diff.contains("Binary files a/text.bin and b/text.bin differ\n"), "{diff}");
    assert!(diff.contains(&format!("-Subproject commit {first}\n+Subproject commit {second}\n")), "{diff}");
    fixture.git(&["rm", "--quiet", "--cached", "modules/other"]);
    fixture.git(&["mv", "image.png", "picture.png"]);
    fixture.commit_index("third");
    same_as_git(&fixture, "HEAD");
}

#[test]
fn a_file_of_five_thousand_lines() {
    let fixture = Fixture::new();
    fixture.write("large.py", code(0..5000));
    fixture.commit("first");
    let mut lines: Vec<String> = code(0..5000).lines().map(str::to_owned).collect();
    for at in (50..5000).step_by(97) {
        lines[at] = format!("    changed = {at}");
    }
    lines.drain(2000..2300);
    lines.splice(3000..3000, code(9000..9200).lines().map(str::to_owned));
    lines.swap(10, 4000);
    fixture.write("large.py", lines.join("\n"));
    fixture.commit("many places");
    assert!(same_as_git(&fixture, "HEAD").matches("\n@@ ").count() > 40);
    // Few different lines, each of them many times: this is where a search for the shortest diff gives up.
    let noise = |seed: u64, count: usize| -> String {
        let mut state = seed;
        let mut line = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{}line {}\n", " ".repeat((state >> 60) as usize), (state >> 33) % 40)
        };
        (0..count).map(|_| line()).collect()
    };
    fixture.write("large.py", noise(1, 3000)).write("small.py", noise(3, 300));
    fixture.commit("noise");
    fixture.write("large.py", noise(2, 3100)).write("small.py", noise(4, 280));
    fixture.commit("other noise");
    same_as_git(&fixture, "HEAD");
}

#[test]
fn packed_linked_and_bare_repositories_give_the_same() {
    let fixture = Fixture::new();
    for n in 0..40 {
        fixture.write("a.py", code(n..n + 80)).write(&format!("f{n}"), code(n * 100..n * 100 + 50));
        fixture.commit("one of many");
    }
    fixture.git(&["tag", "-a", "v1", "-m", "a tag", "HEAD~3"]);
    fixture.git(&["gc", "--quiet"]);
    let packed = same_as_git(&fixture, "v1^{commit}");
    let tagged = fixture.repository().commit("v1").unwrap();
    assert_eq!(tagged.diff().unwrap(), packed, "a tag stands for its commit");
    let elsewhere = tempfile::TempDir::new().unwrap();
    let (bare, linked) = (elsewhere.path().join("bare.git"), elsewhere.path().join("linked"));
    fixture.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    fixture.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap(), "HEAD~3"]);
    std::fs::create_dir(linked.join("inside")).unwrap();
    for (dir, rev) in [(&bare, "v1^0"), (&linked, "HEAD"), (&linked.join("inside"), "HEAD")] {
        let commit = veridiff_git::Repository::discover(dir).unwrap().commit(rev).unwrap();
        assert_eq!(commit.diff().unwrap(), packed, "{}", dir.display());
        assert_eq!(shown_by_git(dir, rev), packed.as_bytes());
    }
}

#[test]
fn no_configuration_changes_the_text() {
    let fixture = Fixture::new();
    fixture.write("a é.py", code(0..50)).write("b.py", code(100..150));
    fixture.commit("first");
    fixture.remove("b.py").write("a é.py", code(2..50)).write("c.py", code(100..151));
    fixture.commit("second");
    let plain = same_as_git(&fixture, "HEAD");
    for (key, value) in [
        ("core.abbrev", "12"),
        ("core.quotePath", "false"),
        ("diff.algorithm", "histogram"),
        ("diff.context", "1"),
        ("diff.noprefix", "true"),
        ("diff.renames", "false"),
        ("diff.external", "false"),
    ] {
        fixture.git(&["config", key, value]);
    }
    assert_eq!(fixture.repository().commit("HEAD").unwrap().diff().unwrap(), plain);
    let configured = git_in(&fixture.dir(), &["show", "--format=", "HEAD"], 0).stdout;
    assert_ne!(configured, plain.as_bytes(), "git itself follows it");
}
