//! Conditions in words: who says what under which condition, where neither may be named as in code.
//!
//! A sentence says that an action happens or does not, under a condition that holds or does not. Both signs are compared with the sign of the
//! comparison that guards the action's lines.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use super::guard::atoms;
use crate::{
    blocks::{Blocks, Guard},
    lexicon::presupposed,
    mention::MentionKind,
    occurrences::{Places, stems},
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        resolve::resolve,
        terms::{Term, Weight, best_lines, terms},
        thing::is_comment,
    },
};

/// How a condition is tied to what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// It happens when the condition holds.
    If,
    /// It happens under this condition alone.
    Only,
    /// It happens under this condition too.
    Even,
    /// It does not matter whether the condition holds.
    Whatever,
}

const TIES: [(&str, Tie, bool); 21] = [
    ("only if", Tie::Only, true),
    ("only when", Tie::Only, true),
    ("only for", Tie::Only, true),
    ("only where", Tie::Only, true),
    ("if", Tie::If, true),
    ("when", Tie::If, true),
    ("whenever", Tie::If, true),
    ("once", Tie::If, true),
    ("where", Tie::If, true),
    ("as long as", Tie::If, true),
    ("as soon as", Tie::If, true),
    ("so long as", Tie::If, true),
    ("provided that", Tie::If, true),
    ("provided", Tie::If, true),
    ("except if", Tie::If, false),
    ("unless", Tie::If, false),
    ("except when", Tie::If, false),
    ("even if", Tie::Even, true),
    ("even when", Tie::Even, true),
    ("whether or not", Tie::Whatever, true),
    ("regardless of whether", Tie::Whatever, true),
];

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(only if|only when|only for|only where|even if|even when|whether or not|regardless of whether|except when|except if|unless|whenever|when|if|once|as long as|as soon as|so long as|provided that|provided|where) ([^,;:()]{3,80})",
    )
});

/// What says that a condition does not hold, or that nothing is there.
static NOT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:no|not|without|lacks?|lacking|missing|absent|empty|unset|null|none|nil|undefined|blank|disabled|omitted|off|[a-z]+n't)\b",
    )
});

/// What says that something does not happen.
static DENIED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:not|no longer|never|skip(?:s|ped)?|[a-z]+n't|without|nothing|avoids?|omits?)\b"));

/// Sentences in which a condition is of another kind, or another time.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|suggest|it was|used to|previously|before|fix(?:es|ed)?|bug|crash\w*|instead|rather|otherwise|ensures?|so that|fails?|failed|broken|neither|either|document|tests? that)\b",
    )
});

/// Words that say no more than that a condition holds.
const HOLDS: [&str; 26] = [
    "on",
    "set",
    "given",
    "passed",
    "present",
    "provided",
    "configured",
    "specified",
    "enabled",
    "available",
    "defined",
    "exists",
    "exist",
    "found",
    "installed",
    "running",
    "active",
    "there",
    "has",
    "have",
    "true",
    "false",
    "supplied",
    "response",
    "value",
    "case",
];

/// What the statement says of conditions.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = presupposed(&scene.clause.skeleton, scene.kind == StatementKind::Question) else {
        return Vec::new();
    };
    let asks = scene.kind == StatementKind::Request;
    // who asks for a condition tells how it is without one behind a colon
    let said_from = if asks { said.find(": ").map_or(said.len(), |at| at + 2) } else { 0 };
    if OPEN.is_match(&said[said_from..]) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for captures in CONDITION.captures_iter(said) {
        let (whole, condition) = (captures.get(0).expect("the whole"), captures.get(2).expect("the condition"));
        if whole.start() < said_from {
            continue;
        }
        let Some(&(_, tie, holds)) = TIES.iter().find(|(word, ..)| *word == &captures[1]) else { continue };
        let start =
            [". ", "; ", ": "].iter().filter_map(|end| said[..whole.start()].rfind(end)).max().map_or(0, |at| at + 1);
        let before = said[start..whole.start()].trim().trim_end_matches(" but").trim_end_matches(',');
        let behind = said[whole.end()..].split(['.', ';', ':']).next().unwrap_or("").trim_start_matches(',');
        let behind = behind.split(", so ").next().unwrap_or(behind);
        let action = if before.len() > 3 { before } else { behind };
        // a second condition in the same words
        if action.len() < 4 || action.ends_with('(') || CONDITION.is_match(action) {
            continue;
        }
        for (index, conjunct) in condition.as_str().split(" and ").enumerate() {
            if conjunct.contains(" or ") {
                continue;
            }
            let tie = if index > 0 && tie == Tie::If { Tie::Only } else { tie };
            found.extend(judge(
                scene,
                scene.change.new_blocks(),
                &Claim { action, condition: conjunct, tie, holds },
                whole.range(),
            ));
        }
    }
    found.truncate(1);
    found
}

