//! BM25 over identifiers, in memory: for each word the pieces that have it, and how often. The crate `bm25` keeps sets of
//! pieces, and is too slow for the code of a large project (docs/aacr.md, "How right and how fast it is").

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    ops::Range,
};

/// How soon more of the same word counts no more, and how much longer pieces are held back.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How often a word stands in a piece is kept in a byte; what is more has a place of its own.
const MANY: u8 = u8::MAX;

/// How many entries of a list are read in the time in which one of them is looked up.
const LOOK_UP: usize = 16;

/// By how much a sum may be wrong before two pieces are told apart by it.
const ROUNDING: f64 = 1e-6;

/// What pieces can be found by. An entry says of a word and a piece how often one has the other.
#[derive(Debug, Default)]
pub struct Postings {
    /// The number of each word, by its hash: of three million words two share one with a probability below one in a million.
    words: HashMap<u64, u32>,
    /// By word: where its entries end; those of the next begin there.
    ends: Vec<u32>,
    /// By entry: the piece; those of a word are in order.
    pieces: Vec<u32>,
    /// By entry: how often, or [`MANY`].
    times: Vec<u8>,
    /// How often, where a byte does not say it.
    many: HashMap<usize, u32>,
    /// By piece: by how much its length holds it back.
    norms: Vec<f32>,
}

/// What was read of the pieces: their words one piece after the other.
#[derive(Default)]
struct Read {
    words: HashMap<u64, u32>,
    /// By word: in how many pieces it is.
    counts: Vec<u32>,
    /// Of each piece its words in the order of their numbers, each by how much its number is above that of the one before, and how often:
    /// whole numbers of as few bytes as they need, since this stands beside all that is made of it.
    entries: Vec<u8>,
    /// By piece: how many entries, and how many words.
    lengths: Vec<(u32, u32)>,
}

impl Read {
    fn add(&mut self, text: &str, of_piece: &mut Vec<u32>) {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        of_piece.clear();
        words(text, |word| {
            let next = self.words.len() as u32;
            of_piece.push(*self.words.entry(hasher.hash_one(word)).or_insert(next));
        });
        of_piece.sort_unstable();
        self.counts.resize(self.words.len(), 0);
        let (mut before, mut n) = (0, 0);
        for same in of_piece.chunk_by(|a, b| a == b) {
            self.counts[same[0] as usize] += 1;
            // one bit says whether it is there more than once
            put(&mut self.entries, (same[0] - before) << 1 | u32::from(same.len() > 1));
            if same.len() > 1 {
                put(&mut self.entries, same.len() as u32);
            }
            (before, n) = (same[0], n + 1);
        }
        self.lengths.push((n, of_piece.len() as u32));
    }
}

/// Adds a number, seven bits a byte, the low ones first.
fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number that [`put`] has added.
fn take<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> u32 {
    let (mut number, mut bits) = (0, 0);
    for byte in bytes {
        number |= u32::from(byte & 0x7f) << bits;
        bits += 7;
        if *byte < 0x80 {
            break;
        }
    }
    number
}

/// A word of a question.
struct Term {
    /// Its entries.
    entries: Range<usize>,
    /// What it counts where it makes up a whole piece: no piece has more of it.
    most: f64,
}

impl Postings {
    /// Of texts, which are called by their places.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Postings {
        let (mut read, mut of_piece) = (Read::default(), Vec::new());
        texts.into_iter().for_each(|text| read.add(text.as_ref(), &mut of_piece));
        // where the entries of each word begin; each place moves on until it is where they end
        let (mut ends, mut sum) = (read.counts, 0);
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let (mut pieces, mut times, mut many) = (vec![0; sum as usize], vec![0; sum as usize], HashMap::new());
        let mut entries = read.entries.iter();
        for (piece, (n, _)) in read.lengths.iter().enumerate() {
            let mut word = 0;
            for _ in 0..*n {
                let entry = take(&mut entries);
                word += entry >> 1;
                let n = if entry & 1 == 1 { take(&mut entries) } else { 1 };
                let to = ends[word as usize] as usize;
                ends[word as usize] += 1;
                (pieces[to], times[to]) = (piece as u32, u8::try_from(n).unwrap_or(MANY));
                if times[to] == MANY {
                    many.insert(to, n);
                }
            }
        }
        let n_words: f64 = read.lengths.iter().map(|(_, words)| f64::from(*words)).sum();
        let mean = n_words / read.lengths.len().max(1) as f64;
        let norm = |(_, words): &(u32, u32)| (K1 * (1.0 - B + B * f64::from(*words) / mean)) as f32;
        let norms = read.lengths.iter().map(norm).collect();
        Postings { words: read.words, ends, pieces, times, many, norms }
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn n_entries(&self) -> usize {
        self.pieces.len()
    }

