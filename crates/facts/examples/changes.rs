//! Prints what becomes of every item of a diff, or with `--time` how long reading it takes; of samples (`.jsonl`) always the time.
#![allow(clippy::print_stdout, reason = "a tool for whoever edits the tables and the matching")]

use std::time::{Duration, Instant};

use veridiff_facts::changes::{Changes, Status, Which};
use veridiff_facts::side::FileChange;
use veridiff_text::diff::Diff;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_timed = arguments.iter().any(|argument| argument == "--time");
    for file in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        let text = std::fs::read_to_string(file)?;
        if file.ends_with(".jsonl") {
            time_rows(&text)?;
            continue;
        }
        let diff = Diff::parse(&text)?;
        let start = Instant::now();
        let files = FileChange::of_diff(&diff, None);
        let changes = Changes::new(&files);
        let elapsed = start.elapsed();
        let items = changes.all(Which::Old).chain(changes.all(Which::New));
        if is_timed {
            println!("{file}: {} lines, {} items, {elapsed:?}", diff.lines().len(), items.count());
            continue;
        }
        for fact in items.filter(|fact| fact.status != Status::Kept) {
            let line = changes.diff_line(&fact).map_or(String::new(), |line| (line + 1).to_string());
            let scope = changes.scope_name(&fact).unwrap_or_default();
            let value = fact.item.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
            println!(
                "{line:>5} {:?} {:?} {}{value} in [{scope}]: {:?}",
                fact.which, fact.item.kind, fact.item.path, fact.status
            );
        }
    }
    Ok(())
}

/// How long all rows of a file of samples take, and the slowest.
fn time_rows(text: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (mut rows, mut lines, mut items) = (0, 0, 0);
    let mut total = Duration::ZERO;
    let mut slowest: Vec<(Duration, String)> = Vec::new();
    for row in text.lines() {
        let row: serde_json::Value = serde_json::from_str(row)?;
        let Ok(diff) = Diff::parse(row["diff"].as_str().unwrap_or("")) else { continue };
        let start = Instant::now();
        let changes = Changes::new(&FileChange::of_diff(&diff, row["language"].as_str()));
        let elapsed = start.elapsed();
        rows += 1;
        lines += diff.lines().len();
        items += changes.all(Which::Old).chain(changes.all(Which::New)).count();
        total += elapsed;
        slowest.push((elapsed, format!("{} ({} lines)", row["id"].as_str().unwrap_or("?"), diff.lines().len())));
    }
    slowest.sort_unstable_by(|a, b| b.cmp(a));
    println!("{rows} rows, {lines} lines, {items} items in {total:?}; slowest {:?}", slowest.get(..4));
    Ok(())
}
