//! Where each name and word of a diff stands.

use std::collections::BTreeMap;

use super::words::{names_of_code, pieces, subwords};
use crate::diff::{Diff, LineKind};

/// Most lines that are listed of one word.
const LISTED_LINES: usize = 32;

/// Where something stands in a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// How many times it stands on added lines.
    pub added: usize,
    /// How many times it stands on removed lines.
    pub removed: usize,
    /// How many times it stands on unchanged lines.
    pub context: usize,
    /// How many times it stands in headers: file names, and the function that a hunk is in.
    pub header: usize,
    /// Indices in [`Diff::lines`](crate::diff::Diff::lines), ascending, the first 32.
    pub lines: Vec<usize>,
}

impl Places {
    /// Whether it stands anywhere.
    pub fn any(&self) -> bool {
        self.added + self.removed + self.context + self.header > 0
    }

    /// Whether it stands on an added or removed line.
    pub fn changed(&self) -> bool {
        self.added + self.removed > 0
    }

    /// Whether it stands in the old file, so far as the diff shows it.
    pub fn old_side(&self) -> bool {
        self.removed + self.context + self.header > 0
    }

    /// Whether it stands in the new file, so far as the diff shows it.
    pub fn new_side(&self) -> bool {
        self.added + self.context + self.header > 0
    }

    fn note(&mut self, line: usize, kind: LineKind) {
        *match kind {
            LineKind::Added => &mut self.added,
            LineKind::Removed => &mut self.removed,
            LineKind::Context => &mut self.context,
            LineKind::Header => &mut self.header,
        } += 1;
        if self.lines.len() < LISTED_LINES && self.lines.last() != Some(&line) {
            self.lines.push(line);
        }
    }
}

/// The names and words of a diff, each with its places. The maps are ordered, so that nothing depends on a hash.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Names as they are written, and the pieces of dotted paths.
    names: BTreeMap<String, Places>,
    /// Names without their case and joints, and how the first of them is written.
    spellings: BTreeMap<String, String>,
    /// Keys of what names are composed of, and of the words of comments and strings.
    keys: BTreeMap<String, Places>,
}

/// The code of a line: without its marker; of a hunk's header what it says of the code around.
pub fn code_of(diff: &Diff, line: usize) -> &str {
    let text = diff.line_text(line);
    match diff.lines().get(line).map(|line| line.kind) {
        Some(LineKind::Header) => match text.strip_prefix("@@").and_then(|rest| rest.split_once("@@")) {
            Some((_, code)) => code,
            None => text,
        },
        _ => text.strip_prefix(['+', '-', ' ']).unwrap_or(text),
    }
}

/// A name without case and joints.
fn spelling(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl Index {
    /// Of all lines of a diff.
    pub fn new(diff: &Diff) -> Self {
        let mut index = Index::default();
        for (i, line) in diff.lines().iter().enumerate() {
            let code = code_of(diff, i);
            for run in names_of_code(code) {
                let name = &code[run];
                index.note(name, i, line.kind);
                if name.contains(['.', ':']) {
                    pieces(name).for_each(|piece| index.note(piece, i, line.kind));
                }
                for key in subwords(name) {
                    index.keys.entry(key).or_default().note(i, line.kind);
                }
            }
        }
        index
    }

    fn note(&mut self, name: &str, line: usize, kind: LineKind) {
        if !self.names.contains_key(name) {
            self.spellings.entry(spelling(name)).or_insert_with(|| name.to_owned());
        }
        self.names.entry(name.to_owned()).or_default().note(line, kind);
    }

    /// Where a name stands as it is written.
    pub fn name(&self, name: &str) -> Option<&Places> {
        self.names.get(name)
    }

    /// A name that differs in case and joints only: `createBlock` for `create_block`.
    pub fn spelt(&self, name: &str) -> Option<(&str, &Places)> {
        let key = spelling(name);
        let found = self.spellings.get(&key).filter(|_| !key.is_empty())?;
        Some((found, self.names.get(found)?))
    }

    /// Where a key of [`subwords`] or of a word of prose stands.
    pub fn key(&self, key: &str) -> Option<&Places> {
        self.keys.get(key)
    }

    /// All keys with their places.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &Places)> {
        self.keys.iter().map(|(key, places)| (key.as_str(), places))
    }

    /// All names, in no order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Places)> {
        self.names.iter().map(|(name, places)| (name.as_str(), places))
    }
}
