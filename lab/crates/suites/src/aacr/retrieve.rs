//! Pieces of the project's other code that a hunk may need, by BM25 over identifiers or by an encoder.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use rand::{SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use veridiff_engine::encoder::Embedding;
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

/// A piece of a file, whose text all of its pieces share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The file.
    pub path: Arc<str>,
    /// Its first line, from 1.
    pub start: usize,
    /// Its last line.
    pub end: usize,
    file: Arc<str>,
    bytes: Range<usize>,
}

impl Chunk {
    /// Its text, without the end of its last line.
    pub fn text(&self) -> &str {
        &self.file[self.bytes.clone()]
    }
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
    let (path, file): (Arc<str>, Arc<str>) = (path.into(), text.replace("\r\n", "\n").into());
    let lines: Vec<&str> = file.lines().collect();
    let at = |line: &str| line.as_ptr() as usize - file.as_ptr() as usize;
    let mut found = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let most = (start + settings.lines.max(1)).min(lines.len());
        // a blank line in the last quarter is a better end than the middle of a block
        let near = start + settings.lines * 3 / 4;
        let blank = (near.min(most)..most).rev().find(|at| lines[*at].trim().is_empty());
        let end = if most == lines.len() { most } else { blank.map_or(most, |at| at + 1) };
        let bytes = at(lines[start])..at(lines[end - 1]) + lines[end - 1].len();
        let n_letters = file[bytes.clone()].chars().filter(|c| c.is_alphanumeric()).take(MIN_LETTERS).count();
        if n_letters == MIN_LETTERS {
            found.push(Chunk { path: path.clone(), start: start + 1, end, file: file.clone(), bytes });
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
    /// In the order of their paths and lines.
    chunks: Vec<Chunk>,
    postings: Postings,
}

impl Index {
    /// Of some pieces.
    pub fn new(mut chunks: Vec<Chunk>) -> Index {
        chunks.sort_by(|a, b| (&a.path, a.start).cmp(&(&b.path, b.start)));
        let postings = Postings::new(chunks.iter().map(Chunk::text));
        Index { chunks, postings }
    }

    /// How many pieces there are.
    pub fn n_pieces(&self) -> usize {
        self.chunks.len()
    }

    /// The pieces of a file, by their places.
    fn of_file(&self, path: &str) -> Range<usize> {
        self.chunks.partition_point(|chunk| *chunk.path < *path)
            ..self.chunks.partition_point(|chunk| *chunk.path <= *path)
    }

    /// The `n` pieces that are most like a text, without those of a file that are not kept, the best first; those that are as good in the
    /// order of their paths and lines.
    pub fn search(&self, query: &str, n: usize, path: &str, keep: impl Fn(&Chunk) -> bool) -> Vec<(&Chunk, f32)> {
        let best = self.postings.best(query, n, &self.of_file(path), |piece| keep(&self.chunks[piece]));
        best.into_iter().map(|(piece, score)| (&self.chunks[piece], score)).collect()
    }

    /// What a hunk gets: no piece has lines of the hunk itself.
    pub fn contexts(&self, hunk: &Hunk, settings: &Settings) -> Vec<Context> {
        let hits = self.search(&changed(hunk), settings.top, &hunk.path, |chunk| is_other(chunk, hunk, settings));
        hits.into_iter().enumerate().map(|(i, hit)| context(hunk, "bm25", i, hit)).collect()
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
        vectors: impl Fn(&[&str]) -> Result<Vec<Embedding>, String>,
    ) -> Result<Vec<Context>, String> {
        let query = changed(hunk);
        let is_other = |chunk: &Chunk| is_other(chunk, hunk, settings);
        let pieces: Vec<&Chunk> = match first {
            None => self.chunks.iter().filter(|chunk| is_other(chunk)).collect(),
            Some(n) => self.search(&query, n, &hunk.path, is_other).into_iter().map(|(chunk, _)| chunk).collect(),
        };
        let asked = vectors(&[&query])?.remove(0);
        let texts: Vec<&str> = pieces.iter().map(|chunk| chunk.text()).collect();
        let near = |(chunk, vector): (_, Embedding)| Some((chunk, asked.cosine(&vector)? as f32));
        let mut found: Vec<(&Chunk, f32)> = pieces.into_iter().zip(vectors(&texts)?).filter_map(near).collect();
        found.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| (&a.path, a.start).cmp(&(&b.path, b.start))));
        let method = first.map_or_else(|| "embedding".to_owned(), |n| format!("embedding of bm25:{n}"));
        Ok(found.into_iter().take(settings.top).enumerate().map(|(i, hit)| context(hunk, &method, i, hit)).collect())
    }

    /// Pieces by chance: what any method has to be better than.
    pub fn by_chance(&self, hunk: &Hunk, settings: &Settings, seed: u64) -> Vec<Context> {
        let n = self.chunks.len();
        // as many more as could be left out
        let most = settings.top + self.of_file(&hunk.path).len();
        let drawn = sample(&mut ChaCha8Rng::seed_from_u64(seed), n, n.min(most));
        let others = drawn.into_iter().map(|at| &self.chunks[at]).filter(|chunk| is_other(chunk, hunk, settings));
        others.take(settings.top).enumerate().map(|(i, chunk)| context(hunk, "chance", i, (chunk, 0.0))).collect()
    }
}

