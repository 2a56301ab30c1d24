//! One case from its programs to its verdict: which runs are made, in which order, how often, and what they show together.

use std::{
    collections::BTreeMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use serde_json::Value as Json;
use veridiff_text::printable::printable;

use crate::{
    error::SandboxError,
    job::Limits,
    runner::{Language, Runner},
    sandbox::{POLICY, Sandbox},
    value::{Tolerance, Value},
    verify::{
        case::{Case, Form, Suite},
        drivers::Drivers,
        inputs,
        rule::{FixState, Mark, Observed, Rule, Seen, Settings, Test, Trust},
        session::{Ended, Gave, Integrity, Program, Session},
        verified::{MAX_SHOWN, RunRecord, Shown, Transitions, Verified, Where, Witness},
    },
    watch::Status,
};

/// How cases are verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How the conclusion is drawn.
    pub rule: Rule,
    /// What it may be told beside.
    pub settings: Settings,
    /// How often a suite that decides is run, with other hashes each time.
    pub repeats: u32,
    /// Inputs on which program and fix are compared, of each case.
    pub n_inputs: usize,
    /// What the programs' chance follows from.
    pub seed: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { rule: Rule::Strict, settings: Settings::default(), repeats: 3, n_inputs: 100, seed: 0 }
    }
}

/// Seconds of the processor for all inputs on which program and fix are compared.
const INPUTS_S: f64 = 2.0;

/// Verifies cases, from many threads at once.
#[derive(Debug)]
pub struct Verifier {
    sandbox: Sandbox,
    options: Options,
    runners: [OnceLock<Result<Runner, String>>; 3],
    drivers: Drivers,
    /// Only one run that ran out of time is repeated at a time, so that none is slow because of another.
    alone: Mutex<()>,
}

/// A suite under one program, over its repeats.
struct Under {
    ended: Vec<Ended>,
}

impl Verifier {
    /// A verifier.
    pub fn new(sandbox: Sandbox, options: Options) -> Verifier {
        Verifier { sandbox, options, runners: Default::default(), drivers: Drivers::default(), alone: Mutex::new(()) }
    }