    /// The words of a text that there are, the rarest first. A word counts once, however often the text has it.
    fn terms(&self, text: &str) -> Vec<Term> {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut wanted: Vec<u32> = Vec::new();
        words(text, |word| wanted.extend(self.words.get(&hasher.hash_one(word))));
        wanted.sort_unstable();
        wanted.dedup();
        let term = |word: u32| {
            let start = word.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
            let entries = start as usize..self.ends[word as usize] as usize;
            let (n, with) = (self.norms.len() as f64, entries.len() as f64);
            Term { most: (1.0 + (n - with + 0.5) / (with + 0.5)).ln() * (K1 + 1.0), entries }
        };
        let mut terms: Vec<Term> = wanted.into_iter().map(term).collect();
        terms.sort_by_key(|term| term.entries.len());
        terms
    }

    /// What an entry of a word adds to its piece.
    fn part(&self, term: &Term, entry: usize) -> f64 {
        let times = match self.times[entry] {
            MANY => f64::from(self.many[&entry]),
            times => f64::from(times),
        };
        term.most * times / (times + f64::from(self.norms[self.pieces[entry] as usize]))
    }

    /// The pieces with the highest scores, at most so many, of those that have a word of a text and, as far as they are `doubtful`, are
    /// kept: the best first, those that are as good in their order. Words that are in many pieces are looked up only in those that can
    /// still be among the first.
    pub fn best(
        &self,
        text: &str,
        n: usize,
        doubtful: &Range<usize>,
        keep: impl Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let terms = self.terms(text);
        let mut scores = vec![0.0f64; self.norms.len()];
        let mut found: Vec<u32> = Vec::new();
        let mut n_read = 0;
        for (at, term) in terms.iter().enumerate() {
            // looking takes as long as reading so many entries
            if n_read > found.len() {
                n_read = 0;
                if let Some(left) = self.left(&scores, &found, n, &terms[at..]) {
                    found = left;
                    terms[at..].iter().for_each(|term| self.look_up(term, &found, &mut scores));
                    break;
                }
            }
            n_read += term.entries.len();
            for entry in term.entries.clone() {
                let piece = self.pieces[entry];
                let score = &mut scores[piece as usize];
                if *score == 0.0 {
                    match !doubtful.contains(&(piece as usize)) || keep(piece as usize) {
                        true => found.push(piece),
                        false => *score = f64::NEG_INFINITY,
                    }
                }
                *score += self.part(term, entry);
            }
        }
        let mut best: Vec<(usize, f32)> =
            found.into_iter().map(|piece| (piece as usize, scores[piece as usize] as f32)).collect();
        let order = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if n < best.len() {
            best.select_nth_unstable_by(n, order);
            best.truncate(n);
        }
        best.sort_unstable_by(order);
        best
    }

    /// The pieces that can still be among the first `n`, in their order, whatever they have of the remaining words; none where others
    /// could come among them, or where looking the words up would take longer than reading on.
    fn left(&self, scores: &[f64], found: &[u32], n: usize, remaining: &[Term]) -> Option<Vec<u32>> {
        let mut known: Vec<f64> = found.iter().map(|piece| scores[*piece as usize]).collect();
        let place = n.checked_sub(1).filter(|place| *place < known.len())?;
        let (_, last, _) = known.select_nth_unstable_by(place, |a, b| b.total_cmp(a));
        let least = *last * (1.0 - ROUNDING) - remaining.iter().map(|term| term.most).sum::<f64>();
        if least <= 0.0 {
            return None;
        }
        let mut left: Vec<u32> = found.iter().copied().filter(|piece| scores[*piece as usize] >= least).collect();
        let n_entries: usize = remaining.iter().map(|term| term.entries.len()).sum();
        left.sort_unstable();
        (left.len() * remaining.len() * LOOK_UP < n_entries).then_some(left)
    }

