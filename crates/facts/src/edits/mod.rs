//! Small edits of a text that would make a true statement false, and a false one perhaps true: what else it could have said of the
//! same change.
//!
//! A model's probability of a text says little, because texts differ in difficulty; of two texts that differ in a word it prefers
//! the one that fits the change. One file a kind of edit.

mod names;
mod numbers;
mod words;

use std::ops::Range;

use serde::Serialize;

use crate::{change::Change, mention::mentions};

/// What is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EditKind {
    /// A name, for another one of the change.
    Name,
    /// A number or a constant, for another one of the change.
    Number,
    /// What was done, for the opposite: `adds` for `removes`, `before` for `after`.
    Direction,
    /// A negation, put in or taken out.
    Negation,
    /// Two names, the one for the other.
    Order,
}

impl EditKind {
    /// Every kind, in the order in which edits are listed.
    pub const ALL: [EditKind; 5] =
        [EditKind::Name, EditKind::Number, EditKind::Direction, EditKind::Negation, EditKind::Order];

    /// Its name in JSON and in columns.
    pub fn name(self) -> &'static str {
        match self {
            EditKind::Name => "name",
            EditKind::Number => "number",
            EditKind::Direction => "direction",
            EditKind::Negation => "negation",
            EditKind::Order => "order",
        }
    }
}

/// A text that says something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What was edited.
    pub kind: EditKind,
    /// The bytes of the first word that was edited.
    pub span: Range<usize>,
    /// The words that stand there now.
    pub with: String,
    /// The whole text, edited.
    pub text: String,
}

impl Edit {
    /// The text with other words in one place.
    fn at(kind: EditKind, text: &str, span: Range<usize>, with: &str) -> Self {
        let edited = format!("{}{with}{}", &text[..span.start], &text[span.end..]);
        Edit { kind, span, with: with.to_owned(), text: edited }
    }
}

/// Most edits of a kind.
pub const MOST: usize = 3;

/// Edits of a text, at most [`MOST`] of a kind, each another text, in an order that hangs on change and text alone.
pub fn edits(change: &Change<'_>, text: &str) -> Vec<Edit> {
    let mentions = mentions(text, 0..text.len());
    let mut all = names::edits(change, text, &mentions);
    all.extend(numbers::edits(change, text, &mentions));
    all.extend(words::directions(text, &mentions));
    all.extend(words::negations(text, &mentions));
    all.extend(names::swaps(text, &mentions));
    let mut kept: Vec<Edit> = Vec::new();
    for edit in all {
        let n_of_kind = kept.iter().filter(|other| other.kind == edit.kind).count();
        if n_of_kind < MOST && edit.text != text && kept.iter().all(|other| other.text != edit.text) {
            kept.push(edit);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