    fn session(&self, hash_seed: u32) -> Session<'_> {
        Session { sandbox: &self.sandbox, drivers: &self.drivers, hash_seed, seed: self.options.seed }
    }

    /// The runner of a language, found once.
    ///
    /// # Errors
    /// [`SandboxError::NoRunner`] in words.
    pub fn runner(&self, language: Language) -> Result<&Runner, String> {
        let found =
            self.runners[language as usize].get_or_init(|| Runner::find(language).map_err(|error| error.to_string()));
        found.as_ref().map_err(Clone::clone)
    }

    /// Verifies a case. What goes wrong is said in its result.
    pub fn verify(&self, case: &Case) -> Verified {
        let mut verified = Verified {
            id: case.id.clone(),
            conclusion: None,
            rules: BTreeMap::new(),
            evidence: Transitions::default(),
            runs: Vec::new(),
            integrity: Integrity::Separate,
            sandbox: Where { level: "full".into(), backend: self.sandbox.backend().name().into(), policy: POLICY },
            notes: Vec::new(),
            error: None,
            carried: case.carried.clone(),
        };
        let observed = self
            .runner(case.language)
            .and_then(|runner| self.observe(case, runner, &mut verified).map_err(|error| error.to_string()));
        match observed {
            Ok(observed) => {
                fill(&mut verified.evidence, &observed);
                verified.notes.extend(untold(&observed));
                for rule in [Rule::Strict, Rule::Paper, Rule::TestsOnly] {
                    let conclusion = rule.decide(case.claim, &observed, self.options.settings);
                    let name = serde_json::to_value(rule).ok().and_then(|name| name.as_str().map(str::to_owned));
                    verified.rules.insert(name.unwrap_or_default(), conclusion.claim);
                    if rule == self.options.rule {
                        verified.conclusion = Some(conclusion);
                    }
                }
            }
            Err(error) => verified.error = Some(error),
        }
        verified
    }

    fn observe(&self, case: &Case, runner: &Runner, verified: &mut Verified) -> Result<Observed, SandboxError> {
        let limits = case.limits(runner.limits);
        let mut state = match &case.fix {
            None => FixState::None,
            Some(fix) if plain(fix, case.language) == plain(&case.code, case.language) => FixState::Identical,
            Some(_) => FixState::Runs,
        };
        let mut tests = Vec::new();
        for suite in case.suites.iter().filter(|suite| expects(suite)) {
            // the fix first: what it needs is a measure of what the program may take
            let fix = match &case.fix {
                Some(fix) if state == FixState::Runs => {
                    let under = self.suite(case, fix, "fix", runner, limits, suite, verified)?;
                    if let Some(why) = under.ended.iter().find_map(|ended| ended.not_loaded.clone()) {
                        state = FixState::NotRunnable(why);
                    }
                    Some(under)
                }
                _ => None,
            };
            let lowered = fix.as_ref().and_then(|under| calibrated(under, limits)).unwrap_or(limits);
            let code = self.suite(case, &case.code, "code", runner, lowered, suite, verified)?;
            tests.extend(compare(suite, &code, fix.as_ref()));
        }
        let (mut inputs_compared, mut n_differs) = (0, 0);
        let can_differ = !tests.iter().any(|test: &Test| test.trust.decides() && test.before.mark != Mark::Pass);
        if let (Some(fix), FixState::Runs, true) = (&case.fix, &state, can_differ) {
            (inputs_compared, n_differs) = self.differ(case, fix, runner, limits, verified)?;
        }
        Ok(Observed { fix: state, tests, inputs_compared, n_differs })
    }

    /// A suite under one program: once, again where time ran out, and as often as the options say where it decides.
    #[expect(clippy::too_many_arguments, reason = "they are what a run is made of, and none belongs to another")]
    fn suite(
        &self,
        case: &Case,
        source: &str,
        name: &str,
        runner: &Runner,
        limits: Limits,
        suite: &Suite,
        verified: &mut Verified,
    ) -> Result<Under, SandboxError> {
        let mut under = Under { ended: Vec::new() };
        let repeats = if suite.trust.decides() { self.options.repeats.max(1) } else { 1 };
        for repeat in 0..repeats {
            let session = self.session(repeat);
            let mut program = Program { source, entry_point: case.entry_point.as_deref(), runner, limits };
            let mut ended = session.run(program, suite)?;
            if matches!(ended.outcome.status, Status::Timeout { .. }) && repeat == 0 {
                record(verified, &ended, name, suite, repeat);
                let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
                program.limits = Limits { cpu_s: 2.0 * limits.cpu_s, wall_s: 2.0 * limits.wall_s, ..limits };
                ended = session.run(program, suite)?;
            }
            record(verified, &ended, name, suite, repeat);
            verified.integrity = verified.integrity.max(ended.integrity);
            // it has run out of time twice: a third time would tell nothing new
            let is_slow = matches!(ended.outcome.status, Status::Timeout { .. });
            under.ended.push(ended);
            if is_slow && repeat == 0 {
                break;
            }
        }
        Ok(under)
    }

    /// Compares program and fix on inputs: those of the suites, of the requirement, and changed ones.
    fn differ(
        &self,
        case: &Case,
        fix: &str,
        runner: &Runner,
        limits: Limits,
        verified: &mut Verified,
    ) -> Result<(usize, usize), SandboxError> {
        let Some(entry_point) = case.entry_point.as_deref().filter(|_| case.language != Language::Java) else {
            return Ok((0, 0));
        };
        let mut seeds: Vec<Vec<Value>> = Vec::new();
        let mut contract = None;
        for suite in &case.suites {
            match &suite.form {
                Form::Calls { inputs, contract: said, .. } => {
                    seeds.extend(inputs.iter().cloned());
                    contract = contract.or(said.as_deref());
                }
                Form::Program { text, .. } => seeds.extend(inputs::of_text(text, &["candidate", entry_point])),
                Form::Command { .. } => {}
            }
        }
        seeds.extend(case.requirement.iter().flat_map(|text| inputs::of_text(text, &[entry_point])));
        let all = inputs::grow(&seeds, self.options.n_inputs.max(seeds.len()), case.seed());
        if all.is_empty() {
            verified
                .notes
                .push("no input to compare on: no suite of calls, and no call with plain values in the texts".into());
            return Ok((0, 0));
        }
        let n_inputs = all.len();
        let suite = |inputs: Vec<Vec<Value>>| Suite {
            name: "inputs".into(),
            trust: Trust::Augmented,
            form: Form::Calls { inputs, expected: None, tolerance: Tolerance::default(), contract: None },
        };
        // a changed input may ask for more than anybody would wait for; what came before it is compared all the same
        let limits = Limits { cpu_s: limits.cpu_s.min(INPUTS_S), wall_s: limits.wall_s.min(5.0 * INPUTS_S), ..limits };
        let session = self.session(0);
        let mut run = |source: &str, name: &str, suite: &Suite| {
            let program = Program { source, entry_point: Some(entry_point), runner, limits };
            let ended = session.run(program, suite)?;
            record(verified, &ended, name, suite, 0);
            Ok::<_, SandboxError>(ended)
        };
        let all = match contract.and_then(|contract| with_contract(&case.code, entry_point, contract)) {
            Some(source) => {
                let allowed = run(&source, "contract", &suite(all.clone()))?.gave;
                all.into_iter()
                    .zip(allowed)
                    .filter(|(_, gave)| matches!(gave, Gave::Value(_)))
                    .map(|(input, _)| input)
                    .collect()
            }
            None => all,
        };
        let has_contract = contract.is_some();
        let suite = suite(all);
        let (before, after) = (run(&case.code, "code", &suite)?, run(fix, "fix", &suite)?);
        let Form::Calls { inputs, .. } = suite.form else { return Ok((0, 0)) };
        let exact = Tolerance { rtol: 1e-9, ..Tolerance::default() };
        let (mut compared, mut differs) = (0, 0);
        for (input, (before, after)) in inputs.iter().zip(before.gave.iter().zip(&after.gave)) {
            let same = match (before, after) {
                (Gave::Value(a), Gave::Value(b)) => exact.same(a, b),
                // where one raises, the input may be one that nobody may give
                (Gave::Value(_), Gave::Raised(_)) | (Gave::Raised(_), Gave::Value(_)) if has_contract => false,
                _ => continue,
            };
            compared += 1;
            if !same {
                differs += 1;
                if verified.evidence.differs.len() < MAX_SHOWN {
                    let input = Json::Array(input.iter().map(Value::to_json).collect());
                    verified.evidence.differs.push(Witness { input, before: told(before), after: told(after) });
                }
            }
        }
        verified.evidence.inputs_compared = compared;
        verified.evidence.inputs_differing = differs;
        verified.evidence.inputs_dropped = n_inputs - compared;
        Ok((compared, differs))
    }
}