    /// Adds a word to pieces, which are in order.
    fn look_up(&self, term: &Term, pieces: &[u32], scores: &mut [f64]) {
        let mut from = term.entries.start;
        for piece in pieces {
            from += self.pieces[from..term.entries.end].partition_point(|other| other < piece);
            if from < term.entries.end && self.pieces[from] == *piece {
                scores[*piece as usize] += self.part(term, from);
            }
        }
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
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const ALL: Range<usize> = 0..usize::MAX;

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
    fn numbers_come_back_as_they_were() {
        let numbers = [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        let mut bytes = bytes.iter();
        assert_eq!(numbers.map(|_| take(&mut bytes)), numbers);
        assert_eq!(bytes.len(), 0);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(Postings::new([""; 0]).best("a", 3, &ALL, |_| true), []);
        assert_eq!(Postings::new(["a b", "c"]).best("d", 3, &ALL, |_| true), []);
        assert_eq!(Postings::new(["a b", "c"]).best("c c", 3, &ALL, |_| true).len(), 1);
        assert_eq!(Postings::new(["a b", "c"]).best("c", 3, &ALL, |_| false), []);
        assert_eq!(Postings::new(["a b", "c"]).best("c", 0, &ALL, |_| true), []);
    }

    /// Words as they are in code: a few are nearly everywhere, most are rare.
    fn code(pieces: usize, rng: &mut ChaCha8Rng) -> Vec<String> {
        let word = |rng: &mut ChaCha8Rng| format!("w{}", (rng.random::<f64>().powi(4) * 3000.0) as usize);
        (0..pieces)
            .map(|_| (0..rng.random_range(5..60)).map(|_| word(rng)).collect::<Vec<_>>().join(" "))
            .chain(["w1 ".repeat(300), "w1 ".repeat(255)])
            .collect()
    }

    #[test]
    fn the_first_are_those_of_adding_up_everything() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let texts = code(3000, &mut rng);
        let postings = Postings::new(&texts);
        let lengths: Vec<f64> = texts.iter().map(|text| of(text).len() as f64).collect();
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        let mut n_cut = 0;
        for query in code(60, &mut rng).iter().chain(&texts[3000..]) {
            let mut sums = vec![0.0; texts.len()];
            let words: std::collections::BTreeSet<String> = of(query).into_iter().collect();
            for word in &words {
                let times: Vec<f64> =
                    texts.iter().map(|text| text.split(' ').filter(|other| other == word).count() as f64).collect();
                let with = times.iter().filter(|times| **times > 0.0).count() as f64;
                let idf = (1.0 + (texts.len() as f64 - with + 0.5) / (with + 0.5)).ln();
                for (i, times) in times.iter().enumerate() {
                    sums[i] += idf * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[i] / mean));
                }
            }
            let mut slow: Vec<usize> = (0..texts.len()).filter(|i| i % 7 != 0 && sums[*i] > 0.0).collect();
            slow.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]).then(a.cmp(b)));
            for n in [1, 3, 1000] {
                let best = postings.best(query, n, &ALL, |piece| piece % 7 != 0);
                assert_eq!(best.len(), slow.len().min(n));
                for ((piece, score), want) in best.iter().zip(&slow) {
                    // pieces whose sums differ by less than a score can tell may change places
                    assert!((sums[*piece] - sums[*want]).abs() < 1e-6 * sums[*want], "{query}");
                    assert!((f64::from(*score) - sums[*piece]).abs() < 1e-6 * sums[*piece].max(1.0), "{query}");
                }
            }
            let terms = postings.terms(query);
            let (mut scores, mut found) = (vec![0.0; texts.len()], Vec::new());
            for (at, term) in terms.iter().enumerate() {
                n_cut += usize::from(postings.left(&scores, &found, 1, &terms[at..]).is_some());
                for entry in term.entries.clone() {
                    let piece = postings.pieces[entry];
                    found.extend((scores[piece as usize] == 0.0).then_some(piece));
                    scores[piece as usize] += postings.part(term, entry);
                }
            }
        }
        assert!(n_cut > 0, "no question was cut short, so this shows nothing of it");
    }
}
