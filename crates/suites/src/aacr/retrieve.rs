//! Pieces of the project's other code that a hunk may need, by BM25 over identifiers or by an encoder.

use std::collections::{BTreeMap, BTreeSet};

use rand::{SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use veridiff_git::{GitError, Snapshot};
use veridiff_text::named;

use super::{
    changes::Hunk,
    postings::{Postings, parts},
};

/// Files above this size are data, in bytes.
const MAX_FILE: usize = 1 << 20;

/// The fewest letters and digits of a piece: a brace is no context.
const MIN_LETTERS: usize = 40;

/// Folders and endings of what nobody wrote here.
const FOREIGN: [&str; 6] = ["vendor/", "node_modules/", "third_party/", "dist/", ".git/", "target/"];
const GENERATED: [&str; 5] = [".lock", ".min.js", ".min.css", ".map", ".svg"];

/// How pieces are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By identifiers in common.
    Bm25,
    /// By an encoder.
    Embedding,
}

named!(Method, "method", "bm25" => Bm25, "embedding" => Embedding);

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
    /// `bm25`, or `embedding` with what was looked at.
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

/// Pieces that can be asked for.
#[derive(Debug)]
pub struct Index {
    chunks: Vec<Chunk>,
    postings: Postings,
}

impl Index {
    /// Of some pieces.
    pub fn new(chunks: Vec<Chunk>) -> Index {
        let postings = Postings::new(chunks.iter().map(|chunk| chunk.text.as_str()));
        Index { chunks, postings }
    }

    /// The pieces most like a text, the best first; those that are as good in the order of their paths and lines.
    pub fn search(&self, query: &str) -> Vec<(&Chunk, f32)> {
        let scores = self.postings.scores(query).into_iter();
        let mut found: Vec<(&Chunk, f32)> = scores.map(|(piece, score)| (&self.chunks[piece], score)).collect();
        best_first(&mut found);
        found
    }

    /// What a hunk gets: no piece has lines of the hunk itself.
    pub fn contexts(&self, hunk: &Hunk, settings: &Settings) -> Vec<Context> {
        let hits = self.search(&changed(hunk));
        let kept = hits.into_iter().filter(|(chunk, _)| is_other(chunk, hunk, settings)).take(settings.top);
        kept.enumerate().map(|(i, hit)| context(hunk, "bm25", i, hit)).collect()
    }

    /// The same by how near an encoder puts a piece to the changed lines: the pieces that BM25 finds first, so many of them, or all
    /// where `first` is none. Pieces that are as near stand in the order of their paths and lines.
    ///
    /// # Errors
    /// The encoder fails.
    pub fn nearest(
        &self,
        hunk: &Hunk,
        settings: &Settings,
        first: Option<usize>,
        cosine: impl Fn(&str, &str) -> Result<Option<f64>, String>,
    ) -> Result<Vec<Context>, String> {
        let query = changed(hunk);
        let of_all = || self.chunks.iter().collect::<Vec<_>>();
        let pieces = match first {
            None => of_all(),
            Some(n) => self.search(&query).into_iter().take(n).map(|(chunk, _)| chunk).collect(),
        };
        let mut found = Vec::new();
        for chunk in pieces.into_iter().filter(|chunk| is_other(chunk, hunk, settings)) {
            found.extend(cosine(&query, &chunk.text)?.map(|near| (chunk, near as f32)));
        }
        best_first(&mut found);
        let method = first.map_or_else(|| "embedding".to_owned(), |n| format!("embedding of bm25:{n}"));
        Ok(found.into_iter().take(settings.top).enumerate().map(|(i, hit)| context(hunk, &method, i, hit)).collect())
    }

    /// Pieces by chance: what any method has to be better than.
    pub fn by_chance(&self, hunk: &Hunk, settings: &Settings, seed: u64) -> Vec<Context> {
        let others: Vec<&Chunk> = self.chunks.iter().filter(|chunk| is_other(chunk, hunk, settings)).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let taken = sample(&mut rng, others.len(), settings.top.min(others.len()));
        taken.into_iter().enumerate().map(|(i, at)| context(hunk, "chance", i, (others[at], 0.0))).collect()
    }
}

/// The best first; those that are as good in the order of their paths and lines.
fn best_first(found: &mut [(&Chunk, f32)]) {
    found.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| (&a.path, a.start).cmp(&(&b.path, b.start))));
}

/// Whether a piece may stand beside a hunk: it has no line of it.
fn is_other(chunk: &Chunk, hunk: &Hunk, settings: &Settings) -> bool {
    let lines = hunk.new_start as usize..=(hunk.new_start + hunk.new_len) as usize;
    let is_same_file = chunk.path == hunk.path;
    !is_same_file || (!settings.other_files_only && (chunk.end < *lines.start() || chunk.start > *lines.end()))
}

