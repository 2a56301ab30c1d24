//! Which twins are taken: one a statement, and no edit more often than its opposite.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::chance;
use crate::roads::{Balance, ROADS, Twin};

/// A statement with a twin that could be taken.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The statement's place among all.
    pub statement: usize,
    /// What it is called among the edits of roads that join two statements.
    pub key: &'a str,
    /// What was said.
    pub text: &'a str,
    /// The twin.
    pub twin: &'a Twin,
}

/// The pairs that are taken, in the order of the statements. Roads take one after the other, and a statement is taken once.
pub fn select<'a>(candidates: &[Candidate<'a>], seed: u64) -> Vec<Candidate<'a>> {
    let mut used: HashSet<usize> = HashSet::new();
    let mut taken = Vec::new();
    for road in ROADS {
        let free = candidates.iter().filter(|one| one.twin.road == road.name() && !used.contains(&one.statement));
        let mut free: Vec<Candidate<'a>> = free.copied().collect();
        // a stable sort: the twins of a statement keep their order
        free.sort_by_cached_key(|one| chance(seed, &[road.name(), one.key]));
        let chosen = match road.balance() {
            Balance::Exact => by_words(exact(&free)),
            Balance::Mutual => mutual(&free),
            Balance::Words => by_words(first_of_each(&free)),
        };
        used.extend(chosen.iter().map(|one| one.statement));
        taken.extend(chosen);
    }
    taken.sort_by_key(|one| one.statement);
    taken
}

fn first_of_each<'a>(free: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    let mut seen = HashSet::new();
    free.iter().filter(|one| seen.insert(one.statement)).copied().collect()
}

/// Of each edit as many as of its opposite.
fn exact<'a>(free: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    let mut by_edit: BTreeMap<(&str, &str), Vec<Candidate<'a>>> = BTreeMap::new();
    for one in free {
        if let Some((from, to)) = &one.twin.edit {
            by_edit.entry((from, to)).or_default().push(*one);
        }
    }
    let mut used = HashSet::new();
    let mut taken = Vec::new();
    for (&(from, to), there) in by_edit.iter().filter(|((from, to), _)| from <= to) {
        let unused = |list: &[Candidate<'a>]| -> Vec<Candidate<'a>> {
            let free = list.iter().filter(|one| !used.contains(&one.statement));
            first_of_each(&free.copied().collect::<Vec<_>>())
        };
        let there = unused(there);
        // a statement with both words could go either way, and goes one
        let ways: HashSet<usize> = there.iter().map(|one| one.statement).collect();
        let mut back = by_edit.get(&(to, from)).map_or(Vec::new(), |list| unused(list));
        back.retain(|one| !ways.contains(&one.statement));
        let n = if from == to { there.len() } else { there.len().min(back.len()) };
        for one in there.into_iter().take(n).chain(back.into_iter().take(n)) {
            used.insert(one.statement);
            taken.push(one);
        }
    }
    taken
}

/// Two statements each of which is the other one's twin.
fn mutual<'a>(free: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    let mut by_edit: HashMap<(&str, &str), Candidate<'a>> = HashMap::new();
    for one in free {
        if let Some((_, to)) = &one.twin.edit {
            by_edit.insert((one.key, to), *one);
        }
    }
    let mut used = HashSet::new();
    let mut taken = Vec::new();
    for one in free {
        let Some((_, to)) = &one.twin.edit else { continue };
        let Some(other) = by_edit.get(&(to.as_str(), one.key)) else { continue };
        if !used.contains(&one.statement) && !used.contains(&other.statement) {
            used.extend([one.statement, other.statement]);
            taken.extend([*one, *other]);
        }
    }
    taken
}

/// How much more frequent on one side a word may be, as a share of how often an edit puts or takes it.
const TOLERATED: f64 = 0.1;

/// Drops pairs until no word, and no two words together, are much more frequent among the true ones or among the twins.
fn by_words(mut pairs: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    // a first pass may leave words that a later one can still bring down
    const PASSES: usize = 8;
    for _ in 0..PASSES {
        let mut sums: HashMap<String, (i64, i64)> = HashMap::new();
        for pair in &pairs {
            for (word, delta) in deltas(pair) {
                let sum = sums.entry(word).or_default();
                *sum = (sum.0 + delta, sum.1 + delta.abs());
            }
        }
        let before = pairs.len();
        pairs.retain(|pair| {
            let deltas = deltas(pair);
            let gain: f64 = deltas
                .iter()
                .map(|(word, delta)| {
                    let (sum, n) = sums[word];
                    excess(sum, n) - excess(sum - delta, n - delta.abs())
                })
                .sum();
            if gain > 0.0 {
                for (word, delta) in deltas {
                    if let Some(sum) = sums.get_mut(&word) {
                        *sum = (sum.0 - delta, sum.1 - delta.abs());
                    }
                }
            }
            gain <= 0.0
        });
        if pairs.len() == before {
            break;
        }
    }
    pairs
}

