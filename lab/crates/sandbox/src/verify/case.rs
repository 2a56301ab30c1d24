//! A case as it is given: a program, a fix, what is said of the program, and tests.

use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use veridiff_text::hint::Hint;

use crate::{
    job::{BoxFile, Limits, MAX_BYTES, MAX_FILES, check_path},
    runner::Language,
    value::{Tolerance, Value},
    verify::rule::{Says, Trust},
};

/// What is wrong with a case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// It is not one JSON object of the right keys and types.
    #[error("line {line}: no case: {source}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// What is wrong where.
        source: serde_json::Error,
    },
    /// A key has a value that it cannot have.
    #[error("line {line}, `{key}`: {problem}")]
    Key {
        /// The line, from 1.
        line: usize,
        /// The key, with its place.
        key: String,
        /// What is wrong.
        problem: String,
    },
}

impl Hint for CaseError {
    fn hint(&self) -> Option<String> {
        Some("docs/verify.md has the format of a case, one JSON object a line".to_owned())
    }
}

/// Text in the case itself, or in a file beside it.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Source {
    Text(String),
    File { path: String },
}

/// A case as JSON has it.
#[derive(Debug, Deserialize)]
struct Given {
    id: String,
    language: Language,
    code: Source,
    #[serde(default)]
    fix: Option<Source>,
    #[serde(default)]
    fix_diff: Option<String>,
    #[serde(default)]
    entry_point: Option<String>,
    #[serde(default)]
    requirement: Option<String>,
    #[serde(default)]
    claim: Says,
    tests: Vec<GivenSuite>,
    #[serde(default)]
    limits: GivenLimits,
    #[serde(flatten)]
    carried: Map<String, Json>,
}

#[derive(Debug, Deserialize)]
struct GivenSuite {
    name: String,
    kind: Trust,
    #[serde(flatten)]
    form: GivenForm,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "form", rename_all = "lowercase")]
enum GivenForm {
    Program {
        text: String,
        #[serde(default)]
        call: String,
    },
    Calls {
        inputs: Vec<Vec<Json>>,
        #[serde(default)]
        expected: Option<Vec<Json>>,
        #[serde(default)]
        atol: f64,
        #[serde(default)]
        rtol: f64,
        #[serde(default)]
        unordered: bool,
        #[serde(default)]
        contract: Option<String>,
    },
    Command {
        argv: Vec<String>,
        #[serde(default)]
        files: Map<String, Json>,
        results: Results,
    },
}

/// How a command says what its tests ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Results {
    /// Lines of the Test Anything Protocol on its standard output.
    Tap,
    /// A JUnit document on its standard output.
    Junit,
    /// Its exit status says that something failed, and the word of its standard input, written to descriptor 3, that nothing did.
    Exit,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenLimits {
    cpu_s: Option<f64>,
    wall_s: Option<f64>,
    memory_mb: Option<u64>,
    output_kb: Option<u64>,
}

/// A case, read and checked.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// The language of the program.
    pub language: Language,
    /// The program that is judged.
    pub code: String,
    /// The program that is to be better.
    pub fix: Option<String>,
    /// The function that tests call.
    pub entry_point: Option<String>,
    /// What the program is to do.
    pub requirement: Option<String>,
    /// What is said of the program.
    pub claim: Says,
    /// The tests.
    pub suites: Vec<Suite>,
    /// Limits that are not the runner's.
    limits: GivenLimitsChecked,
    /// Keys that are not ours, as they came.
    pub carried: Map<String, Json>,
}

#[derive(Debug, Clone, Copy, Default)]
struct GivenLimitsChecked {
    cpu_s: Option<f64>,
    wall_s: Option<f64>,
    memory_mb: Option<u64>,
    output_kb: Option<u64>,
}

/// Tests that are run together.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// How far it is trusted.
    pub trust: Trust,
    /// What it is.
    pub form: Form,
}

/// What a suite is.
#[derive(Debug, Clone)]
pub enum Form {
    /// A program that ends well if all is well.
    Program {
        /// Its text.
        text: String,
        /// What is run behind it.
        call: String,
    },
    /// Calls of the entry point.
    Calls {
        /// The arguments of each.
        inputs: Vec<Vec<Value>>,
        /// What each is to give; without it they only compare program and fix.
        expected: Option<Vec<Value>>,
        /// How exactly.
        tolerance: Tolerance,
        /// Statements that raise for arguments that no caller may give.
        contract: Option<String>,
    },
    /// A program of this machine.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Files beside the program under test.
        files: Vec<BoxFile>,
        /// How it says what it found.
        results: Results,
    },
}

