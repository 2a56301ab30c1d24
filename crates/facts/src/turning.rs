//! Words that turn a statement round: with the same names and the other one of such words it says the opposite, so that finding its
//! names in the change says nothing of it.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::clause::Clause;

/// Negation, what was and is no more, order, exclusion, failure, likeness. A word that stands in most commit messages, such as `add`
/// or `fix`, is none of them: rules read those.
static TURNING: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        r"not|cannot|never|no|none|nothing|neither|nor|without|un(?:changed|used)|redundant|missing|lacks?",
        r"still|already|yet|anymore|longer|again|twice|until|before|after",
        r"only|always|unless|except|even|either|both|instead|rather",
        r"ignor\w+|fail(?:s|ed|ing)?|forg[eo]t\w*|wrong\w*|incorrect\w*",
        r"same|different\w*",
    ];
    Regex::new(&format!(r"\b(?:{}|[a-z]+n't)\b", words.join("|"))).expect("valid")
});

/// Words that join two others with a stroke between them, as `and/or`.
const JOINING: [&str; 8] = ["or", "and", "with", "is", "are", "if", "then", "when"];

/// The first word of a clause that turns it round, as bytes of the text.
pub fn turning_word(clause: &Clause<'_>) -> Option<Range<usize>> {
    let skeleton = &clause.skeleton;
    // what stands before the colon of a subject, such as `ignore/types` or `fix(ignore)`
    let area = skeleton.split_once(": ").map_or("", |(before, _)| before);
    let is_area = clause.span.start == 0
        && !area.contains(' ')
        && (area.contains(['/', '(', ',', '.', '-']) || area.starts_with("ignor"));
    let from = if is_area { area.len() } else { 0 };
    let mut words = TURNING.find_iter(skeleton);
    words
        .find(|found| found.start() >= from && !is_in_name(skeleton, found.range()))
        .map(|found| clause.origin(found.range()))
}

/// Whether a word is a part of a release (`ignore-0.4`), a path (`ignore/types`) or a file's name (`ignore.rs`, `.ignore`).
fn is_in_name(skeleton: &str, word: Range<usize>) -> bool {
    static RELEASE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^-v?[0-9]+\.[0-9]").expect("valid"));
    let (before, behind) = (&skeleton[..word.start], &skeleton[word.end..]);
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'');
    let is_folder = |other: &str| {
        let is_turning = TURNING.find(other).is_some_and(|found| found.as_str() == other);
        !other.is_empty() && !is_turning && !JOINING.contains(&other)
    };
    let right = behind.strip_prefix('/').map(|rest| rest.split(|c| !is_letter(c)).next().unwrap_or_default());
    let left = before.strip_suffix('/').map(|rest| rest.rsplit(|c| !is_letter(c)).next().unwrap_or_default());
    right.is_some_and(is_folder)
        || left.is_some_and(is_folder)
        || before.ends_with('.')
        || behind.strip_prefix(['.', '=']).is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
        || RELEASE.is_match(behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::mentions;

    fn turning(text: &str) -> Option<&str> {
        let clause = Clause::new(text, 0..text.len(), &mentions(text, 0..text.len()));
        turning_word(&clause).map(|span| &text[span])
    }

    #[test]
    fn words_of_prose_turn_a_statement_and_names_do_not() {
        assert_eq!(turning("`get` still returns a value that has expired."), Some("still"));
        assert_eq!(turning("The argument is accepted but ignored."), Some("ignored"));
        assert_eq!(turning("It doesn’t lock."), Some("doesn’t"));
        assert_eq!(turning("Adds a lock to `get`."), None);
        assert_eq!(turning("Calls `not_before` and `only(x)`."), None);
        for text in [
            "Release ignore-0.4.33 and docs/again/x, before.sh, .ignore",
            "ignore: add a type",
            "ignore/types: add a type",
            "fix(ignore): add a type",
            "globset,ignore: add a type",
        ] {
            assert_eq!(turning(text), None, "{text}");
        }
        for (text, word) in [
            ("Wrong: it locks `get`", "Wrong"),
            ("Never: locks `get`", "Never"),
            ("And/or not-null", "not"),
            ("Locks `get` with/without it", "without"),
            ("It is either/or.", "either"),
            ("Locks it only-1 time.", "only"),
        ] {
            assert_eq!(turning(text), Some(word), "{text}");
        }
    }
}
