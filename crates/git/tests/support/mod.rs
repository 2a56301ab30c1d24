//! Repositories made by git itself. Git must be installed: these tests compare with it, and fail without it.

// Each test file uses a part of this one.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A repository in a folder of its own.
pub struct Fixture {
    pub folder: TempDir,
    commits: std::cell::Cell<u64>,
}

/// Git in a folder, without any configuration but the repository's, as nobody's hands and at no time.
pub fn git_in(dir: &Path, arguments: &[&str], seconds: u64) -> Output {
    let date = format!("{} +0000", 1_700_000_000 + seconds);
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .args(["-c", "safe.directory=*", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(dir)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("LC_ALL", "C")])
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.org"), ("GIT_AUTHOR_DATE", date.as_str())])
        .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.org"), ("GIT_COMMITTER_DATE", &date)])
        .output()
        .expect("git is installed: these tests compare with it")
}

/// What git prints of a commit's change, by its defaults.
pub fn shown_by_git(dir: &Path, rev: &str) -> Vec<u8> {
    try_shown_by_git(dir, rev).unwrap()
}

/// The same, or what git says where it cannot.
pub fn try_shown_by_git(dir: &Path, rev: &str) -> Result<Vec<u8>, String> {
    let output = git_in(dir, &["show", "--format=", "--first-parent", "--no-color", "--no-ext-diff", rev], 0);
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

impl Fixture {
    pub fn new() -> Self {
        let fixture = Fixture { folder: TempDir::new().unwrap(), commits: Default::default() };
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture
    }

    pub fn dir(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    /// Runs git, which must succeed, and gives what it prints without the end of its last line.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = git_in(self.folder.path(), arguments, self.commits.get() * 60);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.folder.path().join(path)).unwrap();
        self
    }

    /// Commits everything there is and gives the commit's hash.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.commit_index(message)
    }

    /// Commits what was added.
    pub fn commit_index(&self, message: &str) -> String {
        self.commits.set(self.commits.get() + 1);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn repository(&self) -> veridiff_git::Repository {
        veridiff_git::Repository::discover(self.folder.path()).unwrap()
    }
}

/// Asserts that a commit's diff is git's, byte for byte, and gives it.
pub fn same_as_git(fixture: &Fixture, rev: &str) -> String {
    let ours = fixture.repository().commit(rev).unwrap().diff_bytes().unwrap();
    let git = shown_by_git(fixture.folder.path(), rev);
    let (ours, git) = (String::from_utf8_lossy(&ours).into_owned(), String::from_utf8_lossy(&git).into_owned());
    assert_eq!(ours, git, "{rev}: ours, git's");
    ours
}
