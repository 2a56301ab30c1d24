//! What judges are asked and say, and the tables of it.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::Write as _,
    path::Path,
};

use anyhow::Context as _;
use serde_json::{Value, json};
use veridiff_judge::backend::{Backend as _, Request};
use veridiff_suites::study::{
    label::{self, Labeller, Question},
    parse::{FixGiven, Said},
    prompt::Mode,
    tables::{Row, read_rows, read_verified, tables},
    task::{Task, Truth},
};

use super::{
    AskArgs, CasesArgs, Exit, LabelArgs, PromptsArgs, SamplesArgs, TablesArgs, read, read_tasks, side_by_side,
    write_lines,
};
use crate::args::backend::{self, BoundArgs, Opened};
use veridiff::cli::{
    args::judges::replies_of,
    terminal::{UsageError, note, print},
};

pub(super) fn prompts(args: &PromptsArgs) -> anyhow::Result<Exit> {
    let templates = args.wording.templates()?;
    for task in read_tasks(&args.tasks)? {
        for mode in args.wording.modes() {
            let prompt = json!({ "task_id": task.task_id, "dataset": task.dataset, "variant": task.variant, "mode": mode,
                                 "prompt": templates.render(mode, &task) });
            print(&format!("{prompt}\n"))?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn ask(args: &AskArgs) -> anyhow::Result<Exit> {
    let templates = args.wording.templates()?;
    let mut all = read_tasks(&args.tasks)?;
    if let Some(first) = args.first {
        let mut names: Vec<String> = all.iter().map(|task| task.task_id.clone()).collect();
        names.dedup();
        names.truncate(first);
        all.retain(|task| names.contains(&task.task_id));
    }
    let (replies, bounds) = (replies_of(&args.output), BoundArgs::default());
    let Opened { recorder, .. } = backend::open(&args.backend, Some(args.jobs), Some(&replies), false, bounds)?;
    // all that is asked of a program one after the other: a model here reads the program once
    let modes = args.wording.modes();
    let answers = side_by_side(&all, args.jobs, "programs", |task| {
        let ask = |mode: &Mode| {
            let messages = vec![templates.message(*mode, task)];
            recorder.complete(&Request { messages, ..Request::of_user("", args.max_output) })
        };
        modes.iter().map(ask).collect::<Vec<_>>()
    });
    let (mut rows, mut failures) = (Vec::new(), 0);
    let of_mode = |place: usize| all.iter().zip(&answers).map(move |(task, answers)| (task, &answers[place]));
    for (mode, (task, answer)) in
        modes.iter().enumerate().flat_map(|(place, mode)| of_mode(place).map(move |one| (mode, one)))
    {
        match answer {
            Ok(reply) => {
                let mut row = row_of(task, *mode, recorder.name());
                row.response = Some(reply.content.clone());
                rows.push(serde_json::to_string(&row)?);
            }
            Err(failure) => {
                failures += 1;
                note(&format!("{} ({}, {}): no answer: {failure}", task.task_id, task.variant, mode.name()));
            }
        }
    }
    note(&format!("{} answers of {}, {failures} missing; in {}", rows.len(), recorder.name(), args.output.display()));
    write_lines(&args.output, rows.into_iter())?;
    Ok(if failures > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

fn row_of(task: &Task, mode: Mode, judge: &str) -> Row {
    Row {
        task_id: task.task_id.clone(),
        dataset: task.dataset.clone(),
        variant: task.variant.clone(),
        truth: task.truth,
        judge: judge.to_owned(),
        mode,
        response: None,
        verdict: None,
        rationale: None,
        fix: None,
        round: 0,
        code: task.code.clone(),
        entry_point: task.entry_point.clone(),
        reason: None,
        a1: None,
        a1_type: None,
        a1_evidence: None,
        a1_confidence: None,
        a2_bug: None,
        a2_symptoms: None,
        bug_type: task.bug_type.clone(),
        failure_symptoms: task.failure_symptoms.clone(),
        labelled_by: None,
    }
}

pub(super) fn label(args: &LabelArgs) -> anyhow::Result<Exit> {
    let tasks = read_tasks(&args.tasks)?;
    let requirements: HashMap<(&str, &str), &str> =
        tasks.iter().map(|task| ((task.dataset.as_str(), task.task_id.as_str()), task.requirement.as_str())).collect();
    let mut prompts = label::prompts();
    if let Some(path) = &args.prompts {
        prompts = prompts.with_file(path)?;
    }
    let rows = judged(&args.judged)?;
    let (replies, bounds) = (replies_of(&args.output), BoundArgs::default());
    let Opened { recorder, .. } = backend::open(&args.backend, Some(args.jobs), Some(&replies), false, bounds)?;
    let labeller = Labeller::new(recorder, prompts);
    let labelled = side_by_side(&rows, args.jobs, "rows", |row| {
        let mut row = row.clone();
        let requirement = requirements.get(&(row.dataset.as_str(), row.task_id.as_str())).copied();
        // without the requirement nobody can say why a program that meets it was rejected
        let (asked, unasked): (Vec<_>, Vec<_>) = Question::ALL
            .into_iter()
            .filter(|question| question.is_open(&row))
            .partition(|question| *question != Question::Reason || requirement.is_some());
        let answers = asked.iter().map(|question| labeller.label(*question, requirement.unwrap_or_default(), &mut row));
        let failures: Vec<_> = answers.filter_map(Result::err).collect();
        (row, asked.len(), unasked.len(), failures)
    });
    let (mut lines, mut n_asked, mut n_unasked, mut n_failed) = (Vec::new(), 0, 0, 0);
    for (row, asked, unasked, failures) in labelled {
        n_unasked += unasked;
        for failure in &failures {
            note(&format!("{}: no label: {failure}", row.case_id()));
        }
        (n_asked, n_failed) = (n_asked + asked, n_failed + failures.len());
        lines.push(serde_json::to_string(&row)?);
    }
    let n = lines.len();
    write_lines(&args.output, lines.into_iter())?;
    let (got, by) = (n_asked - n_failed, labeller.name());
    if n_unasked > 0 {
        note(&format!("{n_unasked} rejections of programs that are in no task: not asked why"));
    }
    note(&format!("{got} labels of {n} rows by {by}, {n_failed} missing; in {}", args.output.display()));
    Ok(if n_failed > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

fn judged(path: &Path) -> anyhow::Result<Vec<Row>> {
    read_rows(&read(path)?).map_err(|problem| {
        UsageError::error(
            format!("`{}`, {problem}", path.display()),
            "`study ask` writes such rows; docs/study.md has their keys",
        )
    })
}

pub(super) fn cases(args: &CasesArgs) -> anyhow::Result<Exit> {
    let all = read_tasks(&args.tasks)?;
    let known: HashMap<(&str, &str, &str), &Task> =
        all.iter().map(|task| ((task.dataset.as_str(), task.task_id.as_str(), task.variant.as_str()), task)).collect();
    let (mut lines, mut n_noes, mut n_fixes, mut unknown) = (Vec::new(), 0, 0, 0);
    for row in judged(&args.judged)? {
        let Some(task) = known.get(&(row.dataset.as_str(), row.task_id.as_str(), row.variant.as_str())) else {
            unknown += 1;
            continue;
        };
        if row.verdict == Some(Said::Yes) {
            // no fix is looked for; the tests alone judge it too
            let mut case = task.case(&row.case_id(), None);
            case["claim"] = "conforms".into();
            lines.push(case.to_string());
            continue;
        }
        if row.verdict != Some(Said::No) {
            continue;
        }
        n_noes += 1;
        let has_fix = row.fix_state() == FixGiven::Given;
        n_fixes += usize::from(has_fix);
        // without a fix only the tests alone have something to say
        lines.push(task.case(&row.case_id(), row.fix.as_deref().filter(|_| has_fix)).to_string());
    }
    note(&format!(
        "{} cases, {n_noes} of them rejections, {n_fixes} with a fix; {unknown} rows of programs that are in no task",
        lines.len()
    ));
    write_lines(&args.output, lines.into_iter())?;
    Ok(if unknown > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

pub(super) fn print_tables(args: &TablesArgs) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for path in &args.judged {
        rows.extend(judged(path)?);
    }
    let mut verified = BTreeMap::new();
    for path in &args.verified {
        verified.extend(read_verified(&read(path)?));
    }
    let tables = tables(&rows, &verified);
    for table in &tables {
        if let Some(folder) = &args.out {
            fs::create_dir_all(folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
            for (ending, text) in [("md", table.markdown()), ("csv", table.csv()), ("tex", table.latex())] {
                let path = folder.join(format!("{}.{ending}", table.name));
                fs::File::create(&path)
                    .and_then(|mut file| file.write_all(text.as_bytes()))
                    .with_context(|| format!("cannot write `{}`", path.display()))?;
            }
        }
        match args.format.as_str() {
            "csv" => print(&table.csv())?,
            "latex" => print(&table.latex())?,
            "json" => {}
            _ => print(&table.markdown())?,
        }
    }
    if args.format == "json" {
        print(&format!("{}\n", serde_json::to_value(&tables)?))?;
    }
    Ok(Exit::Done)
}

pub(super) fn samples(args: &SamplesArgs) -> anyhow::Result<Exit> {
    let mut lines = Vec::new();
    for row in judged(&args.judged)?.iter().filter(|row| row.verdict == Some(Said::No)) {
        let Some(rationale) = row.rationale.as_deref().filter(|text| !text.trim().is_empty()) else { continue };
        let added: String = row.code.lines().map(|line| format!("+{line}\n")).collect();
        let n = row.code.lines().count();
        let label = match (row.truth, row.a2_bug.as_deref()) {
            (Truth::Correct, _) => json!(1),
            (_, Some("match")) => json!(0),
            _ => Value::Null,
        };
        let sample = json!({
            "id": row.case_id(),
            "diff": format!("--- /dev/null\n+++ b/program\n@@ -0,0 +1,{n} @@\n{added}"),
            "text": rationale,
            "label": label,
            "group": row.task_id,
            "generator": row.judge,
        });
        lines.push(sample.to_string());
    }
    note(&format!("{} samples in {}", lines.len(), args.output.display()));
    write_lines(&args.output, lines.into_iter())?;
    Ok(Exit::Done)
}
