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
        resolve::{lines_of, resolve},
        terms::{Term, Weight, terms},
        thing::is_comment,
    },
};

const PART: &str = r"([^,;:()]{2,90}?)";
const TAIL: &str = r"([^,;:()]{2,70})";

/// Two things with a word of order: whether the first comes before.
static ORDERED: LazyLock<Vec<(bool, Regex)>> = LazyLock::new(|| {
    let start = "(?:^|[,;:] |because |since |that |so |and |but )";
    let aside = "(?:, (?:if any|if there is one|where there is one|if needed|if set|if given|as before|though))?";
    let just = "(?:just |right |immediately |directly |shortly |all )?";
    let form = |is_before, text: String| (is_before, pattern(&text));
    vec![
        form(
            true,
            format!(
                r"{start}{PART}{aside},? {just}(?:before|ahead of|in front of|prior to|above|preceding|precedes) {TAIL}"
            ),
        ),
        form(false, format!(r"{start}{PART}{aside},? {just}(?:after|behind|below|following|follows) {TAIL}")),
        form(
            false,
            format!(
                r"{start}{PART}{aside},? once ([^,;:()]{{2,70}}?) (?:has|have|had|is|are|was|were) (?:been )?[a-z]+(?:ed|en|n|t|ut)\b"
            ),
        ),
        form(
            true,
            format!(
                r"(?:^|[,;:] ){PART} first,? (?:and|then|and then) {PART}(?: second| next| afterwards| last)?(?:[,.;]| when| if| for|$)"
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
        r"\b(?:may|might|must|instead|rather|not|[a-z]+n't|no longer|never|were|used to|previously|versions?|releases?|unless|until|bug|even|again|(?:add\w*|insert\w*|remov\w*|blank|extra) (?:[a-z]+ ){0,2}lines?|seconds|minutes?|ms|days?|reorder\w*|mov(?:e|es|ed|ing)|swap\w*|wait\w*|shortly|done|finish\w*|complet\w*|resolv\w*)\b",
    )
});

/// Sentences that wish for an order, which is another one than there is.
static WISH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|wouldn't|consider|please|suggest|i'd (?:have|rather|put|prefer|expect\w*)|can (?:we|you)|let's|how about|why not)\b",
    )
});

/// Where the second thing ends.
static END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r" (?:so|so that|because|since|which|to avoid|to ensure|to make|and|but|doesn't|does not|isn't|breaks|won't|can't|for now|in order|when|if|here|there|too|as well)\b.*$|[.?!](?: .*)?$",
    )
});

/// The function or the branch that a sentence is about, which is no thing that has an order.
static SCOPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r" (?:in|inside|within)(?: the)?(?: [a-z-]+){0,2} (?:branch|case|function|method|block|condition)\b| (?:in|inside|within)(?: the)? @\d+",
    )
});

/// Verbs of which the order is that of words, not of what runs.
static OF_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:mentions?|lists?|names?|puts?|putting|plac(?:e|es|ing)|says?|shows?|writes?|goes|passing|pass(?:es)?|looked at|checked|tested|compared|evaluated)\b",
    )
});

/// What the statement says of an order.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    let is_question = scene.kind == StatementKind::Question;
    let said = presupposed(skeleton, is_question);
    let wishes = scene.kind == StatementKind::Request || is_question && said.is_none();
    let said = said.unwrap_or(skeleton);
    let mut found = Vec::new();
    for (is_before, pattern) in ORDERED.iter() {
        for captures in pattern.captures_iter(said) {
            let part = captures.get(0).expect("the whole").range();
            let second = END.replace(&captures[2], "");
            let is_wish = WISH.is_match(&said[..part.end]);
            // imports have an order of their own, which the other half of the rule reads
            let is_open = |part: &str| OPEN.is_match(part) || super::is_of_imports(part);
            if (wishes && !is_wish) || is_open(&captures[1]) || is_open(&second) {
                continue;
            }
            let [first, second] = [&captures[1], &second[..]].map(|text| SCOPE.replace_all(text, "").into_owned());
            found.extend(ordered(scene, &first, &second, *is_before ^ is_wish, part));
        }
    }
    for captures in ENDS.captures_iter(said).filter(|_| !wishes) {
        let part = captures.get(0).expect("the whole").range();
        if !OPEN.is_match(&said[part.clone()]) && !WISH.is_match(&said[part.clone()]) {
            found.extend(at_end(scene, &captures[1], matches!(&captures[2], "end" | "bottom"), &captures[3], part));
        }
    }
    found.truncate(1);
    found
}

