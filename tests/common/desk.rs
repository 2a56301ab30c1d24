//! A folder that a program runs in, and what a run printed: for the tests of both commands.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ROOT, program};

/// A folder under `tests/fixtures`, as text for a command line.
pub fn fixture(name: &str) -> String {
    Path::new(ROOT).join("tests/fixtures").join(name).display().to_string()
}

/// A line of samples.
pub fn sample(id: &str, diff: &str, text: &str) -> String {
    format!("{}\n", json!({ "id": id, "diff": diff, "text": text }))
}

/// A folder that the program runs in.
pub struct Desk {
    pub folder: TempDir,
}

/// How a run ended.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Desk {
    pub fn new() -> Self {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// A copy of a fixture that may be spoilt.
    pub fn copy_model(&self, fixture_name: &str, name: &str) {
        fs::create_dir(self.path(name)).unwrap();
        for file in ["config.json", "model.safetensors", "tokenizer.json"] {
            fs::copy(Path::new(&fixture(fixture_name)).join(file), self.path(name).join(file)).unwrap();
        }
    }

    /// The program that has the verb, here, without the user's caches and settings.
    pub fn command(&self, verb: &str) -> std::process::Command {
        let mut command = std::process::Command::new(program(verb));
        command
            .current_dir(self.folder.path())
            .env("HF_HOME", self.path("hub"))
            .env("VERIDIFF_CACHE", self.path("cache"))
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("COLUMNS")
            .env_remove("NO_COLOR");
        command
    }

    pub fn run_with_stdin(&self, args: &[&str], stdin: &str) -> Run {
        let mut command = Command::from_std(self.command(args.first().unwrap_or(&"")));
        // Nothing here takes more than seconds: past that it hangs.
        let output = command.args(args).write_stdin(stdin).timeout(Duration::from_secs(120)).output().unwrap();
        let run = Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!run.stderr.contains("panicked"), "{args:?}: {}", run.stderr);
        run
    }

    pub fn run(&self, args: &[&str]) -> Run {
        self.run_with_stdin(args, "")
    }

    /// As [`Desk::run`], with arguments split at spaces.
    pub fn run_line(&self, args: &str) -> Run {
        self.run(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// Starts a `score`, kills it (SIGKILL) once the journal of its `output` has `n` lines of rows, and gives how many it then
    /// has.
    pub fn kill_after(&self, args: &str, output: &str, n: usize) -> usize {
        let mut command = self.command(args.split_whitespace().next().unwrap_or_default());
        command.args(args.split_whitespace()).args(["--output", output]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let journal = self.path(&format!("{output}.journal.jsonl"));
        let rows = || {
            let text = fs::read_to_string(&journal).unwrap_or_default();
            text.lines().filter(|line| line.starts_with("{\"id\"")).count()
        };
        let start = Instant::now();
        while rows() < n {
            assert!(start.elapsed() < Duration::from_secs(60), "no {n} rows after a minute");
            assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
            thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        rows()
    }

    /// `score` with the smallest model and `args`, split at spaces; the paper's features unless they say otherwise.
    pub fn score(&self, args: &str) -> Run {
        let model = fixture("llama_tied");
        let mut all = vec!["score", "--model", &model];
        if !args.contains("--features") && !args.contains("--preset") {
            all.extend(["--preset", "paper"]);
        }
        all.extend(args.split_whitespace());
        self.run(&all)
    }
}

impl Run {
    /// Ended with this status and says all of these things on stderr.
    #[track_caller]
    pub fn ends(&self, code: i32, says: &[&str]) -> &Self {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        for words in says {
            assert!(self.stderr.contains(words), "`{words}` is not in: {}", self.stderr);
        }
        self
    }

    /// Refused before anything ran: status 2, nothing on stdout, and all of these things on stderr.
    #[track_caller]
    pub fn refused(&self, says: &[&str]) {
        self.ends(2, says);
        assert_eq!(self.stdout, "");
        assert!(self.stderr.contains("error: "), "{}", self.stderr);
    }

    /// Refused by the parser of the arguments, which has words of its own.
    #[track_caller]
    pub fn refused_by_usage(&self, says: &[&str]) {
        self.ends(2, says);
        assert_eq!(self.stdout, "");
    }

    /// stdout as JSON lines.
    pub fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
