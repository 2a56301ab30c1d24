//! Prints the items of a file, or with `--time N` how long reading them takes.
#![allow(clippy::print_stdout, reason = "a tool for whoever edits the tables")]

use std::time::Instant;

use veridiff_facts::language::Language;
use veridiff_facts::syntax::Syntax;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for file in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        let text = std::fs::read_to_string(file)?;
        let language = Language::of_file(file);
        let start = Instant::now();
        let syntax = Syntax::parse(&text, language);
        let elapsed = start.elapsed();
        if arguments.iter().any(|argument| argument == "--time") {
            println!("{file}: {} lines, {} items, {elapsed:?}", text.lines().count(), syntax.items.len());
            continue;
        }
        for (index, item) in syntax.items.iter().enumerate() {
            let scope = item.scope.map_or(String::new(), |scope| format!(" in {scope}"));
            let value = item.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
            println!(
                "{index:4} {:4} {:?} {} [{}]{value}{scope} {:?}",
                item.line + 1,
                item.kind,
                item.path,
                item.name,
                item.guards
            );
        }
    }
    Ok(())
}
