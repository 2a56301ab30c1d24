//! A table of statements for the tests of rules: of each change something true and something false.

use veridiff_text::{diff::Diff, sample::Task, statements::StatementKind};

use super::{Rule, Ruling, Scene};
use crate::{change::Change, clause::Clause, mention::mentions};

/// The worst that a rule finds in a text.
pub fn worst(rule: &Rule, diff: &str, text: &str) -> Option<Ruling> {
    let diff = Diff::parse(diff).expect("a diff");
    let change = Change::new(&diff);
    let all = mentions(text, 0..text.len());
    let clause = Clause::new(text, 0..text.len(), &all);
    let kind = StatementKind::Assertion;
    let scene = Scene { change: &change, clause: &clause, statement: &clause, kind, task: Task::Commit, tree: None };
    (rule.check)(&scene).into_iter().map(|claimed| claimed.ruling).max()
}

/// Shows that the first text of each row is not contradicted and that the second one is.
pub fn tell_apart(rule: &Rule, diff: &str, rows: &[(&str, &str)]) {
    for (true_text, false_text) in rows {
        assert_ne!(worst(rule, diff, true_text), Some(Ruling::Contradicted), "true: {true_text}");
        assert_eq!(worst(rule, diff, false_text), Some(Ruling::Contradicted), "false: {false_text}");
    }
}