fn told(gave: &Gave) -> Json {
    match gave {
        Gave::Value(value) => value.to_json(),
        Gave::Raised(what) => Json::String(format!("raises {what}")),
        Gave::Nothing(_, why) => Json::String(why.clone()),
    }
}

/// Whether a suite says what is right, so that a program can fail it.
fn expects(suite: &Suite) -> bool {
    !matches!(&suite.form, Form::Calls { expected: None, .. })
}

/// A program without comments and blanks, to see whether two are the same.
fn plain(source: &str, language: Language) -> Vec<String> {
    let comment = if language == Language::Python { "#" } else { "//" };
    let lines =
        source.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.trim_start().starts_with(comment));
    lines.map(str::to_owned).collect()
}

/// What the program may take where the fix has passed: ten times what the fix needed, and at least two seconds.
fn calibrated(fix: &Under, limits: Limits) -> Option<Limits> {
    let first = fix.ended.first()?;
    let has_passed = !first.tests.is_empty() && first.tests.iter().all(|(_, mark, _)| *mark == Mark::Pass);
    let has_passed =
        has_passed || (!first.gave.is_empty() && first.gave.iter().all(|gave| matches!(gave, Gave::Value(_))));
    let cpu_s = (first.outcome.cpu_ms as f64 / 100.0).max(2.0).min(limits.cpu_s);
    has_passed.then_some(Limits { cpu_s, wall_s: (5.0 * cpu_s).min(limits.wall_s), ..limits })
}

/// A function of the program's arguments that raises where the contract does; none if the arguments cannot be read from the program.
fn with_contract(code: &str, entry_point: &str, contract: &str) -> Option<String> {
    let head =
        regex::Regex::new(&format!(r"(?s)def\s+{}\s*\((.*?)\)\s*(?:->.*?)?:\s*\n", regex::escape(entry_point))).ok()?;
    let names: Vec<String> = head.captures(code)?[1]
        .split(',')
        // an annotation may hold commas, and what is behind one is no name
        .filter_map(|part| part.split([':', '=']).next().map(str::trim).map(str::to_owned))
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect();
    let body: Vec<String> = contract
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| if line.starts_with([' ', '\t']) { line.to_owned() } else { format!("    {line}") })
        .collect();
    Some(format!("def {entry_point}({}):\n{}\n    return True\n", names.join(", "), body.join("\n")))
}

fn record(verified: &mut Verified, ended: &Ended, program: &str, suite: &Suite, repeat: u32) {
    let outcome = &ended.outcome;
    let shown = |text: &str| printable(&text.chars().take(2000).collect::<String>()).to_string();
    verified.runs.push(RunRecord {
        program: program.to_owned(),
        suite: suite.name.clone(),
        repeat,
        status: outcome.status.clone(),
        wall_ms: outcome.wall_ms,
        cpu_ms: outcome.cpu_ms,
        max_rss_kb: outcome.max_rss_kb,
        stdout: shown(&outcome.stdout.text),
        stderr: shown(&outcome.stderr.text),
        cut: outcome.stdout.cut || outcome.stderr.cut || outcome.stdout.text.chars().count() > 2000,
    });
}

