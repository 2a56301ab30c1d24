//! A phrase taken apart into terms, each with the side of the change that it stands on.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::grounding::{is_common, is_stop, stem};

use super::{Scene, phrase::pattern, thing::is_comment};
use crate::{
    lexicon::{short_forms, stands_for},
    mention::{Mention, MentionKind},
    occurrences::{Places, stems},
};

/// How much a term says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A word of every change.
    Common,
    /// A word of this one.
    Word,
    /// A name, a value or words between quotes.
    Name,
}

/// The side of a change that a term stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Added lines alone.
    New,
    /// Removed lines alone.
    Old,
    /// Added lines more often than removed ones.
    Came,
    /// Removed lines more often than added ones.
    Went,
    /// Both as often, or unchanged lines.
    Both,
    /// No line.
    Nowhere,
}

/// A name or a word of a phrase.
#[derive(Debug, Clone)]
pub struct Term<'c> {
    /// What it is compared by: its stem, or the name.
    pub key: String,
    /// As the sentence has it, in lower case unless it is a name.
    pub written: String,
    /// What it says by itself.
    pub weight: Weight,
    /// What is named, if it is no mere word.
    pub mention: Option<&'c Mention>,
    /// Its lines.
    pub places: Places,
}

impl Term<'_> {
    /// Whether the change has it as an identifier or a whole string, in any case.
    pub fn is_exact(&self, scene: &Scene<'_, '_>) -> bool {
        let capital = self
            .written
            .chars()
            .take(1)
            .flat_map(char::to_uppercase)
            .chain(self.written.chars().skip(1))
            .collect::<String>();
        [&self.written, &capital].into_iter().any(|name| scene.change.occurrences.name(name).is_some())
    }

    /// Whether a piece of code, whose words' stems are `parts`, has it.
    pub fn is_in(&self, code: &str, parts: &[String]) -> bool {
        match self.mention {
            Some(mention) => code.contains(mention.last()),
            None if self.weight == Weight::Name => code.contains(&self.written),
            None => {
                parts.contains(&self.key)
                    || short_forms(&self.written).any(|short| parts.iter().any(|part| part == short))
            }
        }
    }

    /// Whether it is an identifier, whose words' stems are `parts`, or one of its words.
    pub fn is_of_name(&self, name: &str, parts: &[String]) -> bool {
        match self.mention {
            Some(mention) => mention.last() == name,
            None => self.key == name || parts.contains(&self.key),
        }
    }

    /// The side that it stands on.
    pub fn side(&self) -> Side {
        let places = &self.places;
        if places.only_added() {
            Side::New
        } else if places.only_removed() {
            Side::Old
        } else if places.came() {
            Side::Came
        } else if places.went() {
            Side::Went
        } else if places.context.is_empty() && places.added.is_empty() {
            Side::Nowhere
        } else {
            Side::Both
        }
    }
}

static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"@\d+|[a-z][a-z0-9_]*(?:'[a-z]+)?"));

/// Words of a sentence on a change, not of what it speaks of.
const TALK: [&str; 23] = [
    "comment",
    "doc",
    "docs",
    "docstring",
    "changelog",
    "readme",
    "nit",
    "here",
    "change",
    "commit",
    "diff",
    "patch",
    "thing",
    "way",
    "kind",
    "sort",
    "bit",
    "lot",
    "place",
    "part",
    "case",
    "side",
    "back",
];

/// Words that code is written with: on lines of code they say more than in prose.
const KEYWORDS: [&str; 14] = [
    "interface",
    "class",
    "struct",
    "enum",
    "async",
    "await",
    "throw",
    "raise",
    "const",
    "static",
    "public",
    "private",
    "unless",
    "assert",
];

/// The terms of a part of the clause's skeleton, in order, each once.
pub fn terms<'c>(scene: &'c Scene<'_, '_>, part: &str) -> Vec<Term<'c>> {
    let words: Vec<regex::Match<'_>> = WORD.find_iter(part).collect();
    let mut found: Vec<Term<'c>> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let compound = compound(scene, part, &words[at..]);
        let n_words = compound.as_ref().map_or(1, |(_, n)| *n);
        let word = word.as_str();
        let term = match compound {
            Some((term, _)) => Some(term),
            None if word.starts_with('@') => named(scene, word),
            None => spoken(scene, word.strip_suffix("'s").unwrap_or(word)),
        };
        found.extend(term.filter(|term| !found.iter().any(|other| other.key == term.key)));
        at += n_words;
    }
    found
}

/// Most words that are read as one identifier.
const LONGEST: usize = 4;

