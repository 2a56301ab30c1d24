//! The sentences of a comment that can be true or false of its code.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::diff::Diff;
use veridiff_text::sample::Task;
use veridiff_text::statements::{StatementKind, Statements, TextLanguage};

use crate::words::has_word;

/// Bytes of a sentence.
const LENGTHS: Range<usize> = 18..200;

/// What says nothing of the code: links, tasks, licences, what is for programs.
static ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)https?:|\b(todo|fixme|xxx|hack|copyright|licen[cs]e|deprecated|nolint|eslint|noqa|pylint|rubocop|issue|bug|example)\b|\#\d+|\be\.g\b|\bi\.e\b")
        .expect("a valid pattern")
});

/// `@param {type} name - words`, `:param type name: words`.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:@param\s+(?:\{[^}]*\}\s+|[\w\\|?\[\]]+\s+[$])?\[?[$]?([A-Za-z_][\w.]*)(?:=[^\]]*)?\]?|:param\s+(?:\w+\s+)?(\w+):)\s+(?:-\s+)?(\S.*)$")
        .expect("a valid pattern")
});

/// `@return words`, `:returns: words`.
static RETURNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:@returns?|:returns?:)\s+(?:\{[^}]*\}\s+)?([Aa]n?\s\S.*|[Tt]he\s\S.*)$").expect("a valid pattern")
});

/// The sentences of one side of a comment by its lines; of one that is cut off at its beginning without the first.
pub(super) fn sentences(diff: &Diff, comment: &[usize], is_cut: bool) -> Vec<String> {
    let lines: Vec<(usize, &str)> = comment.iter().map(|&at| bare(diff.line_text(at).get(1..).unwrap_or(""))).collect();
    let paragraphs = paragraphs(&lines);
    let mut found = Vec::new();
    for (at, paragraph) in paragraphs.iter().enumerate() {
        let parsed = Statements::new(paragraph, Task::Commit);
        if parsed.language == TextLanguage::Other {
            continue;
        }
        for statement in parsed.list.iter().filter(|statement| statement.kind == StatementKind::Assertion) {
            let text = paragraph[statement.span.clone()].trim();
            let is_whole = !(is_cut && at == 0 && statement.span.start == 0 && !text.starts_with(char::is_uppercase));
            if is_whole && is_good(text) {
                found.push(text.to_owned());
            }
        }
    }
    found
}

/// A line without what makes it a comment, and at which column it begins.
fn bare(line: &str) -> (usize, &str) {
    let text = line.trim();
    let text = text.trim_start_matches(['r', 'R', 'u']).strip_prefix("\"\"\"").unwrap_or(text);
    let text = text.trim_start_matches("'''").trim_end_matches("*/").trim_end_matches("\"\"\"").trim_end_matches("'''");
    let text = text.trim_start_matches(['/', '!', '#']);
    let text = text.strip_prefix("**").or_else(|| text.strip_prefix('*')).unwrap_or(text);
    let text = text.strip_prefix(['!', '*', '<']).unwrap_or(text).trim();
    let column = if text.is_empty() { 0 } else { line.find(text).unwrap_or(0) };
    (column, text)
}

