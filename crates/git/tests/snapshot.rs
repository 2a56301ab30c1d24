//! Whole trees: files, paths, and every name in them. Git is required.

mod support;

use support::Fixture;
use veridiff_git::{Bounds, Occurrence, Presence, Repository};

#[test]
fn usable_from_several_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Repository>();
    shared::<veridiff_git::Commit>();
    shared::<veridiff_git::Snapshot>();
}

#[test]
fn files_on_both_sides() {
    let fixture = Fixture::new();
    fixture.write("src/cache.py", "ttl = 60.0\n").write("größe.txt", "alt\n").write("image.png", "\0\0");
    fixture.commit("first");
    fixture.write("src/cache.py", "ttl = 300\r\n").remove("größe.txt").write("latin1.txt", b"gr\xfc\xdfe\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("src/cache.py", fixture.dir().join("link")).unwrap();
    let second = fixture.commit("second");
    let commit = fixture.repository().commit(&second).unwrap();
    let (before, after) = (commit.before().unwrap(), commit.after().unwrap());
    assert_eq!(before.file("src/cache.py").unwrap().as_deref(), Some("ttl = 60.0\n"));
    assert_eq!(after.file("src/cache.py").unwrap().as_deref(), Some("ttl = 300\r\n"), "as it is, not as checked out");
    assert_eq!(before.file("größe.txt").unwrap().as_deref(), Some("alt\n"));
    assert_eq!(after.file("größe.txt").unwrap(), None);
    assert_eq!(after.file("latin1.txt").unwrap().as_deref(), Some("gr\u{fffd}\u{fffd}e\n"));
    for path in
        ["image.png", "link", "src", "src/", "", "/src/cache.py", "src/cache.py/x", "../src/cache.py", "nowhere"]
    {
        assert_eq!(after.file(path).unwrap(), None, "{path:?}");
    }
    let expected = ["image.png", "latin1.txt", "link", "src/cache.py"];
    assert_eq!(
        after.paths().unwrap().collect::<Vec<_>>(),
        if cfg!(unix) { &expected[..] } else { &["image.png", "latin1.txt", "src/cache.py"] }
    );
    let first = fixture.repository().commit("HEAD~1").unwrap();
    assert_eq!(first.before().unwrap().paths().unwrap().count(), 0, "nothing is before the first commit");
    assert!(first.before().unwrap().names().unwrap().is_complete());
    assert_eq!(fixture.repository().snapshot("HEAD~1").unwrap().paths().unwrap().count(), 3);
}

#[test]
fn names_of_the_whole_tree() {
    let fixture = Fixture::new();
    fixture.write("src/cache.py", "class Cache:\n    max_size = 600\n    ttl = 60.0\n    self._cond.wait(0x1F)\n");
    fixture.write("docs/größe.md", "Die Größe $HOME/bin kostet 10ms.\n").write("binary", "hidden_name\0");
    fixture.commit("first");
    let snapshot = fixture.repository().snapshot("HEAD").unwrap();
    let names = snapshot.names().unwrap();
    for name in [
        "Cache", "max_size", "600", "60.0", "_cond", "wait", "0x1F", "Größe", "$HOME", "HOME", "10ms", "10", "cache",
        "py", "größe",
    ] {
        assert_eq!(names.presence(name), Presence::Present, "{name}");
    }
    for name in ["Max_Size", "MAX_SIZE", "60", "0", "hidden_name", "max", "cond", "groesse"] {
        assert_eq!(names.presence(name), Presence::Nowhere, "{name}");
    }
    for name in ["time.time", "max_size()", "", "-1", &"x".repeat(300)] {
        assert_eq!(names.presence(name), Presence::Unknown, "{name}: no name of its own");
    }
    assert_eq!(names.near("MAX_SIZE", 3), ["max_size"]);
    assert_eq!(names.near("Cahce", 3), ["Cache", "cache"]);
    let coverage = names.coverage();
    assert_eq!((coverage.files, coverage.binary, coverage.unread, coverage.missing), (2, 1, 0, 0));
    assert_eq!(coverage.bytes, 73 + 35);
    assert!(names.is_complete() && !names.is_empty());
}

#[test]
fn a_bound_takes_away_the_word_nowhere() {
    let fixture = Fixture::new();
    fixture.write("a_large.txt", "large ".repeat(100) + "rare_one").write("b.txt", "first").write("c.txt", "second");
    fixture.commit("first");
    let snapshot = fixture.repository().snapshot("HEAD").unwrap();
    let within = |bytes, names| {
        let names = snapshot.names_within(Bounds { bytes, large_file: 100, names }).unwrap();
        (
            names.is_complete(),
            names.coverage().unread,
            names.presence("second"),
            names.presence("rare_one"),
            names.presence("x"),
        )
    };
    use Presence::{Nowhere, Present, Unknown};
    assert_eq!(within(10_000, 100), (true, 0, Present, Present, Nowhere));
    assert_eq!(within(100, 100), (false, 1, Present, Unknown, Unknown), "small files come before large ones");
    assert_eq!(within(10, 100), (false, 2, Unknown, Unknown, Unknown));
    assert_eq!(within(10_000, 3), (false, 0, Unknown, Unknown, Unknown), "paths alone have more names");
}

#[test]
fn submodules_and_links_are_not_read() {
    let fixture = Fixture::new();
    fixture.write("a", "here\n");
    let hash = fixture.commit("first");
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{hash},other")]);
    fixture.commit_index("a submodule");
    let snapshot = fixture.repository().snapshot("HEAD").unwrap();
    assert_eq!(snapshot.paths().unwrap().collect::<Vec<_>>(), ["a", "other"]);
    assert_eq!(snapshot.file("other").unwrap(), None);
    let names = snapshot.names().unwrap();
    assert_eq!(names.coverage().submodules, 1);
    assert_eq!((names.presence("other"), names.presence("here")), (Presence::Present, Presence::Present));
}

#[test]
fn a_text_is_found_at_its_line() {
    let fixture = Fixture::new();
    fixture
        .write("a/main.rs", "fn main() {}\n// time.time()\nlet x = parse(\"--fail-on\");\n")
        .write("b.txt", "failed\n");
    fixture.commit("first");
    let snapshot = fixture.repository().snapshot("HEAD").unwrap();
    let (found, coverage) =
        snapshot.find(&["--fail-on", "time.time()", "fail", "b.txt", "parse(", "", "failed"]).unwrap();
    let at = |path: &str, line| Some(Occurrence { path: path.into(), line });
    assert_eq!(
        found,
        [at("a/main.rs", 3), at("a/main.rs", 2), at("a/main.rs", 3), None, at("a/main.rs", 3), None, at("b.txt", 1)]
    );
    assert!(coverage.is_complete());
}
