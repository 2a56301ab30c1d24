//! VD004: what is asked for, or said to be missing or unused, is there.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{sample::Task, statements::StatementKind};

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{Reading, readings},
};
use crate::mention::{Mention, MentionKind};

mod asked;
mod patterns;
#[cfg(test)]
mod tests;
mod uses;

use patterns::{Lack, PATTERNS};
pub use uses::defines;
use uses::{Use, declares, imports, imports_module, uses};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD004",
    name: "already-there",
    summary: "The text asks for something, or says that it is missing or unused, and the new side has it.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(asked::check),
};

/// Sentences on how it was, on what could be, or on what the change itself does about it.
static NOT_OF_NOW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:was|were|had been|previously|before|used to|if|when|unless|in case|where|fix(?:es|ed)?|remov(?:es|ed)|ensur(?:es|ing)|so that|otherwise|avoids?|prevents?)\b|^for (?:an?|the) |\bno longer\b|\bany ?more after\b",
    )
    .expect("a valid pattern")
});

/// A place that the claim is bound to, other than the change itself.
static BOUND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ ?(?:[a-z]+ )?(?:in|on|by|for|inside|within|outside|after|from|at|with|unless|until|during|to|as|with|there) ").expect("a valid pattern")
});

/// A place that is the change.
static HERE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^ ?(?:anywhere|here|at all|yet|any ?more|in (?:this|the|that) (?:change|diff|hunk|patch|commit|pr|file|code|module|new code)|on the class)",
    )
    .expect("a valid pattern")
});

/// The end of what is said to be missing.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ ?(?:$|[.,;:!?)–—]|(?:and|but|so|or|though|although|which|too|as well|now)\b)")
        .expect("a valid pattern")
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if !matches!(scene.kind, StatementKind::Assertion | StatementKind::Request) {
        return Vec::new();
    }
    // a commit message does not ask, and its imperatives say what was done
    let says_done = scene.kind == StatementKind::Assertion && scene.task == Task::Commit;
    let mut found: Vec<Claimed> = Vec::new();
    if NOT_OF_NOW.is_match(&scene.statement.skeleton) {
        return found;
    }
    for (lack, pattern) in &*PATTERNS {
        if says_done && matches!(lack, Lack::Removal | Lack::Exchange | Lack::ToDefine) {
            continue;
        }
        for reading in readings(scene, pattern) {
            let words = &scene.clause.skeleton[reading.part.clone()];
            if says_done && (words.contains("missing") || words.starts_with("add")) {
                continue;
            }
            let claimed = against(scene, *lack, &reading).map(|(lines, message)| Claimed {
                ruling: Ruling::Contradicted,
                part: reading.part.clone(),
                lines,
                message,
            });
            found.extend(claimed.filter(|new| !found.iter().any(|old| old.lines == new.lines)));
        }
    }
    found
}

fn against(scene: &Scene<'_, '_>, lack: Lack, reading: &Reading<'_>) -> Option<(Vec<usize>, String)> {
    let mention = *reading.things.first()?;
    let is_entry = matches!(lack, Lack::Import | Lack::Entry) && mention.kind != MentionKind::Number;
    if mention.kind != MentionKind::Name && !is_entry {
        return None;
    }
    let found = scene.change.find(mention);
    let places = found.exactly()?;
    let name = &scene.clause.text[mention.span.clone()];
    let last = mention.last();
    let new_side = places.new_side();
    let that = |passes: &dyn Fn(&str) -> bool| -> Vec<usize> {
        new_side.iter().copied().filter(|&line| passes(scene.change.code(line))).collect()
    };
    let rest = &scene.clause.skeleton[reading.part.end..];
    let is_bound = BOUND.is_match(rest) && !HERE.is_match(rest);
    let words = &scene.clause.skeleton[reading.part.clone()];
    // "`email` is missing from `Meta.fields`" is of that list, and "`put` is missing a docstring" of something else
    if words.ends_with("missing") && !ENDS.is_match(rest) && !HERE.is_match(rest) {
        return None;
    }
    // "removing `wtimeout` seems unnecessary" is of the change, which does so
    if lack == Lack::Removal && ["removing", "deleting", "dropping"].iter().any(|verb| words.starts_with(verb)) {
        return None;
    }
    let (lines, message) = match lack {
        Lack::Definition | Lack::ToDefine => {
            (that(&|code| defines(code, last)), format!("the new side defines or imports `{name}`"))
        }
        Lack::Import if mention.kind == MentionKind::Name => {
            (that(&|code| imports(code, last)), format!("the new side imports `{name}`"))
        }
        Lack::Import => (that(&|code| imports_module(code, &mention.code)), format!("the new side imports `{name}`")),
        Lack::Use if !is_bound => (that(&|code| uses(code, last, Use::Any)), format!("`{name}` is used")),
        Lack::Call if !is_bound => (that(&|code| uses(code, last, Use::Call)), format!("`{name}` is called")),
        Lack::Entry if places.came() => (places.added.clone(), format!("`{name}` is on added lines")),
        Lack::Removal if places.only_removed() => {
            (places.removed.clone(), format!("the change removes `{name}` already"))
        }
        Lack::Exchange if places.only_removed() => {
            let new: &Mention = reading.things.get(1)?;
            let new_found = scene.change.find(new);
            let new_places = new_found.exactly().filter(|new_places| new_places.came())?;
            let lines = [places.removed.as_slice(), &new_places.added].concat();
            (lines, format!("the change puts `{}` for `{name}` already", &scene.clause.text[new.span.clone()]))
        }
        _ => return None,
    };
    (!lines.is_empty()).then_some((lines, message))
}