impl Case {
    /// Reads a case of a file's line. Paths in it are relative to `folder`.
    ///
    /// # Errors
    /// [`CaseError`] with the line and the key.
    pub fn parse(text: &str, line: usize, folder: &Path) -> Result<Case, CaseError> {
        let given: Given = serde_json::from_str(text).map_err(|source| CaseError::Json { line, source })?;
        let wrong =
            |key: &str, problem: &str| CaseError::Key { line, key: key.to_owned(), problem: problem.to_owned() };
        let code = read(given.code, folder).map_err(|problem| wrong("code", &problem))?;
        let fix = match (given.fix, given.fix_diff) {
            (Some(_), Some(_)) => return Err(wrong("fix_diff", "there is a `fix` beside it; give one of them")),
            (Some(source), None) => Some(read(source, folder).map_err(|problem| wrong("fix", &problem))?),
            (None, Some(diff)) => Some(apply(&code, &diff).map_err(|problem| wrong("fix_diff", &problem))?),
            (None, None) => None,
        };
        if given.entry_point.as_ref().is_some_and(|name| !is_name(name)) {
            return Err(wrong("entry_point", "is no name of a function"));
        }
        let n_bytes = code.len() + fix.as_ref().map_or(0, String::len);
        if n_bytes > MAX_BYTES {
            return Err(wrong(
                "code",
                &format!("with the fix it has {n_bytes} bytes, and at most {MAX_BYTES} are run"),
            ));
        }
        let has_entry_point = given.entry_point.is_some();
        let suites = given.tests.into_iter().enumerate().map(|(at, suite)| {
            let wrong = |key: &str, problem: String| wrong(&format!("tests[{at}].{key}"), &problem);
            check_suite(suite, has_entry_point, given.language).map_err(|(key, problem)| wrong(key, problem))
        });
        let suites = suites.collect::<Result<Vec<_>, _>>()?;
        let GivenLimits { cpu_s, wall_s, memory_mb, output_kb } = given.limits;
        for (key, seconds) in [("limits.cpu_s", cpu_s), ("limits.wall_s", wall_s)] {
            if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 3600.0)) {
                return Err(wrong(key, "must be more than 0 and at most 3600 seconds"));
            }
        }
        for (key, amount) in [("limits.memory_mb", memory_mb), ("limits.output_kb", output_kb)] {
            if amount.is_some_and(|amount| !(1..=65536).contains(&amount)) {
                return Err(wrong(key, "must be from 1 to 65536"));
            }
        }
        Ok(Case {
            id: given.id,
            language: given.language,
            code,
            fix,
            entry_point: given.entry_point,
            requirement: given.requirement,
            claim: given.claim,
            suites,
            limits: GivenLimitsChecked { cpu_s, wall_s, memory_mb, output_kb },
            carried: given.carried,
        })
    }

    /// What its programs may take, where a runner's limits are `limits`.
    pub fn limits(&self, limits: Limits) -> Limits {
        let cpu_s = self.limits.cpu_s.unwrap_or(limits.cpu_s);
        Limits {
            cpu_s,
            wall_s: self.limits.wall_s.unwrap_or((5.0 * cpu_s).max(if self.limits.cpu_s.is_some() {
                5.0
            } else {
                limits.wall_s
            })),
            memory_mb: self.limits.memory_mb.unwrap_or(limits.memory_mb),
            output_kb: self.limits.output_kb.unwrap_or(limits.output_kb),
            ..limits
        }
    }

    /// A number that chance within the case follows from, whatever other cases there are.
    pub fn seed(&self) -> u64 {
        let hash = Sha256::digest(format!("{}\0{}\0{:?}", self.id, self.code, self.fix));
        hash.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// Reads a program of a file beside the case. A link is followed nowhere: it could name any file of whoever runs this.
fn read(source: Source, folder: &Path) -> Result<String, String> {
    let path = match source {
        Source::Text(text) => return Ok(text),
        Source::File { path } => path,
    };
    if let Some(problem) = check_path(&path) {
        return Err(format!("the path {path:?} {problem}"));
    }
    let mut file = folder.to_owned();
    for part in path.split('/') {
        file.push(part);
        if fs::symlink_metadata(&file).is_ok_and(|found| found.is_symlink()) {
            return Err(format!("`{}` is a link, and links are not followed", file.display()));
        }
    }
    let length = fs::metadata(&file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))?.len();
    if length > MAX_BYTES as u64 {
        return Err(format!("`{}` has {length} bytes, and at most {MAX_BYTES} are run", file.display()));
    }
    fs::read_to_string(&file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))
}

