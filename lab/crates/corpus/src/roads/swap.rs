//! The other way round: `Replace b with a` for `Replace a with b`. Both halves have the same words.

use std::sync::LazyLock;

use regex::Regex;

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::{has_word, words};

/// Twins in which two things have changed places.
pub struct Swap;

/// What goes between a verb and two things; the first group is what leads to the first thing.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const END: &str =
        r"(?P<tail>(?:,?\s+(?:in|for|when|where|on|at|across|throughout|inside|within|during|if)\s.*|\.|\s+\(.*\))?)$";
    let one = |head: &str, between: &str| {
        Regex::new(&format!(r"(?i)^(?P<head>{head})(?P<a>.+?)(?P<mid>\s+{between}\s+)(?P<b>.+?){END}"))
            .expect("a valid pattern")
    };
    vec![
        one(
            r"(?:replac(?:e|es|ed|ing)|substitut(?:e|es|ed))\s+(?:(?:all|remaining|usages?|uses?|calls|occurrences)\s+(?:of|to)\s+)?",
            "(?:with|by)",
        ),
        one(r"renam(?:e|es|ed|ing)\s+", "(?:to|as|into)"),
        one(
            r"(?:us(?:e|es|ed)|prefer|prefers|call|calls|return|returns|throw|throws|raise|pass|check|print|log)\s+",
            "(?:instead of|rather than|in place of|over)",
        ),
        one(r"(?:chang|mov|convert|switch|migrat|port)(?:e|es|ed|s)?\s+(?:.{1,40}\s+)?from\s+", "(?:to|into)"),
    ]
});

/// What cannot stand on the other side, because only the old thing or only the new one is called so.
const ONE_SIDED: [&str; 41] = [
    "new",
    "old",
    "own",
    "custom",
    "proper",
    "better",
    "real",
    "actual",
    "correct",
    "explicit",
    "simpler",
    "faster",
    "modern",
    "generic",
    "existing",
    "legacy",
    "deprecated",
    "obsolete",
    "hardcoded",
    "hard-coded",
    "manual",
    "it",
    "its",
    "them",
    "their",
    "most",
    "duplicate",
    "redundant",
    "other",
    "same",
    "more",
    "just",
    "only",
    "not",
    "be",
    "instead",
    "one",
    "all",
    "some",
    "correctly",
    "work",
];

impl Road for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn kind(&self) -> Kind {
        Kind::Order
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let swapped = PATTERNS.iter().find_map(|pattern| swapped(pattern, scene.body()));
        swapped.map(|body| scene.twin(self, &body, None)).into_iter().collect()
    }
}

fn swapped(pattern: &Regex, body: &str) -> Option<String> {
    let found = pattern.captures(body)?;
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let (head, a, mid, b, tail) = (part("head"), part("a"), part("mid"), part("b"), part("tail"));
    let is_thing = |text: &str| {
        let n = words(text).len();
        (1..=4).contains(&n)
            && !has_word(text, &ONE_SIDED)
            && !text.contains([',', ';'])
            && !has_word(text, &["and", "with", "to", "from", "by", "that", "which", "so", "when", "in", "for", "as"])
    };
    // what is done with a thing is no thing, and a plural is not made of a singular with an article
    let has_article = |text: &str| has_word(text, &["a", "an", "the"]);
    let differs = !a.eq_ignore_ascii_case(b) && has_article(a) == has_article(b);
    (is_thing(a) && is_thing(b) && differs).then(|| format!("{head}{b}{mid}{a}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Option<String> {
        PATTERNS.iter().find_map(|pattern| swapped(pattern, body))
    }

    #[test]
    fn two_things_change_places() {
        assert_eq!(
            of("Replace usages of foo() with bar() in the reader").unwrap(),
            "Replace usages of bar() with foo() in the reader"
        );
        assert_eq!(of("Rename `max_size` to `limit`").unwrap(), "Rename `limit` to `max_size`");
        assert_eq!(of("Change timeout from 10 to 30").unwrap(), "Change timeout from 30 to 10");
        assert_eq!(of("Use String rather than Symbol.").unwrap(), "Use Symbol rather than String.");
        assert_eq!(of("Replace the old lock with a mutex"), None);
        assert_eq!(of("Change how names are read to be faster"), None);
    }
}
