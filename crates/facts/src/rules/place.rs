//! VD011: what is said to be in one function is in another.

mod body;
mod changed;
mod described;

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, pattern},
    thing::Thing,
};
use crate::{
    blocks::{Blocks, ScopeKind},
    mention::{Mention, MentionKind},
    occurrences::Places,
};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD011",
    name: "place",
    summary: "The text says that something is in one function, and the lines have it in another only.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(|scene| [body::check(scene), changed::check(scene), described::check(scene)].concat()),
};

static INSIDE: LazyLock<Vec<(Regex, bool)>> = LazyLock::new(|| {
    vec![
        // the thing first, then the place
        (
            pattern(
                r"(@\d+)([^@.;:,]{0,40}?) (?:in|inside|within|to|into|on|at the (?:start|end|top) of)(?: the| a)?(?: [a-z]+)? (@\d+)",
            ),
            false,
        ),
        // the place first
        (pattern(r"\b(?:in|inside|within)(?: the)?(?: [a-z]+)? (@\d+)(?: [a-z]+)?,? ([^@.;:]{0,60}?)(@\d+)"), true),
        (
            pattern(
                r"(@\d+)((?: now| also| only)?) (?:calls?|uses?|returns?|raises?|throws?|checks?|acquires?|creates?|invokes?|sets?|passes|logs?|reads?|takes?) (?:the |a |an )?(@\d+)",
            ),
            true,
        ),
    ]
});

/// In one place and not in another one.
static NOT_THERE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    vec![pattern(
        r"^([^;:]{3,90}?),? (?:in|inside|within|from|by|to|into)(?: the)?(?: [a-z]+)? (@\d+)(?: [a-z]+)?,? (?:but not|and not|not|rather than|instead of|as opposed to)(?: in| inside| within| from| by| to| into)?(?: the)?(?: [a-z]+)? (@\d+)",
    )]
});

static MOVED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:moves?|moved|moving|shifts?|relocates?) ([^;:,]{2,60}?) (?:is |was |are |were )?(?:out of|from)(?: the)? (@\d+)(?: [a-z]+)? (?:to|into)(?: the)? (@\d+)",
    )
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if scene.kind != StatementKind::Assertion || MODAL.is_match(&scene.clause.skeleton) {
        return Vec::new();
    }
    let skeleton = &scene.clause.skeleton;
    let mut found = Vec::new();
    let sides = std::cell::LazyCell::new(|| scene.change.sides());
    let claimed = |part, (ruling, lines, message)| Claimed { ruling, part, lines, message };
    for captures in NOT_THERE.iter().flat_map(|pattern| pattern.captures_iter(skeleton)) {
        let part = captures.get(0).expect("the whole").range();
        let places = (scene.clause.mention(&captures[2]), scene.clause.mention(&captures[3]));
        let (Some(place), Some(other)) = places else { continue };
        let thing = Thing::read(scene.clause, &captures[1]);
        found.extend(one_not_other(scene, &sides, &thing, place, other).map(|ruled| claimed(part, ruled)));
    }
    for captures in MOVED.captures_iter(skeleton) {
        let part = captures.get(0).expect("the whole").range();
        let places = (scene.clause.mention(&captures[2]), scene.clause.mention(&captures[3]));
        let (Some(from), Some(to)) = places else { continue };
        let thing = Thing::read(scene.clause, &captures[1]);
        found.extend(moved(scene, &sides, &thing, from, to).map(|ruled| claimed(part, ruled)));
    }
    let has_other_sense =
        [" not ", "n't", " no longer", " never ", "mov", " from ", "renam", "instead", "rather", "replac", "without"];
    if !found.is_empty() || has_other_sense.iter().any(|word| format!(" {skeleton} ").contains(word)) {
        return found;
    }
    for (pattern, place_first) in INSIDE.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            let (first, second) = (scene.clause.mention(&captures[1]), scene.clause.mention(&captures[3]));
            let (Some(first), Some(second)) = (first, second) else { continue };
            let (thing, place) = if *place_first { (second, first) } else { (first, second) };
            found.extend(judge(scene, &sides, thing, place).map(|ruled| claimed(part, ruled)));
        }
    }
    found
}

type Ruled = (Ruling, Vec<usize>, String);

