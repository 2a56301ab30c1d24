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

/// The worst that a rule finds in a text read as it is outside of tests, questions among its statements.
pub fn worst_of_text(rule: &Rule, diff: &str, text: &str, task: Task) -> Option<Ruling> {
    let diff = Diff::parse(diff).expect("a diff");
    let judgement = crate::judge::Judgement::of(&diff, text, task);
    judgement.rulings().filter(|ruled| ruled.rule == rule).map(|ruled| ruled.ruling).max()
}

/// Shows of texts of a task that the first of each row is not contradicted and that the second one is.
pub fn texts_apart(rule: &Rule, task: Task, diff: &str, rows: &[(&str, &str)]) {
    for (true_text, false_text) in rows {
        let of = |text| worst_of_text(rule, diff, text, task);
        assert_ne!(of(true_text), Some(Ruling::Contradicted), "true: {true_text}");
        assert_eq!(of(false_text), Some(Ruling::Contradicted), "false: {false_text}");
    }
}
