//! Where every name, number and string of a change stands.

use std::collections::HashMap;

use veridiff_text::diff::{Diff, LineKind};

use crate::{
    code::{TokenKind, pieces, tokens, value},
    mention::without_self,
};

/// Bytes of an end of a path at most, by which the path is looked up: nobody writes a longer one, and all ends of one of a thousand pieces are a
/// thousand times its length.
const LONGEST_END: usize = 200;

/// Lines of a change on which something stands, by index in [`Diff::lines`], each list in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Added lines.
    pub added: Vec<usize>,
    /// Removed lines.
    pub removed: Vec<usize>,
    /// Unchanged lines, and the code behind a hunk's header.
    pub context: Vec<usize>,
    /// Names of files.
    pub files: Vec<usize>,
    /// How often it stands on added lines, more than once on a line counted.
    pub n_added: usize,
    /// How often it stands on removed lines.
    pub n_removed: usize,
}

impl Places {
    /// Whether it stands nowhere.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.context.is_empty() && self.files.is_empty()
    }

    /// Whether it stands on removed lines and nowhere on the new side.
    pub fn only_removed(&self) -> bool {
        !self.removed.is_empty() && self.added.is_empty() && self.context.is_empty()
    }

    /// Whether it stands on added lines and nowhere on the old side.
    pub fn only_added(&self) -> bool {
        !self.added.is_empty() && self.removed.is_empty() && self.context.is_empty()
    }

    /// Whether it came: it stands on added lines more often than on removed ones.
    pub fn came(&self) -> bool {
        self.n_added > self.n_removed
    }

    /// Whether it went: it stands on removed lines more often than on added ones.
    pub fn went(&self) -> bool {
        self.n_removed > self.n_added
    }

    /// The lines of the new file, in order.
    pub fn new_side(&self) -> Vec<usize> {
        merged(&self.added, &self.context)
    }

    /// The lines of the old file, in order.
    pub fn old_side(&self) -> Vec<usize> {
        merged(&self.removed, &self.context)
    }

    /// Notes that it stands on a line once more.
    pub(crate) fn put(&mut self, kind: LineKind, line: usize) {
        match kind {
            LineKind::Added => self.n_added += 1,
            LineKind::Removed => self.n_removed += 1,
            _ => {}
        }
        let lines = match kind {
            LineKind::Added => &mut self.added,
            LineKind::Removed => &mut self.removed,
            LineKind::Context => &mut self.context,
            LineKind::Header => &mut self.files,
        };
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
}

