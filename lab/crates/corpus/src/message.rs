//! A commit's message as statements, each of which says one thing of the change.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use veridiff_text::sample::Task;
use veridiff_text::statements::{StatementKind, Statements, TextLanguage};

use crate::verbs::{Form, denied, verb_of};
use crate::words::{content_words, has_word, words};

/// Something that an author said of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Its words, on one line.
    pub text: String,
    /// Its byte at which the verb begins, behind a label such as `fix(core):`.
    pub head: usize,
}

/// Why nothing is taken from a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A merge, or a commit without a parent.
    Merge,
    /// Written by a program, or about versions and releases.
    Automatic,
    /// It takes back another commit, so its words are the other one's.
    Revert,
    /// It says several things.
    Several,
    /// It does not begin with a verb that says what the change does, or says too little.
    Vague,
    /// It is not in English.
    Language,
}

/// The most sentences that are taken from a body.
const MAX_BODY: usize = 2;

/// Bytes of a statement.
const LENGTHS: std::ops::RangeInclusive<usize> = 18..=160;

static AUTOMATIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix) ^\W*(merge\b|bump\b|release\b|prepare\b|version\b|v?\d+\.\d+|publish\b|update\s+(dependenc|changelog|version)
        |\[?(automated|auto|bot)\b|(chore|build|fix|ci)\(deps|chore\(release|update\s+\S+\s+to\s+v?\d|upgrade\s+\S+\s+(from|to)\s)
        |\b(dependabot|renovate|pre-commit\.ci|greenkeeper|pre-commit\s+hooks|cherry.?pick|changelog|release\s+notes|submodule)\b
        |\bversion\s+(bump|number)|\bcopyright\b",
    )
});

/// References at an end, which say nothing of the change.
static REFERENCES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix) \s*[\(\[,;-]*\s*\b(fix(es|ed)?|close[sd]?|resolve[sd]?|see|refs?|issue|gh|pr|related\s+to)?:?\s*\#\d+(\s*,?\s*\#\d+)*\s*[\)\]]*\.?\s*$
        |\s*[\(\[]\s*(gh-?|\#)?\d+\s*[\)\]]\s*$",
    )
});

/// What leads away from the change: links, numbers of issues, hashes, people.
static ELSEWHERE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)https?://|\#\d+|\b[0-9a-f]{7,40}\b|(^|\s)@\w+|\bgh-\d+|\b[A-Z]{2,}-\d+\b|\bCVE\b"));

/// A label: `fix(core)!: `, `docs: `, `net/http: `, `[core] `.
static LABEL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[A-Za-z][\w./-]*(?:\([^)\s]+\))?!?:\s+|\[[\w ./-]+\]\s*:?\s+)+"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// The hash of the commit that a message takes back.
pub(crate) fn reverted(message: &str) -> Option<&str> {
    let at = message.find("This reverts commit ")?;
    let rest = &message[at + "This reverts commit ".len()..];
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    (end >= 7).then(|| &rest[..end])
}

