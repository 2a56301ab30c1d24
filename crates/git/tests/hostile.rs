//! Repositories that were damaged or made to do harm give errors. Git is required.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::Fixture;
use veridiff_git::{GitError, Repository};
use veridiff_text::hint::Hint;

/// Writes an object as it is, checked by nobody, and gives its hash.
fn object(fixture: &Fixture, kind: &str, content: &[u8]) -> String {
    let mut git = Command::new("git")
        .args(["hash-object", "-w", "--literally", "--stdin", "-t", kind])
        .current_dir(fixture.dir())
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is installed");
    git.stdin.take().unwrap().write_all(content).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn tree(fixture: &Fixture, entries: &[(&str, &str, &str)]) -> String {
    let mut content = Vec::new();
    for (mode, name, hash) in entries {
        content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        content.extend((0..40).step_by(2).map(|at| u8::from_str_radix(&hash[at..at + 2], 16).unwrap()));
    }
    object(fixture, "tree", &content)
}

fn commit(fixture: &Fixture, tree: &str, parents: &[&str]) -> String {
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let text = format!("tree {tree}\n{parents}author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nmessage\n");
    object(fixture, "commit", text.as_bytes())
}

/// How often each repository is damaged: `VERIDIFF_DAMAGE` or a few dozen times.
fn rounds() -> u64 {
    std::env::var("VERIDIFF_DAMAGE").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(60)
}

/// Everything that can be asked of a commit; what it answers does not matter here.
fn ask_everything(repository: &Repository, rev: &str) {
    let Ok(commit) = repository.commit(rev) else { return };
    let _ = commit.diff();
    for snapshot in [commit.before(), commit.after()].into_iter().flatten() {
        let _ = snapshot.names();
        let paths: Vec<String> = snapshot.paths().into_iter().flatten().map(str::to_owned).collect();
        for path in paths {
            let _ = snapshot.file(&path);
        }
    }
}

#[test]
fn a_tree_that_unfolds_without_end() {
    let fixture = Fixture::new();
    let mut hash = object(&fixture, "blob", b"x\n");
    let mut mode = "100644";
    let names: Vec<String> = (0..10).map(|n| format!("f{n}")).collect();
    for _ in 0..10 {
        let entries: Vec<_> = names.iter().map(|name| (mode, name.as_str(), hash.as_str())).collect();
        hash = tree(&fixture, &entries);
        mode = "40000";
    }
    let commit = commit(&fixture, &hash, &[]);
    let commit = fixture.repository().commit(&commit).unwrap();
    for error in [commit.diff().unwrap_err(), commit.after().unwrap().names().unwrap_err()] {
        assert!(matches!(error, GitError::TooLarge { .. }), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_deep_tree() {
    let fixture = Fixture::new();
    let mut hash = object(&fixture, "blob", b"x\n");
    let (mut mode, mut name) = ("100644", "x".to_owned());
    for _ in 0..200 {
        hash = tree(&fixture, &[(mode, &name, &hash)]);
        (mode, name) = ("40000", "d".repeat(100));
    }
    let commit = commit(&fixture, &hash, &[]);
    let commit = fixture.repository().commit(&commit).unwrap();
    assert!(commit.diff().unwrap().ends_with("@@ -0,0 +1 @@\n+x\n"));
}

#[test]
fn trees_that_git_would_not_write() {
    let fixture = Fixture::new();
    let blob = object(&fixture, "blob", b"x\n");
    let blob = blob.as_str();
    let nothing = "0".repeat(40);
    let bad: Vec<Vec<(&str, &str, &str)>> = vec![
        vec![("100644", "b", blob), ("100644", "a", blob)],
        vec![("100644", "a", blob), ("100644", "a", blob)],
        vec![("100644", "..", blob), ("100644", ".git", blob)],
        vec![("100644", "a/b", blob)],
        vec![("100644", "", blob)],
        vec![("40000", "folder", blob)],
        vec![("100644", "a", &nothing), ("40000", "b", &nothing)],
        vec![("777777", "a", blob), ("1", "b", blob), ("100664", "c", blob)],
        vec![("120000", "link", blob), ("160000", "module", blob)],
    ];
    let good = tree(&fixture, &[("100644", "a", blob)]);
    let parent = commit(&fixture, &good, &[]);
    for entries in &bad {
        let hash = tree(&fixture, entries);
        for parents in [vec![], vec![parent.as_str()]] {
            ask_everything(&fixture.repository(), &commit(&fixture, &hash, &parents));
        }
    }
    let slash = commit(&fixture, &tree(&fixture, &bad[3]), &[]);
    let error = fixture.repository().commit(&slash).unwrap().diff().unwrap_err();
    assert!(error.to_string().contains("`a/b` cannot be the name of a file"), "{error}");
    let missing = commit(&fixture, &tree(&fixture, &bad[6][..1]), &[]);
    let error = fixture.repository().commit(&missing).unwrap().diff().unwrap_err();
    assert!(error.to_string().starts_with("the file `a` (000000"), "{error}");
    assert!(matches!(error, GitError::Missing { .. }));
    let mistaken = commit(&fixture, &tree(&fixture, &bad[5]), &[]);
    let error = fixture.repository().commit(&mistaken).unwrap().diff().unwrap_err();
    assert!(error.to_string().ends_with("is broken: it is a blob, not a tree"), "{error}");
}

#[test]
fn commits_that_git_would_not_write() {
    let fixture = Fixture::new();
    let blob = object(&fixture, "blob", b"x\n");
    let tree = tree(&fixture, &[("100644", "a", &blob)]);
    let head = format!("tree {tree}\n");
    for text in [
        String::new(),
        "tree \n".into(),
        format!("tree {}\n", "0".repeat(40)),
        head.clone(),
        format!("{head}parent 12\n\nx"),
        format!("{head}author\ncommitter\n\nx"),
        format!("{head}author A <a@b> 99999999999999999999 +0000\ncommitter A <a@b> x\n\nx"),
        format!("{head}author A\ncommitter A\nencoding \u{1}\n\nx"),
        format!("{head}parent {blob}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx"),
        format!("{head}author A <a@b> -1 +0000\ncommitter A <a@b> 1 +0000\ngpgsig x\n y\n\nx"),
    ] {
        ask_everything(&fixture.repository(), &object(&fixture, "commit", text.as_bytes()));
    }
}

/// Every file under a folder, in the order of names.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn damage_gives_errors() {
    for packed in [false, true] {
        let fixture = Fixture::new();
        for n in 0..6 {
            let text: String = (0..200).map(|line| format!("line {}\n", line * (n % 3 + 1))).collect();
            fixture.write("a.py", &text).write(&format!("folder/{n}.txt"), text + "more\n").commit("one of some");
        }
        fixture.git(&["tag", "-a", "v1", "-m", "a tag"]);
        if packed {
            fixture.git(&["gc", "--quiet", "--aggressive"]);
        }
        let git_dir = fixture.dir().join(".git");
        let kept: Vec<(PathBuf, Vec<u8>)> = files(&git_dir)
            .into_iter()
            .filter(|path| !path.to_string_lossy().contains("/hooks/"))
            .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
            .filter(|(_, content)| !content.is_empty())
            .collect();
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..rounds() {
            let (path, content) = &kept[random(kept.len())];
            let mut damaged = content.clone();
            match random(4) {
                0 => damaged.truncate(random(content.len())),
                1 => damaged.clear(),
                _ => {
                    for _ in 0..=random(8) {
                        damaged[random(content.len())] = random(256) as u8;
                    }
                }
            }
            // Git writes its objects as read-only files.
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, damaged).unwrap();
            if let Ok(repository) = Repository::discover(&fixture.dir()) {
                for rev in ["HEAD", "v1", "HEAD~3", ":/some"] {
                    ask_everything(&repository, rev);
                }
            }
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, content).unwrap();
        }
        assert!(fixture.repository().commit("HEAD").unwrap().diff().is_ok(), "mended again");
    }
}