type Wrong = (&'static str, String);

fn check_suite(suite: GivenSuite, has_entry_point: bool, language: Language) -> Result<Suite, Wrong> {
    let form = match suite.form {
        GivenForm::Program { text, call } => Form::Program { text, call },
        GivenForm::Calls { .. } if !has_entry_point => return Err(("form", "calls need the key `entry_point`".into())),
        GivenForm::Calls { .. } if language == Language::Java => {
            return Err((
                "form",
                "calls are made in Python and JavaScript; give Java a `program` with a class `Main`".into(),
            ));
        }
        GivenForm::Calls { inputs, expected, atol, rtol, unordered, contract } => {
            if expected.as_ref().is_some_and(|expected| expected.len() != inputs.len()) {
                let n = expected.map_or(0, |expected| expected.len());
                return Err(("expected", format!("has {n} values for {} inputs", inputs.len())));
            }
            if !(atol >= 0.0 && rtol >= 0.0) {
                return Err(("atol", "a tolerance is no number from 0".into()));
            }
            let inputs = inputs.iter().map(|args| args.iter().map(Value::from_json).collect()).collect();
            let expected = expected.map(|all| all.iter().map(Value::from_json).collect());
            let tolerance = Tolerance { atol, rtol, unordered, of_json: true };
            Form::Calls { inputs, expected, tolerance, contract }
        }
        GivenForm::Command { argv, files, results } => {
            if argv.is_empty() {
                return Err(("argv", "is empty".into()));
            }
            if files.len() > MAX_FILES {
                return Err(("files", format!("there are {}, and at most {MAX_FILES} are taken", files.len())));
            }
            let mut all = Vec::new();
            for (path, text) in files {
                if let Some(problem) = check_path(&path) {
                    return Err(("files", format!("the path {path:?} {problem}")));
                }
                let Json::String(text) = text else { return Err(("files", format!("{path:?} is no text"))) };
                all.push(BoxFile { path, text });
            }
            let n_bytes: usize = all.iter().map(|file| file.text.len()).sum();
            if n_bytes > MAX_BYTES {
                return Err(("files", format!("they have {n_bytes} bytes, and at most {MAX_BYTES} are taken")));
            }
            Form::Command { argv, files: all, results }
        }
    };
    Ok(Suite { name: suite.name, trust: suite.kind, form })
}

/// Applies a unified diff of one file, each line where it says and as it says.
fn apply(code: &str, diff: &str) -> Result<String, String> {
    let lines: Vec<&str> = code.split_inclusive('\n').collect();
    let (mut out, mut at) = (String::new(), 0);
    let mut in_hunk = false;
    let mut n_hunks = 0;
    for line in diff.lines() {
        if let Some(header) = line.strip_prefix("@@ -") {
            let start = header.split([',', ' ']).next().and_then(|number| number.parse::<usize>().ok());
            let start = start.ok_or_else(|| format!("`{line}` is no header of a hunk"))?.saturating_sub(1);
            if start < at || start > lines.len() {
                return Err(format!("`{line}` is not where the program has such a line"));
            }
            out.extend(lines[at..start].iter().copied());
            (at, in_hunk, n_hunks) = (start, true, n_hunks + 1);
            continue;
        }
        let Some((kind, text)) = line.split_at_checked(1).filter(|_| in_hunk) else { continue };
        match kind {
            "+" => out.push_str(&format!("{text}\n")),
            " " | "-" => {
                let found = lines.get(at).map_or("the end", |found| found.trim_end_matches(['\n', '\r']));
                if found != text || at >= lines.len() {
                    return Err(format!("it expects `{text}` in line {}, and there is `{found}`", at + 1));
                }
                if kind == " " {
                    out.push_str(lines[at]);
                }
                at += 1;
            }
            "\\" => {}
            _ => in_hunk = false,
        }
    }
    if n_hunks == 0 {
        return Err("it has no hunk".to_owned());
    }
    out.extend(lines[at..].iter().copied());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Case::parse(text, 7, Path::new(".")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_key() {
        assert!(problem("{").starts_with("line 7: no case"));
        let case = |rest: &str| format!(r#"{{"id":"a","language":"python","code":"x","tests":[]{rest}}}"#);
        for (rest, said) in [
            (r#","fix":{"path":"../x"}"#, "`fix`: the path \"../x\" goes up with `..`"),
            (r#","fix":"a","fix_diff":"b""#, "`fix_diff`"),
            (r#","fix_diff":"@@ -1 +1 @@\n-y\n+z\n""#, "it expects `y` in line 1, and there is `x`"),
            (r#","entry_point":"a b""#, "`entry_point`"),
            (r#","limits":{"cpu_s":0}"#, "`limits.cpu_s`"),
            (r#","limits":{"cpus":1}"#, "unknown field `cpus`"),
        ] {
            assert!(problem(&case(rest)).contains(said), "{rest}: {}", problem(&case(rest)));
        }
        let suite = r#"{"id":"a","language":"python","code":"x","entry_point":"f","tests":[
            {"name":"c","kind":"reference","form":"calls","inputs":[[1]],"expected":[1,2]}]}"#;
        assert!(problem(suite).contains("`tests[0].expected`: has 2 values for 1 inputs"));
        let suite = suite.replace("calls", "cals");
        assert!(problem(&suite).contains("cals"), "{}", problem(&suite));
    }

    #[test]
    fn a_diff_is_applied_to_the_letter() {
        let fixed = apply("a\nb\nc\n", "--- a\n+++ b\n@@ -2,2 +2,2 @@\n-b\n+B\n c\n").unwrap();
        assert_eq!(fixed, "a\nB\nc\n");
        assert!(apply("a\n", "nothing").is_err());
    }
}
