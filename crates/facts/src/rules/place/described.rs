//! Where something that is described in words stands: in which function, inside or outside of a block.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::diff::LineKind;

use crate::{
    blocks::{Blocks, ScopeKind},
    mention::MentionKind,
    occurrences::Places,
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        resolve::{LinesOf, lines_of},
        terms::{Weight, terms},
    },
};

const NP: &str = r"([^,;:()]{3,70}?)";
const END: &str = r"(?: (?:so|so that|when|if|as|at|before|after|because|since|which|that|and|but|instead|rather|too|now|again|here|for|by|with|until|while|to)\b|[,.;:()?]|$)";

/// A thing with a word for inside or outside and what it is inside or outside of.
static INSIDE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?:^|[,;:.] |\bthat |\bbecause |\bso ){NP} (?:(?:is|are|sits?|stays?|lives?|happens?|goes|runs?|lands?|stands?|remains?|comes?) )?(?:now |still |kept |done |called |set |put )?(inside|within|outside(?: of)?) (?:the |an? )?{NP}{END}"
    ))
});

/// A thing that is said to go into something or out of it.
static MOVES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"\b(?:mov(?:es?|ed|ing)|takes?|pulls?|lifts?|hoists?|puts?|shifts?|brings?) {NP} (into|inside|out of|outside(?: of)?) (?:the |an? )?{NP}{END}"
    ))
});

/// A thing in a function.
static IN_FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?:^|[,;:.] |\bthat |\bbecause ){NP},? (?:in|inside|within)(?: the)?(?: [a-z-]+)? (@\d+)(?: itself)?,?(?: (?:and )?(?:not|rather than|instead of)(?: in| inside)?(?: the)?(?: [a-z-]+)? (@\d+))?{END}"
    ))
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|not|[a-z]+n't|never|were|used to|previously|unlike|same|either|or|both|also|like|no longer)\b",
    )
});

/// What the statement says of places.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    let mut found = Vec::new();
    for captures in MOVES.captures_iter(said) {
        let part = captures.get(0).expect("the whole").range();
        if !OPEN.is_match(&said[..part.end]) {
            found.extend(moved(scene, &captures[1], captures[2].starts_with("in"), &captures[3], part));
        }
    }
    for captures in INSIDE.captures_iter(said).filter(|_| !MOVES.is_match(said)) {
        let part = captures.get(0).expect("the whole").range();
        if !OPEN.is_match(&said[part.clone()]) {
            let is_inside = !captures[2].starts_with("out");
            found.extend(inside(scene, &captures[1], is_inside, &captures[3], part));
        }
    }
    for captures in IN_FUNCTION.captures_iter(said) {
        let part = captures.get(0).expect("the whole").range();
        let (thing, other) = (&captures[1], captures.get(3).map(|other| other.as_str()));
        if !OPEN.is_match(thing) {
            found.extend(in_function(scene, thing, &captures[2], other, part));
        }
    }
    found.truncate(1);
    found
}

/// The lines that open a block and that a phrase speaks of.
fn holders(scene: &Scene<'_, '_>, blocks: &Blocks<'_>, phrase: &str) -> Vec<usize> {
    let all = terms(scene, phrase);
    let telling = || all.iter().filter(|term| term.weight > Weight::Common || term.is_exact(scene));
    let Some(first) = telling().next() else { return Vec::new() };
    let lines = [first.places.new_side(), first.places.removed.clone()].concat();
    let holds = |line: &usize| {
        telling().all(|term| {
            let places = &term.places;
            [&places.added, &places.removed, &places.context].iter().any(|lines| lines.contains(line))
        }) && !blocks.block(*line).is_empty()
    };
    lines.into_iter().filter(holds).collect()
}

fn is_in_block(blocks: &Blocks<'_>, holder: usize, line: usize) -> bool {
    blocks.block(holder).iter().any(|side| side.line == line)
}