/// Lines that hang together, on one line. A blank line, a list's item, another column and what is for programs begin a new one.
fn paragraphs(lines: &[(usize, &str)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut last: Option<usize> = None;
    let begins = |text: &str| text.starts_with(['@', ':', '\\', '-', '*', '<', '>', '.', '|', '+', '=', '~']);
    let mut is_opening = true;
    for &(column, text) in lines {
        if text.is_empty() {
            last = None;
            continue;
        }
        match (last, found.last_mut()) {
            // the words of a tag go on further to the right
            (Some(before), Some(paragraph))
                if (before == column || is_opening || (before < column && paragraph.starts_with(['@', ':'])))
                    && !begins(text) =>
            {
                paragraph.push(' ');
                paragraph.push_str(text);
                is_opening = false;
            }
            _ => {
                is_opening = found.is_empty();
                found.push(text.to_owned());
            }
        }
        last = Some(column);
    }
    let told: Vec<String> = found.iter().filter_map(|paragraph| told(paragraph)).collect();
    found.retain(|paragraph| !begins(paragraph));
    found.extend(told);
    found
}

/// What a tag for a parameter or for what is returned says, as a sentence without the tag.
fn told(paragraph: &str) -> Option<String> {
    if let Some(found) = PARAMETER.captures(paragraph) {
        let name = found.get(1).or_else(|| found.get(2))?;
        return Some(format!("{}: {}", name.as_str(), &found[3]));
    }
    let found = RETURNED.captures(paragraph)?;
    let mut letters = found[1].chars();
    let first = letters.next()?.to_lowercase();
    Some(format!("Returns {}", first.chain(letters).collect::<String>()))
}

/// Whether a sentence says something by itself.
fn is_good(text: &str) -> bool {
    const LEANING: [&str; 18] = [
        "it",
        "this",
        "these",
        "those",
        "they",
        "them",
        "he",
        "she",
        "we",
        "i",
        "you",
        "your",
        "our",
        "should",
        "might",
        "maybe",
        "probably",
        "currently",
    ];
    let is_plain = text.is_ascii() && !text.contains(['?', '{', '}', '<', '>', '=', '|', '\\', ';']);
    // what begins in small letters is often half a sentence, unless its first word is what a tag names
    let first = text.split(' ').next().unwrap_or("");
    let begins = text.starts_with(|c: char| c.is_ascii_uppercase() || c == '`') || first.ends_with(':');
    let balanced = text.matches('`').count().is_multiple_of(2)
        && text.matches('"').count().is_multiple_of(2)
        && text.matches('(').count() == text.matches(')').count();
    let n_words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count();
    let ends = !text.ends_with([':', ',', '-']);
    is_plain
        && begins
        && balanced
        && ends
        && n_words >= 4
        && LENGTHS.contains(&text.len())
        && !ELSEWHERE.is_match(text)
        && !has_word(text, &LEANING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(comment: &str) -> Vec<String> {
        let hunk: String = comment.lines().map(|line| format!("+{line}\n")).collect();
        let diff = Diff::parse(&hunk).unwrap();
        sentences(&diff, &(0..diff.lines().len()).collect::<Vec<_>>(), false)
    }

    #[test]
    fn marks_are_taken_off_and_lines_joined() {
        let comment = "/**\n * Returns the number of open files, or\n * zero for a closed reader.\n *\n * @param path the path of the reader\n */";
        assert_eq!(
            said(comment),
            ["Returns the number of open files, or zero for a closed reader.", "path: the path of the reader"]
        );
        let docstring = "    \"\"\"Return the list of names.\n\n    Args:\n        timeout: The number of seconds to wait.\n    \"\"\"";
        assert_eq!(said(docstring), ["Return the list of names.", "timeout: The number of seconds to wait."]);
        assert_eq!(
            said("/// Closes the open file. Waits for readers first."),
            ["Closes the open file.", "Waits for readers first."]
        );
    }

    #[test]
    fn tags_are_taken_off() {
        let comment = "/**\n * @param {number} [timeout=10] - the seconds to wait\n * @param string $name the name of the\n *   reader\n * @return The number of open files.\n */";
        assert_eq!(
            said(comment),
            ["timeout: the seconds to wait", "name: the name of the reader", "Returns the number of open files."]
        );
        assert_eq!(said("    :param int size: the number of bytes to read"), ["size: the number of bytes to read"]);
    }

    #[test]
    fn what_says_nothing_by_itself_is_not_taken() {
        assert!(said("// TODO: close the open file first").is_empty());
        assert!(said("// See https://example.org for the open files").is_empty());
        assert!(said("// This closes the open file at once.").is_empty());
        assert!(said("// x = read(path, timeout)").is_empty());
    }
}
