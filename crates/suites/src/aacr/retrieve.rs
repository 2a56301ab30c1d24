//! Pieces of the project's other code that a hunk may need, by BM25 over identifiers.

use std::collections::{BTreeMap, BTreeSet};

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, Tokenizer};
use serde::{Deserialize, Serialize};
use veridiff_git::{GitError, Snapshot};

use super::changes::Hunk;

/// Files above this size are data, in bytes.
const MAX_FILE: usize = 1 << 20;

/// The fewest letters and digits of a piece: a brace is no context.
const MIN_LETTERS: usize = 40;

/// Folders and endings of what nobody wrote here.
const FOREIGN: [&str; 6] = ["vendor/", "node_modules/", "third_party/", "dist/", ".git/", "target/"];
const GENERATED: [&str; 5] = [".lock", ".min.js", ".min.css", ".map", ".svg"];

/// How code is cut and what is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Most lines of a piece.
    pub lines: usize,
    /// Lines that a piece has in common with the one before.
    pub overlap: usize,
    /// How many pieces each hunk gets.
    pub top: usize,
    /// Whether pieces of the hunk's own file are left out.
    pub other_files_only: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { lines: 40, overlap: 10, top: 3, other_files_only: false }
    }
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The file.
    pub path: String,
    /// Its first line, from 1.
    pub start: usize,
    /// Its last line.
    pub end: usize,
    /// Its text.
    pub text: String,
}

/// A line of `contexts.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The hunk that it is for.
    pub hunk: String,
    /// `bm25`.
    pub method: String,
    /// Its place, from 1.
    pub rank: usize,
    /// The file.
    pub path: String,
    /// Its first line.
    pub start: usize,
    /// Its last line.
    pub end: usize,
    /// How like the hunk it is.
    pub score: f32,
    /// Its text.
    pub text: String,
}

/// The pieces of a file: at most so many lines, ending at a blank line where one is near.
pub fn chunks(path: &str, text: &str, settings: &Settings) -> Vec<Chunk> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let most = (start + settings.lines.max(1)).min(lines.len());
        // a blank line in the last quarter is a better end than the middle of a block
        let near = start + settings.lines * 3 / 4;
        let blank = (near.min(most)..most).rev().find(|at| lines[*at].trim().is_empty());
        let end = if most == lines.len() { most } else { blank.map_or(most, |at| at + 1) };
        let piece = lines[start..end].join("\n");
        if piece.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_LETTERS {
            found.push(Chunk { path: path.to_owned(), start: start + 1, end, text: piece });
        }
        if end == lines.len() {
            break;
        }
        start = end.saturating_sub(settings.overlap).max(start + 1);
    }
    found
}

/// The pieces of all code of a tree.
///
/// # Errors
/// The tree cannot be read.
pub fn chunks_of(tree: &Snapshot, settings: &Settings) -> Result<Vec<Chunk>, GitError> {
    let mut found = Vec::new();
    for path in tree.paths()? {
        let is_foreign = FOREIGN.iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")));
        if is_foreign || GENERATED.iter().any(|ending| path.ends_with(ending)) {
            continue;
        }
        if let Some(text) = tree.file(path)?.filter(|text| text.len() <= MAX_FILE) {
            found.extend(chunks(path, &text, settings));
        }
    }
    Ok(found)
}

/// Identifiers whole and in their parts, in lower case.
#[derive(Debug, Clone, Copy)]
pub struct Identifiers;

impl Tokenizer for Identifiers {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty()) {
            let parts = parts(name);
            if parts.len() > 1 {
                tokens.push(name.replace('_', "").to_lowercase());
            }
            tokens.extend(parts);
        }
        tokens
    }
}

/// `parseJsonConfig` and `parse_json_config` as their three words.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    for (i, &c) in letters.iter().enumerate() {
        let begins = i == 0 || {
            let (before, after) = (letters[i - 1], letters.get(i + 1));
            before == '_'
                || (c.is_uppercase() && !before.is_uppercase())
                || (c.is_uppercase() && before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
        };
        match parts.last_mut() {
            _ if c == '_' => {}
            Some(last) if !begins => last.extend(c.to_lowercase()),
            _ => parts.push(c.to_lowercase().collect()),
        }
    }
    parts
}

