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
    TURNING.find(&clause.skeleton).map(|found| clause.origin(found.range()))
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
    }
}
