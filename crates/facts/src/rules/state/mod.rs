//! VD009: what is said to be so now was taken away, what is said to be gone came, what is said to have been so is new.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::statements::StatementKind;

use super::{
    Claimed, Rule, Ruling, Scene,
    already::defines,
    direction::{takes_away, telling_word},
    phrase::{MODAL, PAST, readings},
};
use crate::{
    mention::{Mention, MentionKind},
    occurrences::Places,
};

mod described;
mod evidence;
mod modifier;
mod patterns;
#[cfg(test)]
mod tests;

use patterns::{PATTERNS, State, WORDS};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD009",
    name: "state",
    summary: "The text says how it is now, still, no longer or was before, and the lines show the opposite.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(|scene| [evidence::check(scene), described::check(scene), modifier::check(scene)].concat()),
};

/// What else than the change a sentence speaks of: whoever still calls it, code elsewhere.
pub(super) static ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:outside|elsewhere|other (?:code|places|files|parts|callers|users)|callers?|anyone|anybody|whoever|clients?|downstream|code that|those (?:that|who))\b",
    )
    .expect("a valid pattern")
});

/// What code does that is written as a word of its own.
const KEYWORDS: [&str; 10] = ["throw", "await", "yield", "panic", "warn", "print", "lock", "sleep", "retrie", "abort"];

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if scene.kind != StatementKind::Assertion || ELSEWHERE.is_match(&scene.statement.skeleton) {
        return Vec::new();
    }
    let whole = &scene.statement.skeleton;
    let is_open = PAST.is_match(whole) || MODAL.is_match(whole);
    let mut found: Vec<Claimed> = Vec::new();
    for (state, pattern) in &*PATTERNS {
        if *state == State::Plain && is_open {
            continue;
        }
        for reading in readings(scene, pattern) {
            let [mention] = reading.things[..] else { continue };
            let words = &scene.clause.skeleton[reading.part.clone()];
            // "`a` is now called `b`" gives it a name
            let names = words.ends_with("called") && scene.clause.skeleton[reading.part.end..].starts_with(" @");
            let is_read = found.iter().any(|claimed: &Claimed| claimed.part.end == reading.part.end);
            // "one that had no `b`" is any such one
            let before = scene.clause.skeleton[..reading.part.start].trim_end();
            let is_relative = [" that", " which", " who"].iter().any(|word| before.ends_with(word));
            if is_read
                || is_relative && *state == State::NotBefore
                || names
                || MODAL.is_match(words)
                || is_conditional(&scene.clause.skeleton[..reading.part.start])
            {
                continue;
            }
            found.extend(claim(scene, *state, mention, reading.part));
        }
    }
    for (state, pattern) in &*WORDS {
        for captures in pattern.captures_iter(&scene.clause.skeleton) {
            let (Some(whole), Some(word)) = (captures.get(0), captures.get(1)) else { continue };
            if !is_conditional(&scene.clause.skeleton[..whole.start()]) {
                found.extend(claim_of_word(scene, *state, word.as_str(), whole.range()));
            }
        }
    }
    found
}

/// The same where a word says what the code does.
fn claim_of_word(scene: &Scene<'_, '_>, state: State, word: &str, part: Range<usize>) -> Option<Claimed> {
    // words of code that are words of every review too
    let is_keyword = KEYWORDS.contains(&word.trim_end_matches("ing").trim_end_matches('s'));
    let places = if is_keyword { scene.change.occurrences.word(word)? } else { telling_word(scene, word)? };
    let (is_against, lines, side) = match state {
        State::Gone => (places.only_added() && !takes_away(scene, &places.added), &places.added, "added"),
        _ => (places.only_removed(), &places.removed, "removed"),
    };
    let message = format!("\"{word}\" is only on {side} lines");
    is_against.then(|| Claimed { ruling: Ruling::Contradicted, part, lines: lines.clone(), message })
}

/// Whether what follows is only so in a case, or is denied.
fn is_conditional(before: &str) -> bool {
    let tail = before.split_whitespace().rev().take(4);
    tail.into_iter().any(|word| {
        ["if", "unless", "whether", "not", "never", "should", "could", "would", "must", "might", "may", "to"]
            .contains(&word)
            || word.ends_with("n't")
    })
}

fn claim(scene: &Scene<'_, '_>, state: State, mention: &Mention, part: Range<usize>) -> Option<Claimed> {
    let find = scene.change.find(mention);
    let places = find.exactly()?;
    let written = &scene.clause.text[mention.span.clone()];
    let ruling = rule(scene, state, mention, places)?;
    let (lines, message) = match (ruling, state) {
        (Ruling::Holds, State::Gone | State::Before) => (&places.removed, format!("the lines with `{written}` agree")),
        (Ruling::Holds, _) => (&places.added, format!("the lines with `{written}` agree")),
        (_, State::NotBefore) if places.removed.is_empty() => {
            (&places.context, format!("`{written}` is on lines that the change leaves as they were"))
        }
        (_, State::NotBefore) => (&places.removed, format!("`{written}` is on removed lines: it was there before")),
        _ if places.only_removed() => {
            (&places.removed, format!("`{written}` is only on removed lines: it is no longer there"))
        }
        _ => (&places.added, format!("`{written}` is only on added lines: the change brings it")),
    };
    Some(Claimed { ruling, part, lines: lines.clone(), message })
}

fn rule(scene: &Scene<'_, '_>, state: State, mention: &Mention, places: &Places) -> Option<Ruling> {
    let agrees = match state {
        State::Now | State::Plain => places.came(),
        State::Still => !places.context.is_empty() || (!places.added.is_empty() && !places.removed.is_empty()),
        State::Kept => places.added.is_empty() && places.removed.is_empty() && !places.context.is_empty(),
        State::Gone => places.went(),
        State::Before => !places.removed.is_empty(),
        State::NotBefore => places.only_added(),
    };
    // what is taken away when the code runs is "no longer there" too
    let runs = || mention.is_literal() && takes_away(scene, &places.added);
    let is_name = mention.kind == MentionKind::Name;
    let opposite = match state {
        State::Now | State::Still | State::Plain => places.only_removed(),
        State::Kept => places.only_removed(),
        State::Gone => places.only_added() && !runs(),
        State::Before => places.only_added(),
        State::NotBefore => {
            let was_defined = |&line: &usize| defines(scene.change.code(line), mention.last());
            let is_moved = !places.removed.is_empty() && !places.came();
            is_moved || (is_name && !places.came() && places.old_side().iter().any(was_defined))
        }
    };
    match (agrees, opposite) {
        (true, _) => Some(Ruling::Holds),
        (_, true) => Some(Ruling::Contradicted),
        _ => None,
    }
}