/// The identifier that the first words of a list are the parts of, with how many: "content type" is `contentType`.
fn compound<'c>(scene: &'c Scene<'_, '_>, part: &str, words: &[regex::Match<'_>]) -> Option<(Term<'c>, usize)> {
    const FEWEST_LETTERS: usize = 6;
    let adjoins = |pair: &[regex::Match<'_>]| matches!(&part[pair[0].end()..pair[1].start()], " " | "-");
    let is_word = |word: &&regex::Match<'_>| word.as_str().chars().all(|c| c.is_ascii_alphabetic());
    let n = words.iter().take(LONGEST).take_while(is_word).count();
    let n = words[..n].windows(2).take_while(|pair| adjoins(pair)).count() + usize::from(n > 0);
    (2..=n).rev().find_map(|n| {
        let letters: String = words[..n].iter().map(|word| word.as_str()).collect();
        // an article is no part of a name
        if letters.len() < FEWEST_LETTERS || is_stop(words[0].as_str()) || is_stop(words[n - 1].as_str()) {
            return None;
        }
        let names = scene.change.occurrences.spelt(&letters);
        let name = names.iter().find(|name| stems(name).len() > 1)?;
        let places = names.iter().filter_map(|name| scene.change.occurrences.name(name)).cloned().reduce(merged)?;
        let key = name.clone();
        Some((Term { written: key.clone(), key, weight: Weight::Name, mention: None, places }, n))
    })
}

fn named<'c>(scene: &'c Scene<'_, '_>, placeholder: &str) -> Option<Term<'c>> {
    let mention = scene.clause.mention(placeholder)?;
    if mention.kind == MentionKind::File {
        return None;
    }
    let found = scene.change.find(mention);
    let places = found.exactly().cloned().unwrap_or_else(|| in_words(scene, mention));
    Some(Term {
        key: mention.code.clone(),
        written: mention.code.clone(),
        weight: Weight::Name,
        mention: Some(mention),
        places,
    })
}

/// Where all the words of a name stand together that is not there as it is written: `CHAT_SKIP` of `Behavior_CHAT_SKIP`.
fn in_words(scene: &Scene<'_, '_>, mention: &Mention) -> Places {
    let words = stems(&mention.code);
    if mention.kind != MentionKind::Name || words.len() < 2 {
        return Places::default();
    }
    let has = |line: usize| {
        let parts = stems(scene.change.code(line));
        parts.windows(words.len()).any(|run| run == words)
    };
    scene
        .change
        .places_where(|line| scene.change.diff.lines()[line].kind != veridiff_text::diff::LineKind::Header && has(line))
}

fn spoken<'c>(scene: &'c Scene<'_, '_>, word: &str) -> Option<Term<'c>> {
    if is_stop(word) || word.contains('\'') || TALK.contains(&word) {
        return None;
    }
    let key = stem(word);
    let weight = if is_common(word) && !KEYWORDS.contains(&word) { Weight::Common } else { Weight::Word };
    let others = short_forms(word).chain(stands_for(word)).map(stem);
    // "selection" of what is selected
    let others = others.chain(word.strip_suffix("ion").filter(|verb| verb.len() > 4).map(stem));
    let places =
        std::iter::once(key.clone()).chain(others).map(|key| places_of(scene, &key)).reduce(merged).unwrap_or_default();
    let places =
        if places.is_empty() { scene.change.occurrences.name(word).cloned().unwrap_or(places) } else { places };
    Some(Term { key, written: word.to_owned(), weight, mention: None, places })
}

/// The lines of both.
fn merged(one: Places, other: Places) -> Places {
    if other.is_empty() {
        return one;
    }
    let both = |a: &[usize], b: &[usize]| {
        let mut all = [a, b].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (added, removed) = (both(&one.added, &other.added), both(&one.removed, &other.removed));
    let (n_added, n_removed) = (added.len(), removed.len());
    Places {
        added,
        removed,
        context: both(&one.context, &other.context),
        files: both(&one.files, &other.files),
        n_added,
        n_removed,
    }
}

/// Where a word stands: lines of code, or comments where no code has it.
fn places_of(scene: &Scene<'_, '_>, key: &str) -> Places {
    let Some(all) = scene.change.occurrences.of_stem(key) else { return Places::default() };
    let is_code = |line: usize| !is_comment(scene.change.code(line));
    let has_code = all.added.iter().chain(&all.removed).chain(&all.context).any(|&line| is_code(line));
    if !has_code {
        return all.clone();
    }
    let lines = |lines: &[usize]| lines.iter().copied().filter(|&line| is_code(line)).collect::<Vec<_>>();
    let (added, removed, context) = (lines(&all.added), lines(&all.removed), lines(&all.context));
    let (n_added, n_removed) = (added.len(), removed.len());
    Places { added, removed, context, files: Vec::new(), n_added, n_removed }
}

/// Leaves out of each list the terms that the other has too.
pub fn apart<'c>(one: Vec<Term<'c>>, other: Vec<Term<'c>>) -> [Vec<Term<'c>>; 2] {
    let without = |list: &[Term<'c>], out: &[Term<'c>]| {
        list.iter().filter(|term| !out.iter().any(|other| other.key == term.key)).cloned().collect::<Vec<_>>()
    };
    [without(&one, &other), without(&other, &one)]
}

/// The lines, of those that `side` takes, that have most of a phrase's weight; none where they have less than a share of it.
pub fn best_lines(terms: &[Term<'_>], side: fn(&Places) -> Vec<usize>, least: f64) -> Vec<usize> {
    let weight = |term: &Term<'_>| match term.weight {
        Weight::Common => 0.4,
        Weight::Word => 1.0,
        Weight::Name => 2.0,
    };
    let total: f64 = terms.iter().map(weight).sum();
    let mut of_line: std::collections::BTreeMap<usize, f64> = std::collections::BTreeMap::new();
    for term in terms {
        for line in side(&term.places) {
            *of_line.entry(line).or_default() += weight(term);
        }
    }
    let most = of_line.values().copied().fold(0.0, f64::max);
    if most < least * total - 1e-9 || most <= 0.0 {
        return Vec::new();
    }
    of_line.into_iter().filter(|(_, weight)| most - weight < 1e-9).map(|(line, _)| line).collect()
}