fn inside(scene: &Scene<'_, '_>, thing: &str, is_inside: bool, of: &str, part: Range<usize>) -> Option<Claimed> {
    let blocks = scene.change.new_blocks();
    let lines = lines_of(scene, thing, Places::new_side);
    let holders = holders(scene, blocks, of);
    let diff = scene.change.diff;
    let is_one_hunk =
        |a: usize, b: usize| diff.lines()[a.min(b)..=a.max(b)].iter().all(|line| line.kind != LineKind::Header);
    let pairs: Vec<[usize; 2]> = lines
        .iter()
        .flat_map(|&line| holders.iter().map(move |&holder| [line, holder]))
        .filter(|[line, holder]| line != holder && is_one_hunk(*line, *holder))
        .collect();
    let &[line, holder] = pairs.first()?;
    let is_changed = [line, holder].iter().any(|&line| diff.lines()[line].kind.is_changed());
    let is_against = pairs.iter().all(|[line, holder]| is_in_block(blocks, *holder, *line) != is_inside);
    let message = format!("it stands {} it", if is_inside { "outside of" } else { "inside" });
    (is_changed && is_against).then(|| Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines: vec![line, holder],
        message,
    })
}

fn moved(scene: &Scene<'_, '_>, thing: &str, is_into: bool, of: &str, part: Range<usize>) -> Option<Claimed> {
    let [new, old] = scene.change.sides();
    let came = lines_of(scene, thing, |places| places.added.clone());
    let went = lines_of(scene, thing, |places| places.removed.clone());
    let (of_new, of_old) = (holders(scene, new, of), holders(scene, old, of));
    if came.is_empty() || went.is_empty() || of_new.is_empty() && of_old.is_empty() {
        return None;
    }
    let is_in = |blocks: &Blocks<'_>, holders: &[usize], lines: &[usize]| {
        lines.iter().any(|&line| holders.iter().any(|&holder| is_in_block(blocks, holder, line)))
    };
    let (now, before) = (is_in(new, &of_new, &came), is_in(old, &of_old, &went));
    let message = format!("it goes {} it", if is_into { "out of" } else { "into" });
    (now != before && now != is_into).then(|| Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines: vec![went[0], came[0]],
        message,
    })
}

fn in_function(
    scene: &Scene<'_, '_>,
    thing: &str,
    function: &str,
    other: Option<&str>,
    part: Range<usize>,
) -> Option<Claimed> {
    let name = scene.clause.mention(function).filter(|mention| mention.kind == MentionKind::Name)?.last();
    let sides = scene.change.sides();
    let is_function = |blocks: &&Blocks<'_>| {
        blocks.all_scopes().iter().any(|scope| scope.name == name && scope.kind == ScopeKind::Function)
    };
    // with the function where it is instead the sentence says by itself that this one is none of it
    if other.is_none() && !sides.iter().any(is_function) {
        return None;
    }
    let mut around: Option<&str> = None;
    let mut all = Vec::new();
    let of: [(&Blocks<'_>, LinesOf); 2] =
        [(sides[0], |places| places.added.clone()), (sides[1], |places| places.removed.clone())];
    for (blocks, side) in of {
        for line in lines_of(scene, thing, side) {
            if blocks.is_in(line, name) {
                return None;
            }
            let scopes = blocks.scopes(line)?;
            let own = &scopes.iter().find(|scope| scope.kind == ScopeKind::Function)?.name;
            // a test is called by what it is about
            if own.to_lowercase().starts_with("test") && !name.to_lowercase().starts_with("test") {
                return None;
            }
            // a name of several functions is not that of one
            if around.is_some_and(|around| around != own) {
                return None;
            }
            around = Some(own);
            all.push(line);
        }
    }
    let around = around?;
    let is_other = |other: &str| scene.clause.mention(other).is_some_and(|mention| mention.last() == around);
    if other.is_some_and(|other| !is_other(other)) {
        return None;
    }
    let message = format!("it is in `{around}`, not in `{name}`");
    Some(Claimed { ruling: Ruling::Contradicted, part, lines: all, message })
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{place::RULE, twins::texts_apart};

    const PYTHON: &str = "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ @@\n def total(cart):\n     if cart.coupon:\n+        apply_discount(cart)\n         log(cart)\n+    round_cents(cart)\n     return cart.sum\n \n def clear(cart):\n+    cart.stamp = now()\n     cart.items = []\n";

    #[test]
    fn what_is_described_stands_in_one_place() {
        texts_apart(
            &RULE,
            Task::Review,
            PYTHON,
            &[
                (
                    "The discount is applied inside the coupon branch.",
                    "The discount is applied outside the coupon branch.",
                ),
                (
                    "Rounding the cents stays outside the coupon branch.",
                    "Rounding cents happens inside the coupon branch.",
                ),
                ("The stamp is set in `clear`.", "The stamp is set in `total`."),
            ],
        );
    }
}
