//! The order of things that are described in words, and places at the top or the end of a function.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use crate::{
    lexicon::presupposed,
    occurrences::Places,
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        terms::{Term, Weight, best_lines, terms},
        thing::is_comment,
    },
};

const PART: &str = r"([^,;:()]{2,90}?)";
const TAIL: &str = r"([^,;:()]{2,70})";

/// Two things with a word of order: whether the first comes before.
static ORDERED: LazyLock<Vec<(bool, Regex)>> = LazyLock::new(|| {
    let just = "(?:just |right |immediately |directly |shortly )?";
    let form = |is_before, text: String| (is_before, pattern(&text));
    vec![
        form(
            true,
            format!(
                r"(?:^|[,;:] |because |since |that ){PART},? {just}(?:before|ahead of|in front of|prior to|above|preceding) {TAIL}"
            ),
        ),
        form(
            false,
            format!(r"(?:^|[,;:] |because |since |that ){PART},? {just}(?:after|behind|below|following) {TAIL}"),
        ),
        form(
            true,
            format!(
                r"(?:^|[,;:] ){PART} first,? (?:and|then|and then) {PART}(?: second| next| afterwards| last)(?:[,.;]| when| if|$)"
            ),
        ),
    ]
});

/// A thing at an end of a function.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?:^|[,;:] ){PART} (?:at|to) the (?:very )?(end|bottom|top|start|beginning) of (?:the )?(?:[a-z]+ )?(@\d+)"
    ))
});

/// Sentences in which the order is not that of lines, or is not said to be so.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|instead|rather|not|[a-z]+n't|no longer|never|were|used to|previously|versions?|releases?|unless|until|fix(?:es|ed)?|bug|even|again|lines?|seconds?|minutes?|ms|days?|reorder\w*|mov(?:e|es|ed|ing)|swap\w*|wait\w*|shortly|done|finish\w*|complet\w*|resolv\w*)\b",
    )
});

/// Where the second thing ends.
static END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r" (?:so|so that|because|since|which|to avoid|to ensure|to make|and|but|doesn't|does not|isn't|breaks|won't|can't|for now|in order|when|if)\b.*$|[.?!](?: .*)?$",
    )
});

/// Verbs of which the order is that of words, not of what runs.
static OF_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:mentions?|lists?|names?|puts?|putting|plac(?:e|es|ing)|says?|shows?|writes?|goes|passing|pass(?:es)?)\b",
    )
});

/// What the statement says of an order.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = presupposed(&scene.clause.skeleton, scene.kind == StatementKind::Question) else {
        return Vec::new();
    };
    if scene.kind == StatementKind::Request {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (is_before, pattern) in ORDERED.iter() {
        for captures in pattern.captures_iter(said) {
            let part = captures.get(0).expect("the whole").range();
            let second = END.replace(&captures[2], "");
            if !OPEN.is_match(&captures[1]) && !OPEN.is_match(&second) {
                found.extend(ordered(scene, &captures[1], &second, *is_before, part));
            }
        }
    }
    for captures in ENDS.captures_iter(said) {
        let part = captures.get(0).expect("the whole").range();
        if !OPEN.is_match(&said[part.clone()]) {
            found.extend(at_end(scene, &captures[1], matches!(&captures[2], "end" | "bottom"), &captures[3], part));
        }
    }
    found.truncate(1);
    if found.is_empty() || !super::is_concurrent(scene) { found } else { Vec::new() }
}

/// Lines on which a thing may stand at most: an order of more of them says nothing.
const MANY: usize = 6;