/// How far a word's surplus is beyond what is tolerated, squared.
fn excess(sum: i64, n: i64) -> f64 {
    let beyond = sum.unsigned_abs() as f64 - (TOLERATED * n as f64).max(1.0);
    beyond.max(0.0).powi(2)
}

/// How often more the twin has a word, or two words together, than the statement.
fn deltas(pair: &Candidate<'_>) -> BTreeMap<String, i64> {
    let mut deltas = BTreeMap::new();
    for (text, sign) in [(pair.twin.text.as_str(), 1), (pair.text, -1)] {
        let words = crate::tells::tokens(text);
        let two = words.windows(2).map(|two| two.join(" ")).collect::<Vec<_>>();
        for word in words.into_iter().chain(two) {
            *deltas.entry(word).or_default() += sign;
        }
    }
    deltas.retain(|_, delta| *delta != 0);
    deltas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roads::About;
    use crate::truth::Fact;

    fn twin(road: &str, text: &str, edit: Option<(&str, &str)>) -> Twin {
        let edit = edit.map(|(from, to)| (from.to_owned(), to.to_owned()));
        Twin { road: road.into(), text: text.into(), about: About::Same, edit, fact: Fact::Open }
    }

    fn taken(twins: &[(&str, &str, Twin)]) -> Vec<usize> {
        let candidate = |(statement, (key, text, twin)): (usize, &'_ (&'static str, &'static str, Twin))| {
            // the twins outlive the test
            Candidate { statement, key, text, twin: Box::leak(Box::new(twin.clone())) }
        };
        let all: Vec<(&'static str, &'static str, Twin)> = twins
            .iter()
            .map(|(key, text, twin)| (&*key.to_string().leak(), &*text.to_string().leak(), twin.clone()))
            .map(|(key, text, twin)| (key as &'static str, text as &'static str, twin))
            .collect();
        let candidates: Vec<Candidate<'_>> = all.iter().enumerate().map(candidate).collect();
        select(&candidates, 0).iter().map(|one| one.statement).collect()
    }

    #[test]
    fn an_edit_is_as_frequent_as_its_opposite() {
        let add = |key| (key, "Add x", twin("direction", "Remove x", Some(("add", "remove"))));
        let remove = |key| (key, "Remove y", twin("direction", "Add y", Some(("remove", "add"))));
        assert_eq!(taken(&[add("a"), add("b"), add("c"), remove("d")]).len(), 2);
        assert_eq!(taken(&[add("a"), add("b")]).len(), 0);
    }

    #[test]
    fn a_statement_that_could_go_both_ways_is_taken_once() {
        let there = twin("condition", "Stop unless x if y", Some(("if", "unless")));
        let back = twin("condition", "Stop if x if y", Some(("unless", "if")));
        let one = |statement, key, twin| Candidate { statement, key, text: "Stop if x unless y", twin };
        assert!(select(&[one(0, "a", &there), one(0, "a", &back)], 0).is_empty());
        let three = [one(0, "a", &there), one(0, "a", &back), one(1, "b", &back)];
        assert_eq!(exact(&three).iter().map(|one| one.statement).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn neighbours_are_taken_together() {
        let of = |own, other| (own, "t", twin("neighbour", "u", Some((own, other))));
        assert_eq!(taken(&[of("a", "b"), of("b", "c"), of("c", "b")]), [1, 2]);
    }

    #[test]
    fn no_word_is_on_one_side() {
        let of = |key, text, other| (key, text, twin("name", other, None));
        let pairs: Vec<_> = ["a", "b", "c", "d"].map(|key| of(key, "Fix one", "Fix two")).into();
        assert_eq!(taken(&pairs).len(), 1, "one more is tolerated");
        let both = [
            of("a", "Fix one", "Fix two"),
            of("b", "Fix two", "Fix one"),
            of("c", "Fix one", "Fix two"),
            of("d", "Fix two", "Fix one"),
        ];
        assert_eq!(taken(&both).len(), 4);
    }
}
