//! VD001, VD002, VD005: what is named is not in the change.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{sample::Task, statements::StatementKind};

use super::{Claimed, Rule, Ruling, Scene, phrase::is_denied};
use crate::{
    change::Found,
    mention::{Mention, MentionKind},
};

/// What makes a name behind it an example, or something to come.
static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:if|such as|like|similar to|unlike|e\.g\.|lacks?|missing|should|could|would|may|might|outside|elsewhere|callers?|todo|so far|until now|till now|up to now)\b")
        .expect("a valid pattern")
});

/// What says of a name before it that it lacks.
static LACKS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[a-z]+ ){0,3}?(?:is|are|seems|appears|was) (?:to be )?(?:missing|absent|lacking|nowhere|gone|(?:still )?(?:not|never)(?: yet| being| actually)? (?:there|used|defined|imported|declared|present|set|called|handled|needed|required|part|in))\b|^(?:[a-z]+ ){0,2}?(?:isn't|aren't|wasn't|should|could|would|might|may)\b")
        .expect("a valid pattern")
});

/// Names.
pub static NAME: Rule = Rule {
    code: "VD001",
    name: "absent-name",
    summary: "The text speaks of a name, an option or a file that is not in the change.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: true,
    reads_bodies: true,
    check: |scene| absent(scene, |kind| matches!(kind, MentionKind::Name | MentionKind::Flag | MentionKind::File)),
    check_statement: None,
};

/// Numbers.
pub static NUMBER: Rule = Rule {
    code: "VD002",
    name: "absent-number",
    summary: "The text gives a number that is not in the change.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: true,
    reads_bodies: true,
    check: |scene| absent(scene, |kind| kind == MentionKind::Number),
    check_statement: None,
};

/// Quoted code.
pub static CODE: Rule = Rule {
    code: "VD005",
    name: "absent-code",
    summary: "The text quotes code that is not in the change.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: true,
    reads_bodies: true,
    check: |scene| absent(scene, |kind| kind == MentionKind::Snippet),
    check_statement: None,
};

/// Smallest number whose absence says something: smaller ones count things.
const LEAST_TOLD: f64 = 13.0;

fn absent(scene: &Scene<'_, '_>, is_ours: impl Fn(MentionKind) -> bool) -> Vec<Claimed> {
    // who asks for something names what is not there yet
    let asks = !matches!(scene.kind, StatementKind::Assertion | StatementKind::Request);
    let mut found = Vec::new();
    for (number, mention) in scene.clause.mentions.iter().enumerate().filter(|(_, mention)| is_ours(mention.kind)) {
        let at = scene.clause.skeleton.find(&format!("@{number}")).unwrap_or(0);
        let part = at..at + 1 + number.to_string().len();
        let written = &scene.clause.text[mention.span.clone()];
        match scene.change.find(mention) {
            Found::Exactly(places) => {
                let lines = [places.added.as_slice(), &places.removed, &places.context].concat();
                if !lines.is_empty() && (mention.is_marked || mention.kind != MentionKind::Number) {
                    let message = format!("`{written}` is in the change");
                    found.push(Claimed { ruling: Ruling::Holds, part, lines, message });
                }
            }
            Found::InPieces(_) => {}
            Found::Absent { .. } if asks || !is_telling(scene, mention) || is_elsewhere(scene, mention, at) => {}
            Found::Absent { near } => {
                let in_tree = scene.tree.and_then(|tree| match mention.kind {
                    // a fraction has a dot as a path has; `.5` is 5 to an index of names, and 0.5 is written so as well
                    MentionKind::Number if tree.contains(mention.last()) == Some(true) => Some(true),
                    MentionKind::Number => tree.contains(&mention.code),
                    _ => tree.contains(mention.last()),
                });
                let (ruling, place) = match in_tree {
                    Some(true) => continue,
                    Some(false) => (Ruling::Nowhere, "in no file of the tree"),
                    // another end of a path that the change has: `threading.RLock` where there is `threading.Lock`
                    None if near.is_some() && scene.change.occurrences.sibling(&mention.code) == near.as_deref() => {
                        (Ruling::Contradicted, "not in this diff")
                    }
                    None => (Ruling::NotHere, "not in this diff"),
                };
                let lines = near.as_deref().and_then(|near| scene.change.occurrences.name(near));
                let lines = lines.map(|places| places.new_side()).unwrap_or_default();
                let near = near.map(|near| format!("; `{near}` is")).unwrap_or_default();
                found.push(Claimed { ruling, part, lines, message: format!("`{written}` is {place}{near}") });
            }
        }
    }
    found
}

/// Whether the absence of a thing says something.
fn is_telling(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    match mention.kind {
        MentionKind::Number => {
            let before = scene.clause.text[scene.clause.span.start..mention.outer.start].trim_end();
            let behind = scene.clause.text[mention.outer.end..].trim_start();
            let is_reference = before.ends_with(['#', '§', 'v'])
                || before.to_lowercase().ends_with("line")
                || before.ends_with("lines");
            let is_version = behind.starts_with('.') && behind[1..].starts_with(|c: char| c.is_ascii_digit());
            !is_reference
                && !is_version
                && (mention.is_marked || mention.value().is_some_and(|value| value >= LEAST_TOLD))
        }
        MentionKind::Name => mention.is_marked || mention.code.contains(['_', '.', ':']) || mention.last().len() > 4,
        MentionKind::Snippet => mention.code.len() >= 4,
        _ => true,
    }
}