/// The lines of the new side that a phrase speaks of; of something new that has no words of the change all added lines.
fn lines(scene: &Scene<'_, '_>, phrase: &str, all: &[Term<'_>]) -> Vec<usize> {
    let telling: Vec<Term<'_>> = all.iter().filter(|term| !term.places.is_empty()).cloned().collect();
    let strong = telling.iter().any(|term| term.weight > Weight::Common);
    let diff = scene.change.diff;
    let is_code = |line: &usize| diff.lines()[*line].kind != LineKind::Header;
    if !strong {
        let is_new = phrase.split(' ').any(|word| word == "new");
        let added: Vec<usize> =
            (0..diff.lines().len()).filter(|&line| diff.lines()[line].kind == LineKind::Added).collect();
        let is_block = added.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        return if is_new && is_block { added } else { Vec::new() };
    }
    // half of what the phrase says has to be there
    let weight = |list: &[Term<'_>]| list.iter().filter(|term| term.weight > Weight::Common).count();
    if 2 * weight(&telling) < weight(all) {
        return Vec::new();
    }
    let mut lines = best_lines(&telling, |places: &Places| places.new_side(), 0.5);
    lines.retain(is_code);
    let added: Vec<usize> = lines.iter().copied().filter(|&line| diff.lines()[line].kind == LineKind::Added).collect();
    let mut lines = if added.is_empty() { lines } else { added };
    if lines.iter().any(|&line| !is_comment(scene.change.code(line))) {
        lines.retain(|&line| !is_comment(scene.change.code(line)));
    }
    if lines.len() > MANY { Vec::new() } else { lines }
}

fn ordered(scene: &Scene<'_, '_>, first: &str, second: &str, is_before: bool, part: Range<usize>) -> Option<Claimed> {
    let [one, other] = crate::rules::terms::apart(terms(scene, first), terms(scene, second));
    let (a, b) = (lines(scene, first, &one), lines(scene, second, &other));
    let diff = scene.change.diff;
    let same_hunk =
        |a: usize, b: usize| diff.lines()[a.min(b)..=a.max(b)].iter().all(|line| line.kind != LineKind::Header);
    let mut orders = Vec::new();
    for &a in &a {
        for &b in &b {
            if a == b {
                if !OF_TEXT.is_match(first) {
                    return None;
                }
                orders.push((columns(scene, a, &one, &other)?, [a, b]));
            } else if !same_hunk(a, b) {
                return None;
            } else {
                orders.push((a < b, [a, b]));
            }
        }
    }
    let &(straight, pair) = orders.first()?;
    let is_one = orders.iter().all(|(order, _)| *order == straight);
    let is_changed = pair.iter().any(|&line| diff.lines()[line].kind == LineKind::Added);
    if !is_one || !is_changed || straight == is_before || in_two_functions(scene, pair) {
        return None;
    }
    let message = format!("it stands {} that", if straight { "before" } else { "behind" });
    Some(Claimed { ruling: Ruling::Contradicted, part, lines: pair.to_vec(), message })
}

/// Whether the first terms stand to the left of the second ones on a line.
fn columns(scene: &Scene<'_, '_>, line: usize, one: &[Term<'_>], other: &[Term<'_>]) -> Option<bool> {
    let code = scene.change.code(line).to_lowercase();
    let column = |terms: &[Term<'_>]| {
        let on_line =
            terms.iter().filter(|term| term.weight > Weight::Common && term.places.new_side().contains(&line));
        on_line
            .filter_map(|term| {
                code.find(&term.mention.map_or(term.key.clone(), |mention| mention.last().to_lowercase()))
            })
            .min()
    };
    let (a, b) = (column(one)?, column(other)?);
    (a != b).then_some(a < b)
}

/// Whether two lines run in functions of their own, so that their order is not that of the text.
fn in_two_functions(scene: &Scene<'_, '_>, [a, b]: [usize; 2]) -> bool {
    let blocks = scene.change.new_blocks();
    let function = |line: usize| blocks.scopes(line).map(|scopes| scopes.first().map(|scope| scope.name.clone()));
    function(a).zip(function(b)).is_some_and(|(a, b)| a.is_some() && b.is_some() && a != b)
}

fn at_end(scene: &Scene<'_, '_>, thing: &str, is_end: bool, function: &str, part: Range<usize>) -> Option<Claimed> {
    let name = scene.clause.mention(function)?.last();
    let blocks = scene.change.new_blocks();
    let mut own = lines(scene, thing, &terms(scene, thing));
    own.retain(|&line| blocks.is_in(line, name));
    let (first, last) = (*own.first()?, *own.last()?);
    let indent = |line: usize| blocks.lines.iter().find(|side| side.line == line).map(|side| side.indent);
    let depth = indent(first)?.min(indent(last)?);
    // code as deep as it on the other side of it, in the same function
    let others = blocks.lines.iter().filter(|side| {
        let beyond = if is_end { side.line > last } else { side.line < first };
        let is_head = side.code.ends_with([',', '{', ':', '(']);
        let is_code = !is_comment(side.code) && !side.code.starts_with(['}', ')', ']']) && (is_end || !is_head);
        beyond
            && is_code
            && side.indent == depth
            && blocks.is_in(side.line, name)
            && crate::blocks::function_name(side.code).is_none()
    });
    let unchanged = |line: usize| scene.change.diff.lines()[line].kind == LineKind::Context;
    let other = others.map(|side| side.line).find(|&line| unchanged(line))?;
    let message = format!("there is code {} it in `{name}`", if is_end { "behind" } else { "before" });
    Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![first, other], message })
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::order::RULE;
    use crate::rules::twins::texts_apart;

    const JAVA: &str = "--- a/Job.java\n+++ b/Job.java\n@@ @@\n class Job {\n   void run(Queue queue) {\n+    acquireLease(queue);\n     Report report = collectNumbers(queue);\n     publish(report);\n+    archiveNumbers(report, queue);\n     close();\n   }\n }\n";

    #[test]
    fn what_is_not_awaited_has_no_order_of_lines() {
        let diff =
            "@@ @@\n async function save(user) {\n-  await db.insert(user);\n+  db.insert(user);\n   log('saved');\n";
        let text = "Logs before the insert runs.";
        let judgement =
            crate::judge::Judgement::of(&veridiff_text::diff::Diff::parse(diff).unwrap(), text, Task::Review);
        assert!(judgement.rulings().all(|ruled| ruled.rule.code != RULE.code), "{judgement:#?}");
    }

    #[test]
    fn an_order_in_words_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            JAVA,
            &[
                (
                    "The lease is acquired before the numbers are collected.",
                    "The lease is acquired after the numbers are collected.",
                ),
                (
                    "The numbers are archived after the report is published.",
                    "The numbers are archived before the report is published.",
                ),
                ("Is the lease acquired ahead of collecting?", "The archiving sits at the end of `run`."),
            ],
        );
    }
}