/// What is asked for: the changed lines.
fn changed(hunk: &Hunk) -> String {
    let lines = hunk.text.lines().filter(|line| line.starts_with(['+', '-']));
    lines.map(|line| format!("{}\n", &line[1..])).collect()
}

fn context(hunk: &Hunk, method: &str, i: usize, (chunk, score): (&Chunk, f32)) -> Context {
    Context {
        hunk: hunk.hunk.clone(),
        method: method.to_owned(),
        rank: i + 1,
        path: chunk.path.clone(),
        start: chunk.start,
        end: chunk.end,
        score,
        text: chunk.text.clone(),
    }
}

/// How many of the identifiers that references name, and their hunks lack, retrieved pieces have, beside pieces by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Quality {
    /// Identifiers that are wanted.
    pub wanted: usize,
    /// Those that the pieces have.
    pub found: usize,
    /// Those that as many pieces by chance have.
    pub by_chance: usize,
}

impl Quality {
    /// Adds what a note wants of the pieces for its hunk.
    pub fn add(&mut self, note: &str, hunk: &str, pieces: &str, by_chance: &str) {
        let (found, wanted) = named_in(note, hunk, pieces);
        self.wanted += wanted;
        self.found += found;
        self.by_chance += named_in(note, hunk, by_chance).0;
    }
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

/// Whether an identifier is made of several words.
fn has_parts(name: &str) -> bool {
    let mut n = 0;
    parts(name, &mut String::new(), |_| n += 1);
    n > 1
}

/// Of the identifiers that a note names and its hunk does not have, how many a text has, and how many there are: what retrieval is
/// good for, without any model.
pub fn named_in(note: &str, hunk: &str, text: &str) -> (usize, usize) {
    let names = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|name| name.contains('_') || has_parts(name))
            .map(str::to_owned)
            .collect()
    };
    let (in_hunk, in_text) = (names(hunk), names(text));
    let wanted: Vec<String> = names(note).into_iter().filter(|name| !in_hunk.contains(name)).collect();
    (wanted.iter().filter(|name| in_text.contains(*name)).count(), wanted.len())
}

#[cfg(test)]
mod tests {
    use super::{super::postings::words, *};

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
    fn both_ways_of_writing_a_name_find_each_other() {
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
        let tokenize = |text: &str| {
            let mut all: Vec<String> = Vec::new();
            words(text, |word| all.push(word.to_owned()));
            all
        };
        let tokens: Vec<Vec<String>> = index.chunks.iter().map(|chunk| tokenize(&chunk.text)).collect();
        let mean = tokens.iter().map(Vec::len).sum::<usize>() as f64 / tokens.len() as f64;
        let query: BTreeSet<String> = tokenize("parse the json of width").into_iter().collect();
        for (chunk, score) in index.search("parse the json of width") {
            let place = index.chunks.iter().position(|other| other == chunk).unwrap();
            let mut want = 0.0;
            for word in &query {
                let tf = tokens[place].iter().filter(|token| *token == word).count() as f64;
                let df = tokens.iter().filter(|tokens| tokens.contains(word)).count() as f64;
                let idf = (1.0 + (tokens.len() as f64 - df + 0.5) / (df + 0.5)).ln();
                want += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * tokens[place].len() as f64 / mean));
            }
            // the score is rounded to f32
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
        // by an encoder, the same as looking at each piece
        let cosine = |a: &str, b: &str| Ok(Some((a.len() as f64 / (1 + b.len()) as f64).min(1.0)));
        let all = Settings { top: 2, ..Settings::default() };
        let nearest = index.nearest(&hunk, &all, None, cosine).unwrap();
        let mut slow: Vec<(usize, f64)> = index
            .chunks
            .iter()
            .filter(|c| c.end < 30 || c.start > 31)
            .map(|c| (c.start, cosine(&changed(&hunk), &c.text).unwrap().unwrap()))
            .collect();
        slow.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        let starts = |contexts: &[Context]| contexts.iter().map(|c| c.start).collect::<Vec<_>>();
        assert_eq!(starts(&nearest), slow[..2].iter().map(|(start, _)| *start).collect::<Vec<_>>());
        let first = index.nearest(&hunk, &all, Some(1), cosine).unwrap();
        assert!(first.len() <= 1 && first.iter().all(|c| c.method == "embedding of bm25:1"), "{first:?}");
        assert!(index.nearest(&hunk, &all, None, |_, _| Err("broken".into())).is_err());
        assert!(index.by_chance(&hunk, &all, 0).iter().all(|c| c.end < 30 || c.start > 31));
        let mut quality = Quality::default();
        quality.add("`read_all` of FileReader", "", "class FileReader", "");
        assert_eq!(quality, Quality { wanted: 2, found: 1, by_chance: 0 });
        assert_eq!(named_in("`read_all` of FileReader, not value_30", "value_30", "class FileReader"), (1, 2));
    }
}
