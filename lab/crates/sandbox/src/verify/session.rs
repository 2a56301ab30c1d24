//! One program under one suite: what is run where, what is said between them, and what the tests ended with.
//!
//! The verdict is made here, outside of every process that the program under test could change: the program only gives values, and the tests
//! that look at them run in a sandbox of their own. Where that cannot be, both share a process, a pass needs a word that is given only when
//! the program has been loaded, and the result says that it was so.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{
    error::SandboxError,
    job::{BoxFile, Job, Limits, fixed_env},
    runner::{Language, Runner},
    sandbox::Sandbox,
    value::Value,
    verify::{
        case::{Form, Results, Suite},
        drivers::{Compiled, Drivers, LAUNCHER, NODE},
        report,
        rule::Mark,
        talk::{Listener, Talk, mark_of},
    },
    watch::{Outcome, Reply, Status, watch},
};

/// Whether the tests ran where the program under test could not touch them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Integrity {
    /// They did.
    Separate,
    /// They shared a process.
    Shared,
}

/// What one call gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Gave {
    /// A value.
    Value(Value),
    /// It raised something, by its name.
    Raised(String),
    /// Nothing that could be told, and why.
    Nothing(Mark, String),
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Its text.
    pub source: &'a str,
    /// The function that is called.
    pub entry_point: Option<&'a str>,
    /// How it is run.
    pub runner: &'a Runner,
    /// What it may take.
    pub limits: Limits,
}

/// What a suite ended with.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Each test's name, its mark and what is said of it.
    pub tests: Vec<(String, Mark, String)>,
    /// For calls, what each gave.
    pub gave: Vec<Gave>,
    /// Why the program could not be loaded, if it could not.
    pub not_loaded: Option<String>,
    /// Where the tests ran.
    pub integrity: Integrity,
    /// The run of the program.
    pub outcome: Outcome,
}

/// Runs programs under suites.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// Where.
    pub sandbox: &'a Sandbox,
    /// What is put beside them.
    pub drivers: &'a Drivers,
    /// What hashes of the program follow from.
    pub hash_seed: u32,
    /// What its chance follows from.
    pub seed: u32,
}