fn merged(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Where the names, numbers and strings of a change stand.
#[derive(Debug, Default)]
pub struct Occurrences {
    /// Identifiers, and whole paths with every end of them: `a.b.c` is also at `b.c` and `c`, and each of its identifiers is there.
    names: HashMap<String, Places>,
    /// Identifiers and paths that are no piece of a longer path: in `a.b` there is no `a` alone.
    alone: HashMap<String, Places>,
    /// Names by their letters in lower case without marks, to find near matches.
    alike: HashMap<String, Vec<String>>,
    /// By the bits of the value.
    numbers: HashMap<u64, Places>,
    /// Strings, whole.
    texts: HashMap<String, Places>,
    /// Stems of the words that names, strings and comments are made of.
    words: HashMap<String, Places>,
}

impl Occurrences {
    /// Reads every line of a change.
    pub fn new(diff: &Diff) -> Self {
        let mut all = Occurrences::default();
        for (index, line) in diff.lines().iter().enumerate() {
            let text = diff.line_text(index);
            match line.kind {
                LineKind::Header => match text.strip_prefix("@@").and_then(|rest| rest.split_once("@@")) {
                    Some((_, section)) => all.read(section, LineKind::Context, index, 0),
                    None => all.read_file_header(text, index),
                },
                kind => all.read(text.get(1..).unwrap_or(""), kind, index, 0),
            }
        }
        for name in all.names.keys() {
            let key = letters(name);
            if !key.is_empty() {
                all.alike.entry(key).or_default().push(name.clone());
            }
        }
        all.alike.values_mut().for_each(|names| names.sort());
        all
    }

    fn read_file_header(&mut self, text: &str, index: usize) {
        let is_name =
            ["diff ", "--- ", "+++ ", "rename ", "copy ", "Binary "].iter().any(|start| text.starts_with(start));
        if is_name {
            self.read(text, LineKind::Header, index, 1);
            for path in text.split(' ').map(|path| path.trim_start_matches("a/").trim_start_matches("b/")) {
                for (at, _) in path.match_indices('/').filter(|(at, _)| path.len() - at <= LONGEST_END) {
                    self.put_name(&path[at + 1..], LineKind::Header, index);
                }
                self.put_name(path, LineKind::Header, index);
            }
        }
    }

    /// Reads code; what stands in a string is read as code too, once.
    fn read(&mut self, code: &str, kind: LineKind, line: usize, depth: usize) {
        for token in tokens(code) {
            let written = &code[token.span.clone()];
            match token.kind {
                TokenKind::Name => self.put_path(written, kind, line),
                TokenKind::Number => {
                    if let Some(value) = value(written) {
                        self.numbers.entry(value.to_bits()).or_default().put(kind, line);
                    }
                    self.put_name(written, kind, line);
                }
                TokenKind::Text => {
                    self.texts.entry(written.to_owned()).or_default().put(kind, line);
                    if depth == 0 {
                        self.read(written, kind, line, depth + 1);
                    }
                }
                TokenKind::Mark => {}
            }
        }
    }

    fn put_path(&mut self, path: &str, kind: LineKind, line: usize) {
        self.alone.entry(without_self(path).to_owned()).or_default().put(kind, line);
        let mut names: Vec<&str> = vec![path];
        let mut rest = path;
        for piece in pieces(path) {
            names.push(piece);
            for word in stems(piece) {
                self.words.entry(word).or_default().put(kind, line);
            }
            if let Some(at) = rest.find(piece) {
                names.extend(Some(&rest[at..]).filter(|end| end.len() <= LONGEST_END));
                rest = &rest[at + piece.len()..];
            }
        }
        // one token is one occurrence, whatever it is looked up by
        names.sort_unstable();
        names.dedup();
        names.into_iter().for_each(|name| self.put_name(name, kind, line));
    }

    fn put_name(&mut self, name: &str, kind: LineKind, line: usize) {
        if let Some(places) = self.names.get_mut(name) {
            places.put(kind, line);
        } else {
            self.names.entry(name.to_owned()).or_default().put(kind, line);
        }
    }

    /// Where a name stands, exactly as it is written: an identifier, a path, or the end of a path.
    pub fn name(&self, name: &str) -> Option<&Places> {
        self.names.get(name)
    }

    /// Where a name stands as all of an identifier or path, `self.` apart.
    pub fn alone(&self, name: &str) -> Option<&Places> {
        self.alone.get(name)
    }

    /// Where a number of this value stands.
    pub fn number(&self, number: f64) -> Option<&Places> {
        self.numbers.get(&number.to_bits())
    }

    /// Where a string of exactly these characters stands.
    pub fn text(&self, text: &str) -> Option<&Places> {
        self.texts.get(text)
    }

    /// Where a word stands as a part of a name, a string or a comment, whatever its inflection.
    pub fn word(&self, word: &str) -> Option<&Places> {
        self.of_stem(&veridiff_text::grounding::stem(word))
    }

    /// The same by the word's stem; the stem of a stem may be another one.
    pub fn of_stem(&self, stem: &str) -> Option<&Places> {
        self.words.get(stem)
    }

    /// The names of the change with these letters, in lower case, whatever their case and the marks between them.
    pub fn spelt(&self, letters: &str) -> &[String] {
        self.alike.get(letters).map_or(&[], Vec::as_slice)
    }

    /// Whether the letters of a name stand in one of the change, whatever their case and the marks between them.
    pub fn has_letters(&self, name: &str) -> bool {
        let key = letters(name);
        !key.is_empty() && self.alike.keys().any(|other| other.contains(&key))
    }

    /// A name with the same letters, apart from case and marks; else one that is a slip of the pen away.
    pub fn near(&self, name: &str) -> Option<&str> {
        let key = letters(name);
        if let Some(names) = self.alike.get(&key) {
            return names.iter().map(String::as_str).find(|other| *other != name);
        }
        let last = pieces(name).next_back()?;
        if let Some(sibling) = self.sibling(name) {
            return Some(sibling);
        }
        let (key, mut best) = (letters(last), None);
        if key.len() < 4 {
            return None;
        }
        let mut keys: Vec<&String> = self.alike.keys().filter(|other| other.len().abs_diff(key.len()) <= 2).collect();
        keys.sort();
        for other in keys {
            let distance = strsim::osa_distance(&key, other);
            // one slip in four letters, two in eight; `RLock` and `Lock` are one apart
            if distance * 4 <= key.len() && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, &self.alike[other][0]));
            }
        }
        best.map(|(_, name)| name.as_str())
    }
}

