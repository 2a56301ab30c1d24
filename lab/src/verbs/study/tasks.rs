//! Tasks and mutants, with a truth that execution has found.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use anyhow::Context as _;
use serde_json::{Value, json};
use veridiff_sandbox::{
    probe::{self, Wanted},
    verify::{
        Options, Verifier,
        case::Case,
        rule::{Claim, Fix, Rule},
    },
};
use veridiff_suites::study::{
    mutate::{Mutant, mutants, spread},
    task::{Task, Truth},
};

use super::{Exit, MutateArgs, TasksArgs, read, read_tasks, side_by_side, write_lines};
use veridiff::cli::terminal::note;

pub(super) fn tasks(args: &TasksArgs) -> anyhow::Result<Exit> {
    let mut all = Vec::new();
    for path in &args.inputs {
        all.extend(read_tasks(path)?);
    }
    let mut left_out = 0;
    if !args.unverified {
        let (sandbox, _) = probe::choose(Wanted::Auto, &std::env::current_exe()?)?;
        let verifier = Verifier::new(sandbox, Options { rule: Rule::TestsOnly, repeats: 2, ..Options::default() });
        let n_jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let found = side_by_side(&all, n_jobs, "programs", |task| {
            let case = Case::parse(&task.case(&task.task_id, None).to_string(), 1, Path::new("."))
                .map_err(|error| error.to_string())?;
            let verified = verifier.verify(&case);
            verified.conclusion.map(|conclusion| conclusion.claim).ok_or(verified.error.unwrap_or_default())
        });
        // a task is two programs under one requirement: without one of them it is none
        let mut excluded: BTreeMap<String, String> = BTreeMap::new();
        for (task, found) in all.iter().zip(&found) {
            let wanted = if task.truth == Truth::Correct { Claim::Unsupported } else { Claim::Supported };
            match found {
                Ok(claim) if *claim == wanted || task.truth == Truth::BuggyHidden => {}
                Ok(claim) => drop(
                    excluded.insert(task.task_id.clone(), format!("its {} program: tests say {claim:?}", task.variant)),
                ),
                Err(error) => drop(excluded.insert(task.task_id.clone(), error.clone())),
            }
        }
        for (id, why) in &excluded {
            note(&format!("left out: {id}: {why}"));
        }
        left_out = excluded.len();
        all.retain(|task| !excluded.contains_key(&task.task_id));
    }
    write_lines(&args.output, all.iter().map(|task| serde_json::to_string(task).unwrap_or_default()))?;
    let n = |truth| all.iter().filter(|task| task.truth == truth).count();
    note(&format!(
        "{} programs: {} correct, {} buggy, {left_out} tasks left out; in {}",
        all.len(),
        n(Truth::Correct),
        n(Truth::Buggy),
        args.output.display()
    ));
    Ok(Exit::Done)
}

/// The inputs of HumanEval+, by the task's number.
fn plus_inputs(path: &Path) -> anyhow::Result<HashMap<String, Value>> {
    let mut all = HashMap::new();
    for line in read(path)?.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).with_context(|| format!("`{}` is no JSONL", path.display()))?;
        if let (Some(id), Some(inputs)) = (row["task_id"].as_str(), row["plus_input"].as_array()) {
            all.insert(number_of(id), inputs.iter().take(500).cloned().collect());
        }
    }
    Ok(all)
}

/// The number by which benchmarks that are made of one another know a task.
fn number_of(task_id: &str) -> String {
    task_id.rsplit('/').next().unwrap_or(task_id).to_owned()
}

pub(super) fn mutate(args: &MutateArgs) -> anyhow::Result<Exit> {
    let all = read_tasks(&args.tasks)?;
    let plus = args.plus.as_deref().map(plus_inputs).transpose()?.unwrap_or_default();
    let made: Vec<(&Task, Mutant)> = all
        .iter()
        .filter(|task| task.truth == Truth::Correct && task.language == "python")
        .flat_map(|task| spread(mutants(&task.code), args.number).into_iter().map(move |mutant| (task, mutant)))
        .collect();
    let (sandbox, _) = probe::choose(Wanted::Auto, &std::env::current_exe()?)?;
    let verifier = Verifier::new(sandbox, Options { repeats: 2, n_inputs: args.inputs, ..Options::default() });
    let n_jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let found = side_by_side(&made, n_jobs, "mutants", |(task, mutant)| {
        // what the canonical program repairs is wrong; what it only tells apart is wrong where no test looks
        let changed = Task { code: mutant.code.clone(), ..(*task).clone() };
        let mut case = changed.case(&task.task_id, Some(&task.code));
        if let (Some(inputs), Some(tests)) = (plus.get(&number_of(&task.task_id)), case["tests"].as_array_mut()) {
            tests.push(json!({ "name": "plus", "kind": "augmented", "form": "calls", "inputs": inputs }));
        }
        let case = Case::parse(&case.to_string(), 1, Path::new(".")).ok()?;
        match verifier.verify(&case).conclusion?.fix {
            Fix::Repairs | Fix::Partial | Fix::Mixed => Some(Truth::Buggy),
            Fix::ChangesBehaviour => Some(Truth::BuggyHidden),
            _ => None,
        }
    });
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut tasks = Vec::new();
    for (at, ((task, mutant), truth)) in made.iter().zip(&found).enumerate() {
        let name = match truth {
            Some(Truth::BuggyHidden) => "survives its tests, differs elsewhere",
            Some(_) => "fails its tests",
            None => "not told apart: left out",
        };
        *counts.entry((mutant.bug_type, name)).or_default() += 1;
        let Some(truth) = *truth else { continue };
        tasks.push(Task {
            variant: format!("mutant {at}: {}", mutant.what),
            truth,
            code: mutant.code.clone(),
            bug_type: Some(mutant.bug_type.to_owned()),
            failure_symptoms: None,
            ..(*task).clone()
        });
    }
    for ((kind, name), n) in counts {
        note(&format!("{kind}: {n} {name}"));
    }
    note(&format!(
        "{} mutants of {}, {} with a known truth; in {}",
        made.len(),
        all.len(),
        tasks.len(),
        args.output.display()
    ));
    write_lines(&args.output, all.iter().chain(&tasks).map(|task| serde_json::to_string(task).unwrap_or_default()))?;
    Ok(Exit::Done)
}
