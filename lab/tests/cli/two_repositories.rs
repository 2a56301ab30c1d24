//! Two tiny repositories with a pull request each, what reviewers found in them, and the command beside them.

#![allow(dead_code, reason = "each test file uses a part of this one")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

use super::program;

pub fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(dir)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A folder in which the command is run.
pub struct Desk(pub tempfile::TempDir);

impl Desk {
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn run(&self, line: &str) -> Output {
        Command::new(program(line.split_whitespace().next().unwrap_or_default()))
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    #[track_caller]
    pub fn ends(&self, line: &str, code: i32) -> (String, String) {
        let output = self.run(line);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{line}\n{stdout}\n{stderr}");
        (stdout, stderr)
    }

    pub fn rows(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A project with one change on a branch of its own: where it begins and where it ends.
pub fn project(desk: &Desk, name: &str, before: &str, after: &str) -> [String; 2] {
    let dir = desk.path(&format!("{name}.work"));
    fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "--quiet", "--initial-branch=main"]);
    let commit = |text: &str, message: &str| {
        fs::write(dir.join("main.py"), text).unwrap();
        git(&dir, &["add", "--all"]);
        git(&dir, &["commit", "--quiet", "-m", message]);
        git(&dir, &["rev-parse", "HEAD"])
    };
    let source = commit(before, "one");
    git(&dir, &["switch", "--quiet", "--create", "change"]);
    let target = commit(after, "Read the settings");
    fs::create_dir_all(desk.path("repos/o")).unwrap();
    git(desk.0.path(), &["clone", "--quiet", "--bare", &dir.display().to_string(), &format!("repos/o/{name}.git")]);
    [source, target]
}

/// What the benchmark says of a pull request.
pub fn entry(name: &str, [source, target]: &[String; 2], comments: Value) -> Value {
    json!({
        "change_line_count": 2, "project_main_language": "Python", "source_commit": source, "target_commit": target,
        "githubPrUrl": format!("https://github.com/o/{name}/pull/1"), "comments": comments, "category": "Bug Fix",
    })
}

pub fn comment(note: &str, line: u64, model: &str) -> Value {
    json!({
        "is_ai_comment": !model.is_empty(), "note": note, "path": "main.py", "side": "right", "source_model": model, "from_line": line,
        "to_line": line, "category": "Code Defect", "context": "Diff Level",
    })
}

/// The benchmark of both in `data`, their repositories in `repos`.
pub fn desk() -> Desk {
    let desk = Desk(tempfile::tempdir().unwrap());
    let a = project(&desk, "a", "import json\n", "import json\nfile = open('a')\nsettings = json.load(file)\n");
    let b = project(&desk, "b", "x = 1\n", "x = 1\nfor i in range(x):\n    print(i)\n");
    let valid = json!([
        entry("a", &a, json!([comment("The file is never closed.", 2, "")])),
        entry("b", &b, json!([comment("Nothing is printed for 0.", 2, "M")]))
    ]);
    let rejected = json!([entry("b", &b, json!([comment("Use a logger.", 3, "M")]))]);
    fs::create_dir(desk.path("data")).unwrap();
    desk.write("data/positive_samples.json", &valid.to_string());
    desk.write("data/negative_samples.json", &rejected.to_string());
    desk
}
