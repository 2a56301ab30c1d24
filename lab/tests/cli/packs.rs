//! The conclusions on programs whose faults others have put in: HumanEvalPack and QuixBugs, where VERIDIFF_CODE_DATA names their folder.
#![expect(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]

use std::{path::Path, process::Command};

use serde_json::Value as Json;
use veridiff_sandbox::{
    sandbox::{Backend, Sandbox},
    verify::{
        Options, Verified, Verifier,
        case::Case,
        rule::{Claim, Fix},
    },
};
use veridiff_suites::{
    ask::side_by_side,
    study::task::{Task, of_line},
};

/// The tasks of a file, or none with a word about it.
fn tasks(name: &str) -> Vec<Task> {
    let Ok(folder) = std::env::var("VERIDIFF_CODE_DATA") else {
        eprintln!("not tested here: {name} (VERIDIFF_CODE_DATA names no folder that has it)");
        return Vec::new();
    };
    let unpacked = Command::new("gzip").args(["-dc", &format!("{folder}/{name}")]).output().expect("gzip runs");
    let text = String::from_utf8(unpacked.stdout).expect("JSONL is text");
    text.lines()
        .enumerate()
        .flat_map(|(at, line)| of_line(line, at + 1).unwrap_or_else(|error| panic!("{name}: {error}")))
        .collect()
}

/// Each suite once: what programs of others do is the same every time, or their tests would be none.
fn verify(cases: &[Json]) -> Vec<Verified> {
    let sandbox = Sandbox::new(Backend::Native, env!("CARGO_BIN_EXE_veridiff-lab").into());
    let verifier = Verifier::new(sandbox, Options { repeats: 1, ..Options::default() });
    side_by_side(cases.len(), 2, |at| verifier.verify(&Case::parse(&cases[at].to_string(), 1, Path::new(".")).unwrap()))
}

fn found(verified: &Verified) -> Option<(Claim, Fix)> {
    verified.conclusion.as_ref().map(|conclusion| (conclusion.claim, conclusion.fix))
}

/// Checks that all cases but those named come out alike.
fn all_are(name: &str, verified: &[Verified], want: (Claim, Fix), but: &[&str]) {
    let others: Vec<_> = verified
        .iter()
        .filter(|one| found(one) != Some(want) && !but.contains(&one.id.as_str()))
        .map(|one| (&one.id, found(one), &one.error, &one.evidence))
        .collect();
    assert!(others.is_empty(), "{name}: not {want:?}: {others:#?}");
    eprintln!("{name}: {} of {} {want:?}", verified.len() - others.len() - but.len(), verified.len());
}

/// Buggy programs with their canonical ones as fix, and the other way round; `but` are those whose canonical program cannot run here,
/// `unloadable` those whose buggy one does not load, which is no fix that could be judged.
fn both_ways(name: &str, language: &str, but: &[&str], unloadable: &[&str]) {
    let tasks = tasks(name);
    if tasks.is_empty() {
        return;
    }
    let pairs: Vec<(&Task, &Task)> = tasks.chunks(2).map(|pair| (&pair[0], &pair[1])).collect();
    assert!(pairs.iter().all(|(right, wrong)| right.task_id == wrong.task_id && right.language == language));
    let repairs: Vec<Json> = pairs.iter().map(|(right, wrong)| wrong.case(&wrong.task_id, Some(&right.code))).collect();
    let verified = verify(&repairs);
    all_are(name, &verified, (Claim::Supported, Fix::Repairs), but);
    let wrong = verified.iter().filter(|one| one.rules.get("tests-only") != Some(&Claim::Supported)).count();
    assert_eq!(wrong, 0, "by the tests alone no buggy program is accepted");
    let breaks: Vec<Json> = pairs.iter().map(|(right, wrong)| right.case(&right.task_id, Some(&wrong.code))).collect();
    let verified = verify(&breaks);
    all_are(name, &verified, (Claim::Unsupported, Fix::Regresses), &[but, unloadable].concat());
    let unloaded = verified.iter().filter(|one| found(one) == Some((Claim::Abstain, Fix::NotRunnable)));
    assert_eq!(unloaded.map(|one| one.id.as_str()).collect::<Vec<_>>(), unloadable, "{name}");
    let wrong = verified.iter().filter(|one| one.rules.get("tests-only") != Some(&Claim::Unsupported)).count();
    assert_eq!(wrong, but.len(), "by the tests alone no correct program is rejected");
}

#[test]
fn humanevalpack_in_python() {
    both_ways("humanevalpack_python.jsonl.gz", "python", &[], &[]);
}

#[test]
fn quixbugs() {
    both_ways("quixbugs_python.jsonl.gz", "python", &[], &[]);
}

#[test]
fn humanevalpack_in_javascript() {
    if Command::new("node").arg("--version").output().is_err() {
        eprintln!("not tested here: node is missing");
        return;
    }
    // one canonical program needs a package that is not part of node, two buggy ones are syntax errors
    both_ways("humanevalpack_js.jsonl.gz", "javascript", &["JavaScript/162"], &["JavaScript/113", "JavaScript/144"]);
}

#[test]
fn humanevalpack_in_java() {
    if Command::new("javac").arg("--version").output().is_err() {
        eprintln!("not tested here: a JDK is missing");
        return;
    }
    both_ways("humanevalpack_java.jsonl.gz", "java", &[], &[]);
}

#[test]
fn what_is_the_same_is_identical() {
    let tasks = tasks("humanevalpack_python.jsonl.gz");
    let cases: Vec<Json> = tasks
        .iter()
        .filter(|task| task.variant == "buggy")
        .map(|task| task.case(&task.task_id, Some(&task.code)))
        .collect();
    all_are("buggy, and the same as fix", &verify(&cases), (Claim::Abstain, Fix::Identical), &[]);
}
