//! BM25 over identifiers, in memory: for each word the pieces that have it, and how often. The crate `bm25` keeps sets of
//! pieces, and is too slow for the code of a large project (docs/aacr.md, "How right and how fast it is").

use std::collections::HashMap;

/// How soon more of the same word counts no more, and how much longer pieces are held back.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// What pieces can be found by.
#[derive(Debug, Default)]
pub struct Postings {
    words: HashMap<Box<str>, u32>,
    /// By word: pieces in order, each with how often it has the word.
    places: Vec<Vec<(u32, u32)>>,
    /// How many words each piece has.
    lengths: Vec<u32>,
}

impl Postings {
    /// Of texts, which are called by their places.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Postings {
        let mut all = Postings::default();
        for text in texts {
            all.add(text);
        }
        all.places.iter_mut().for_each(Vec::shrink_to_fit);
        all
    }

    fn add(&mut self, text: &str) {
        let piece = self.lengths.len() as u32;
        let mut n = 0;
        words(text, |word| {
            n += 1;
            let next = self.places.len() as u32;
            let number = match self.words.get(word) {
                Some(number) => *number,
                None => {
                    self.words.insert(word.into(), next);
                    self.places.push(Vec::new());
                    next
                }
            };
            match self.places[number as usize].last_mut() {
                Some((last, times)) if *last == piece => *times += 1,
                _ => self.places[number as usize].push((piece, 1)),
            }
        });
        self.lengths.push(n);
    }

    /// Pieces that have a word of a text with their scores, in their order. A word counts once, however often the text has it.
    pub fn scores(&self, text: &str) -> Vec<(usize, f32)> {
        let mut wanted: Vec<u32> = Vec::new();
        words(text, |word| wanted.extend(self.words.get(word).copied()));
        wanted.sort_unstable();
        wanted.dedup();
        let n = self.lengths.len() as f64;
        let mean = self.lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / n.max(1.0);
        let mut sums = vec![0.0f64; self.lengths.len()];
        for word in wanted {
            let places = &self.places[word as usize];
            let with = places.len() as f64;
            let rarity = (1.0 + (n - with + 0.5) / (with + 0.5)).ln();
            for (piece, times) in places {
                let (times, length) = (f64::from(*times), f64::from(self.lengths[*piece as usize]));
                sums[*piece as usize] += rarity * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length / mean));
            }
        }
        sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0.0).map(|(piece, sum)| (piece, sum as f32)).collect()
    }
}

/// The words of a text: identifiers whole and in their parts, in lower case; one without parts once. `parseJSONConfig` and
/// `parse_json_config` have the same.
pub fn words(text: &str, mut each: impl FnMut(&str)) {
    let (mut whole, mut part) = (String::new(), String::new());
    for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty()) {
        whole.clear();
        name.chars().filter(|c| *c != '_').for_each(|c| whole.extend(c.to_lowercase()));
        let mut n_parts = 0;
        parts(name, &mut part, |_| n_parts += 1);
        if n_parts != 1 && !whole.is_empty() {
            each(&whole);
        }
        parts(name, &mut part, &mut each);
    }
}

/// The parts of an identifier, in lower case: a capital begins one behind what is none, and before a small letter.
pub fn parts(name: &str, part: &mut String, mut each: impl FnMut(&str)) {
    part.clear();
    let mut before = None;
    let mut letters = name.chars().peekable();
    while let Some(c) = letters.next() {
        let after_is_small = letters.peek().is_some_and(|after| after.is_lowercase());
        let begins = match before {
            None | Some('_') => true,
            Some(before) => c.is_uppercase() && (!char::is_uppercase(before) || after_is_small),
        };
        before = Some(c);
        if begins && !part.is_empty() {
            each(part);
            part.clear();
        }
        if c != '_' {
            part.extend(c.to_lowercase());
        }
    }
    if !part.is_empty() {
        each(part);
        part.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        words(text, |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn both_ways_of_writing_a_name_are_one() {
        assert_eq!(of("parseJSONConfig x"), ["parsejsonconfig", "parse", "json", "config", "x"]);
        assert_eq!(of("parse_json_config"), ["parsejsonconfig", "parse", "json", "config"]);
        assert_eq!(of("__init__ _ É2 HTTP"), ["init", "é2", "http"]);
        assert_eq!(of(" ?_-"), Vec::<String>::new());
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(Postings::new([]).scores("a"), []);
        assert_eq!(Postings::new(["a b", "c"]).scores("d"), []);
        assert_eq!(Postings::new(["a b", "c"]).scores("c c").len(), 1);
    }

    /// What docs/aacr.md says of index and query: `VERIDIFF_TREE` names a folder of code.
    #[test]
    #[ignore = "a figure, for a quiet machine"]
    #[allow(clippy::print_stderr, reason = "the figure is what it is run for")]
    fn rate_of_an_index() {
        let tree = std::env::var("VERIDIFF_TREE").expect("a folder of code");
        let (mut folders, mut chunks) = (vec![std::path::PathBuf::from(tree)], Vec::new());
        let mut bytes = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Some(text) = std::fs::read_to_string(&path).ok().filter(|text| text.len() <= 1 << 20) {
                    bytes += text.len();
                    chunks.extend(super::super::retrieve::chunks(
                        &path.display().to_string(),
                        &text,
                        &Default::default(),
                    ));
                }
            }
        }
        let start = std::time::Instant::now();
        let postings = Postings::new(chunks.iter().map(|chunk| chunk.text.as_str()));
        let rate = bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
        let query = &chunks[chunks.len() / 2].text;
        let start = std::time::Instant::now();
        let n = postings.scores(query).len();
        let ms = start.elapsed().as_secs_f64() * 1e3;
        eprintln!("{} pieces, {:.1} MB: {rate:.1} MB/s; {n} found in {ms:.1} ms", chunks.len(), bytes as f64 / 1e6);
        // as long as it would take among half a million
        let ms_of_many = ms * 500_000.0 / chunks.len() as f64;
        assert!(rate >= 10.0 && ms_of_many <= 50.0, "{rate:.1} MB/s, {ms_of_many:.0} ms");
    }
}
