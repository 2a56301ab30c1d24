//! What a program prints, whole, compared with a file of the test's `snapshots/`.
//!
//! `INSTA_UPDATE=always cargo test --release --test cli snapshots` writes the files anew; read the difference before it is
//! committed. What differs between machines and runs is replaced: paths, times, rates, hashes, the version, digits behind
//! the fourth decimal.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{path::Path, sync::LazyLock};

use regex::{Captures, Regex};

use super::desk::{Desk, Run, fixture};

/// Commands with what they said, in the order in which they ran.
pub struct Transcript {
    pub desk: Desk,
    pub text: String,
}

impl Transcript {
    pub fn new() -> Self {
        Transcript { desk: Desk::new(), text: String::new() }
    }

    /// Runs a line; what begins with `@` is a fixture.
    pub fn run(&mut self, line: &str) -> &mut Self {
        self.run_with_stdin(line, "")
    }

    pub fn run_with_stdin(&mut self, line: &str, stdin: &str) -> &mut Self {
        let args: Vec<String> = line.split_whitespace().map(with_fixture).collect();
        let run = self.desk.run_with_stdin(&args.iter().map(String::as_str).collect::<Vec<_>>(), stdin);
        self.text += &format!("$ veridiff {line}\n");
        self.text += &told(&run);
        self
    }

    /// Runs a line whose output is the matter of another transcript.
    #[track_caller]
    pub fn prepare(&self, line: &str) {
        let args: Vec<String> = line.split_whitespace().map(with_fixture).collect();
        self.desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).ends(0, &[]);
    }

    /// Compares all that was said with the file of this name.
    #[track_caller]
    pub fn is(&self, name: &str) {
        let text = without_what_varies(&self.text, &self.desk);
        let settings = || {
            let mut settings = insta::Settings::clone_current();
            settings.set_prepend_module_to_snapshot(false);
            settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots"));
            settings.set_omit_expression(true);
            settings
        };
        settings().bind(|| insta::assert_snapshot!(name, text));
    }
}

/// `@llama_tied` as its path, behind a name of one's own (`tiny=@llama_tied`) too.
pub fn with_fixture(word: &str) -> String {
    match word.split_once('@') {
        Some((before, name)) if before.is_empty() || before.ends_with('=') => format!("{before}{}", fixture(name)),
        _ => word.to_owned(),
    }
}

fn told(run: &Run) -> String {
    // lines for who waits come where a run takes half a minute, which is another machine's affair
    static WAITING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^.*(, about .* (left|so far)|\d+ of \d+ (rows|texts)|rows take about .*)\n")
            .expect("a pattern")
    });
    let stderr = WAITING.replace_all(&run.stderr, "");
    let part = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("--- {name} ---\n{}\n", text.trim_end_matches('\n')),
    };
    format!("exit status: {}\n{}{}\n", run.code, part("stdout", &run.stdout), part("stderr", &stderr))
}

/// The text with a word in brackets for whatever is another elsewhere, or tomorrow.
fn without_what_varies(text: &str, desk: &Desk) -> String {
    static PATTERNS: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
        let pattern = |pattern: &str| Regex::new(pattern).expect("a pattern of this file");
        [
            (pattern(r"\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{16}|[0-9a-f]{12})\b"), "[hash]"),
            (pattern(r"\b[0-9.]+ (rows|tokens)/s"), "[rate] $1/s"),
            (pattern(r"\b[0-9.]+ s\b"), "[time] s"),
            (pattern(r#""(seconds|rows_per_second|tokens_per_second)":\s?[0-9.e-]+"#), "\"$1\": [number]"),
            // differences of a forward pass in f32: mostly rounding, which is the processor's own
            (pattern(r" +-?[0-9]\.[0-9]+e-?[0-9]+"), " [number]"),
            (pattern(r#"(veridiff |"semanticVersion": ")[0-9]+\.[0-9]+\.[0-9]+\b"#), "$1[version]"),
        ]
    });
    static LONG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"-?\b[0-9]+\.[0-9]{5,}(e-?[0-9]+)?").expect("a pattern of this file"));
    let mut text = text.replace(&desk.folder.path().display().to_string(), "[desk]").replace(&fixture(""), "@");
    let rounded = |number: &Captures<'_>| match number[0].parse::<f64>() {
        // no sign before what rounds to nothing
        Ok(number) => format!("{:.4}", (number * 1e4).round() / 1e4 + 0.0),
        Err(_) => number[0].to_owned(),
    };
    // first, since the decimals of a number can look like a hash
    text = LONG.replace_all(&text, rounded).into_owned();
    for (pattern, word) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *word).into_owned();
    }
    text
}