/// What a sentence says happens under a condition.
struct Claim<'s> {
    action: &'s str,
    condition: &'s str,
    tie: Tie,
    /// Whether the word of the condition asks that it holds.
    holds: bool,
}

fn judge(scene: &Scene<'_, '_>, blocks: &Blocks<'_>, claim: &Claim<'_>, part: Range<usize>) -> Option<Claimed> {
    let condition = plain(scene, claim.condition)?;
    let (n_not, n_denied) = (NOT.find_iter(&condition).count(), DENIED.find_iter(claim.action).count());
    let is_double = condition.contains("not null") || condition.contains("n't null");
    if n_not > 1 + usize::from(is_double) || n_denied > 1 {
        return None;
    }
    let subject = subject_of(scene, &condition)?;
    let own = |term: &Term<'_>| subject.iter().any(|other| other.key == term.key);
    let action: Vec<Term<'_>> = terms(scene, claim.action).into_iter().filter(|term| !own(term)).collect();
    let conditions: Vec<usize> = blocks.conditions().iter().map(|guard| guard.line).collect();
    let mut lines = action_lines(scene, &action);
    if lines.is_empty() {
        let of_phrase = resolve(scene, claim.action, &action, |places| places.added.clone());
        lines = if of_phrase.is_anchored() { of_phrase.all_lines(scene, 0.6) } else { Vec::new() };
    }
    lines.retain(|line| !conditions.contains(line));
    if lines.is_empty() {
        return None;
    }
    let signs: Vec<Option<(bool, usize)>> = lines.iter().map(|&line| sign_at(blocks, line, &subject)).collect();
    let expected = claim.holds ^ (n_not % 2 == 1) ^ (n_denied == 1);
    let name = subject.iter().map(|term| term.key.as_str()).collect::<Vec<_>>().join(" ");
    let contradicted = |lines: Vec<usize>, message: String| {
        Some(Claimed { ruling: Ruling::Contradicted, part: part.clone(), lines, message })
    };
    if signs.iter().all(Option::is_some) {
        let &(_, at) = signs[0].as_ref()?;
        let is_against = claim.tie == Tie::Whatever || signs.iter().flatten().all(|(sign, _)| *sign != expected);
        return if is_against {
            contradicted(vec![at, lines[0]], format!("the condition on {name} is another"))
        } else {
            None
        };
    }
    // said to depend on what does not guard it, though a condition on it stands beside
    if claim.tie != Tie::Only || signs.iter().any(Option::is_some) || n_denied > 0 {
        return None;
    }
    let speaks = |guard: &Guard| has_all(&guard.condition, &subject);
    let beside = blocks
        .conditions()
        .into_iter()
        .find(|guard| speaks(guard) && lines.iter().all(|&line| blocks.is_beside(guard.line, line)))?;
    let is_free = lines.iter().all(|&line| !blocks.guards(line).iter().any(speaks));
    if is_free { contradicted(vec![lines[0], beside.line], format!("it does not depend on {name}")) } else { None }
}

/// What a condition is about; none where the change does not have it, or not what it is said to be.
fn subject_of<'c>(scene: &'c Scene<'_, '_>, condition: &str) -> Option<Vec<Term<'c>>> {
    let bare = NOT.replace_all(condition, " ");
    let mut subject = terms(scene, &bare);
    subject.retain(|term| !HOLDS.contains(&term.key.as_str()));
    // what it is said to be is not in the change by these words
    let complement = bare.rsplit_once(" is ").map_or("", |(_, behind)| behind);
    if subject.iter().any(|term| term.places.is_empty() && complement.contains(&term.key)) {
        return None;
    }
    subject.retain(is_subject);
    if subject.iter().any(|term| term.weight > Weight::Common) {
        subject.retain(|term| term.weight > Weight::Common);
    }
    (!subject.is_empty()).then_some(subject)
}

/// A condition with the constants of code as words; none where it compares with a number.
fn plain(scene: &Scene<'_, '_>, condition: &str) -> Option<String> {
    let mut words = Vec::new();
    for word in condition.split(' ') {
        let mention = word
            .starts_with('@')
            .then(|| scene.clause.mention(word.trim_end_matches(|c: char| !c.is_ascii_digit())))
            .flatten();
        match mention.map(|mention| (mention.kind, mention.code.as_str())) {
            Some((MentionKind::Number, _)) => return None,
            Some((MentionKind::Constant, "true" | "True")) => words.push("true"),
            Some((MentionKind::Constant, "false" | "False")) => words.push("disabled"),
            Some((MentionKind::Constant, _)) => words.push("null"),
            _ => words.push(word),
        }
    }
    Some(words.join(" "))
}

/// Whether a term can be what a condition is about.
fn is_subject(term: &Term<'_>) -> bool {
    !term.places.is_empty() && (term.weight > Weight::Common || term.places.new_side().len() < 6)
}