/// Whether the change shows a scope of this name.
fn is_scope(sides: &[&Blocks<'_>; 2], name: &str) -> Option<ScopeKind> {
    let of =
        |blocks: &Blocks<'_>| blocks.all_scopes().into_iter().find(|scope| scope.name == name).map(|scope| scope.kind);
    of(sides[0]).or_else(|| of(sides[1]))
}

fn judge(scene: &Scene<'_, '_>, sides: &[&Blocks<'_>; 2], thing: &Mention, place: &Mention) -> Option<Ruled> {
    let can_be = |kind: MentionKind| matches!(kind, MentionKind::Name | MentionKind::Snippet);
    if place.kind != MentionKind::Name || !can_be(thing.kind) || thing.last() == place.last() {
        return None;
    }
    let kind = is_scope(sides, place.last())?;
    let finding = scene.change.find(thing);
    let places = finding.exactly()?;
    let (mut around, mut lines) = (None, Vec::new());
    for (blocks, list) in [(&sides[0], places.new_side()), (&sides[1], places.removed.clone())] {
        for line in list {
            if scene.change.diff.lines()[line].kind == LineKind::Header {
                continue;
            }
            // a function on one line has it too
            if blocks.is_in(line, place.last()) || scene.change.code(line).contains(place.last()) {
                let message = format!("`{}` is in `{}`", written(scene, thing), written(scene, place));
                return Some((Ruling::Holds, vec![line], message));
            }
            lines.push((blocks, line));
        }
    }
    // a use elsewhere, and what the change does not show the place of, say nothing
    for &(blocks, line) in &lines {
        let scopes = blocks.scopes(line)?;
        let of_kind = scopes.iter().find(|scope| (scope.kind == ScopeKind::Type) == (kind == ScopeKind::Type));
        around = around.or(Some(of_kind?.name.clone()));
        // a parameter and a definition under the thing's own name are no place
        if scopes.iter().any(|scope| scope.name == thing.last()) {
            return None;
        }
    }
    let is_changed = lines.iter().any(|(_, line)| scene.change.diff.lines()[*line].kind.is_changed());
    // one name in several functions is several things
    let is_one = lines.iter().all(|(blocks, line)| around.as_deref().is_some_and(|name| blocks.is_in(*line, name)));
    let is_head = lines.iter().any(|(blocks, line)| {
        blocks
            .scopes(*line)
            .and_then(|scopes| scopes.first())
            .is_some_and(|scope| crate::blocks::function_name(scene.change.code(*line)).as_ref() == Some(&scope.name))
    });
    let around = around.filter(|_| is_changed && is_one && !is_head)?;
    let message = format!("`{}` is in `{around}`, not in `{}`", written(scene, thing), written(scene, place));
    Some((Ruling::Contradicted, lines.into_iter().map(|(_, line)| line).collect(), message))
}

fn written<'t>(scene: &Scene<'t, '_>, mention: &Mention) -> &'t str {
    &scene.clause.text[mention.span.clone()]
}

fn inside(
    scene: &Scene<'_, '_>,
    blocks: &Blocks<'_>,
    thing: &Thing<'_>,
    place: &Mention,
    kind: LineKind,
) -> Vec<usize> {
    let side = if kind == LineKind::Removed { Places::old_side } else { Places::new_side };
    let lines = thing.lines(scene, side, false).into_iter();
    lines.filter(|&line| scene.change.diff.lines()[line].kind == kind && blocks.is_in(line, place.last())).collect()
}

fn one_not_other(
    scene: &Scene<'_, '_>,
    sides: &[&Blocks<'_>; 2],
    thing: &Thing<'_>,
    place: &Mention,
    other: &Mention,
) -> Option<Ruled> {
    if thing.is_empty() || place.last() == other.last() {
        return None;
    }
    // what stands in one that the change shows is not in another one that it does not
    is_scope(sides, other.last()).or_else(|| is_scope(sides, place.last()))?;
    let here = inside(scene, sides[0], thing, place, LineKind::Added);
    let there = inside(scene, sides[0], thing, other, LineKind::Added);
    match (here.is_empty(), there.is_empty()) {
        (false, true) => Some((Ruling::Holds, here, format!("it is in `{}`", written(scene, place)))),
        (true, false) => {
            let message = format!("it is in `{}`, not in `{}`", written(scene, other), written(scene, place));
            Some((Ruling::Contradicted, there, message))
        }
        _ => None,
    }
}

fn moved(
    scene: &Scene<'_, '_>,
    sides: &[&Blocks<'_>; 2],
    thing: &Thing<'_>,
    from: &Mention,
    to: &Mention,
) -> Option<Ruled> {
    if thing.is_empty() || from.last() == to.last() {
        return None;
    }
    let went = |place: &Mention| inside(scene, sides[1], thing, place, LineKind::Removed);
    let came = |place: &Mention| inside(scene, sides[0], thing, place, LineKind::Added);
    let (straight, crossed) = ([went(from), came(to)], [went(to), came(from)]);
    if straight.iter().any(|lines| !lines.is_empty()) {
        let is_sure = straight.iter().all(|lines| !lines.is_empty());
        return is_sure.then(|| (Ruling::Holds, straight.concat(), "it goes from the one to the other".to_owned()));
    }
    let message = format!("it goes from `{}` to `{}`", written(scene, to), written(scene, from));
    crossed.iter().all(|lines| !lines.is_empty()).then(|| (Ruling::Contradicted, crossed.concat(), message))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::twins::tell_apart;

    const DIFF: &str = "--- a/pool.py\n+++ b/pool.py\n@@ @@\n class Pool:\n     def get(self):\n+        self.lock.acquire()\n+        conn = open_socket()\n         return conn\n \n     def put(self, conn):\n-        log_event(conn)\n+        drop_oldest()\n         self.idle.append(conn)\n \n+    def close(self):\n+        log_event(self)\n+        shut_down()\n \n class Other:\n     def run(self):\n+        start_timer()\n         pass\n \n def outer():\n     def inner():\n+        bump_counter()\n         pass\n";

    #[test]
    fn true_and_false_statements_are_told_apart() {
        tell_apart(
            &RULE,
            DIFF,
            &[
                ("`open_socket` is called in `get`.", "`open_socket` is called in `put`."),
                ("In `put`, `drop_oldest` is called.", "In `get`, `drop_oldest` is called."),
                ("`close` calls `shut_down`.", "`put` calls `shut_down`."),
                ("Add `start_timer` to `Other`", "Add `start_timer` to `Pool`"),
                ("Call `bump_counter` in `outer`", "Call `bump_counter` in `get`"),
                (
                    "Call `open_socket` in `get` rather than in `put`",
                    "Call `open_socket` in `put` rather than in `get`",
                ),
                ("Drop the oldest in `put`, but not in `close`", "Drop the oldest in `close`, but not in `put`"),
                ("Move `log_event` from `put` to `close`", "Move `log_event` from `close` to `put`"),
                ("Acquire the lock in `get` instead of `put`", "Acquire the lock in `put` instead of `get`"),
                ("`shut_down` is used inside `close`.", "`shut_down` is used inside `run`."),
                ("Open the socket in `get`, not in `reopen`", "Open the socket in `reopen`, not in `get`"),
            ],
        );
    }
}
