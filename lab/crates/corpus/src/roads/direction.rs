//! The opposite of what was done: `Add` for `Remove`.

use super::{Balance, Kind, Road, Scene, Twin};
use crate::verbs::{inflected, verb_of};
use crate::words::{has_word, replaced, words};

/// Twins whose verb is the opposite one.
pub struct Direction;

/// Opposites. What stands first is looked at first, where a verb has several.
const OPPOSITES: [(&str, &str); 31] = [
    ("add", "remove"),
    ("add", "drop"),
    ("add", "delete"),
    ("create", "delete"),
    ("introduce", "remove"),
    ("insert", "remove"),
    ("enable", "disable"),
    ("allow", "disallow"),
    ("allow", "forbid"),
    ("increase", "decrease"),
    ("increase", "reduce"),
    ("increase", "lower"),
    ("raise", "lower"),
    ("show", "hide"),
    ("display", "hide"),
    ("start", "stop"),
    ("include", "exclude"),
    ("include", "omit"),
    ("install", "uninstall"),
    ("expand", "collapse"),
    ("accept", "reject"),
    ("open", "close"),
    ("encode", "decode"),
    ("inline", "extract"),
    ("merge", "split"),
    ("append", "prepend"),
    ("wrap", "unwrap"),
    ("keep", "remove"),
    ("keep", "drop"),
    ("support", "drop support for"),
    ("use", "stop using"),
];

/// What only one of two opposites can be said of: "remove unused" has no "add unused".
const ONE_SIDED: [&str; 44] = [
    "unused",
    "unnecessary",
    "unneeded",
    "useless",
    "redundant",
    "obsolete",
    "deprecated",
    "dead",
    "duplicate",
    "duplicated",
    "stale",
    "leftover",
    "superfluous",
    "outdated",
    "extraneous",
    "missing",
    "more",
    "additional",
    "another",
    "extra",
    "initial",
    "basic",
    "better",
    "back",
    "new",
    "old",
    "legacy",
    "needless",
    "longer",
    "needed",
    "required",
    "instead",
    "because",
    "since",
    "so",
    "which",
    "already",
    "anymore",
    "again",
    "any",
    "no",
    "still",
    "all",
    "own",
];

/// Two that go together: what is missing is added, what is unused is removed.
const TOGETHER: [(&str, &str); 2] = [("missing", "unused"), ("new", "old")];

impl Road for Direction {
    fn name(&self) -> &'static str {
        "direction"
    }

    fn kind(&self) -> Kind {
        Kind::Operation
    }

    fn balance(&self) -> Balance {
        Balance::Exact
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        let both = OPPOSITES.into_iter().chain(OPPOSITES.map(|(one, other)| (other, one)));
        both.filter_map(|(from, to)| {
            let (body, (from, to)) = opposite(body, from, to)?;
            Some(scene.twin(self, &body, Some((&from, &to))))
        })
        .collect()
    }
}

/// A statement with the opposite verb, and what was edited.
fn opposite(body: &str, from: &str, to: &str) -> Option<(String, (String, String))> {
    let all = words(body);
    let (first, rest) = from.split_once(' ').unwrap_or((from, ""));
    let (verb, form) = verb_of(&body[all.first()?.clone()])?;
    let mut following = all[1..].iter().map(|word| &body[word.clone()]);
    if verb != first || !rest.split_whitespace().all(|word| following.next() == Some(word)) {
        return None;
    }
    let place = all[0].start..all[rest.split_whitespace().count()].end;
    let tail = &body[place.end..];
    // "Use X to do Y" says two things, and "stop using X to do Y" would leave one of them
    if (verb == "use" || to == "use") && has_word(tail, &["to", "for", "when", "if", "as", "only"]) {
        return None;
    }
    let (tail, with) = match one_sided(tail)? {
        None => (tail.to_owned(), String::new()),
        Some((place, word, with)) => (replaced(tail, place, with), format!(" {word}")),
    };
    let (tail, preposition) = with_preposition(verb, to, &tail)?;
    let with_to = TOGETHER.into_iter().find_map(|(one, other)| match with.trim() {
        word if word == one => Some(format!(" {other}")),
        word if word == other => Some(format!(" {one}")),
        _ => None,
    });
    let (old, new) =
        preposition.map_or((String::new(), String::new()), |(old, new)| (format!(" {old}"), format!(" {new}")));
    let edit = (format!("{from}{with}{old}"), format!("{to}{}{new}", with_to.unwrap_or_default()));
    let text = replaced(&format!("{}{tail}", &body[..place.end]), place, &inflected(to, form));
    Some((text, edit))
}

/// Nothing if a rest says what could be said of both opposites, a word with its counterpart if that would be enough, else `None`.
#[allow(clippy::type_complexity, reason = "a place and two words")]
fn one_sided(tail: &str) -> Option<Option<(std::ops::Range<usize>, &'static str, &'static str)>> {
    let sided: Vec<_> = words(tail)
        .into_iter()
        .filter(|word| ONE_SIDED.contains(&tail[word.clone()].to_lowercase().as_str()))
        .collect();
    match &sided[..] {
        [] => Some(None),
        [only] => TOGETHER.into_iter().chain(TOGETHER.map(|(one, other)| (other, one))).find_map(|(one, other)| {
            (tail[only.clone()] == *one && tail[..only.start].trim().len() <= 3)
                .then(|| Some((only.clone(), one, other)))
        }),
        _ => None,
    }
}

/// `to` for `from` where something is put in or taken out; `None` where it cannot be told whether the word goes with the verb.
fn with_preposition(from: &str, to: &str, tail: &str) -> Option<(String, Option<(&'static str, &'static str)>)> {
    let puts = |verb: &str| matches!(verb, "add" | "insert" | "introduce");
    let takes = |verb: &str| matches!(verb, "remove" | "drop" | "delete");
    let (old, new) = match (puts(from), takes(to)) {
        (true, true) => ("to", "from"),
        _ if takes(from) && puts(to) => ("from", "to"),
        _ => return Some((tail.to_owned(), None)),
    };
    let all = words(tail);
    let mut found = all.iter().enumerate().filter(|(_, word)| tail[(*word).clone()] == *old);
    let Some((index, place)) = found.next() else { return Some((tail.to_owned(), None)) };
    let next = &tail[all.get(index + 1)?.clone()];
    // "add a flag to disable it" goes on with a verb, in either direction
    if old == "to" && verb_of(next).is_some() {
        return Some((tail.to_owned(), None));
    }
    let is_noun = matches!(next, "the" | "a" | "an" | "its" | "their" | "each" | "every")
        || next.contains(|c: char| !c.is_ascii_lowercase())
        || next.ends_with('s')
        || old == "from";
    (is_noun && found.next().is_none()).then(|| (replaced(tail, place.clone(), new), Some((old, new))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_keep_the_grammar() {
        let opposite = |body: &str, from: &str, to: &str| opposite(body, from, to).map(|(text, _)| text);
        assert_eq!(opposite("Added a lock to the cache", "add", "remove").unwrap(), "Removed a lock from the cache");
        assert_eq!(
            opposite("Add option to disable colours", "add", "remove").unwrap(),
            "Remove option to disable colours"
        );
        assert_eq!(opposite("Remove unused imports in a.py", "remove", "add").unwrap(), "Add missing imports in a.py");
        assert_eq!(opposite("Drops support for Ruby 2", "drop support for", "support").unwrap(), "Supports Ruby 2");
        assert_eq!(opposite("Add more tests for it", "add", "remove"), None);
        assert_eq!(opposite("Fix the reader", "add", "remove"), None);
    }
}
