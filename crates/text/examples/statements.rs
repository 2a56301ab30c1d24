//! Prints what kinds of statements the texts of JSONL files consist of, and a random sample of them to be read by eye.
//!
//! `cargo run -p veridiff-text --example statements -- SEED COUNT FILE…`

use std::{collections::BTreeMap, fs, io::Write, time::Instant};

use serde_json::Value;
use veridiff_text::{sample::Task, statements::Statements};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut seed: u64 = args.next().ok_or("SEED is missing")?.parse()?;
    let count: usize = args.next().ok_or("COUNT is missing")?.parse()?;
    let only = std::env::var("KIND").ok();
    let mut out = std::io::stdout().lock();
    let mut shown = Vec::new();
    for file in args {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        let mut languages: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut bytes, mut texts, mut empty) = (0, 0, 0);
        let start = Instant::now();
        for line in fs::read_to_string(&file)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let task = row["task"].as_str().and_then(Task::from_name).unwrap_or_default();
            let mut text = row["text"].as_str().unwrap_or("").to_owned();
            if let Some(body) = row["body"].as_str().filter(|body| !body.trim().is_empty()) {
                text = format!("{text}\n\n{body}");
            }
            let statements = Statements::new(&text, task);
            bytes += text.len();
            texts += 1;
            empty += usize::from(!statements.has_assertion());
            *languages.entry(statements.language.name()).or_default() += 1;
            for statement in &statements.list {
                *kinds.entry(statement.kind.name()).or_default() += 1;
                let clauses: Vec<&str> = statement.clauses.iter().map(|clause| &text[clause.clone()]).collect();
                let prefix = statement.prefix.clone().map(|prefix| text[prefix].to_owned());
                if only.as_deref().is_none_or(|only| {
                    only == statement.kind.name() || only == format!("lang-{}", statements.language.name())
                }) {
                    let prefix = prefix.map(|prefix| format!(" <{prefix}>")).unwrap_or_default();
                    shown.push(format!("{:9} {task}{prefix} {}", statement.kind.name(), clauses.join(" ¦ ")));
                }
            }
        }
        writeln!(out, "{file}: {texts} texts, {bytes} bytes, {:.2?}, nothing asserted in {empty}", start.elapsed())?;
        writeln!(out, "  {kinds:?}\n  {languages:?}")?;
    }
    // drawn without putting back
    for n in 1..=count.min(shown.len()) {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (seed >> 33) as usize % shown.len();
        writeln!(out, "{n:3} {}", shown.swap_remove(at).replace('\n', "⏎"))?;
    }
    Ok(())
}
