//! A review as passages: bullets, entries of a JSON list, or sentences.

use std::{iter, ops::Range, sync::LazyLock};

use regex::Regex;
use serde_json::Value;
use veridiff_text::grounding::{Words, sentences};

/// Fields of an object in a JSON list of comments that hold what is said.
const FIELDS: [&str; 4] = ["comment", "message", "body", "suggestion"];

/// Bytes of the passages of a review, in order.
pub fn passages(text: &str) -> Vec<Range<usize>> {
    if let Some(listed) = of_json(text) {
        return listed;
    }
    let bullets = bullets(text);
    if bullets.len() > 1 {
        return bullets;
    }
    let trimmed = |span: Range<usize>| {
        let inner = &text[span.clone()];
        let start = span.start + inner.len() - inner.trim_start().len();
        start..start + inner.trim().len()
    };
    sentences(text, &Words::of_text(text)).into_iter().map(trimmed).collect()
}

/// The strings of a JSON list, or of the objects in it, as bytes of the text; none if it is no such list.
fn of_json(text: &str) -> Option<Vec<Range<usize>>> {
    let inner = without_fence(text);
    let list: Vec<Value> = serde_json::from_str(inner).ok()?;
    let mut said: Vec<&str> = Vec::new();
    for entry in &list {
        match entry {
            Value::String(comment) => said.push(comment),
            Value::Object(fields) => said.extend(FIELDS.iter().filter_map(|field| fields.get(*field)?.as_str())),
            _ => return None,
        }
    }
    // a string stands in the text as JSON writes it; the whole list is one passage where it cannot be found
    let mut from = 0;
    let mut found = Vec::new();
    for comment in said.into_iter().filter(|comment| !comment.trim().is_empty()) {
        let written = serde_json::to_string(comment).ok()?;
        let bare = &written[1..written.len() - 1];
        match text[from..].find(bare) {
            Some(at) => {
                found.push(from + at..from + at + bare.len());
                from += at + bare.len();
            }
            None => return Some(iter::once(0..text.len()).collect()),
        }
    }
    Some(found)
}

/// The content of a text that is one fenced block; else the text, trimmed.
pub fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((tag, body)) if tag.trim().chars().all(|c| c.is_alphanumeric()) => body.trim(),
        _ => text,
    }
}

/// Lines that begin with a bullet or a number, each with the lines that go on from it.
fn bullets(text: &str) -> Vec<Range<usize>> {
    static BULLET: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*(?:[-*+•]|\(?\d{1,3}[.)])\s+").expect("a pattern of this file"));
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut at, mut is_open) = (0, false);
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        if let Some(mark) = BULLET.find(line) {
            found.push((start + mark.end()).min(end)..end);
            is_open = true;
        } else if line.trim().is_empty() {
            is_open = false;
        } else if is_open && let Some(last) = found.last_mut() {
            last.end = end;
        } else {
            found.push(start + line.len() - line.trim_start().len()..end);
        }
    }
    found.retain(|span| !text[span.clone()].trim().is_empty());
    let n_marks = text.lines().filter(|line| BULLET.is_match(line)).count();
    if n_marks == 0 { Vec::new() } else { found }
}

/// Whether a review says, in the words agreed on, that there is nothing to say.
pub fn is_no_comment(text: &str) -> bool {
    let mut text = without_fence(text).trim();
    if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
        let [only] = list.as_slice() else { return false };
        return is_no_comment(only);
    }
    text = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '“' | '”' | '*'));
    text = text.trim_end_matches(['.', '!']).trim_end_matches(['"', '\'', '`']);
    matches!(text.to_lowercase().as_str(), "no comment" | "no comments")
}

/// Whether a review is an empty list, which says nothing in other words.
pub fn is_empty_list(text: &str) -> bool {
    without_fence(text).split_whitespace().collect::<String>() == "[]"
}

/// Whether a review speaks of a version that its writer was not shown: a leak of how its target was made.
pub fn leaks(text: &str, shown: &[&str]) -> bool {
    static LEAK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:reference|ground[- ]truth) (?:version|implementation|solution|code)\b")
            .expect("a pattern")
    });
    let is_shown = |phrase: &str| shown.iter().any(|text| text.to_lowercase().contains(&phrase.to_lowercase()));
    LEAK.find_iter(text).any(|found| !is_shown(found.as_str()))
}

/// How many words a text has, as blanks separate them.
pub fn n_words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        passages(text).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn lists_bullets_and_sentences_are_passages() {
        assert_eq!(of("Thanks. Rename `a.b`! Why?"), ["Thanks.", "Rename `a.b`!", "Why?"]);
        assert_eq!(of("Two things:\n- one\n  goes on\n- two\n\nBye"), ["Two things:", "one\n  goes on", "two", "Bye"]);
        assert_eq!(of("1. first\n2) second"), ["first", "second"]);
        assert_eq!(of("```json\n[\"use \\\"x\\\"\", {\"comment\": \"b\", \"line\": 3}]\n```"), ["use \\\"x\\\"", "b"]);
        assert_eq!(of("[]"), Vec::<&str>::new());
        assert_eq!(of(" \n"), Vec::<&str>::new());
    }

    #[test]
    fn silence_has_few_forms() {
        for text in [
            "No comment.",
            "  no comments",
            "```\nNo comment.\n```",
            "[\"No comment.\"]",
            "\"No comment.\"",
            "**No comment.**",
        ] {
            assert!(is_no_comment(text), "{text}");
        }
        for text in [
            "",
            "The change looks good. No comment.",
            "No comment on style, but `x` is wrong.",
            "[\"No comment.\", \"x\"]",
        ] {
            assert!(!is_no_comment(text), "{text}");
        }
        assert!(is_empty_list("```json\n[ ]\n```") && !is_empty_list("[1]"));
    }

    #[test]
    fn a_leak_names_what_was_not_shown() {
        assert!(leaks("The Reference version checks this.", &[]));
        assert!(!leaks("The reference version checks this.", &["see the reference version"]));
        assert!(!leaks("The generated code has a reference cycle.", &[]));
    }
}
