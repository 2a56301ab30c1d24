//! Every word of a text with where it stands in the diff.

use std::collections::{HashMap, HashSet};

use strsim::damerau_levenshtein;

use super::{
    claims::{Claim, claims},
    index::{Index, Places, code_of},
    lexicon::{is_common, is_common_key, is_stop},
    words::{Mark, Word, WordKind, Words, names_of_code, pieces},
};
use crate::diff::Diff;

/// Longest name that is compared letter by letter, and how many names of a text and of a diff are.
const LONGEST_COMPARED: usize = 48;
const COMPARED_OF_TEXT: usize = 200;
const COMPARED_OF_DIFF: usize = 5000;

/// Words of a text and of a diff among which the longest quotation is looked for.
const RUN_OF_TEXT: usize = 1000;
const RUN_OF_DIFF: usize = 10_000;

/// How far a word of the text is in the diff.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// It is there as it is written; a word of prose in any inflection.
    Exactly,
    /// Each piece of its path is there, if not the whole.
    InPieces,
    /// It is there in another case or with other joints, such as `maxSize` for `max_size`.
    SpeltAs(String),
    /// It is not there, but a name of few other letters is.
    Near {
        /// The name that is there.
        name: String,
        /// How many letters make the one the other, by Damerau and Levenshtein's distance.
        distance: usize,
    },
    /// It is not there, but this share of the words that it is composed of.
    Parts(f64),
    /// It is the number of a line that the diff shows.
    AsLineNumber,
    /// Nothing like it is there.
    Nowhere,
}

/// A word of the text that says something, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// Index of its word in [`Words::words`].
    pub word: usize,
    /// How much it says, 0 to 2: rare words and names more than common ones.
    pub weight: f64,
    /// How far it is in the diff.
    pub found: Found,
    /// Where; empty for what is not there as written.
    pub places: Places,
}

impl Mention {
    /// The share of the word that is in the diff, 0 to 1; a near miss is none of it.
    pub fn share_found(&self) -> f64 {
        match self.found {
            Found::Exactly | Found::InPieces | Found::SpeltAs(_) | Found::AsLineNumber => 1.0,
            Found::Parts(share) => share,
            Found::Near { .. } | Found::Nowhere => 0.0,
        }
    }
}

/// What a text says of a change, word by word and claim by claim.
#[derive(Debug, Clone)]
pub struct Alignment {
    /// The text taken apart into words and quoted code.
    pub words: Words,
    /// Its words that say something, in order.
    pub mentions: Vec<Mention>,
    /// Statements in it that the diff can confirm or refute.
    pub claims: Vec<Claim>,
    /// Longest run of consecutive words of the text that stands on one line of the diff: words, and the line.
    pub longest_quotation: (usize, Option<usize>),
    /// Of the diff's lines the one that has most of the text's weight: that share, and the line.
    pub best_line: (f64, Option<usize>),
    /// The rare words of the changed lines: how many, and how many of them the text mentions.
    pub coverage: (usize, usize),
}

impl Alignment {
    /// Looks every word of a text up in a diff.
    pub fn new(diff: &Diff, text: &str) -> Self {
        let words = Words::of_text(text);
        let index = Index::new(diff);
        let mut finder = Finder { diff, index: &index, known: HashMap::new(), compared: 0 };
        let mentions: Vec<Mention> = words
            .words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.kind != WordKind::Stop)
            .map(|(i, word)| finder.mention(text, &words, i, word))
            .collect();
        let claims = claims(diff, text, &words, &mentions);
        Alignment {
            longest_quotation: longest_quotation(diff, text, &words),
            best_line: best_line(&mentions),
            coverage: coverage(&index, &words),
            words,
            mentions,
            claims,
        }
    }

    /// The word of the text that a mention is about.
    pub fn word_of(&self, mention: &Mention) -> &Word {
        &self.words.words[mention.word]
    }

    /// Names of the text that the diff does not have, nor any like them.
    pub fn absent_names(&self) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(|m| self.word_of(m).kind.is_name() && m.found == Found::Nowhere)
    }

    /// Names of the text that are misspelt names of the diff.
    pub fn near_misses(&self) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(|m| matches!(m.found, Found::Near { .. }))
    }
}

/// How much a word says.
fn weight(word: &str, kind: WordKind) -> f64 {
    match kind {
        WordKind::Stop => 0.0,
        WordKind::Common => 0.3,
        WordKind::Plain => 1.0,
        WordKind::Name | WordKind::Number if word.len() == 1 => 0.5,
        WordKind::Number => 1.5,
        WordKind::Name if is_common(&word.to_lowercase()) => 1.0,
        WordKind::Name | WordKind::File => 2.0,
    }
}

/// Looks words up, each once.
struct Finder<'a> {
    diff: &'a Diff,
    index: &'a Index,
    known: HashMap<(String, bool), (Found, Places)>,
    /// Names that were compared letter by letter.
    compared: usize,
}

