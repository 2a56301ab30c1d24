//! Words of prose for their opposites, negations in and out.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{Edit, EditKind};
use crate::mention::Mention;

/// Verbs and their opposites by base, third person, past and gerund. Which twins a statement has hangs on these; the
/// opposites that rules know are of operators and states in code, and no words of prose.
const VERBS: [[[&str; 4]; 2]; 18] = [
    [["add", "adds", "added", "adding"], ["remove", "removes", "removed", "removing"]],
    [["introduce", "introduces", "introduced", "introducing"], ["drop", "drops", "dropped", "dropping"]],
    [["create", "creates", "created", "creating"], ["delete", "deletes", "deleted", "deleting"]],
    [["enable", "enables", "enabled", "enabling"], ["disable", "disables", "disabled", "disabling"]],
    [["allow", "allows", "allowed", "allowing"], ["prevent", "prevents", "prevented", "preventing"]],
    [["increase", "increases", "increased", "increasing"], ["decrease", "decreases", "decreased", "decreasing"]],
    [["raise", "raises", "raised", "raising"], ["return", "returns", "returned", "returning"]],
    [["throw", "throws", "threw", "throwing"], ["return", "returns", "returned", "returning"]],
    [["accept", "accepts", "accepted", "accepting"], ["reject", "rejects", "rejected", "rejecting"]],
    [["start", "starts", "started", "starting"], ["stop", "stops", "stopped", "stopping"]],
    [["keep", "keeps", "kept", "keeping"], ["drop", "drops", "dropped", "dropping"]],
    [["include", "includes", "included", "including"], ["exclude", "excludes", "excluded", "excluding"]],
    [["show", "shows", "showed", "showing"], ["hide", "hides", "hid", "hiding"]],
    [["open", "opens", "opened", "opening"], ["close", "closes", "closed", "closing"]],
    [["append", "appends", "appended", "appending"], ["prepend", "prepends", "prepended", "prepending"]],
    [["skip", "skips", "skipped", "skipping"], ["run", "runs", "ran", "running"]],
    [["read", "reads", "read", "reading"], ["write", "writes", "wrote", "writing"]],
    [["succeed", "succeeds", "succeeded", "succeeding"], ["fail", "fails", "failed", "failing"]],
];

/// Other words and their opposites.
const OTHERS: [[&str; 2]; 30] = [
    ["before", "after"],
    ["old", "new"],
    ["first", "last"],
    ["always", "never"],
    ["all", "none"],
    ["with", "without"],
    ["more", "fewer"],
    ["larger", "smaller"],
    ["longer", "shorter"],
    ["higher", "lower"],
    ["faster", "slower"],
    ["earlier", "later"],
    ["when", "unless"],
    ["inside", "outside"],
    ["above", "below"],
    ["public", "private"],
    ["synchronous", "asynchronous"],
    ["empty", "non-empty"],
    ["present", "absent"],
    ["missing", "present"],
    ["valid", "invalid"],
    ["true", "false"],
    ["maximum", "minimum"],
    ["required", "optional"],
    ["used", "unused"],
    ["still", "no longer"],
    ["now", "no longer"],
    ["both", "neither of"],
    ["instead of", "in addition to"],
    ["at least", "at most"],
];

/// A negation in words and the same without it, both ways.
const NEGATIONS: [[&str; 2]; 16] = [
    ["is not", "is"],
    ["isn't", "is"],
    ["are not", "are"],
    ["aren't", "are"],
    ["was not", "was"],
    ["wasn't", "was"],
    ["were not", "were"],
    ["will not", "will"],
    ["won't", "will"],
    ["cannot", "can"],
    ["can't", "can"],
    ["does not", "does"],
    ["doesn't", "does"],
    ["do not", "do"],
    ["don't", "do"],
    ["has not", "has"],
];

/// Every word with an opposite, in lower case, with its opposites.
static OPPOSITES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let verbs = VERBS.iter().flat_map(|[a, b]| a.iter().zip(b));
    let all = verbs.chain(OTHERS.iter().map(|[a, b]| (a, b)));
    all.flat_map(|(&a, &b)| [(a, b), (b, a)]).collect()
});

static OPPOSABLE: LazyLock<Regex> = LazyLock::new(|| any_of(OPPOSITES.iter().map(|(word, _)| *word)));

static NEGATABLE: LazyLock<Regex> = LazyLock::new(|| any_of(NEGATIONS.iter().flatten().copied()));

/// A pattern of whole words, the longest first.
fn any_of<'w>(words: impl Iterator<Item = &'w str>) -> Regex {
    let mut words: Vec<String> = words.map(|word| regex::escape(word).replace('\'', "['’]")).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    Regex::new(&format!(r"(?i)\b(?:{})\b", words.join("|"))).expect("words are valid patterns")
}

/// Words for their opposites.
pub fn directions(text: &str, mentions: &[Mention]) -> Vec<Edit> {
    let found = in_prose(&OPPOSABLE, text, mentions);
    let edits = found.into_iter().flat_map(|span| {
        let word = text[span.clone()].to_lowercase();
        let opposites = OPPOSITES.iter().filter(move |(known, _)| *known == word);
        opposites
            .map(move |(_, with)| Edit::at(EditKind::Direction, text, span.clone(), &cased(&text[span.clone()], with)))
    });
    edits.collect()
}

/// Negations out, and in.
pub fn negations(text: &str, mentions: &[Mention]) -> Vec<Edit> {
    let edits = in_prose(&NEGATABLE, text, mentions).into_iter().filter_map(|span| {
        let word = text[span.clone()].to_lowercase().replace('’', "'");
        let with = NEGATIONS
            .iter()
            .find_map(|[no, yes]| if *no == word { Some(*yes) } else { (*yes == word).then_some(*no) })?;
        Some(Edit::at(EditKind::Negation, text, span.clone(), &cased(&text[span], with)))
    });
    edits.collect()
}

/// Where a pattern matches outside of what is named.
fn in_prose(pattern: &Regex, text: &str, mentions: &[Mention]) -> Vec<Range<usize>> {
    let is_named = |span: &Range<usize>| mentions.iter().any(|m| m.outer.start < span.end && span.start < m.outer.end);
    pattern.find_iter(text).map(|found| found.range()).filter(|span| !is_named(span)).collect()
}

/// A word with a capital where the other has one.
fn cased(like: &str, word: &str) -> String {
    let mut characters = word.chars();
    match (like.starts_with(char::is_uppercase), characters.next()) {
        (true, Some(first)) => first.to_uppercase().chain(characters).collect(),
        _ => word.to_owned(),
    }
}
