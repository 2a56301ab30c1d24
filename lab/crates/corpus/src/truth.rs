//! What the facts of a change say of a statement and of its twin.

use serde::{Deserialize, Serialize};
use veridiff_facts::change::Change;
use veridiff_facts::judge::Judgement;
use veridiff_facts::mention::mentions;
use veridiff_facts::rules::Ruling;
use veridiff_text::sample::Task;

/// What facts say of what an author said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Its words or names stand on changed lines.
    Shown,
    /// It speaks of what the diff does not show.
    NotShown,
    /// A line says otherwise: the statement is wrong, or a rule is.
    Contradicted,
}

/// What facts say of a twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// A line says otherwise, so it is false.
    Contradicted,
    /// Nothing decides; its road says that it is false.
    Open,
}

/// Whether a statement can be seen in its change.
pub fn seen(change: &Change<'_>, text: &str) -> Seen {
    let judgement = judged(change, text);
    match judgement.ruling() {
        Some(Ruling::Contradicted) => return Seen::Contradicted,
        Some(Ruling::NotHere | Ruling::Nowhere) => return Seen::NotShown,
        Some(Ruling::Holds) | None => {}
    }
    let on_changed_line = |mention: &veridiff_facts::mention::Mention| {
        change.find(mention).places().is_some_and(|places| !(places.added.is_empty() && places.removed.is_empty()))
    };
    let names = mentions(text, 0..text.len());
    let grounded = judgement.statements.iter().all(|statement| statement.is_grounded());
    match grounded || (!names.is_empty() && names.iter().all(on_changed_line)) {
        true => Seen::Shown,
        false => Seen::NotShown,
    }
}

/// What facts say of a twin; `None` where they find that it holds, so that it is none.
pub fn fact(change: &Change<'_>, text: &str, twin: &str) -> Option<Fact> {
    let judgement = judged(change, twin);
    if judgement.ruling() == Some(Ruling::Contradicted) {
        return Some(Fact::Contradicted);
    }
    let holding = |judgement: &Judgement| -> Vec<&'static str> {
        judgement.rulings().filter(|ruled| ruled.confirms()).map(|ruled| ruled.rule.code).collect()
    };
    let of_text = holding(&judged(change, text));
    holding(&judgement).iter().all(|code| of_text.contains(code)).then_some(Fact::Open)
}

/// A commit's words against its change, without a tree.
fn judged(change: &Change<'_>, text: &str) -> Judgement {
    Judgement::new(change, text, Task::Commit, None)
}
