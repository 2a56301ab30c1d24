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

/// The first word of a clause that turns it round, as bytes of the text.
pub fn turning_word(clause: &Clause<'_>) -> Option<Range<usize>> {
    let skeleton = &clause.skeleton;
    // a release (`ignore-0.4`), a path (`ignore/types`) and the area before a subject (`ignore: …`) have such words too
    let is_name = |word: Range<usize>| {
        let (before, behind) = (&skeleton[..word.start], &skeleton[word.end..]);
        let mut next = behind.chars();
        let goes_on = match (next.next(), next.next()) {
            (Some('-'), Some(c)) => c.is_ascii_digit(),
            (Some('.' | '/' | '_' | '='), Some(c)) => c.is_alphanumeric(),
            _ => false,
        };
        goes_on || before.ends_with(['/', '_']) || (before.is_empty() && behind.starts_with(": "))
    };
    let mut words = TURNING.find_iter(skeleton);
    words.find(|found| !is_name(found.range())).map(|found| clause.origin(found.range()))
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
        assert_eq!(turning("Release ignore-0.4.33 and docs/again/x, before.sh"), None);
        assert_eq!(turning("ignore: add a type"), None);
        assert_eq!(turning("It is non-null again. And/or not-null"), Some("again"));
    }
}
