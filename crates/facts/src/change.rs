//! A change taken apart once, and what is asked of it.

use std::sync::OnceLock;

use veridiff_text::diff::{Diff, LineKind};

use crate::{
    blocks::Blocks,
    changes::Changes,
    code::{pieces, squeezed},
    mention::{Mention, MentionKind},
    occurrences::{Occurrences, Places},
    side::FileChange,
    spots::{Spot, spots},
};

/// The names of the tree behind a change, for whoever has the repository.
pub trait Tree {
    /// Whether an identifier or a number stands in any file of the tree, as it is written; `None` where the tree was not read whole.
    fn contains(&self, name: &str) -> Option<bool>;
}

/// How a mention was found in a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// As it is written.
    Exactly(Places),
    /// Its last identifier and its first one, apart from each other; the places are the last one's.
    InPieces(Places),
    /// Nowhere.
    Absent {
        /// A name of the change that is much like it.
        near: Option<String>,
    },
}

impl Found {
    /// Where it stands, if it was found as it is written.
    pub fn exactly(&self) -> Option<&Places> {
        match self {
            Found::Exactly(places) => Some(places),
            _ => None,
        }
    }

    /// Where it stands, whole or in pieces.
    pub fn places(&self) -> Option<&Places> {
        match self {
            Found::Exactly(places) | Found::InPieces(places) => Some(places),
            Found::Absent { .. } => None,
        }
    }
}

/// A change, ready for rules.
#[derive(Debug)]
pub struct Change<'d> {
    /// Its lines.
    pub diff: &'d Diff,
    /// Where its names and numbers stand.
    pub occurrences: Occurrences,
    /// Every line's code without blanks.
    squeezed: Vec<String>,
    /// What became of every item of its code, worked out when it is first asked for.
    changes: OnceLock<Changes>,
    /// Where lines made way for others.
    spots: Vec<Spot>,
    /// Its new and its old side as guarded lines, each worked out when it is first asked for.
    blocks: [OnceLock<Blocks<'d>>; 2],
}

impl<'d> Change<'d> {
    /// Takes a change apart.
    pub fn new(diff: &'d Diff) -> Self {
        let squeezed = (0..diff.lines().len()).map(|line| squeezed(code_of(diff, line))).collect();
        Change {
            diff,
            occurrences: Occurrences::new(diff),
            squeezed,
            spots: spots(diff),
            changes: OnceLock::new(),
            blocks: Default::default(),
        }
    }

    /// What became of every definition, call and value between the two sides, by the grammar of its language.
    pub fn changes(&self) -> &Changes {
        self.changes.get_or_init(|| Changes::new(&FileChange::of_diff(self.diff, None)))
    }

    /// The runs of its changed lines.
    pub fn spots(&self) -> &[Spot] {
        &self.spots
    }