/// Whether a name may well be meant that is nowhere in a diff: one that is said to lack, one of the world around the change, one
/// that is written in another way there.
fn is_elsewhere(scene: &Scene<'_, '_>, mention: &Mention, at: usize) -> bool {
    let skeleton = &scene.clause.skeleton;
    let behind = skeleton[at..].split_once(' ').map_or("", |(_, behind)| behind);
    let asks = scene.kind == StatementKind::Request;
    if !asks && (is_denied(&skeleton[..at]) || BEFORE.is_match(&skeleton[..at]) || LACKS.is_match(behind)) {
        return true;
    }
    match mention.kind {
        // a bare hunk names no file
        MentionKind::File => {
            let is_named = !scene.change.diff.files().is_empty();
            !is_named || (!mention.is_marked && scene.task == Task::Commit)
        }
        MentionKind::Flag => !mention.is_marked,
        MentionKind::Name => {
            // an object before the name is how people write, not what the code calls it
            // `time.time` is not there because `time` is
            let is_path = mention.pieces().len() > 1
                && mention.pieces().first() != Some(&mention.last())
                && scene.change.occurrences.name(mention.last()).is_some();
            let is_quoted = scene.clause.text[mention.outer.clone()].starts_with(['"', '\'', '“', '‘']);
            let is_word = mention.code.chars().all(|c| c.is_lowercase());
            is_path || (is_quoted && is_word) || (!mention.is_marked && is_loose(scene, mention))
        }
        _ => false,
    }
}

/// Whether a name without marks is prose as much as code.
fn is_loose(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    let is_person = scene.clause.text[mention.span.clone()].starts_with('@');
    let is_kind = ["Error", "Exception", "Warning"].iter().any(|end| mention.code.ends_with(end));
    // a commit message names what is around its change; what it says to use is in it
    let before = scene.clause.text[scene.clause.span.start..mention.outer.start].trim_end().to_lowercase();
    let is_used =
        [" a", " an", " with", " new", " using", "use", " via", " by"].iter().any(|word| before.ends_with(word));
    let is_context = scene.task == Task::Commit && !is_used;
    is_person || is_kind || is_context || scene.change.occurrences.has_letters(&mention.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::phrase::said;

    const DIFF: &str = "--- a/cache.py\n+++ b/cache.py\n@@ ... @@\n import threading\n+    self._lock = threading.Lock(60)\n     parser.add('--color')\n";

    #[test]
    fn a_false_statement_has_a_true_twin() {
        let mut wrongs: Vec<&str> = Vec::new();
        for (rule, held, wrong) in [
            (&NAME, "The lock is a `threading.Lock`.", "The lock is a `threading.RLock`."),
            (&NAME, "It takes `self._lock`.", "It takes `self._mutex`."),
            (&NAME, "It uses a threading.Lock.", "It uses a threading.Semaphore."),
            (&NAME, "`--color` is there.", "`--colour` is there."),
            (&NAME, "It changes `cache.py`.", "It changes `store.py`."),
            (&NUMBER, "It waits 60 seconds.", "It waits 600 seconds."),
            (&CODE, "`threading.Lock(60)` is slow.", "`threading.Lock(timeout=60)` is slow."),
        ] {
            let ruling = |text| said(rule, DIFF, text, Task::Review, StatementKind::Assertion);
            if ruling(held) == Some(Ruling::NotHere) {
                wrongs.push(held);
            }
            if !matches!(ruling(wrong), Some(Ruling::NotHere | Ruling::Contradicted)) {
                wrongs.push(wrong);
            }
        }
        assert!(wrongs.is_empty(), "{wrongs:#?}");
    }

    #[test]
    fn what_prose_names_besides_code_is_not_absent() {
        for text in [
            "`self._mutex` is missing.",
            "There is no `release` here.",
            "It should use `RLock`.",
            "Something like `asyncio.Lock` would do.",
            "BigQuery and Node.js are not code, nor is camelCase.",
            "Callers get a TimeoutError.",
            "So far this was done by `guard_all`.",
            "Thanks @some_body for --help output.",
            "The word 'slow' is not code.",
            "A `cache.Lock` is the same.",
        ] {
            assert_eq!(
                said(&NAME, DIFF, text, Task::Review, StatementKind::Assertion).filter(|r| *r != Ruling::Holds),
                None,
                "{text}"
            );
        }
        let message = "Fix the lookup of ConnectionPool";
        assert_eq!(said(&NAME, DIFF, message, Task::Commit, StatementKind::Assertion), None);
        let asked = "Use `RLock` instead.";
        // who asks for something may name what is not there: it is told, and decides nothing
        assert_eq!(said(&NAME, DIFF, asked, Task::Review, StatementKind::Request), Some(Ruling::NotHere));
        let judgement =
            crate::judge::Judgement::of(&veridiff_text::diff::Diff::parse(DIFF).unwrap(), asked, Task::Review);
        assert_eq!(judgement.ruling(), None);
    }
}
