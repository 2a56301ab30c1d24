//! What a function is said to do with something, or not to do, where the change shows the whole function.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::diff::LineKind;

use crate::{
    bodies::Body,
    code::{TokenKind, pieces, tokens},
    mention::{Mention, MentionKind},
    occurrences::Places,
    rules::{
        Claimed, Ruling, Scene,
        phrase::{is_gap, pattern},
        thing::is_comment,
    },
};

/// What is done with a thing that stands in the code of whoever does it.
/// They are not the verbs of [`pattern`]: `returns` and `accepts` are among those alone, `increments` and `resets` among these.
const USES: &str = "(?:calls?|uses?|invokes?|checks?|reads?|sets?|pass(?:es)?|logs?|acquires?|assigns?|increments?|clears?|deletes?|appends?|writes?|closes?|releases?|awaits?|tests?|wraps?|updates?|resets?|depends? on|relies on)";
const USED: &str = "(?:called|used|invoked|checked|read|set|passed|logged|acquired|assigned|incremented|cleared|deleted|written|closed|released|awaited|tested|updated|reset)";
const GAP: &str = r"((?:[a-z'-]+ ){0,3}?)";
const OF: &str =
    r"(?: (?:function|method|helper|test|hook|constructor|call|handler|option|flag|field|constant|variable))?";

/// A function, what it does or does not do, and with what: the numbers of their groups.
struct Claim {
    pattern: Regex,
    functions: &'static [usize],
    thing: usize,
    /// The words before the thing, which have to belong to it.
    gap: Option<usize>,
    does: bool,
}

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    let adverbs = "(?: now| also| still| always| itself| first| then| directly| simply| just| each| both)*";
    let form =
        |text: String, functions, thing, gap, does| Claim { pattern: pattern(&text), functions, thing, gap, does };
    vec![
        form(format!(r"\bboth (@\d+) and (@\d+){OF}{adverbs} {USES} {GAP}(@\d+)"), &[1, 2], 4, Some(3), true),
        form(format!(r"(@\d+){OF}{adverbs} {USES} {GAP}(@\d+)"), &[1], 3, Some(2), true),
        form(
            format!(
                r"(@\d+){OF} (?:is|are|gets?)(?: now| also| still| always)* {USED} (?:in|inside|within|by|from) both (?:the )?(@\d+) and (?:the )?(@\d+)"
            ),
            &[2, 3],
            1,
            None,
            true,
        ),
        form(
            format!(
                r"(@\d+){OF} (?:is|are|gets?)(?: now| also| still| always)* {USED} (?:in|inside|within|by|from) (?:the )?(?:[a-z]+ )?(@\d+)"
            ),
            &[2],
            1,
            None,
            true,
        ),
        form(format!(r"\b(?:neither) (@\d+) nor (@\d+){OF} {USES} {GAP}(@\d+)"), &[1, 2], 4, Some(3), false),
        form(
            format!(
                r"(@\d+){OF} (?:does not|doesn't|never|no longer|does no longer|fails to|forgets to|stops to)(?: even| actually| ever)? {USES} {GAP}(@\d+)"
            ),
            &[1],
            3,
            Some(2),
            false,
        ),
        form(
            format!(
                r"(@\d+){OF} (?:is|are|gets?) (?:not|never|no longer) {USED} (?:in|inside|within|by|from) (?:the )?(?:[a-z]+ )?(@\d+)"
            ),
            &[2],
            1,
            None,
            false,
        ),
    ]
});

/// Sentences on what should be, was, or is so in a case.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|can|consider|suggest|instead|rather|was|were|used to|previously|formerly|before|after|until|if|when|unless|where|while|once|twice|again|only|either|or|than|through|via|indirectly|without|because|as|more|directly|explicitly|except|other|same|own)\b",
    )
});

/// What says that something is not so.
static NOT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:not|never|no longer|no|neither|nor|[a-z]+n't|fails|forgets|stops|remov\w+|drop\w*)\b")
});

/// What the statement says of whole functions.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    let mut found: Vec<Claimed> = Vec::new();
    for claim in CLAIMS.iter() {
        for captures in claim.pattern.captures_iter(said) {
            let part = captures.get(0).expect("the whole").range();
            let start = said[..part.start].rfind([',', ';', ':', '(']).map_or(0, |at| at + 1);
            let end = said[part.end..].find([',', ';', ':', '.', '(', ')']).map_or(said.len(), |at| part.end + at);
            let is_denied = NOT.is_match(&said[start..part.end]);
            let gap = claim.gap.and_then(|gap| captures.get(gap)).map_or("", |gap| gap.as_str().trim());
            if OPEN.is_match(&said[start..end]) || claim.does == is_denied || !(gap.is_empty() || is_gap(gap)) {
                continue;
            }
            let Some(thing) = scene.clause.mention(&captures[claim.thing]) else { continue };
            for &function in claim.functions {
                let Some(function) = scene.clause.mention(&captures[function]) else { continue };
                found.extend(judge(scene, function, thing, claim.does, part.clone()));
            }
        }
    }
    found.truncate(1);
    found
}