    /// The new side, hunk by hunk, with what decides whether each line runs.
    pub fn new_blocks(&self) -> &Blocks<'d> {
        self.blocks[0].get_or_init(|| Blocks::new_side(self.diff))
    }

    /// The new side and the old one.
    pub fn sides(&self) -> [&Blocks<'d>; 2] {
        [self.new_blocks(), self.blocks[1].get_or_init(|| Blocks::old_side(self.diff))]
    }

    /// The code of a line, without its marker.
    pub fn code(&self, line: usize) -> &'d str {
        code_of(self.diff, line)
    }

    /// Where what a statement names stands.
    pub fn find(&self, mention: &Mention) -> Found {
        let absent = || Found::Absent { near: self.near(mention) };
        match mention.kind {
            MentionKind::Name | MentionKind::Constant => self.find_name(&mention.code).unwrap_or_else(absent),
            MentionKind::Number => {
                let places = mention.value().and_then(|value| self.occurrences.number(value));
                places.cloned().map_or_else(absent, Found::Exactly)
            }
            MentionKind::File => match self.occurrences.name(&mention.code) {
                Some(places) => Found::Exactly(places.clone()),
                None => self.find_characters(&mention.code).unwrap_or_else(absent),
            },
            MentionKind::Flag | MentionKind::Text => self.find_characters(&mention.code).unwrap_or_else(absent),
            MentionKind::Snippet => self.find_code(&mention.code).unwrap_or_else(absent),
        }
    }

    fn find_name(&self, name: &str) -> Option<Found> {
        if let Some(places) = self.occurrences.name(name) {
            return Some(Found::Exactly(places.clone()));
        }
        let parts: Vec<&str> = pieces(name).collect();
        let [first, .., last] = parts[..] else { return None };
        // `time.time` is not there because `time` is
        let has_all = parts.iter().all(|part| self.occurrences.name(part).is_some());
        (first != last && has_all).then(|| Found::InPieces(self.occurrences.name(last).cloned().unwrap_or_default()))
    }

    /// Code of several tokens: on a line, else over lines; a call whose arguments differ is found by its name.
    fn find_code(&self, snippet: &str) -> Option<Found> {
        let key = squeezed(snippet);
        if key.is_empty() {
            return None;
        }
        let places = self.places_where(|line| self.squeezed[line].contains(&key));
        if !places.is_empty() {
            return Some(Found::Exactly(places));
        }
        for removed in [LineKind::Removed, LineKind::Added] {
            let side = |line: &usize| {
                self.diff.lines()[*line].kind != removed && self.diff.lines()[*line].kind != LineKind::Header
            };
            let mut joined = String::new();
            let mut starts = Vec::new();
            for line in (0..self.squeezed.len()).filter(side) {
                starts.push((joined.len(), line));
                joined.push_str(&self.squeezed[line]);
            }
            if let Some(at) = joined.find(&key) {
                let line = starts[starts.partition_point(|(start, _)| *start <= at).saturating_sub(1)].1;
                return Some(Found::Exactly(self.places_where(|other| other == line)));
            }
        }
        // a call with other arguments, a path with other ends
        let names = crate::code::tokens(snippet).into_iter().filter(|token| token.kind == crate::code::TokenKind::Name);
        let mut names = names.map(|token| &snippet[token.span]).peekable();
        let first = names.peek().copied()?;
        let all_there = names.all(|name| self.find_name(crate::mention::without_self(name)).is_some());
        all_there.then(|| self.find_name(crate::mention::without_self(first))).flatten().map(|found| match found {
            Found::Exactly(places) => Found::InPieces(places),
            other => other,
        })
    }

    /// Characters as they are, with no letter of a word right before or behind.
    fn find_characters(&self, characters: &str) -> Option<Found> {
        let ends_well = |code: &str, at: usize| {
            let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let starts = !characters.starts_with(char::is_alphanumeric) || !is_word(code[..at].chars().next_back());
            starts
                && !(characters.ends_with(char::is_alphanumeric)
                    && is_word(code[at + characters.len()..].chars().next()))
        };
        let has = |line: usize| {
            let code = self.code(line);
            code.match_indices(characters).any(|(at, _)| ends_well(code, at))
        };
        let places = self.places_where(has);
        (!places.is_empty()).then_some(Found::Exactly(places))
    }

    /// The lines that pass, by kind.
    pub fn places_where(&self, passes: impl Fn(usize) -> bool) -> Places {
        let mut places = Places::default();
        for (index, line) in self.diff.lines().iter().enumerate().filter(|(index, _)| passes(*index)) {
            let is_section = line.kind == LineKind::Header && self.diff.line_text(index).starts_with("@@");
            places.put(if is_section { LineKind::Context } else { line.kind }, index);
        }
        places
    }

    /// A name of the change that is much like one that is not there.
    fn near(&self, mention: &Mention) -> Option<String> {
        let near = matches!(mention.kind, MentionKind::Name).then(|| self.occurrences.near(&mention.code)).flatten()?;
        Some(near.to_owned())
    }
}

/// The code of a line of a diff: without its marker; of a hunk's header what stands behind it.
fn code_of(diff: &Diff, line: usize) -> &str {
    let text = diff.line_text(line).trim_end_matches('\r');
    match diff.lines().get(line).map(|line| line.kind) {
        Some(LineKind::Header) => match text.strip_prefix("@@").and_then(|rest| rest.split_once("@@")) {
            Some((_, section)) => section,
            None => text,
        },
        _ => text.strip_prefix(['+', '-', ' ']).unwrap_or(text),
    }
}
