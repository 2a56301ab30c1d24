//! Splits the texts of a JSONL file into statements: a line for each text, with the byte spans and kinds of its statements.
//!
//! `cargo run --release -p veridiff-text --example split < texts.jsonl`

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use veridiff_text::{sample::Task, statements::Statements};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let task = row["task"].as_str().and_then(Task::from_name).unwrap_or_default();
        let text = row["text"].as_str().ok_or("a line has no text")?;
        let statements: Vec<Value> = Statements::new(text, task)
            .list
            .iter()
            .map(|statement| json!([statement.span.start, statement.span.end, statement.kind.name()]))
            .collect();
        writeln!(out, "{}", json!({ "id": row["id"], "statements": statements }))?;
    }
    Ok(())
}
