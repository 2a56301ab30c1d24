//! VD008: what is said to come before something stands behind it.

mod words;

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, pattern},
    thing::{Thing, is_import},
};
use crate::{blocks::Blocks, mention::MentionKind, occurrences::Places};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD008",
    name: "order",
    summary: "The text says that one thing comes before another, and on the new side it comes behind.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(words::check),
};

/// One thing, a word of order, another thing.
static ORDERED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:^|[,;:(] )([^,;:()]{2,90}?),? (?:(?:just|right|immediately|directly|shortly|only) )?(before|after|prior to|ahead of|following|followed by|and then|then|in front of|behind|above|below|precedes|follows) ([^,;:()]{2,70})",
    )
});

/// The word of order first: "after `a`, `b` is called".
static LEADING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(before|after|following|prior to) ([^,;:()]{2,60}), ([^,;:()]{2,80})"));

static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"([^,;:()]{2,60}?) (?:right |just |directly )?between ([^,;:()]{2,40}?) and ([^,;:()]{2,40})")
});

/// The function that a sentence is about, which is no thing that has an order.
static SCOPE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^| )(?:in|inside|within|from|into|to)(?: the)?(?: [a-z]+)? @\d+"));

/// Words after which the order is that of something else: of time before the change, of a version, of a line of text.
static ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:instead|rather|than|not|[a-z]+n't|no longer|never|were|used to|previously|moved?|moves|moving|lines?|blank|newline|whitespace|space|release|version|or|if|unless|when|until|like|fix(?:es|ed)?|bug|missing|now that|seconds?|minutes?|ms|days?|indent\w*|comments?|docs?|link|until|while|even|time|again|swap\w*|reorder\w*|switch\w*)\b",
    )
});

/// Where the thing behind a word of order ends.
static END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r" (?:in the|in a|in order|so|so that|because|since|which|that|to avoid|to ensure|to make|to prevent|and|but|rather|instead|for|with|is called|are called|is tried|is run|returns|gets|has been|have been|is|are|as|at the|by|on|due)\b.*$|\.(?: |$).*$",
    )
});

/// What makes lines run in another order than they stand in.
static CONCURRENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:asyncio|Promise|then|catch|setTimeout|setImmediate|nextTick|defer|go func|goroutine|spawn\w*|[Tt]hread\w*|Task|Future|submit|callback|cb|finally|yield|on[A-Z]\w+|addEventListener)\b",
    )
    .expect("valid")
});