impl Finder<'_> {
    fn mention(&mut self, text: &str, words: &Words, index: usize, word: &Word) -> Mention {
        let written = &text[word.span.clone()];
        let as_line = word.kind == WordKind::Number && follows_line(text, words, index);
        let key = (written.to_owned(), word.kind.is_name());
        let (found, places) = match self.known.get(&key).filter(|_| !as_line) {
            Some(known) => known.clone(),
            None => {
                let result = if as_line { self.line_number(written) } else { None };
                let result = result.unwrap_or_else(|| self.find(written, word));
                if !as_line {
                    self.known.insert(key, result.clone());
                }
                result
            }
        };
        Mention { word: index, weight: weight(written, word.kind), found, places }
    }

    fn find(&mut self, written: &str, word: &Word) -> (Found, Places) {
        if let Some(places) = self.index.name(written) {
            return (Found::Exactly, places.clone());
        }
        if !word.kind.is_name() {
            let places = word.parts.first().and_then(|key| self.index.key(key));
            return places.map_or((Found::Nowhere, Places::default()), |places| (Found::Exactly, places.clone()));
        }
        if word.kind == WordKind::File && self.diff.files().iter().any(|file| file.ends_with(written)) {
            return (Found::Exactly, Places { header: 1, ..Places::default() });
        }
        let of_pieces: Option<Vec<&Places>> = pieces(written).map(|piece| self.index.name(piece)).collect();
        if let Some(last) = of_pieces.as_ref().and_then(|places| places.last()) {
            return (Found::InPieces, (*last).clone());
        }
        if let Some((name, places)) = self.index.spelt(written) {
            return (Found::SpeltAs(name.to_owned()), places.clone());
        }
        if word.kind == WordKind::Number {
            return (Found::Nowhere, Places::default());
        }
        if let Some((name, distance)) = self.near(written) {
            return (Found::Near { name, distance }, Places::default());
        }
        let n_found = word.parts.iter().filter(|part| self.index.key(part).is_some()).count();
        match n_found {
            0 => (Found::Nowhere, Places::default()),
            n => (Found::Parts(n as f64 / word.parts.len() as f64), Places::default()),
        }
    }

    /// The diff's name that takes fewest letters to change: at most one in five, of names of five letters or more.
    fn near(&mut self, written: &str) -> Option<(String, usize)> {
        let n = written.chars().count();
        self.compared += 1;
        if !(5..=LONGEST_COMPARED).contains(&n) || self.compared > COMPARED_OF_TEXT {
            return None;
        }
        let most = n / 5;
        let candidates = self
            .index
            .names()
            .take(COMPARED_OF_DIFF)
            .filter(|(name, _)| name.len() <= 4 * LONGEST_COMPARED && name.chars().count().abs_diff(n) <= most);
        let near = candidates.map(|(name, _)| (damerau_levenshtein(written, name), name));
        // the order of a hash map must not decide among equals
        near.filter(|&(distance, _)| distance <= most).min().map(|(distance, name)| (name.to_owned(), distance))
    }

    fn line_number(&self, written: &str) -> Option<(Found, Places)> {
        let number: usize = written.parse().ok()?;
        let line = self.diff.lines().iter().position(|line| line.new == Some(number) || line.old == Some(number))?;
        Some((Found::AsLineNumber, Places { context: 1, lines: vec![line], ..Places::default() }))
    }
}

/// Whether the word before is `line` or `lines`.
fn follows_line(text: &str, words: &Words, index: usize) -> bool {
    let before = index.checked_sub(1).map(|i| &text[words.words[i].span.clone()]);
    before.is_some_and(|word| word.eq_ignore_ascii_case("line") || word.eq_ignore_ascii_case("lines"))
}

/// The share of the text's weight on the line that has most of it.
fn best_line(mentions: &[Mention]) -> (f64, Option<usize>) {
    let total: f64 = mentions.iter().map(|m| m.weight).sum();
    let mut of_line: HashMap<usize, f64> = HashMap::new();
    for mention in mentions {
        for &line in &mention.places.lines {
            *of_line.entry(line).or_default() += mention.weight;
        }
    }
    let best = of_line.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    best.map_or((0.0, None), |(line, weight)| (weight / total, Some(line)))
}

/// How many rare words the changed lines have, and how many of them the text mentions.
fn coverage(index: &Index, words: &Words) -> (usize, usize) {
    let said: HashSet<&str> = words.words.iter().flat_map(|word| &word.parts).map(String::as_str).collect();
    let rare = |key: &str| key.len() > 2 && !is_stop(key) && !is_common_key(key);
    let of_change = index.keys().filter(|(key, places)| places.changed() && rare(key));
    of_change.fold((0, 0), |(n, mentioned), (key, _)| (n + 1, mentioned + usize::from(said.contains(key))))
}

/// The longest run of consecutive words that a line of the diff has too, in any case.
fn longest_quotation(diff: &Diff, text: &str, words: &Words) -> (usize, Option<usize>) {
    let mut ids: HashMap<String, usize> = HashMap::new();
    let of_text: Vec<usize> = words
        .words
        .iter()
        .filter(|word| word.snippet.is_none_or(|i| words.snippets[i].mark != Mark::Fence))
        .take(RUN_OF_TEXT)
        .map(|word| {
            let n = ids.len();
            *ids.entry(text[word.span.clone()].to_lowercase()).or_insert(n)
        })
        .collect();
    let (mut longest, mut left) = ((0, None), RUN_OF_DIFF);
    let mut before = vec![0_usize; of_text.len() + 1];
    for line in 0..diff.lines().len() {
        let code = code_of(diff, line);
        before.fill(0);
        for run in names_of_code(code).into_iter().take(left) {
            left -= 1;
            let Some(id) = ids.get(&code[run].to_lowercase()) else {
                before.fill(0);
                continue;
            };
            // runs that end at this word of the line and at each word of the text, from the last one backwards
            for t in (0..of_text.len()).rev() {
                before[t + 1] = if of_text[t] == *id { before[t] + 1 } else { 0 };
                if before[t + 1] > longest.0 {
                    longest = (before[t + 1], Some(line));
                }
            }
        }
    }
    longest
}