/// Whether a piece may stand beside a hunk: it has no line of it.
fn is_other(chunk: &Chunk, hunk: &Hunk, settings: &Settings) -> bool {
    let lines = hunk.new_start as usize..=(hunk.new_start + hunk.new_len) as usize;
    let is_same_file = *chunk.path == *hunk.path;
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
        path: chunk.path.to_string(),
        start: chunk.start,
        end: chunk.end,
        score,
        text: chunk.text().to_owned(),
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
        let paths = |query: &str| {
            let found = index.search(query, 9, "", |_| true);
            found.iter().map(|(chunk, _)| chunk.path.to_string()).collect::<Vec<_>>()
        };
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
        let tokens: Vec<Vec<String>> = index.chunks.iter().map(|chunk| tokenize(chunk.text())).collect();
        let mean = tokens.iter().map(Vec::len).sum::<usize>() as f64 / tokens.len() as f64;
        let query: BTreeSet<String> = tokenize("parse the json of width").into_iter().collect();
        for (chunk, score) in index.search("parse the json of width", 9, "", |_| true) {
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
        let vector = |text: &str| Embedding { vector: vec![text.len() as f32, 100.0], n_tokens: 1, n_cut: 0 };
        let vectors = |texts: &[&str]| Ok(texts.iter().map(|text| vector(text)).collect());
        let all = Settings { top: 2, ..Settings::default() };
        let nearest = index.nearest(&hunk, &all, None, vectors).unwrap();
        let mut slow: Vec<(usize, f64)> = index
            .chunks
            .iter()
            .filter(|c| c.end < 30 || c.start > 31)
            .map(|c| (c.start, vector(&changed(&hunk)).cosine(&vector(c.text())).unwrap()))
            .collect();
        slow.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        let starts = |contexts: &[Context]| contexts.iter().map(|c| c.start).collect::<Vec<_>>();
        assert_eq!(starts(&nearest), slow[..2].iter().map(|(start, _)| *start).collect::<Vec<_>>());
        let first = index.nearest(&hunk, &all, Some(1), vectors).unwrap();
        assert!(first.len() <= 1 && first.iter().all(|c| c.method == "embedding of bm25:1"), "{first:?}");
        assert!(index.nearest(&hunk, &all, None, |_| Err("broken".into())).is_err());
        assert!(index.by_chance(&hunk, &all, 0).iter().all(|c| c.end < 30 || c.start > 31));
        let mut quality = Quality::default();
        quality.add("`read_all` of FileReader", "", "class FileReader", "");
        assert_eq!(quality, Quality { wanted: 2, found: 1, by_chance: 0 });
        assert_eq!(named_in("`read_all` of FileReader, not value_30", "value_30", "class FileReader"), (1, 2));
    }

    #[test]
    fn lines_end_alike_in_pieces() {
        let pieces = |text: &str| -> Vec<String> {
            chunks("a.py", text, &Settings { lines: 4, overlap: 1, ..Settings::default() })
                .iter()
                .map(|chunk| chunk.text().to_owned())
                .collect()
        };
        let text: String = (0..9).map(|i| format!("number_{i} = computed_from_the_number_{i}()\n")).collect();
        assert_eq!(pieces(&text), pieces(&text.replace('\n', "\r\n")));
        assert_eq!(pieces(&text), pieces(text.trim_end()));
        assert_eq!(pieces(&text)[0], text.lines().take(4).collect::<Vec<_>>().join("\n"));
    }

    /// What docs/aacr.md says of index and query: `VERIDIFF_TREE` names a folder of code.
    #[test]
    #[ignore = "a figure, for a quiet machine"]
    #[allow(clippy::print_stderr, reason = "the figure is what it is run for")]
    fn rate_of_an_index() {
        let tree = std::env::var("VERIDIFF_TREE").expect("a folder of code");
        let most = std::env::var("VERIDIFF_PIECES").ok().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
        let (mut folders, mut pieces, mut bytes) = (vec![std::path::PathBuf::from(tree)], Vec::new(), 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).ok().filter(|text| text.len() <= MAX_FILE);
                if let Some(text) = text.filter(|_| pieces.len() < most) {
                    bytes += text.len();
                    pieces.extend(chunks(&path.display().to_string(), &text, &Settings::default()));
                }
            }
        }
        let start = std::time::Instant::now();
        let index = Index::new(pieces);
        let rate = bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
        let n = index.n_pieces();
        // hunks of 40 lines from all over the tree, each without its own piece
        let mut ms: Vec<f64> = (0..50)
            .map(|i| {
                let (at, start) = (i * n / 50, std::time::Instant::now());
                let chunk = &index.chunks[at];
                assert_eq!(index.search(chunk.text(), 3, &chunk.path, |_| false).len(), 3);
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        ms.sort_by(f64::total_cmp);
        let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        let entries = index.postings.n_entries();
        eprintln!(
            "{n} pieces, {:.1} MB, {entries} entries: {rate:.1} MB/s; {:.1} ms in the median, {:.1} at most; {peak}",
            bytes as f64 / 1e6,
            ms[25],
            ms[49]
        );
        assert!(rate >= 10.0 && ms[25] <= 50.0, "{rate:.1} MB/s, {:.0} ms", ms[25]);
    }
}