/// Whether the lines from one to another run at another time than their order says; an `await` that goes leaves every line where it
/// was.
fn is_concurrent(scene: &Scene<'_, '_>, [a, b]: [usize; 2]) -> bool {
    let lines = scene.change.diff.lines();
    let code = |index: usize| scene.change.code(index);
    let between = a.min(b)..=a.max(b);
    let n_awaits = |kind: LineKind| {
        (0..lines.len()).filter(|&index| lines[index].kind == kind && code(index).contains("await ")).count()
    };
    between.into_iter().any(|index| lines[index].kind != LineKind::Header && CONCURRENT.is_match(code(index)))
        || n_awaits(LineKind::Removed) > n_awaits(LineKind::Added)
}

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if scene.kind != StatementKind::Assertion || MODAL.is_match(&scene.clause.skeleton) {
        return Vec::new();
    }
    let skeleton = &scene.clause.skeleton;
    let mut found = Vec::new();
    let mut pairs = Vec::new();
    for captures in ORDERED.captures_iter(skeleton) {
        let word = &captures[2];
        let is_before = !matches!(word, "after" | "following" | "behind" | "below" | "follows");
        pairs.push((
            captures.get(0).expect("the whole").range(),
            captures[1].to_owned(),
            captures[3].to_owned(),
            is_before,
            word.to_owned(),
        ));
    }
    for captures in LEADING.captures_iter(skeleton) {
        let is_before = matches!(&captures[1], "after" | "following");
        let whole = captures.get(0).expect("the whole").range();
        pairs.push((whole, captures[2].to_owned(), captures[3].to_owned(), is_before, captures[1].to_owned()));
    }
    // all changed lines are read for it, so only for a sentence that speaks of an order
    if pairs.is_empty() && !skeleton.contains(" between ") {
        return found;
    }
    let blocks = scene.change.new_blocks();
    for (part, first, second, is_before, word) in pairs {
        let second = END.replace(&second, "");
        let first = SCOPE.replace_all(&first, "");
        if ELSEWHERE.is_match(&first) || ELSEWHERE.is_match(&second) {
            continue;
        }
        let mut things = [Thing::read(scene.clause, &first), Thing::read(scene.clause, &second)];
        for thing in &mut things {
            thing.mentions.retain(|mention| !matches!(mention.kind, MentionKind::Number | MentionKind::Constant));
        }
        let n_words = |thing: &Thing<'_>| thing.words.len() + 2 * thing.mentions.len();
        if things.iter().any(|thing| !is_readable(thing))
            || things.iter().any(|thing| n_words(thing) < 2) && things.iter().all(|thing| thing.mentions.is_empty())
        {
            continue;
        }
        let of_imports = is_of_imports(&first) || is_of_imports(&second);
        let is_text = matches!(word.as_str(), "above" | "below") || of_imports;
        let Some((lines, straight)) = order(scene, blocks, &things, is_text, of_imports) else { continue };
        if matches!(lines[..], [a, b] if is_concurrent(scene, [a, b])) {
            continue;
        }
        let name = |index: usize| if index == 0 { first.trim() } else { second.trim() };
        let written = |part: &str| written(scene, part);
        let (ruling, message) = if straight == is_before {
            (Ruling::Holds, format!("{} and {} stand in this order", written(name(0)), written(name(1))))
        } else {
            let place = if is_before { "behind" } else { "before" };
            (Ruling::Contradicted, format!("{} stands {place} {}", written(name(0)), written(name(1))))
        };
        found.push(Claimed { ruling, part, lines, message });
    }
    for captures in BETWEEN.captures_iter(skeleton) {
        let of = |group: usize| Thing::read(scene.clause, &END.replace(&captures[group], ""));
        let things = [of(1), of(2), of(3)];
        // what is between is the last thing named
        if things.iter().any(|thing| thing.mentions.len() != 1) || ELSEWHERE.is_match(&captures[1]) {
            continue;
        }
        let side = |thing: &Thing<'_>| thing.lines(scene, Places::new_side, true);
        let [inner, one, other] = [side(&things[0]), side(&things[1]), side(&things[2])];
        if [&inner, &one, &other].iter().any(|lines| lines.len() > MANY) {
            continue;
        }
        let added: Vec<usize> =
            inner.iter().copied().filter(|&line| scene.change.diff.lines()[line].kind == LineKind::Added).collect();
        let inner = if added.is_empty() { inner } else { added };
        let mut rulings = Vec::new();
        for &line in &inner {
            for &a in one.iter().filter(|&&a| a != line && same_hunk(scene, a, line)) {
                for &b in other.iter().filter(|&&b| b != line && b != a && same_hunk(scene, b, line)) {
                    rulings.push((a.min(b) < line && line < a.max(b), [line, a, b]));
                }
            }
        }
        let part = captures.get(0).expect("the whole").range();
        let Some((_, lines)) = rulings.first() else { continue };
        let lines = lines.to_vec();
        let name = &scene.clause.text[things[0].mentions[0].span.clone()];
        if rulings.iter().any(|(is_inside, _)| *is_inside) {
            let message = format!("`{name}` stands between them");
            found.push(Claimed { ruling: Ruling::Holds, part, lines, message });
        } else {
            let message = format!("`{name}` does not stand between them");
            found.push(Claimed { ruling: Ruling::Contradicted, part, lines, message });
        }
    }
    found
}

/// Whether a part of a sentence speaks of where something is imported.
fn is_of_imports(part: &str) -> bool {
    static IMPORTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bimport(?:s|ed|ing)?\b"));
    IMPORTS.is_match(part)
}

/// Most lines that one thing may stand on: an order of more of them says nothing, and all pairs are compared.
const MANY: usize = 24;

fn is_readable(thing: &Thing<'_>) -> bool {
    let is_code = |kind: MentionKind| !matches!(kind, MentionKind::Number | MentionKind::File | MentionKind::Constant);
    !thing.is_empty() && thing.mentions.len() <= 2 && thing.mentions.iter().all(|mention| is_code(mention.kind))
}

/// A part of the skeleton as the text has it, short.
fn written(scene: &Scene<'_, '_>, part: &str) -> String {
    let start = scene.clause.skeleton.find(part).unwrap_or(0);
    format!("«{}»", scene.clause.text[scene.clause.origin(start..start + part.len())].trim())
}

fn same_hunk(scene: &Scene<'_, '_>, a: usize, b: usize) -> bool {
    scene.change.diff.lines()[a.min(b)..=a.max(b)].iter().all(|line| line.kind != LineKind::Header)
}

