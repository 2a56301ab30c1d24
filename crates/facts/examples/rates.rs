//! How often each rule fires, and how often on statements that are true: `rates SAMPLES.jsonl [CODE [RULING]]`.
//!
//! With a code it prints the statements that the rule fired on, those labelled true first. Where the groups of rows are called
//! "project@commit", it also says what the rules that are allowed by the other projects (wrong on at most 2% of their true
//! texts) accuse in the project that was left out.
#![allow(clippy::print_stdout, reason = "a tool for whoever edits the rules")]

use std::{collections::BTreeMap, error::Error, fs::File, io::BufReader};

use veridiff_facts::{
    change::Change,
    judge::{Judged, Judgement, Standing},
    rules::Ruling,
};
use veridiff_text::{diff::Diff, sample::Samples};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("give a file of samples")?;
    let (code, ruling) = (args.next(), args.next());
    let samples = Samples::read(BufReader::new(File::open(path)?))?.into_samples();
    // by rule and ruling: texts with label 0, 1, none
    let mut counts: BTreeMap<(&str, Ruling), [usize; 3]> = BTreeMap::new();
    let mut texts: BTreeMap<Option<Ruling>, [usize; 3]> = BTreeMap::new();
    // by how their worst statement stands to the change
    let mut standings: BTreeMap<Option<Standing>, [usize; 3]> = BTreeMap::new();
    // of texts with label 0, by project: how many, and those that each rule contradicts
    let mut projects: BTreeMap<String, Project> = BTreeMap::new();
    let mut totals = [0; 3];
    let started = std::time::Instant::now();
    for sample in &samples {
        let Ok(diff) = Diff::parse(&sample.diff) else { continue };
        let label = match sample.label {
            Some(false) => 0,
            Some(true) => 1,
            None => 2,
        };
        totals[label] += 1;
        let judgement = Judgement::new(&Change::new(&diff), &sample.text, sample.task, None);
        texts.entry(judgement.ruling()).or_default()[label] += 1;
        let worst = judgement.statements.iter().filter_map(Judged::standing).max();
        standings.entry(worst).or_default()[label] += 1;
        let mut seen: Vec<(&str, Ruling)> = Vec::new();
        for ruled in judgement.statements.iter().flat_map(|statement| &statement.ruled) {
            let key = (ruled.rule.code, ruled.ruling);
            if !seen.contains(&key) {
                seen.push(key);
                counts.entry(key).or_default()[label] += 1;
            }
            let is_asked = code.as_deref() == Some(ruled.rule.code)
                && ruling
                    .as_deref()
                    .map_or(ruled.ruling == Ruling::Contradicted, |name| format!("{:?}", ruled.ruling) == name);
            if is_asked {
                println!(
                    "[{label}] {} | {} | «{}» {}",
                    sample.id,
                    sample.text.trim(),
                    &sample.text[ruled.span.clone()],
                    ruled.message
                );
                for &line in ruled.lines.iter().take(4) {
                    println!("      {}", diff.line_text(line));
                }
            }
        }
        if label == 0
            && let Some((project, _)) = sample.group.split_once('@')
        {
            let project = projects.entry(project.to_owned()).or_default();
            project.n += 1;
            project.accused.push(
                seen.iter().filter(|(_, ruling)| *ruling == Ruling::Contradicted).map(|(code, _)| *code).collect(),
            );
        }
    }
    println!(
        "{} texts in {:.2} s: label 0 {}, 1 {}, none {}",
        samples.len(),
        started.elapsed().as_secs_f64(),
        totals[0],
        totals[1],
        totals[2]
    );
    let show = |name: String, counts: &[usize; 3]| {
        let share = |i: usize| if totals[i] == 0 { 0.0 } else { 100.0 * counts[i] as f64 / totals[i] as f64 };
        println!(
            "{name:<28} {:>5} ({:>5.2}%) {:>5} ({:>5.2}%) {:>5}",
            counts[0],
            share(0),
            counts[1],
            share(1),
            counts[2]
        );
    };
    for ((code, ruling), counts) in &counts {
        show(format!("{code} {ruling:?}"), counts);
    }
    for (ruling, counts) in &texts {
        show(format!("texts {ruling:?}"), counts);
    }
    for (standing, counts) in &standings {
        show(format!("standing {standing:?}"), counts);
    }
    if projects.len() > 1 {
        left_out(&projects);
    }
    Ok(())
}

/// The true texts of a project.
#[derive(Default)]
struct Project {
    n: usize,
    /// Of each text, the rules that contradict it.
    accused: Vec<Vec<&'static str>>,
}

impl Project {
    fn n_by(&self, is_meant: impl Fn(&str) -> bool) -> usize {
        self.accused.iter().filter(|codes| codes.iter().any(|code| is_meant(code))).count()
    }
}

/// Share of true texts on which a rule may be wrong.
const BOUND: f64 = 0.02;

fn left_out(projects: &BTreeMap<String, Project>) {
    for (name, project) in projects {
        let others = || projects.iter().filter(|(other, _)| *other != name).map(|(_, project)| project);
        let n_others: usize = others().map(|project| project.n).sum();
        let is_allowed = |code: &str| {
            let wrong: usize = others().map(|project| project.n_by(|other| other == code)).sum();
            wrong as f64 <= BOUND * n_others as f64
        };
        let mut codes: Vec<&str> = project.accused.iter().flatten().copied().collect();
        codes.sort_unstable();
        codes.dedup();
        let by_rule: Vec<String> =
            codes.iter().map(|code| format!("{code} {}", project.n_by(|other| other == *code))).collect();
        println!(
            "left out {name:<28} {:>5} true, accused {:>3} ({:.2}%) {}",
            project.n,
            project.n_by(is_allowed),
            100.0 * project.n_by(is_allowed) as f64 / project.n as f64,
            by_rule.join(", ")
        );
    }
}
