//! Where each name and word of a diff stands.

use std::collections::{BTreeMap, HashMap};

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

/// A diff on its way into an index. Most names of a diff stand there several times; each is taken apart once.
#[derive(Default)]
struct Reading<'d> {
    /// Places in `names`, in the order in which they are met.
    ids: HashMap<&'d str, usize>,
    names: Vec<(&'d str, Places)>,
    /// Of each name what it is made of, if it was met as a whole.
    made_of: Vec<Option<MadeOf>>,
    /// Places in `keys`.
    key_ids: HashMap<String, usize>,
    keys: Vec<Places>,
}

/// What stands where a name stands, beside the name: pieces in [`Reading::names`], and keys.
struct MadeOf {
    pieces: Vec<usize>,
    keys: Vec<usize>,
}

impl<'d> Reading<'d> {
    fn note(&mut self, name: &'d str, line: usize, kind: LineKind) {
        let id = self.id(name);
        if self.made_of[id].is_none() {
            let pieces =
                if name.contains(['.', ':']) { pieces(name).map(|piece| self.id(piece)).collect() } else { Vec::new() };
            let keys = subwords(name).into_iter().map(|key| self.key(key)).collect();
            self.made_of[id] = Some(MadeOf { pieces, keys });
        }
        let Reading { names, made_of, keys, .. } = self;
        names[id].1.note(line, kind);
        if let Some(made_of) = &made_of[id] {
            made_of.pieces.iter().for_each(|&piece| names[piece].1.note(line, kind));
            made_of.keys.iter().for_each(|&key| keys[key].note(line, kind));
        }
    }

    fn id(&mut self, name: &'d str) -> usize {
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push((name, Places::default()));
            self.made_of.push(None);
            self.names.len() - 1
        })
    }

    fn key(&mut self, key: String) -> usize {
        *self.key_ids.entry(key).or_insert_with(|| {
            self.keys.push(Places::default());
            self.keys.len() - 1
        })
    }

    fn index(self) -> Index {
        let mut spellings = BTreeMap::new();
        for (name, _) in &self.names {
            spellings.entry(spelling(name)).or_insert_with(|| (*name).to_owned());
        }
        let mut keys = self.keys;
        Index {
            names: self.names.into_iter().map(|(name, places)| (name.to_owned(), places)).collect(),
            spellings,
            keys: self.key_ids.into_iter().map(|(key, id)| (key, std::mem::take(&mut keys[id]))).collect(),
        }
    }
}

impl Index {
    /// Of all lines of a diff.
    pub fn new(diff: &Diff) -> Self {
        let mut reading = Reading::default();
        for (i, line) in diff.lines().iter().enumerate() {
            let code = code_of(diff, i);
            for run in names_of_code(code) {
                reading.note(&code[run], i, line.kind);
            }
        }
        reading.index()
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
