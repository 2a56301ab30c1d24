//! How often each rule fires, and how often on statements that are true: `rates SAMPLES.jsonl [CODE [RULING]]`.
//!
//! With a code it prints the statements that the rule fired on, those labelled true first.
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
    Ok(())
}
