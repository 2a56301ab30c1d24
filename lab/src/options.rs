//! `lab/docs/options.md`, written from the definitions that the program parses its arguments by.

use crate::verbs::command;
use options_page::{is_written, page, parse_examples};

#[path = "../../tests/common/options_page.rs"]
#[allow(dead_code, reason = "each program uses a part of it")]
mod options_page;

#[test]
fn the_page_of_options_is_that_of_the_program() {
    is_written(concat!(env!("CARGO_MANIFEST_DIR"), "/.."), "lab/docs/options.md", &page(command()), None);
}

#[test]
fn every_example_of_every_help_is_a_line_that_the_program_takes() {
    let n = parse_examples(command, &["veridiff", "lab"]);
    assert!(n > 8, "{n} examples");
}