/// Each test of an end, calls among them.
fn marks(suite: &Suite, ended: &Ended) -> Vec<(String, Mark, String)> {
    let Form::Calls { inputs, expected: Some(expected), tolerance, .. } = &suite.form else {
        return ended.tests.clone();
    };
    let call = |at: usize| {
        let input = Json::Array(inputs[at].iter().map(Value::to_json).collect()).to_string();
        let name = format!("call {}: {}", at + 1, input.chars().take(100).collect::<String>());
        let (mark, detail) = match ended.gave.get(at) {
            Some(Gave::Value(got)) if tolerance.same(&expected[at], got) => (Mark::Pass, String::new()),
            Some(Gave::Value(got)) => {
                (Mark::Fail, format!("gave {}, expected {}", got.to_json(), expected[at].to_json()))
            }
            Some(Gave::Raised(what)) => (Mark::Fail, format!("raised {what}, expected {}", expected[at].to_json())),
            Some(Gave::Nothing(mark, why)) => (*mark, why.clone()),
            None => (Mark::NotRun, String::new()),
        };
        (name, mark, detail.chars().take(500).collect())
    };
    (0..inputs.len()).map(call).collect()
}

/// What each test ended with under a program, over the repeats; a test that is missing in one of them is not run there.
fn seen(suite: &Suite, under: &Under) -> BTreeMap<String, Seen> {
    let mut all: BTreeMap<String, Seen> = BTreeMap::new();
    for (at, ended) in under.ended.iter().enumerate() {
        let marks = marks(suite, ended);
        for seen in
            all.iter_mut().filter(|(name, _)| !marks.iter().any(|(other, _, _)| other == *name)).map(|(_, seen)| seen)
        {
            seen.flaky = true;
        }
        for (name, mark, detail) in marks {
            match all.get_mut(&name) {
                Some(seen) => seen.flaky |= (seen.mark == Mark::Pass) != (mark == Mark::Pass),
                None => drop(all.insert(name, Seen { mark, detail: printable(&detail).to_string(), flaky: at > 0 })),
            }
        }
    }
    // a run that nobody waited for long enough is no evidence unless it used up its time
    if under.ended.iter().any(|ended| ended.outcome.status == Status::Timeout { cpu: false }) {
        for seen in all.values_mut().filter(|seen| seen.mark == Mark::Timeout) {
            seen.mark = Mark::Error;
        }
    }
    all
}

fn compare(suite: &Suite, code: &Under, fix: Option<&Under>) -> Vec<Test> {
    let before = seen(suite, code);
    let mut after = fix.map(|fix| seen(suite, fix));
    let missing = || Seen { mark: Mark::NotRun, detail: "it was not reported".into(), flaky: false };
    let mut tests: Vec<Test> = Vec::new();
    for (name, before) in before {
        let after = after.as_mut().map(|after| after.remove(&name).unwrap_or_else(missing));
        tests.push(Test { name, suite: suite.name.clone(), trust: suite.trust, before, after });
    }
    for (name, after) in after.into_iter().flatten() {
        tests.push(Test { name, suite: suite.name.clone(), trust: suite.trust, before: missing(), after: Some(after) });
    }
    tests
}

/// Why nothing can be told of tests, the tests' own faults among them: at most as many as are shown.
fn untold(observed: &Observed) -> Vec<String> {
    let tests = observed.tests.iter().filter_map(|test| {
        let seen = [Some(&test.before), test.after.as_ref()].into_iter().flatten();
        let told = seen.filter(|seen| seen.mark == Mark::Error).find(|seen| !seen.detail.is_empty())?;
        Some(format!("nothing can be told of `{}`: {}", printable(&test.name), printable(&told.detail)))
    });
    tests.take(MAX_SHOWN).collect()
}

fn fill(evidence: &mut Transitions, observed: &Observed) {
    for test in &observed.tests {
        let pass = |seen: &Seen| seen.mark == Mark::Pass;
        let shown = |detail: &str| Shown {
            name: printable(&test.name).to_string(),
            suite: test.suite.clone(),
            before: test.before.mark,
            after: test.after.as_ref().map(|after| after.mark),
            detail: detail.to_owned(),
        };
        let add = |to: &mut Vec<Shown>, detail: &str| {
            if to.len() < MAX_SHOWN {
                to.push(shown(detail));
            }
        };
        let is_flaky = test.before.flaky || test.after.as_ref().is_some_and(|after| after.flaky);
        match (&test.after, pass(&test.before)) {
            _ if is_flaky => add(&mut evidence.flaky, &test.before.detail),
            (Some(after), false) if pass(after) => add(&mut evidence.fail_to_pass, &test.before.detail),
            (Some(after), true) if !pass(after) => add(&mut evidence.pass_to_fail, &after.detail),
            (_, true) => evidence.pass_to_pass += 1,
            (_, false) => evidence.fail_to_fail += 1,
        }
    }
}
