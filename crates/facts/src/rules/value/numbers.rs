//! A number that the change does not have, said of what it has with another number.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::{
    diff::LineKind,
    grounding::{is_stop, stem},
};

use crate::{
    code::{TokenKind, tokens, value},
    mention::{Mention, MentionKind},
    occurrences::stems,
    rules::{Claimed, Ruling, Scene, phrase::MODAL},
};

/// A number of a changed line.
struct Stands {
    line: usize,
    written: String,
    value: f64,
    /// Stems of the words around it.
    around: Vec<String>,
}

/// How many words on each side of a number belong to it.
const NEAR: usize = 3;

/// Every number of the statement that is nowhere in the change, where one of the same shape or with the same words around it is.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let clause = scene.clause;
    if scene.kind == veridiff_text::statements::StatementKind::Request || MODAL.is_match(&clause.skeleton) {
        return Vec::new();
    }
    let is_number =
        |(_, mention): &(usize, &Mention)| mention.kind == MentionKind::Number && !is_reference(scene, mention);
    let said: Vec<f64> = clause.mentions.iter().filter_map(Mention::value).collect();
    let absent: Vec<(usize, &Mention)> = clause
        .mentions
        .iter()
        .enumerate()
        .filter(is_number)
        .filter(|(_, mention)| is_nowhere(scene, mention))
        .collect();
    if absent.is_empty() {
        return Vec::new();
    }
    let all: Vec<Stands> = numbers(scene).into_iter().filter(|number| !said.contains(&number.value)).collect();
    let mut found = Vec::new();
    for (index, mention) in absent {
        let at = clause.skeleton.find(&format!("@{index}")).unwrap_or(0);
        let part = at..at + 1 + index.to_string().len();
        let near = with_words(&all, &words_around(&clause.skeleton, &part)).filter(|_| is_absent(scene, mention));
        let alike = || of_shape(&all, &mention.code).filter(|_| !is_date(scene, mention));
        if let Some(other) = near.or_else(alike).filter(|_| !is_named(scene, mention)) {
            let message = format!("the change has {} there, and no {}", other.written, mention.code);
            found.push(Claimed { ruling: Ruling::Contradicted, part, lines: vec![other.line], message });
        }
    }
    found
}

/// Whether no changed line has a number.
fn is_nowhere(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    let Some(value) = mention.value() else { return false };
    let lines = scene.change.diff.lines();
    let is_changed = |line: usize| lines[line].kind.is_changed();
    scene.change.occurrences.number(value).is_none_or(|places| places.added.is_empty() && places.removed.is_empty())
        && !(0..lines.len())
            .any(|line| is_changed(line) && scene.change.diff.line_text(line).contains(mention.code.as_str()))
}

/// Whether no line at all has a number.
fn is_absent(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    mention.value().is_some_and(|value| scene.change.occurrences.number(value).is_none())
}

/// Whether a number names an issue, a line or a version of something else.
fn is_reference(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    const BEFORE: [&str; 16] = [
        "line", "lines", "issue", "pr", "gh", "bug", "ticket", "version", "rfc", "pep", "python", "step", "about",
        "page", "than", "over",
    ];
    let before = scene.clause.text[scene.clause.span.start..mention.outer.start].trim_end().to_lowercase();
    before.ends_with(['#', '-', '/', 'v', '~', '$'])
        || before.rsplit(|c: char| !c.is_alphanumeric()).next().is_some_and(|word| BEFORE.contains(&word))
}

/// Whether a number is the year of an event: one like it in the code is of something else.
fn is_date(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
        let months = "january|february|march|april|may|june|july|august|september|october|november|december";
        Regex::new(&format!(r"(?i)\b(?:in|since|until|till|during|before|after|early|late|{months})\s*$"))
            .expect("a valid pattern")
    });
    static UNIT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^\s*(?:%|(?:m?s|secs?|seconds?|milliseconds?|minutes?|[kmg]?i?b|bytes?|px|items?|times|rows?|lines?|chars?|characters?|steps?|requests?|entries|elements?|iterations?|attempts?|tokens?)\b)",
        )
        .expect("a valid pattern")
    });
    let is_year = mention.code.len() == 4 && mention.value().is_some_and(|value| (1990.0..2100.0).contains(&value));
    let (text, span) = (scene.clause.text, &scene.clause.span);
    is_year
        && !mention.is_marked
        && BEFORE.is_match(&text[span.start..mention.outer.start])
        && !UNIT.is_match(&text[mention.outer.end..span.end])
}

/// HTTP statuses by the names that code has for them (RFC 9110, section 15; RFC 6585).
const STATUSES: [(f64, &str); 30] = [
    (200.0, "ok"),
    (201.0, "created"),
    (202.0, "accepted"),
    (204.0, "no content"),
    (301.0, "moved permanently"),
    (302.0, "found"),
    (303.0, "see other"),
    (304.0, "not modified"),
    (307.0, "temporary redirect"),
    (308.0, "permanent redirect"),
    (400.0, "bad request"),
    (401.0, "unauthorized"),
    (403.0, "forbidden"),
    (404.0, "not found"),
    (405.0, "method not allowed"),
    (406.0, "not acceptable"),
    (408.0, "request timeout"),
    (409.0, "conflict"),
    (410.0, "gone"),
    (412.0, "precondition failed"),
    (413.0, "too large"),
    (415.0, "unsupported media"),
    (416.0, "range not satisfiable"),
    (422.0, "unprocessable"),
    (429.0, "too many requests"),
    (500.0, "internal server"),
    (501.0, "not implemented"),
    (502.0, "bad gateway"),
    (503.0, "service unavailable"),
    (504.0, "gateway timeout"),
];