/// Whether the first thing stands before the second one wherever both are, with their lines; `None` where it is not the same everywhere.
fn order(
    scene: &Scene<'_, '_>,
    blocks: &Blocks<'_>,
    things: &[Thing<'_>; 2],
    is_text: bool,
    of_imports: bool,
) -> Option<(Vec<usize>, bool)> {
    let mut lines = [&things[0], &things[1]].map(|thing| thing.lines(scene, Places::new_side, is_text));
    // where both are imported, these lines are compared and no later use
    let is_imported = |lines: &Vec<usize>| lines.iter().any(|&line| is_import(scene.change.code(line)));
    if of_imports && lines.iter().all(is_imported) {
        lines.iter_mut().for_each(|lines| lines.retain(|&line| is_import(scene.change.code(line))));
    }
    if lines.iter().any(|lines| lines.len() > MANY) {
        return None;
    }
    let mut orders: Vec<(bool, [usize; 2])> = Vec::new();
    let function = |line: usize| blocks.scopes(line).map(|scopes| scopes.first().map(|scope| scope.name.clone()));
    for &a in &lines[0] {
        for &b in lines[1].iter().filter(|&&b| same_hunk(scene, a, b)) {
            if a == b {
                // on one line names are compared by their columns
                let column = |thing: &Thing<'_>| {
                    let [mention] = thing.mentions[..] else { return None };
                    scene.change.code(a).find(&mention.code)
                };
                let (one, other) = (column(&things[0])?, column(&things[1])?);
                // what is inside the same call runs in an order of its own
                if !scene.change.code(a)[one.min(other)..one.max(other)].contains(')') {
                    return None;
                }
                orders.push((one < other, [a, b]));
                continue;
            }
            let apart = function(a).zip(function(b)).is_some_and(|(a, b)| a != b);
            if !apart || is_text {
                orders.push((a < b, [a, b]));
            }
        }
    }
    let changed = |line: &usize| scene.change.diff.lines()[*line].kind == LineKind::Added;
    if orders.iter().any(|(_, lines)| lines.iter().any(changed)) {
        orders.retain(|(_, lines)| lines.iter().any(changed));
    }
    let &(straight, lines) = orders.first()?;
    orders.iter().all(|(other, _)| *other == straight).then(|| (lines.to_vec(), straight))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::twins::{tell_apart, texts_apart};
    use veridiff_text::sample::Task;

    const DIFF: &str = "--- a/store.py\n+++ b/store.py\n@@ @@\n import json\n+import zlib\n import os\n def save(path, data):\n+    lock.acquire()\n+    check_size(data)\n     write_file(path, data)\n+    flush_cache()\n+    lock.release()\n     notify_listeners(path)\n NAMES = [\n     'alpha',\n+    'beta',\n     'gamma',\n ]\n+x = s.lstrip().rstrip()\n";

    #[test]
    fn imports_have_the_order_of_their_lines_and_not_of_their_uses() {
        let diff = "--- a/client.py\n+++ b/client.py\n@@ @@\n+import logging\n+import requests\n def fetch(url):\n+    answer = requests.get(url)\n+    logging.info(url)\n+    return answer\n";
        texts_apart(
            &RULE,
            Task::Review,
            diff,
            &[
                ("`requests` is imported after `logging`.", "`requests` is imported before `logging`."),
                ("It imports `logging` before `requests`.", "It imports `logging` after `requests`."),
                ("The import of `requests` follows `logging`.", "The import of `requests` precedes `logging`."),
            ],
        );
    }

    #[test]
    fn true_and_false_statements_are_told_apart() {
        tell_apart(
            &RULE,
            DIFF,
            &[
                ("`check_size` is called before `write_file`.", "`check_size` is called after `write_file`."),
                ("Flush the cache after `write_file`", "Flush the cache before `write_file`"),
                ("Acquire the lock prior to calling `write_file`", "Acquire the lock following `write_file`"),
                ("After `write_file`, `flush_cache` is called.", "Before `write_file`, `flush_cache` is called."),
                ("The entry `beta` comes right before `gamma`.", "The entry `beta` comes right after `gamma`."),
                ("`beta` was put between `alpha` and `gamma`.", "`gamma` was put between `alpha` and `beta`."),
                (
                    "Run `check_size` before the listeners are notified",
                    "Run `check_size` after the listeners are notified",
                ),
                ("`check_size` is followed by `flush_cache`.", "`flush_cache` is followed by `check_size`."),
                (
                    "The import of `zlib` sits below the import of `json`.",
                    "The import of `zlib` sits above the import of `json`.",
                ),
                ("Strip with `lstrip` before `rstrip`", "Strip with `rstrip` before `lstrip`"),
            ],
        );
    }
}