/// The share of what a phrase says that a line has to have.
const LEAST: f64 = 0.55;

fn ordered(scene: &Scene<'_, '_>, first: &str, second: &str, is_before: bool, part: Range<usize>) -> Option<Claimed> {
    let [one, other] = crate::rules::terms::apart(terms(scene, first), terms(scene, second));
    let a = resolve(scene, first, &one, Places::new_side);
    let b = resolve(scene, second, &other, Places::new_side);
    // "the check" and "the loop" alone are of any place
    if !a.is_anchored() && !b.is_anchored() {
        return None;
    }
    let lines = scene.change.diff.lines();
    let hunks = scene.change.diff.hunks();
    let mut parts: Vec<Range<usize>> = hunks.iter().map(|hunk| hunk.lines.clone()).collect();
    if parts.len() > 1 {
        parts.push(0..lines.len());
    }
    let mut orders = Vec::new();
    for range in parts {
        // lines of two hunks have an order where both are known to be in one function
        let is_all = range.len() == lines.len() && !orders.is_empty();
        let (a, b) = (a.lines(scene, range.clone(), LEAST), b.lines(scene, range, LEAST));
        for &a in a.iter().filter(|_| !is_all) {
            for &b in &b {
                if a == b {
                    if !OF_TEXT.is_match(first) {
                        return None;
                    }
                    orders.push((columns(scene, a, &one, &other)?, [a, b]));
                } else if is_one_run(scene, [a, b]) {
                    orders.push((a < b, [a, b]));
                }
            }
        }
    }
    let is_changed = |pair: &[usize; 2]| pair.iter().any(|&line| lines[line].kind == LineKind::Added);
    if orders.iter().any(|(_, pair)| is_changed(pair)) {
        orders.retain(|(_, pair)| is_changed(pair));
    }
    let &(straight, pair) = orders.first()?;
    let is_one = orders.iter().all(|(order, _)| *order == straight);
    if !is_one || !is_changed(&pair) || straight == is_before || super::is_concurrent(scene, pair) {
        return None;
    }
    let message = format!("it stands {} that", if straight { "before" } else { "behind" });
    Some(Claimed { ruling: Ruling::Contradicted, part, lines: pair.to_vec(), message })
}

/// Whether two lines run one behind the other: in one hunk and not in two functions, or in one function that is known.
fn is_one_run(scene: &Scene<'_, '_>, [a, b]: [usize; 2]) -> bool {
    let lines = scene.change.diff.lines();
    let blocks = scene.change.new_blocks();
    let function = |line: usize| blocks.scopes(line).map(|scopes| scopes.first().map(|scope| scope.name.clone()));
    let is_one_hunk = lines[a.min(b)..=a.max(b)].iter().all(|line| line.kind != LineKind::Header);
    match (function(a), function(b)) {
        (Some(one), Some(other)) => one == other && (is_one_hunk || one.is_some() && lines[a].file == lines[b].file),
        _ => is_one_hunk,
    }
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

fn at_end(scene: &Scene<'_, '_>, thing: &str, is_end: bool, function: &str, part: Range<usize>) -> Option<Claimed> {
    let name = scene.clause.mention(function)?.last();
    let blocks = scene.change.new_blocks();
    let mut own = lines_of(scene, thing, Places::new_side);
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