impl Occurrences {
    /// A path with the same beginning whose end is much like that of a path: `threading.Lock` for `threading.RLock`.
    pub fn sibling(&self, path: &str) -> Option<&str> {
        let last = pieces(path).next_back()?;
        let head = path.strip_suffix(last).filter(|head| !head.is_empty())?;
        let key = letters(last);
        let is_like = |other: &str| {
            let other = letters(other);
            let distance = strsim::osa_distance(&key, &other);
            distance > 0 && distance * 3 <= key.len().min(other.len())
        };
        let ends = |name: &&String| name.strip_prefix(head).is_some_and(|end| pieces(end).count() == 1 && is_like(end));
        self.names.keys().filter(ends).min().map(String::as_str)
    }
}

/// The letters and digits of a name in lower case.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The stems of the words that a name is composed of.
pub fn stems(name: &str) -> Vec<String> {
    veridiff_text::grounding::subwords(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/src/cache.py\n+++ b/src/cache.py\n@@ -1,3 +1,4 @@ class Cache:\n import threading\n-    def get(self, size=60):\n+    def get(self, size=60.0, key=None):\n+        self._lock = threading.Lock('why not')\n     pass\n";

    #[test]
    fn a_path_without_end_has_no_end_of_every_length() {
        let path = "a.".repeat(50_000) + "b";
        let all = Occurrences::new(&Diff::parse(&format!("@@ -1 +1 @@\n-x\n+{path}\n")).unwrap());
        assert!(all.name(&path).is_some() && all.name("b").is_some() && all.name("a.a.b").is_some());
        assert!(all.names.keys().map(String::len).sum::<usize>() < 2 * path.len());
    }

    #[test]
    fn names_and_numbers_are_found_as_code() {
        let all = Occurrences::new(&Diff::parse(DIFF).unwrap());
        let at = |name: &str| all.name(name).cloned().unwrap_or_default();
        assert_eq!(at("threading.Lock").added, [6]);
        assert_eq!(at("_lock").added, [6], "the end of a path");
        assert_eq!(at("threading"), Places { added: vec![6], context: vec![3], n_added: 1, ..Places::default() });
        assert!(all.alone("threading").unwrap().added.is_empty(), "it is a piece of a path there");
        assert_eq!(all.alone("_lock").unwrap().added, [6], "`self.` is no path");
        assert!(at("cache.py").files == [0, 1] && at("src/cache.py").files == [0, 1]);
        assert_eq!(at("Cache").context, [2], "the code behind the hunk's header");
        assert!(at("lock").is_empty() && at("thread").is_empty() && at("6").is_empty());
        assert_eq!(all.number(60.0).unwrap().removed, [4]);
        assert_eq!(all.number(600.0), None);
        assert_eq!(all.text("why not").unwrap().added, [6]);
        assert_eq!(all.near("threading.RLock"), Some("threading.Lock"));
        assert_eq!(all.near("SIZE"), Some("size"));
        assert_eq!(all.near("invalidate"), None);
        assert!(all.word("locks").is_some() && all.word("unlock").is_none());
    }
}