/// The lines on which an action happens: added ones if there are any.
fn action_lines(scene: &Scene<'_, '_>, action: &[Term<'_>]) -> Vec<usize> {
    const MANY: usize = 8;
    let action: Vec<Term<'_>> = action.iter().filter(|term| !term.places.added.is_empty()).cloned().collect();
    if !action.iter().any(|term| term.weight > Weight::Common && !term.places.is_empty()) {
        return Vec::new();
    }
    let is_code = |line: &usize| {
        let code = scene.change.code(*line);
        scene.change.diff.lines()[*line].kind != LineKind::Header
            && !is_comment(code)
            && crate::blocks::function_name(code).is_none()
    };
    let mut lines = best_lines(&action, |places: &Places| places.added.clone(), 0.5);
    lines.retain(is_code);
    if lines.len() > MANY { Vec::new() } else { lines }
}

/// What the innermost guard around a line that speaks of a subject says of it, with the guard's line.
fn sign_at(blocks: &Blocks<'_>, line: usize, subject: &[Term<'_>]) -> Option<(bool, usize)> {
    blocks.guards(line).iter().find_map(|guard| {
        let (atom, joint) = atom_of(&guard.condition, subject)?;
        // where the whole does not hold an `and` says nothing of one part
        if joint.is_some_and(|and| and == guard.negated) {
            return None;
        }
        Some((sign(&atom)? ^ guard.negated, guard.line))
    })
}

/// The one part of a condition that has all terms of a subject.
fn atom_of(condition: &str, subject: &[Term<'_>]) -> Option<(String, Option<bool>)> {
    if condition.contains("!(") || condition.contains("not (") {
        return None;
    }
    let (atoms, joint) = atoms(condition)?;
    let mut with = atoms.into_iter().filter(|atom| has_all(atom, subject));
    let first = with.next()?;
    with.next().is_none().then(|| (first.trim().to_owned(), joint))
}

/// Whether code has all terms of a subject.
fn has_all(code: &str, subject: &[Term<'_>]) -> bool {
    let parts: Vec<String> = code.split(|c: char| !c.is_alphanumeric() && c != '_').flat_map(stems).collect();
    subject.iter().all(|term| term.is_in(code, &parts))
}

static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:(==?=?|\bis)\s*)(?:None|null|nil|NULL|nullptr|'undefined'|"undefined"|undefined|""|''|0|false|False)(?:\W|$)"#).expect("a valid pattern")
});
static SOMETHING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:!=?=|\bis not)\s*(?:None|null|nil|NULL|nullptr|'undefined'|"undefined"|undefined|""|''|0|false|False)(?:\W|$)"#).expect("a valid pattern")
});
static EMPTY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:is_none|is_empty|isEmpty|isNull|isBlank|isNil|IsNullOrEmpty|IsEmpty|blank\?|empty\?|nil\?|is_err)\b",
    )
    .expect("a valid pattern")
});
static UNEQUAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"!==?|\bis not\b|\bnot in\b").expect("a valid pattern"));

/// Whether a comparison says that its subject is so, or is there; `None` for one of size.
fn sign(atom: &str) -> Option<bool> {
    let atom = atom.trim_start_matches('(');
    let denied = (atom.starts_with('!') && !atom.starts_with("!=")) || atom.starts_with("not ");
    let says = if SOMETHING.is_match(atom) {
        true
    } else if NOTHING.is_match(atom) || EMPTY.is_match(atom) {
        false
    } else if atom.replace("=>", "").replace("->", "").contains(['<', '>']) {
        return None;
    } else {
        !UNEQUAL.is_match(atom)
    };
    Some(says ^ denied)
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::condition::RULE;
    use crate::rules::twins::texts_apart;

    const GO: &str = "--- a/mail.go\n+++ b/mail.go\n@@ @@\n func deliver(m *Mail, cfg Config) {\n+\tif m.Attachment != nil {\n+\t\tscanForVirus(m)\n+\t}\n+\tif cfg.QuietHours == \"\" {\n+\t\tringBell(m)\n+\t} else {\n+\t\tstoreSilently(m)\n+\t}\n+\tsignMessage(m)\n \tsend(m)\n }\n";

    #[test]
    fn conditions_in_words_are_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            GO,
            &[
                (
                    "The virus scan only runs if there is an attachment.",
                    "The virus scan only runs if there is no attachment.",
                ),
                (
                    "The bell isn't rung when quiet hours are configured.",
                    "The bell isn't rung when no quiet hours are configured.",
                ),
                ("It stores silently once quiet hours are given.", "It stores silently unless quiet hours are given."),
                (
                    "The message is signed, even if it has no attachment.",
                    "The virus scan runs even if there is no attachment.",
                ),
                ("`signMessage` runs for every mail.", "`signMessage` runs only if there is an attachment."),
            ],
        );
    }
}
