//! A change taken apart once, and what is asked of it.

use std::{ops::Range, sync::OnceLock};

use veridiff_text::diff::{Diff, LineKind};

use crate::{
    blocks::Blocks,
    bodies::{Body, bodies},
    changes::{Changes, Which},
    code::{pieces, squeezed},
    mention::{Mention, MentionKind, bare_words, mentions},
    occurrences::{Occurrences, Places},
    side::FileChange,
    spots::{Spot, spots},
    syntax::ItemKind,
};

/// The names of the tree behind a change, for whoever has the repository.
pub trait Tree {
    /// Whether an identifier or a number stands in any file of the tree, as it is written; `None` where the tree was not read whole.
    fn contains(&self, name: &str) -> Option<bool>;

    /// Whether there is a file of this path; `None` where that is not known.
    fn has_file(&self, _path: &str) -> Option<bool> {
        None
    }
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
    /// The functions that its new side shows whole, worked out when they are first asked for.
    bodies: OnceLock<Vec<Body>>,
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
            bodies: OnceLock::new(),
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

    /// The functions that the new side shows from the first line to the last.
    pub fn bodies(&self) -> &[Body] {
        self.bodies.get_or_init(|| bodies(self.diff, self.new_blocks()))
    }

    /// The new side and the old one.
    pub fn sides(&self) -> [&Blocks<'d>; 2] {
        [self.new_blocks(), self.blocks[1].get_or_init(|| Blocks::old_side(self.diff))]
    }

    /// The code of a line, without its marker.
    pub fn code(&self, line: usize) -> &'d str {
        code_of(self.diff, line)
    }

    /// What a part of a text names, with words of its prose that are names of this change: `LIMIT`, the `Store` class, and the function
    /// of "fetch raises an error".
    pub fn mentions(&self, text: &str, part: Range<usize>) -> Vec<Mention> {
        let mut all = mentions(text, part.clone());
        let is_free = |span: &Range<usize>| !all.iter().any(|m| m.outer.start < span.end && span.start < m.outer.end);
        let spoken: Vec<Mention> = bare_words(text, part)
            .into_iter()
            .filter(|word| is_free(&word.span) && self.is_spoken(text, word))
            .collect();
        if !spoken.is_empty() {
            all.extend(spoken);
            all.sort_by_key(|mention| mention.span.start);
        }
        all
    }

    /// Whether a word of prose is the name of something that the change defines, and is written so that it can be no other word.
    fn is_spoken(&self, text: &str, word: &Mention) -> bool {
        const SHORTEST: usize = 4;
        let written = word.code.as_str();
        if written.len() < SHORTEST || self.occurrences.name(written).is_none() {
            return false;
        }
        let kinds: &[ItemKind] = if written.chars().all(|c| !c.is_lowercase()) {
            &[ItemKind::Binding, ItemKind::Field, ItemKind::Type]
        } else if written.starts_with(char::is_uppercase) {
            if is_first(text, word.span.start) {
                return false;
            }
            &[ItemKind::Type]
        } else if is_first(text, word.span.start) && has_verb(&text[word.span.end..]) {
            &[ItemKind::Function]
        } else {
            return false;
        };
        let defines = |which: Which| self.changes().named(which, written).iter().any(|f| kinds.contains(&f.item.kind));
        defines(Which::New) || defines(Which::Old)
    }

    /// Whether a tree has none of the files that the change says it is of; files that are new are in no tree before it.
    pub fn is_of_another(&self, tree: &dyn Tree) -> bool {
        let mut has_any = false;
        for file in FileChange::of_diff(self.diff, None) {
            let Some(old) = &file.old_name else { continue };
            let names = [Some(old), file.new_name.as_ref()];
            if names.into_iter().flatten().any(|name| tree.has_file(name) != Some(false)) {
                return false;
            }
            has_any = true;
        }
        has_any
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

/// Whether no word of its sentence stands before a byte of a text.
fn is_first(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '*', '_', '(', '"']);
    before.is_empty() || before.ends_with(['.', '!', '?', '\n', ':', ';'])
}

/// Whether a verb in the third person follows, so that what stands before is its subject.
fn has_verb(behind: &str) -> bool {
    let mut words = behind.split_whitespace().skip_while(|word| {
        ["now", "still", "also", "no", "longer", "never", "always", "only", "just", "simply"].contains(word)
    });
    let is = |word: &str| veridiff_text::statements::is_third_person(word);
    words.next().is_some_and(|word| is(word.trim_end_matches([',', '.', ';'])))
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