/// Whether a line of the change has the name of the HTTP status that a number is; a name of one word only beside what says that it is one.
fn is_named(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    const OF_STATUS: [&str; 6] = ["http", "status", "response", "code", "exception", "error"];
    let Some((_, name)) = STATUSES.iter().find(|(status, _)| mention.value() == Some(*status)) else { return false };
    let name = stems(name);
    let is_said = |line: usize| {
        let words = stems(scene.change.code(line));
        words.windows(name.len()).any(|words| *words == name[..])
            && (name.len() > 1 || OF_STATUS.iter().any(|of| words.contains(&stem(of))))
    };
    let lines = scene.change.diff.lines().iter().enumerate();
    lines.filter(|(_, line)| line.kind != LineKind::Header).any(|(line, _)| is_said(line))
}

fn numbers(scene: &Scene<'_, '_>) -> Vec<Stands> {
    let mut found = Vec::new();
    for (line, _) in scene.change.diff.lines().iter().enumerate().filter(|(_, line)| line.kind == LineKind::Added) {
        let code = scene.change.code(line);
        // what stands in quotes is read as words too
        let code = code.replace(['"', '\'', '`'], " ");
        let all: Vec<_> = tokens(&code).into_iter().filter(|token| token.kind != TokenKind::Mark).collect();
        for (index, token) in all.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Number) {
            let written = code[token.span.clone()].to_owned();
            let Some(value) = value(&written) else { continue };
            let near = index.saturating_sub(NEAR)..(index + NEAR + 1).min(all.len());
            let around = all[near].iter().flat_map(|token| stems(&code[token.span.clone()])).collect();
            found.push(Stands { line, written, value, around });
        }
    }
    found
}

/// The words next to a number in the sentence, by their stems.
fn words_around(skeleton: &str, part: &Range<usize>) -> Vec<String> {
    const LEAST: usize = 4;
    let tells = |word: &&str| {
        word.len() >= LEAST && !is_stop(word) && !["line", "number", "value", "default", "with", "than"].contains(word)
    };
    let is_break = |c: char| !c.is_alphanumeric();
    let before = skeleton[..part.start].rsplit(is_break).filter(|word| !word.is_empty()).take(2);
    let behind = skeleton[part.end..].split(is_break).filter(|word| !word.is_empty()).take(1);
    // "case" is a word of grammar in prose, and none of code
    before.chain(behind).filter(|word| tells(word) || *word == "case").map(stem).collect()
}

/// The one number that has one of these words near.
fn with_words<'s>(all: &'s [Stands], words: &[String]) -> Option<&'s Stands> {
    one(all.iter().filter(|number| words.iter().any(|word| number.around.contains(word))))
}

/// The one number that is written alike: as many digits, three or more, and the same first one; of a fraction the same whole.
fn of_shape<'s>(all: &'s [Stands], written: &str) -> Option<&'s Stands> {
    let shape = |written: &str| -> Option<String> {
        let digits = written.chars().all(|c| c.is_ascii_digit());
        match written.split_once('.') {
            Some((whole, part)) if !whole.is_empty() && !part.is_empty() => Some(format!("{whole}.")),
            None if digits && written.len() >= 3 => Some(format!("{}{}", &written[..1], written.len())),
            _ => None,
        }
    };
    let own = shape(written)?;
    one(all.iter().filter(|number| shape(&number.written).as_deref() == Some(&own)))
}

/// The first of several if all have one value.
fn one<'s>(mut numbers: impl Iterator<Item = &'s Stands>) -> Option<&'s Stands> {
    let first = numbers.next()?;
    numbers.all(|other| other.value == first.value).then_some(first)
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{
        Ruling,
        twins::{texts_apart, worst_of_text},
        value::RULE,
    };

    const JAVA: &str = "--- a/Port.java\n+++ b/Port.java\n@@ @@\n class Port {\n+  // Copyright 2021 Example\n+  int gateway = 8443;\n+  void retry(int slot) { if (slot > 17) stop(); }\n }\n";

    #[test]
    fn a_number_of_the_same_shape_or_beside_the_same_word_speaks_against_another() {
        texts_apart(
            &RULE,
            Task::Commit,
            JAVA,
            &[
                ("Add a copyright note of 2021", "Add a copyright note of 2023"),
                ("Listen on 8443 for the gateway", "Listen on 8080 for the gateway"),
                ("Stop at slot 17", "Stop at slot 27"),
                ("Fix bug #2099", "Let the gateway listen on 8081"),
                ("Drop what was announced in 2023", "Add a copyright note of the year 2023"),
            ],
        );
    }

    #[test]
    fn a_status_that_code_calls_by_name_is_no_other_number() {
        let answer = |line: &str| {
            format!("--- a/users.py\n+++ b/users.py\n@@ ... @@\n def get(id):\n+    if id > 480:\n+        {line}\n")
        };
        for (line, ruling) in [
            ("return NotFound()", None),
            ("raise HTTPException(status.GONE)", Some(Ruling::Contradicted)),
            ("return HTTP_404_NOT_FOUND", None),
            ("return None", Some(Ruling::Contradicted)),
        ] {
            let said = worst_of_text(&RULE, &answer(line), "Answer with 404 for unknown users", Task::Commit);
            assert_eq!(said, ruling, "{line}");
        }
    }
}
