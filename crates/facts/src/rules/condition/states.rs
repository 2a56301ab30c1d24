//! What is done in a state that code has a condition for: "returns a value that has expired", "evicts an entry when it is full".

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::{
    blocks::function_name,
    mention::MentionKind,
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        resolve::meaning,
        terms::{Weight, terms},
        thing::is_comment,
    },
};

/// A state in words, and the condition that code has for it.
static STATES: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let of = |words: &str, code: &str| {
        (pattern(&format!(r"\b(?:{words})\b")), Regex::new(code).expect("the patterns of rules are valid"))
    };
    vec![
        of(
            r"expired|stale|outdated|timed out|too old",
            r"(?i)(?:expir|ttl|deadline|stale|max_?age)\w*\)?\s*<=?|>=?\s*[\w.]*(?:expir|ttl|deadline|max_?age)|is_?expired|isStale|has_?expired",
        ),
        of(
            r"full|at capacity|over (?:its|the) limit",
            r"(?i)(?:len|size|count|length)\b.*(?:>=?|==)\s*[\w.]*(?:max|limit|cap|size)|is_?full",
        ),
    ]
});

/// Who does what to something that is in a state, or while something is in it.
static CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(@\d+)(?: now| still| also)? ([a-z]+) ((?:an?|the|any|some|its) [^,;:()]{2,60})(?:[,;:.]|$)")
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|[a-z]+n't|never|no longer|unless|should|could|would|may|might|must|instead|rather|was|were|used to|before|only|without)\b",
    )
});

/// What the statement says of a state.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    CLAIM
        .captures_iter(said)
        .filter_map(|captures| {
            let part = captures.get(0)?.range();
            let claim = Claim { function: &captures[1], verb: &captures[2], object: &captures[3] };
            if OPEN.is_match(&said[part.clone()]) { None } else { judge(scene, &claim, part) }
        })
        .take(1)
        .collect()
}

struct Claim<'s> {
    function: &'s str,
    verb: &'s str,
    object: &'s str,
}

fn judge(scene: &Scene<'_, '_>, claim: &Claim<'_>, part: Range<usize>) -> Option<Claimed> {
    let (words, code) = STATES.iter().find(|(words, _)| words.is_match(claim.object))?;
    let name = scene.clause.mention(claim.function).filter(|mention| mention.kind == MentionKind::Name)?.last();
    // who leaves a thing where it is does not take it away
    let leaves = matches!(claim.verb, "leaves" | "keeps") && claim.object.contains(" in ");
    let does = meaning(if leaves { "deletes" } else { claim.verb })?;
    let object = &claim.object
        [..claim.object.find(" when ").or_else(|| claim.object.find(" that ")).unwrap_or(claim.object.len())];
    let object = words.replace_all(object, "");
    let all = terms(scene, &object);
    let blocks = scene.change.new_blocks();
    let mut signs = Vec::new();
    for side in blocks.lines.iter().filter(|side| blocks.is_in(side.line, name)) {
        let has_object = leaves
            || all.iter().all(|term| term.places.is_empty() || term.places.new_side().contains(&side.line))
            || all.iter().all(|term| term.weight == Weight::Common && !term.is_exact(scene));
        let is_done = does.is_match(side.code) && !is_comment(side.code) && function_name(side.code).is_none();
        if !is_done || !has_object {
            continue;
        }
        let guard = blocks.guards(side.line).iter().find(|guard| code.is_match(&guard.condition))?;
        let denied = guard.condition.starts_with(['!']) || guard.condition.starts_with("not ");
        signs.push((!guard.negated ^ denied, side.line, guard.line));
    }
    let &(sign, line, guard) = signs.first()?;
    if signs.iter().any(|(other, ..)| *other != sign) {
        return None;
    }
    let (ruling, message) = if sign == leaves {
        (Ruling::Contradicted, if leaves { "then it is taken away" } else { "then it does not" })
    } else {
        (Ruling::Holds, "the condition is as it says")
    };
    Some(Claimed { ruling, part, lines: vec![guard, line], message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use veridiff_text::{diff::Diff, sample::Task};

    use crate::{
        judge::Judgement,
        rules::{Ruled, condition::RULE, twins::texts_apart},
    };

    const PYTHON: &str = "--- a/box.py\n+++ b/box.py\n@@ @@\n class Box:\n     def pick(self, name):\n+        parcel, expires = self.parcels[name]\n+        if expires < clock():\n+            del self.parcels[name]\n+            return None\n+        return parcel\n \n     def drop(self, name, parcel):\n+        if len(self.parcels) >= self.max_parcels:\n+            self.parcels.pop(first(self.parcels))\n         self.parcels[name] = parcel\n";

    #[test]
    fn what_is_done_in_a_state_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            PYTHON,
            &[
                ("`pick` deletes a parcel that has expired.", "`pick` still returns a parcel that has expired."),
                (
                    "`drop` still evicts the oldest parcel when the box is full.",
                    "`pick` leaves an expired parcel in the box.",
                ),
            ],
        );
        let diff = Diff::parse(PYTHON).unwrap();
        let text = "`drop` still evicts the oldest parcel when the box is full.";
        assert!(Judgement::of(&diff, text, Task::Review).rulings().any(Ruled::confirms));
    }
}
