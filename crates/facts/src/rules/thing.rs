//! What a part of a sentence speaks of, by the names and the words in it, and the lines on which it stands.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;
use veridiff_text::{
    diff::LineKind,
    grounding::{is_common, is_stop, stem},
};

use super::{Scene, phrase::pattern};
use crate::{
    blocks::function_name,
    clause::Clause,
    code::is_name_char,
    mention::{Mention, MentionKind},
    occurrences::{Places, stems},
};

/// A thing that a part of a sentence speaks of.
#[derive(Debug)]
pub struct Thing<'c> {
    /// What it names.
    pub mentions: Vec<&'c Mention>,
    /// Stems of the words that say something.
    pub words: Vec<String>,
    /// Stems of words that are in almost every change.
    common: Vec<String>,
}

static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"@\d+|[a-z][a-z0-9]*(?:'[a-z]+)?"));

/// Words that say where in the text of a program something is, and words for all things: no line has them.
const EMPTY: [&str; 26] = [
    "new",
    "just",
    "right",
    "immediately",
    "directly",
    "entry",
    "line",
    "block",
    "statement",
    "branch",
    "happens",
    "comes",
    "stands",
    "sits",
    "runs",
    "done",
    "function",
    "method",
    "class",
    "check",
    "call",
    "assignment",
    "note",
    "parameter",
    "argument",
    "custom",
];

impl<'c> Thing<'c> {
    /// Reads a part of a clause's skeleton.
    pub fn read(clause: &'c Clause<'_>, part: &str) -> Thing<'c> {
        let mut thing = Thing { mentions: Vec::new(), words: Vec::new(), common: Vec::new() };
        for word in WORD.find_iter(part).map(|found| found.as_str()) {
            if word.starts_with('@') {
                thing.mentions.extend(clause.mention(word));
            } else if !is_stop(word) && !word.contains('\'') {
                let list = if is_common(word) || EMPTY.contains(&word) { &mut thing.common } else { &mut thing.words };
                let key = stem(word);
                if !list.contains(&key) {
                    list.push(key);
                }
            }
        }
        thing
    }

    /// Whether there is anything to look for.
    pub fn is_empty(&self) -> bool {
        self.mentions.is_empty() && self.words.is_empty()
    }

    /// Whether a piece of code or a text has all its names and telling words.
    pub fn is_said_by(&self, code: &str) -> bool {
        let parts: Vec<String> =
            code.split(|c: char| !is_name_char(c)).filter(|piece| !piece.is_empty()).flat_map(stems).collect();
        !self.is_empty()
            && self.mentions.iter().all(|mention| code.contains(&mention.code))
            && self.words.iter().all(|word| parts.contains(word))
    }

    /// The lines that it stands on, of those that `side` takes from where a name or a word stands: those with all its
    /// names, and of these those with most of its words. Heads of the functions that it names and imports are left out
    /// unless the sentence speaks of the text of the program.
    pub fn lines(&self, scene: &Scene<'_, '_>, side: fn(&Places) -> Vec<usize>, of_text: bool) -> Vec<usize> {
        let mut left: Option<Vec<usize>> = None;
        for mention in &self.mentions {
            let found = scene.change.find(mention);
            let Some(places) = found.exactly() else { return Vec::new() };
            let lines: Vec<usize> =
                side(places).into_iter().filter(|&line| is_use(scene, line, mention, of_text)).collect();
            left = Some(match left {
                None => lines,
                Some(before) => before.into_iter().filter(|line| lines.binary_search(line).is_ok()).collect(),
            });
        }
        let mut counts: HashMap<usize, (usize, usize)> = HashMap::new();
        for (word, is_telling) in
            self.words.iter().map(|word| (word, true)).chain(self.common.iter().map(|word| (word, false)))
        {
            for line in scene.change.occurrences.of_stem(word).map(side).unwrap_or_default() {
                let code = scene.change.code(line);
                let is_head = !of_text && (is_import(code) || function_name(code).is_some());
                if scene.change.diff.lines()[line].kind != LineKind::Header && !is_head {
                    let count = counts.entry(line).or_default();
                    count.0 += usize::from(is_telling);
                    count.1 += 1;
                }
            }
        }
        let mut lines = match left {
            Some(lines) => lines,
            None => {
                let least = self.words.len().div_ceil(2).max(1);
                let passes = |line: &usize| counts.get(line).is_some_and(|count| count.0 >= least);
                counts.keys().copied().filter(passes).collect()
            }
        };
        let most = lines.iter().filter_map(|line| counts.get(line)).map(|count| count.1).max().unwrap_or(0);
        if self.mentions.is_empty() || most > 1 {
            lines.retain(|line| counts.get(line).map_or(0, |count| count.1) == most);
        }
        if lines.iter().any(|&line| !is_comment(scene.change.code(line))) {
            lines.retain(|&line| !is_comment(scene.change.code(line)));
        }
        lines.sort_unstable();
        lines
    }
}

/// Whether a line has more of a name than its definition or its import.
fn is_use(scene: &Scene<'_, '_>, line: usize, mention: &Mention, of_text: bool) -> bool {
    let code = scene.change.code(line);
    scene.change.diff.lines()[line].kind != LineKind::Header
        && (of_text
            || !(mention.kind == MentionKind::Name
                && (function_name(code).is_some_and(|name| name == mention.last()) || is_import(code))))
}

/// Whether a line brings names in from elsewhere.
pub fn is_import(code: &str) -> bool {
    let first = code.trim_start().split([' ', '(', '<', '"']).next().unwrap_or("");
    ["import", "from", "use", "using", "#include", "require"].contains(&first)
}

/// Whether a line is nothing but a comment.
pub fn is_comment(code: &str) -> bool {
    let code = code.trim_start();
    ["#", "//", "* ", "/*", "\"\"\"", "<!--", "-- ", "..", ":param"].iter().any(|mark| code.starts_with(mark))
        && !["#[", "#define", "#if", "#else", "#include"].iter().any(|mark| code.starts_with(mark))
        || code == "*"
}