/// What a message says of its change, or why nothing is taken from it.
///
/// # Errors
/// [`Refusal`], which is counted and no failure.
pub fn statements(message: &str) -> Result<Vec<Statement>, Refusal> {
    let (subject, body) = message.trim().split_once('\n').unwrap_or((message.trim(), ""));
    if subject.to_lowercase().starts_with("revert") || reverted(message).is_some() {
        return Err(Refusal::Revert);
    }
    if AUTOMATIC.is_match(subject) {
        return Err(Refusal::Automatic);
    }
    if says_several(subject, body) {
        return Err(Refusal::Several);
    }
    let subject = statement(subject.trim()).ok_or(Refusal::Vague)?;
    if Statements::new(message, Task::Commit).language == TextLanguage::Other {
        return Err(Refusal::Language);
    }
    let mut all = vec![subject];
    let parsed = Statements::new(body, Task::Commit);
    let sentences = parsed.list.iter().filter(|sentence| sentence.kind == StatementKind::Assertion);
    let sentences = sentences.filter_map(|sentence| {
        let line = body[sentence.span.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        statement(&line).filter(|statement| !has_word(&statement.text, &["previously", "currently", "before", "then"]))
    });
    for sentence in sentences {
        if all.len() <= MAX_BODY && all.iter().all(|other| other.text != sentence.text) {
            all.push(sentence);
        }
    }
    Ok(all)
}

/// Whether a message has more than one purpose: a list, or two verbs in its subject.
fn says_several(subject: &str, body: &str) -> bool {
    let is_item = |line: &&str| line.trim_start().starts_with(['-', '*', '+']);
    if body.lines().filter(is_item).count() >= 2 || subject.contains(';') || subject.contains(" & ") {
        return true;
    }
    let words = words(subject);
    let joins = |word: &str| word.eq_ignore_ascii_case("and") || word == "+";
    let two_verbs =
        words.windows(2).any(|pair| joins(&subject[pair[0].clone()]) && verb_of(&subject[pair[1].clone()]).is_some());
    two_verbs || subject.split(", ").skip(1).any(|piece| verb_of(piece.split(' ').next().unwrap_or("")).is_some())
}

/// A line as a statement, if it begins with a verb of changes and says enough.
fn statement(line: &str) -> Option<Statement> {
    let mut text = line.trim();
    while let Some(found) = REFERENCES.find(text) {
        text = text[..found.start()].trim_end();
    }
    let head = LABEL.find(text).map_or(0, |found| found.end());
    let rest = &text[head..];
    let all = words(rest);
    let (first, verb, form) = match denied(rest) {
        Some((place, verb)) => (place, verb, Form::Base),
        None => {
            let first = all.first()?.clone();
            let (verb, form) = verb_of(&rest[first.clone()])?;
            (first, verb, form)
        }
    };
    // "adding" says what is done, "comparing them is slow" what is
    const DOING: [&str; 10] =
        ["add", "allow", "change", "fix", "implement", "move", "remove", "rename", "replace", "support"];
    let is_done =
        form != Form::Ing || DOING.contains(&verb) && !has_word(rest, &["is", "are", "will", "causes", "was"]);
    // these say nothing that a line could show
    const VAGUE: [&str; 8] = ["clean", "refactor", "simplify", "test", "document", "optimize", "bump", "align"];
    const LEANING: [&str; 24] = [
        "it", "this", "that", "these", "those", "them", "they", "we", "i", "you", "should", "would", "could", "might",
        "maybe", "probably", "some", "few", "various", "several", "stuff", "things", "typo", "typos",
    ];
    let is_plain = rest.is_ascii() && !rest.contains(['…', '?', '{', '}', '<', '>', '=', '|', '\\']);
    let asserts = first.start == 0 && is_done && !VAGUE.contains(&verb);
    let is_code = |word: &str| word.contains(['_', '.', '(', '/', '-']) || word.chars().skip(1).any(char::is_uppercase);
    let n_codes = all.iter().filter(|word| is_code(&rest[(*word).clone()])).count();
    let says = all.len() >= 3 && content_words(&rest[first.end..]).len() + n_codes >= 2;
    let good = asserts && says && is_plain && LENGTHS.contains(&text.len()) && !ELSEWHERE.is_match(text);
    let whole = text.matches('`').count().is_multiple_of(2)
        && text.matches('"').count().is_multiple_of(2)
        && !text.ends_with(['-', ',', ':', '&']);
    let balanced = text.matches('(').count() == text.matches(')').count();
    (good && whole && balanced && !has_word(rest, &LEANING)).then(|| Statement { text: text.to_owned(), head })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &str) -> Result<Vec<String>, Refusal> {
        statements(message).map(|all| all.into_iter().map(|one| one.text).collect())
    }

    #[test]
    fn a_subject_and_sentences_that_say_what_changes() {
        let message = "fix(core): return early when the cache is empty (#12)\n\nThe cache was slow. Remove the second mutex from the\nparser loop. It is nice.\n\nFixes #3\n";
        let expected =
            ["fix(core): return early when the cache is empty", "Remove the second mutex from the parser loop."];
        assert_eq!(texts(message).unwrap(), expected);
        assert_eq!(statements(message).unwrap()[0].head, 11);
    }

    #[test]
    fn what_is_not_taken() {
        assert_eq!(texts("Merge branch 'main'"), Err(Refusal::Automatic));
        assert_eq!(texts("Bump serde from 1.0 to 1.1"), Err(Refusal::Automatic));
        assert_eq!(texts("Revert \"Add cache to the reader\""), Err(Refusal::Revert));
        assert_eq!(texts("Add cache reader and fix writer timeouts"), Err(Refusal::Several));
        assert_eq!(texts("Fix stuff"), Err(Refusal::Vague));
        assert_eq!(texts("Reader cache timeouts again"), Err(Refusal::Vague));
        assert_eq!(reverted("Revert \"x\"\n\nThis reverts commit 0123456789abcdef.\n"), Some("0123456789abcdef"));
    }
}