impl Session<'_> {
    /// Runs a program under a suite.
    ///
    /// # Errors
    /// [`SandboxError`] if nothing can be started; what goes wrong in a run is its end.
    pub fn run(&self, program: Program<'_>, suite: &Suite) -> Result<Ended, SandboxError> {
        match (&suite.form, program.runner.language) {
            (Form::Program { text, call }, Language::Python) => {
                let ended = self.separate(program, suite, text, call)?;
                match ended {
                    Some(ended) => Ok(ended),
                    None => self.shared(program, suite, text, call),
                }
            }
            (Form::Program { text, call }, _) => self.shared(program, suite, text, call),
            (Form::Calls { inputs, .. }, _) => self.calls(program, inputs),
            (Form::Command { argv, files, results }, _) => self.command(program, argv, files, *results),
        }
    }

    fn job(&self, program: &Program<'_>, steps: Vec<Vec<String>>, files: Vec<BoxFile>) -> Job {
        Job { steps, files, env: fixed_env(self.hash_seed), limits: program.limits, view: program.runner.view.clone() }
    }

    fn python(&self, program: &Program<'_>, driver: impl Fn(&Compiled) -> &String) -> Result<Job, SandboxError> {
        let mut argv = program.runner.argv();
        argv.extend(["-c".to_owned(), driver(self.drivers.get(program.runner)?).clone()]);
        Ok(self.job(program, vec![argv], Vec::new()))
    }

    fn talk(&self, jobs: &[Job], opening: Vec<Vec<Value>>, talk: &mut Talk) -> Result<Vec<Outcome>, SandboxError> {
        let runs = jobs.iter().map(|job| self.sandbox.start(job)).collect::<Result<Vec<_>, _>>()?;
        let opening =
            opening.into_iter().enumerate().map(|(who, words)| Reply::Send(who, Value::Tuple(words).encode()));
        watch(runs, opening.collect(), talk).map_err(|source| SandboxError::Helper { what: "watching a run", source })
    }

    fn seed(&self) -> Value {
        Value::int(i64::from(self.seed))
    }

    /// The program in one sandbox, its tests in another; none if the tests need more of it than calls of its entry point.
    fn separate(
        &self,
        program: Program<'_>,
        suite: &Suite,
        text: &str,
        call: &str,
    ) -> Result<Option<Ended>, SandboxError> {
        let entry_point = program.entry_point.unwrap_or_default();
        if entry_point.is_empty() {
            return Ok(None);
        }
        let jobs = [self.python(&program, |all| &all.candidate)?, self.python(&program, |all| &all.tests)?];
        let load = vec![Value::str("load"), Value::str(program.source), Value::str(entry_point), self.seed()];
        let tests = vec![Value::str("tests"), Value::str(text), Value::str(call), Value::str(entry_point), self.seed()];
        let mut talk = Talk { has_tests: true, ..Talk::default() };
        let outcomes = self.talk(&jobs, vec![load, tests], &mut talk)?;
        if talk.end.as_ref().is_some_and(|(how, _)| how == "shared") && talk.not_loaded.is_none() {
            return Ok(None);
        }
        Ok(outcomes.into_iter().next().map(|outcome| ended(talk, &suite.name, Integrity::Separate, outcome)))
    }

    /// Program and tests in one process.
    fn shared(&self, program: Program<'_>, suite: &Suite, text: &str, call: &str) -> Result<Ended, SandboxError> {
        let words = |role: &str| {
            vec![Value::str(role), Value::str(program.source), Value::str(text), Value::str(call), self.seed()]
        };
        let (job, opening) = match program.runner.language {
            Language::Python => (self.python(&program, |all| &all.shared)?, words("shared")),
            Language::Javascript => {
                let tests = format!("{text}\n{call}");
                (
                    self.node(&program),
                    vec![Value::str("shared"), Value::str(program.source), Value::str(tests), Value::str("")],
                )
            }
            Language::Java => (self.java(&program, text), Vec::new()),
        };
        let mut talk = Talk { word: word(), ..Talk::default() };
        let opening = if opening.is_empty() { Vec::new() } else { vec![opening] };
        let outcomes = self.talk(&[job], opening, &mut talk)?;
        let outcome = outcomes.into_iter().next().ok_or(lost())?;
        // the compiler's step never says a word on the channel; which step it was is not known of what was ended from outside
        let was_loaded = talk.is_ready;
        let mut ended = ended(talk, &suite.name, Integrity::Shared, outcome);
        if program.runner.language == Language::Java
            && !was_loaded
            && ended.outcome.step == 0
            && ended.outcome.status != Status::Exit(0)
        {
            let (mark, otherwise) = match &ended.outcome.status {
                Status::Exit(_) => (Mark::Fail, "it does not compile".to_owned()),
                status => mark_of(status),
            };
            let why = first_line(&ended.outcome.stderr.text, &otherwise);
            ended.tests = vec![(suite.name.clone(), mark, why.clone())];
            ended.not_loaded = Some(why);
        }
        Ok(ended)
    }

    fn node(&self, program: &Program<'_>) -> Job {
        let mut argv = program.runner.argv();
        argv.extend(["-e".to_owned(), NODE.to_owned()]);
        self.job(program, vec![argv], Vec::new())
    }

    fn java(&self, program: &Program<'_>, text: &str) -> Job {
        let file = |path: &str, text: String| BoxFile { path: path.to_owned(), text };
        let class = class_of(program.source);
        let files = vec![
            file("in/VeridiffLauncher.java", LAUNCHER.to_owned()),
            file(&format!("in/{class}.java"), program.source.to_owned()),
            // the imports of the program are those of its tests
            file("in/Main.java", format!("{}\n{text}", imports_of(program.source, text))),
        ];
        let compiler = program.runner.compiler.as_ref().map_or(String::new(), |path| path.display().to_string());
        let names = files.iter().map(|file| format!("/box/{}", file.path));
        // no processor of annotations is run, and no file of options read
        let options =
            ["-J-Xmx256m", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData", "-proc:none"];
        let more = ["-nowarn", "-encoding", "UTF-8", "-d", "/box/out", "-cp", "/box/out"];
        let compile =
            std::iter::once(compiler).chain(options.iter().chain(&more).map(|word| (*word).to_owned())).chain(names);
        let mut run = program.runner.argv();
        run.extend(["-cp", "/box/out", "VeridiffLauncher", &class].map(str::to_owned));
        self.job(program, vec![compile.collect(), run], files)
    }

    /// Calls of the entry point, one after another in one process.
    fn calls(&self, program: Program<'_>, inputs: &[Vec<Value>]) -> Result<Ended, SandboxError> {
        let entry_point = Value::str(program.entry_point.unwrap_or_default());
        let load = match program.runner.language {
            Language::Javascript => {
                vec![Value::str("candidate"), Value::str(program.source), Value::str(""), entry_point]
            }
            _ => vec![Value::str("load"), Value::str(program.source), entry_point, self.seed()],
        };
        let job = match program.runner.language {
            Language::Javascript => self.node(&program),
            _ => self.python(&program, |all| &all.candidate)?,
        };
        let call = |args: &Vec<Value>| {
            Value::Tuple(vec![Value::str("call"), Value::List(args.clone()), Value::Dict(Vec::new())]).encode()
        };
        let mut talk = Talk { calls: inputs.iter().map(call).collect(), ..Talk::default() };
        let outcomes = self.talk(&[job], vec![load], &mut talk)?;
        let outcome = outcomes.into_iter().next().ok_or(lost())?;
        let (mark, said) = match (&talk.not_loaded, &talk.odd) {
            (Some(why), _) => (Mark::Fail, why.clone()),
            (None, Some(why)) => (Mark::Error, why.clone()),
            (None, None) => mark_of(talk.first_end.as_ref().map_or(&outcome.status, |(_, status)| status)),
        };
        let mut gave = std::mem::take(&mut talk.gave);
        // the call that did not come back, and those behind it
        for at in gave.len()..inputs.len() {
            let is_first = at + 1 == talk.n_called.max(1) || talk.not_loaded.is_some();
            gave.push(if is_first {
                Gave::Nothing(mark, said.clone())
            } else {
                Gave::Nothing(Mark::NotRun, "an earlier call did not come back".into())
            });
        }
        Ok(Ended { tests: Vec::new(), gave, not_loaded: talk.not_loaded, integrity: Integrity::Separate, outcome })
    }

    /// A command of the operator's, with the program under test as a file beside its own.
    fn command(
        &self,
        program: Program<'_>,
        argv: &[String],
        files: &[BoxFile],
        results: Results,
    ) -> Result<Ended, SandboxError> {
        let name = match program.runner.language {
            Language::Python => "solution.py".to_owned(),
            Language::Javascript => "solution.js".to_owned(),
            Language::Java => format!("{}.java", class_of(program.source)),
        };
        let mut files = files.to_vec();
        files.retain(|file| file.path != name);
        files.push(BoxFile { path: name, text: program.source.to_owned() });
        // the name of an interpreter is that of ours, with its options
        let names: &[&str] = match program.runner.language {
            Language::Python => &["python", "python3"],
            Language::Javascript => &["node", "nodejs"],
            Language::Java => &["java"],
        };
        let mut words = if argv.first().is_some_and(|first| names.contains(&first.as_str())) {
            program.runner.argv()
        } else {
            argv.iter().take(1).cloned().collect()
        };
        words.extend(argv.iter().skip(1).cloned());
        let job = self.job(&program, vec![words], files);
        let word = word();
        let mut listener = Listener::default();
        let run = self.sandbox.start(&job)?;
        let opening = vec![Reply::Raw(0, format!("{word}\n").into_bytes()), Reply::Close(0)];
        let outcomes = watch(vec![run], opening, &mut listener);
        let outcome =
            outcomes.map_err(|source| SandboxError::Helper { what: "watching a run", source })?.into_iter().next();
        let outcome = outcome.ok_or(lost())?;
        let said_the_word = listener.heard == word.as_bytes();
        let tests = report::read(results, &outcome, said_the_word);
        Ok(Ended { tests, gave: Vec::new(), not_loaded: None, integrity: Integrity::Shared, outcome })
    }
}

