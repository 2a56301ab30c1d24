//! The opposite condition: `unless` for `if`, `is not null` for `is null`.

use std::sync::LazyLock;

use regex::Regex;

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::{has_word, replaced};

/// Twins under the opposite condition.
pub struct Condition;

/// What opens a condition, and its opposite.
const OPENERS: [(&str, &str); 4] = [("if", "unless"), ("when", "unless"), ("with", "without"), ("before", "after")];

/// What is said inside a condition, and its opposite.
const STATES: [(&str, &str); 8] = [
    ("is", "is not"),
    ("are", "are not"),
    ("is empty", "is not empty"),
    ("exists", "does not exist"),
    ("empty", "non-empty"),
    ("enabled", "disabled"),
    ("present", "missing"),
    ("valid", "invalid"),
];

static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r" (if|when|unless|where|while) (?P<rest>.+)$").expect("a valid pattern"));

impl Road for Condition {
    fn name(&self) -> &'static str {
        "condition"
    }

    fn kind(&self) -> Kind {
        Kind::Condition
    }

    fn balance(&self) -> Balance {
        Balance::Exact
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        // what is mended in one case may have been wrong in the other one too
        if has_word(
            body,
            &["fix", "fixes", "fixed", "avoid", "prevent", "test", "tests", "bug", "issue", "crash", "not", "only"],
        ) {
            return Vec::new();
        }
        let mut twins = Vec::new();
        let inside = CONDITION.captures(body).and_then(|found| found.name("rest"));
        for (one, other) in OPENERS.into_iter().chain(STATES) {
            let inside = inside.filter(|_| STATES.contains(&(one, other)));
            if inside.is_none() && STATES.contains(&(one, other)) {
                continue;
            }
            for (from, to) in [(one, other), (other, one)] {
                let padded = format!(" {from} ");
                let from_byte = inside.map_or(0, |inside| inside.start() - 1);
                let haystack = format!("{body} ");
                if haystack.matches(&padded).count() != 1 {
                    continue;
                }
                if let Some(at) = haystack[from_byte..].find(&padded) {
                    if from.starts_with("with") && !can_be_denied(body, &haystack[from_byte + at + padded.len()..]) {
                        continue;
                    }
                    let place = from_byte + at + 1..from_byte + at + 1 + from.len();
                    twins.push(scene.twin(self, &replaced(body, place, to), Some((from, to))));
                }
            }
        }
        twins
    }
}

/// Whether what is done with something can be done without it: nothing is replaced without something, and "with providing" is none.
fn can_be_denied(body: &str, rest: &str) -> bool {
    const WITH: [&str; 12] = [
        "replace",
        "replaces",
        "replaced",
        "replacing",
        "compare",
        "compatible",
        "compatibility",
        "conflict",
        "conflicts",
        "consistent",
        "deal",
        "along",
    ];
    let next = rest.split(' ').next().unwrap_or(rest);
    !has_word(body, &WITH) && !next.ends_with("ing") && !matches!(next, "a" | "an" | "any" | "the" | "its" | "same")
}