fn judge(
    scene: &Scene<'_, '_>,
    function: &Mention,
    thing: &Mention,
    does: bool,
    part: Range<usize>,
) -> Option<Claimed> {
    let name = function.last();
    let can_be = function.kind == MentionKind::Name && matches!(thing.kind, MentionKind::Name | MentionKind::Snippet);
    if !can_be || thing.last() == name {
        return None;
    }
    let all: Vec<&Body> = scene.change.bodies().iter().filter(|body| body.name == name).collect();
    let find = scene.change.find(thing);
    let places = find.exactly()?;
    let head = *all.first()?.lines.first()?;
    if does {
        let elsewhere = lines_of_code(scene, places);
        let is_here = |body: &&Body| lacks(scene, body, places, thing);
        let line = *elsewhere.first()?;
        // every function of this name has to be known
        let n_named = scene
            .change
            .new_blocks()
            .lines
            .iter()
            .filter(|line| crate::blocks::function_name(line.code).is_some_and(|other| other == name));
        if n_named.count() != all.len() || !all.iter().all(is_here) {
            return None;
        }
        let message = format!("the whole of `{name}` is shown, and `{}` is not in it", thing.last());
        return Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![head, line], message });
    }
    let uses =
        |body: &&Body| body.lines.iter().copied().find(|&line| line != body.lines[0] && is_use(scene, line, thing));
    let [body] = all[..] else { return None };
    let line = uses(&body)?;
    let message = format!("`{}` is in `{name}`", thing.last());
    Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message })
}

/// The lines of code that have something: heads of files and comments left out.
fn lines_of_code(scene: &Scene<'_, '_>, places: &Places) -> Vec<usize> {
    let is_code = |line: &usize| {
        scene.change.diff.lines()[*line].kind != LineKind::Header && !is_comment(scene.change.code(*line))
    };
    [places.new_side(), places.removed.clone()].concat().into_iter().filter(is_code).collect()
}

/// Whether a function that has more than a head has nothing of a thing, and calls no other one of the change that has it.
fn lacks(scene: &Scene<'_, '_>, body: &Body, places: &Places, thing: &Mention) -> bool {
    let has = |body: &Body| {
        let in_code = |line: usize| scene.change.code(line).contains(thing.last());
        places.new_side().into_iter().any(|line| body.has(line)) || body.lines.iter().any(|&line| in_code(line))
    };
    let calls = |other: &Body| {
        let name = format!("{}(", other.name);
        body.lines[1..].iter().any(|&line| scene.change.code(line).contains(&name))
    };
    let through = || scene.change.bodies().iter().any(|other| other.name != body.name && has(other) && calls(other));
    body.lines.len() > 2 && !has(body) && !through()
}

/// Whether a line of code has a thing outside of comments and strings.
fn is_use(scene: &Scene<'_, '_>, line: usize, thing: &Mention) -> bool {
    let code = scene.change.code(line);
    if is_comment(code) {
        return false;
    }
    let own = thing.pieces();
    let is_own = |written: &str| {
        let parts: Vec<&str> = pieces(written).collect();
        parts.windows(own.len()).any(|run| run == own)
    };
    tokens(code).iter().any(|token| token.kind == TokenKind::Name && is_own(&code[token.span.clone()]))
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{place::RULE, twins::texts_apart};

    const PYTHON: &str = "--- a/store.py\n+++ b/store.py\n@@ @@\n LIMIT = 3\n \n+def load(path):\n+    data = read_bytes(path)\n+    check_size(data)\n+    return data\n+\n+def save(path, data):\n+    check_size(data)\n+    with lock:\n+        write_bytes(path, data)\n+    notify(path)\n+\n def main():\n     load(LIMIT)\n";

    #[test]
    fn what_a_whole_function_lacks_it_does_not_use() {
        texts_apart(
            &RULE,
            Task::Review,
            PYTHON,
            &[
                ("`save` calls `write_bytes`.", "`load` calls `write_bytes`."),
                ("`save` uses `notify`.", "`save` uses `LIMIT`."),
                ("`read_bytes` is called in `load`.", "`read_bytes` is called in `save`."),
                ("Both `load` and `save` call `check_size`.", "Both `load` and `save` call `notify`."),
                ("`load` never calls `notify`.", "`save` never calls `notify`."),
                ("`load` does not check `lock`.", "`load` does not call `check_size`."),
                ("`notify` is not called in `load`.", "`check_size` is not called in `load`."),
                ("`main` reads `LIMIT`.", "Neither `load` nor `save` calls `check_size`."),
                ("`save` never calls `notify` when it fails.", "`load` no longer uses `check_size`."),
            ],
        );
    }
}