/// Pieces that can be asked for.
pub struct Index {
    chunks: Vec<Chunk>,
    embedder: Embedder<u32, Identifiers>,
    scorer: Scorer<u32, u32>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("chunks", &self.chunks.len()).finish_non_exhaustive()
    }
}

impl Index {
    /// Of some pieces.
    pub fn new(chunks: Vec<Chunk>) -> Index {
        let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let embedder: Embedder<u32, Identifiers> =
            EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Identifiers, &texts).build();
        let mut scorer = Scorer::new();
        for (i, text) in texts.iter().enumerate() {
            scorer.upsert(&(i as u32), distinct(embedder.embed(text)));
        }
        Index { chunks, embedder, scorer }
    }

    /// The pieces most like a text, the best first; those that are as good in the order of their paths and lines.
    pub fn search(&self, query: &str) -> Vec<(&Chunk, f32)> {
        let query = distinct(self.embedder.embed(query));
        let mut found: Vec<(&Chunk, f32)> =
            self.scorer.matches(&query).into_iter().map(|hit| (&self.chunks[hit.id as usize], hit.score)).collect();
        found.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| (&a.path, a.start).cmp(&(&b.path, b.start))));
        found
    }

    /// What a hunk gets: no piece has lines of the hunk itself.
    pub fn contexts(&self, hunk: &Hunk, settings: &Settings) -> Vec<Context> {
        let lines = hunk.new_start as usize..=(hunk.new_start + hunk.new_len) as usize;
        let is_other = |chunk: &Chunk| {
            let is_same_file = chunk.path == hunk.path;
            !is_same_file || (!settings.other_files_only && (chunk.end < *lines.start() || chunk.start > *lines.end()))
        };
        let changed: String = hunk
            .text
            .lines()
            .filter(|line| line.starts_with(['+', '-']))
            .map(|line| format!("{}\n", &line[1..]))
            .collect();
        let hits = self.search(&changed);
        let kept = hits.into_iter().filter(|(chunk, _)| is_other(chunk)).take(settings.top);
        let context = |(i, (chunk, score)): (usize, (&Chunk, f32))| Context {
            hunk: hunk.hunk.clone(),
            method: "bm25".into(),
            rank: i + 1,
            path: chunk.path.clone(),
            start: chunk.start,
            end: chunk.end,
            score,
            text: chunk.text.clone(),
        };
        kept.enumerate().map(context).collect()
    }
}

/// One entry a word: the crate gives one for each time that it stands there, all with the weight of the word.
fn distinct(mut embedding: Embedding<u32>) -> Embedding<u32> {
    embedding.0.sort_by_key(|token| token.index);
    embedding.0.dedup_by_key(|token| token.index);
    embedding.0.shrink_to_fit();
    embedding
}

/// Contexts as they stand in a prompt, by hunk.
pub fn shown(contexts: &[Context]) -> BTreeMap<String, String> {
    let mut by_hunk: BTreeMap<String, String> = BTreeMap::new();
    for context in contexts {
        let text = by_hunk.entry(context.hunk.clone()).or_default();
        text.push_str(&format!("{}, lines {} to {}:\n{}\n", context.path, context.start, context.end, context.text));
    }
    by_hunk
}

