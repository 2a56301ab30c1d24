//! Two things that a condition is said to ask for both, or either of, by the whole conditions that the grammar finds.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::guard::atoms;
use crate::{
    blocks::is_exit,
    changes::{Status, Which},
    occurrences::stems,
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        terms::{Term, Weight, terms},
    },
    syntax::ItemKind,
};

static JOINED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:when|if|once|whenever|as soon as|where|provided(?: that)?) (?:both |either )?([^,;:()]{3,70}?),? (and|or) ([^,;:()]{3,70})",
    )
});

static FOLDED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:on|of|for) ([^,;:()]{3,50}?) and ([^,;:()]{3,50}?) into one (?:condition |check |if )?(?:that|which) (?:wants|needs|asks for|requires|takes) (both|either)",
    )
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:not|[a-z]+n't|never|neither|nor|no|without|unless|until|should|could|would|or else|even)\b")
});

/// What says that a part of a condition asks for something's absence.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\(*!|^not |== ?(?:null|nil|None|NULL|0|false|undefined)|\bis None|is_none|is_err|isNull|Empty|is_empty|blank")
        .expect("the patterns of rules are valid")
});

/// What the statement joins.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    let mut found = Vec::new();
    for captures in JOINED.captures_iter(said) {
        let part = captures.get(0).expect("the whole").range();
        if !OPEN.is_match(&said[part.clone()]) {
            found.extend(judge(scene, [&captures[1], &captures[3]], &captures[2] == "and", part));
        }
    }
    if let Some(captures) = FOLDED.captures(said) {
        let part = captures.get(0).expect("the whole").range();
        found.extend(judge(scene, [&captures[1], &captures[2]], &captures[3] == "both", part));
    }
    found.truncate(1);
    found
}

fn judge(scene: &Scene<'_, '_>, things: [&str; 2], both: bool, part: Range<usize>) -> Option<Claimed> {
    let [one, other] = crate::rules::terms::apart(terms(scene, things[0]), terms(scene, things[1]));
    let is_telling = |terms: &[Term<'_>]| terms.iter().any(|term| term.weight > Weight::Common);
    if !is_telling(&one) && !is_telling(&other) {
        return None;
    }
    let changes = scene.change.changes();
    let mut joints = Vec::new();
    for fact in changes.items(Which::New, ItemKind::Condition).filter(|fact| fact.status != Status::Kept) {
        let (Some(code), Some(line)) = (fact.item.value.as_deref(), changes.diff_line(&fact)) else { continue };
        let Some((atoms, Some(and))) = atoms(code) else { continue };
        let leaves = scene.change.new_blocks().block(line).first().is_some_and(|side| is_exit(side.code));
        if code.contains("!(") || leaves || atoms.iter().any(|atom| DENIED.is_match(atom.trim())) {
            continue;
        }
        let place = |terms: &[Term<'_>]| {
            // a common word tells too where one part alone has it
            let is_strong = terms.iter().any(|term| term.weight > Weight::Common);
            let has = |atom: &&str| {
                let parts = stems(atom);
                terms.iter().any(|term| (term.weight > Weight::Common || !is_strong) && term.is_in(atom, &parts))
            };
            let mut with = atoms.iter().enumerate().filter(|(_, atom)| has(atom)).map(|(index, _)| index);
            with.next().filter(|_| with.next().is_none())
        };
        if let (Some(a), Some(b)) = (place(&one), place(&other))
            && a != b
        {
            joints.push((and, line));
        }
    }
    let &(and, line) = joints.first()?;
    let message = format!("the two are joined by `{}`", if and { "and" } else { "or" });
    (and != both && joints.iter().all(|(other, _)| *other == and)).then(|| Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines: vec![line],
        message,
    })
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{condition::RULE, twins::texts_apart};

    const RUST: &str = "--- a/src/send.rs\n+++ b/src/send.rs\n@@ @@\n fn send(queue: &mut Queue) {\n+    if queue.length() > LIMIT\n+        || clock.elapsed() > patience\n+    {\n+        flush(queue);\n+    }\n     wait();\n }\n";

    #[test]
    fn both_are_not_either() {
        texts_apart(
            &RULE,
            Task::Commit,
            RUST,
            &[(
                "Flush when the queue is over the limit or patience has run out",
                "Flush when the queue is over the limit and patience has run out",
            )],
        );
    }
}
