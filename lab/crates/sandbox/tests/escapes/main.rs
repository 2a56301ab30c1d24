//! Attempts to leave the sandbox, each of which must succeed outside of it, or it would prove nothing. Where something that an attempt
//! needs is missing on a machine, the test says so by name. README.md has each attempt with its test and what shows that it is one.
#![allow(clippy::print_stderr, reason = "what cannot be tested on a machine is said by name")]
#![cfg(target_os = "linux")]

mod amounts;
mod builds;
mod choice;
mod kernel;
mod links;
mod processes;
mod support;
mod world;

/// The table of attempts and what stands in it must not part ways.
#[test]
fn every_attempt_of_the_table_has_its_test() {
    let table = include_str!("README.md");
    let sources = [
        include_str!("amounts.rs"),
        include_str!("builds.rs"),
        include_str!("kernel.rs"),
        include_str!("links.rs"),
        include_str!("processes.rs"),
        include_str!("world.rs"),
        include_str!("../forgeries.rs"),
    ]
    .concat();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .filter(|cells: &Vec<&str>| cells[0].parse::<u32>().is_ok())
        .collect();
    let numbers: Vec<u32> = rows.iter().map(|cells| cells[0].parse().unwrap()).collect();
    assert_eq!(numbers, (1..=29).collect::<Vec<_>>(), "each attempt has one row");
    for cells in rows {
        let names: Vec<&str> = cells[2].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "attempt {} names no test", cells[0]);
        for name in names {
            assert!(sources.contains(&format!("fn {name}(")), "attempt {}: there is no test `{name}`", cells[0]);
        }
        assert!(!cells[3].is_empty(), "attempt {} has nothing that shows that it is one", cells[0]);
    }
}