fn lost() -> SandboxError {
    SandboxError::Helper { what: "reporting a run", source: std::io::Error::other("there is no outcome") }
}

/// What the tests of a `program` suite ended with.
fn ended(talk: Talk, name: &str, integrity: Integrity, outcome: Outcome) -> Ended {
    let is_of_tests = matches!(talk.first_end, Some((1, _)));
    let status = talk.first_end.map_or_else(|| outcome.status.clone(), |(_, status)| status);
    let (mark, detail) = match (&talk.not_loaded, &talk.odd, talk.end) {
        (Some(why), _, _) => (Mark::Fail, why.clone()),
        (None, Some(odd), _) => (Mark::Error, odd.clone()),
        (None, None, Some((how, word))) if how == "pass" => {
            // tests of their own need no word: the program never had their channel
            if talk.word == word {
                (Mark::Pass, String::new())
            } else {
                (Mark::Error, "a pass with the wrong word".to_owned())
            }
        }
        (None, None, Some((how, detail))) if how == "fail" => (Mark::Fail, detail),
        (None, None, Some((_, detail))) => match &status {
            Status::Exit(0) | Status::Stopped => (Mark::Error, detail),
            status => mark_of(status),
        },
        // tests that are run elsewhere and end by themselves say nothing of the program
        (None, None, None) if is_of_tests && matches!(status, Status::Exit(_) | Status::Signal(_)) => {
            (Mark::Error, format!("the tests ended by themselves: {}", mark_of(&status).1))
        }
        (None, None, None) => mark_of(&status),
    };
    let tests = vec![(name.to_owned(), mark, detail)];
    Ended { tests, gave: Vec::new(), not_loaded: talk.not_loaded, integrity, outcome }
}

/// A word that nobody can guess.
fn word() -> String {
    let mut bytes = [0_u8; 16];
    // the kernel's chance cannot fail once the machine has started; without it no pass could be told from a forged one
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .expect("chance");
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn first_line(text: &str, otherwise: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or(otherwise).chars().take(300).collect()
}

/// The name of the class that a Java program is.
fn class_of(source: &str) -> String {
    let named =
        regex::Regex::new(r"(?m)^\s*(?:public\s+|final\s+)*class\s+([A-Za-z_]\w*)").expect("a plain expression");
    named.captures(source).map_or("Solution".to_owned(), |found| found[1].to_owned())
}

fn imports_of(source: &str, tests: &str) -> String {
    let imports = source.lines().filter(|line| line.starts_with("import ") && !tests.contains(line.trim()));
    imports.collect::<Vec<_>>().join("\n")
}