/// Of the identifiers that a note names and its hunk does not have, how many a text has, and how many there are: what retrieval is
/// good for, without any model.
pub fn named_in(note: &str, hunk: &str, text: &str) -> (usize, usize) {
    let names = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|name| name.contains('_') || parts(name).len() > 1)
            .map(str::to_owned)
            .collect()
    };
    let (in_hunk, in_text) = (names(hunk), names(text));
    let wanted: Vec<String> = names(note).into_iter().filter(|name| !in_hunk.contains(name)).collect();
    (wanted.iter().filter(|name| in_text.contains(*name)).count(), wanted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 4] = [
        (
            "a.py",
            "def parse_json_config(path):\n    return json.loads(open(path).read())  # reads the whole of the file at once\n",
        ),
        (
            "b.js",
            "function parseJsonConfig(path) {\n  return JSON.parse(fs.readFileSync(path)) // reads the whole of the file\n}\n",
        ),
        ("c.py", "def draw_window(width, height):\n    canvas = Canvas(width, height)\n    return canvas.show()\n"),
        ("d.py", "}\n)\n{\n"),
    ];

    fn index() -> Index {
        Index::new(FILES.iter().flat_map(|(path, text)| chunks(path, text, &Settings::default())).collect())
    }

    #[test]
    fn both_ways_of_writing_a_name_are_one() {
        assert_eq!(Identifiers.tokenize("parseJSONConfig x"), ["parsejsonconfig", "parse", "json", "config", "x"]);
        assert_eq!(Identifiers.tokenize("parse_json_config"), ["parsejsonconfig", "parse", "json", "config"]);
        let index = index();
        let paths = |query: &str| index.search(query).iter().map(|(chunk, _)| chunk.path.clone()).collect::<Vec<_>>();
        for query in ["parseJsonConfig", "parse_json_config"] {
            assert_eq!(paths(query)[..2].iter().collect::<BTreeSet<_>>().len(), 2, "{query}");
            assert!(!paths(query).contains(&"c.py".to_owned()));
        }
        assert_eq!(index.chunks.len(), 3, "a file of braces has no piece");
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        let index = index();
        let tokens: Vec<Vec<String>> = index.chunks.iter().map(|chunk| Identifiers.tokenize(&chunk.text)).collect();
        let mean = tokens.iter().map(Vec::len).sum::<usize>() as f64 / tokens.len() as f64;
        let query: BTreeSet<String> = Identifiers.tokenize("parse the json of width").into_iter().collect();
        for (chunk, score) in index.search("parse the json of width") {
            let place = index.chunks.iter().position(|other| other == chunk).unwrap();
            let mut want = 0.0;
            for word in &query {
                let tf = tokens[place].iter().filter(|token| *token == word).count() as f64;
                let df = tokens.iter().filter(|tokens| tokens.contains(word)).count() as f64;
                let idf = (1.0 + (tokens.len() as f64 - df + 0.5) / (df + 0.5)).ln();
                want += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * tokens[place].len() as f64 / mean));
            }
            // the crate counts in f32: some ten operations, each within 6e-8 of what it should be
            assert!((f64::from(score) - want).abs() < 1e-6 * want.max(1.0), "{}: {score}, want {want}", chunk.path);
        }
    }

    #[test]
    fn pieces_end_at_blank_lines_and_leave_the_hunk_out() {
        let text: String =
            (1..=100).map(|i| if i == 35 { "\n".to_owned() } else { format!("value_{i} = compute_{i}()\n") }).collect();
        let pieces = chunks("x.py", &text, &Settings::default());
        assert_eq!((pieces[0].start, pieces[0].end, pieces[1].start), (1, 35, 26));
        assert_eq!(pieces.last().unwrap().end, 100);
        let hunk = Hunk {
            hunk: "h".into(),
            pr: "p".into(),
            path: "x.py".into(),
            old_path: "x.py".into(),
            old_start: 30,
            old_len: 1,
            new_start: 30,
            new_len: 1,
            text: "@@ -30 +30 @@\n-value_30 = 1\n+value_30 = compute_30()".into(),
            diff: String::new(),
        };
        let index = Index::new(pieces);
        let contexts = index.contexts(&hunk, &Settings { top: 9, ..Settings::default() });
        assert!(!contexts.is_empty() && contexts.iter().all(|c| c.end < 30 || c.start > 31), "{contexts:?}");
        assert!(index.contexts(&hunk, &Settings { other_files_only: true, ..Settings::default() }).is_empty());
        assert_eq!(named_in("`read_all` of FileReader, not value_30", "value_30", "class FileReader"), (1, 2));
    }
}
