//! Prints what is taken from messages, or why nothing is: `git log --format=%s | messages`.
#![allow(clippy::print_stdout, reason = "a tool for whoever edits the filters")]

use std::io::BufRead as _;

use veridiff_corpus::message::statements;

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match statements(&line) {
            Ok(all) => all.iter().for_each(|one| println!("Taken\t{}", one.text)),
            Err(why) => println!("{why:?}\t{line}"),
        }
    }
    Ok(())
}
