//! What a definition is said to be, or to have been, by a word that stands before it: `async`, `static`, `private`.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::diff::{Diff, LineKind};

use crate::{
    blocks::{Blocks, function_name},
    code::{TokenKind, tokens},
    mention::Mention,
    rules::{
        Claimed, Ruling, Scene,
        already::defines,
        phrase::{is_denied, pattern},
    },
};

/// A word for how something is defined, with the keyword that says so; where the keyword means the opposite, that it lacks it.
const WORDS: [(&str, &str, bool); 14] = [
    ("async", "async", true),
    ("asynchronous", "async", true),
    ("sync", "async", false),
    ("synchronous", "async", false),
    ("static", "static", true),
    ("private", "private", true),
    ("protected", "protected", true),
    ("public", "public", true),
    ("final", "final", true),
    ("abstract", "abstract", true),
    ("exported", "export", true),
    ("mutable", "mut", true),
    ("immutable", "mut", false),
    ("readonly", "readonly", true),
];

/// Which side has it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Now,
    Before,
    NotNow,
}

static CLAIMS: LazyLock<Vec<(When, Regex)>> = LazyLock::new(|| {
    let words = WORDS.map(|(word, ..)| word).join("|");
    let thing = r"(@\d+)(?: (?:function|method|class|field|property|constant|variable|call|helper|test|handler))?";
    let a = "(?:an? )?";
    let form = |when, text: String| (when, pattern(&text.replace("WORD", &format!("({words})\\b"))));
    vec![
        form(When::Now, format!(r"{thing} (?:is|are) (?:now|from now on) {a}WORD")),
        form(When::Now, format!(r"{thing}(?:(?: was| were) [a-z]+)? (?:and|but) (?:is|are) now {a}WORD")),
        form(When::Now, format!(r"{thing} (?:becomes?|became|turns|is made|was made|gets made|has become) {a}WORD")),
        form(
            When::Now,
            format!(r"\b(?:makes?|made|making|marks?|declares?|turns?) (?:the )?{thing} (?:as |into )?{a}WORD"),
        ),
        form(When::Now, format!(r"{thing} (?:[a-z]+ ){{0,2}}from [a-z]+ to WORD")),
        form(When::Before, format!(r"{thing} (?:[a-z]+ ){{0,2}}from WORD to [a-z]+")),
        form(When::Before, format!(r"{thing} (?:was|were|used to be) (?:previously |formerly )?{a}WORD")),
        form(When::NotNow, format!(r"{thing} (?:is|are) (?:no longer|not) {a}WORD(?: any ?more)?")),
        form(When::NotNow, format!(r"{thing} (?:stops being|ceases to be) {a}WORD")),
    ]
});

/// What the statement says of definitions whose keyword comes or goes.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    let mut found: Vec<Claimed> = Vec::new();
    for (when, pattern) in CLAIMS.iter() {
        for captures in pattern.captures_iter(said) {
            let part = captures.get(0).expect("the whole").range();
            let Some(mention) = scene.clause.mention(&captures[1]) else { continue };
            if !is_denied(&said[..part.start]) {
                found.extend(judge(scene, *when, mention, &captures[2], part));
            }
        }
    }
    found.truncate(1);
    found
}

fn judge(scene: &Scene<'_, '_>, when: When, mention: &Mention, word: &str, part: Range<usize>) -> Option<Claimed> {
    let &(_, keyword, by_having) = WORDS.iter().find(|(other, ..)| *other == word)?;
    let [new, old] = scene.change.sides().map(|side| heads(scene.change.diff, side, mention.last()));
    let [is, was] = [&new, &old].map(|heads| {
        let has: Vec<bool> = heads.iter().map(|&line| has_keyword(scene.change.code(line), keyword)).collect();
        (!has.is_empty() && has.iter().all(|first| *first == has[0])).then(|| has[0])
    });
    // where it neither comes nor goes the word may be meant otherwise
    let (is, was) = (is?, was?);
    let is_so = match when {
        When::Now => is == by_having,
        When::Before => was == by_having,
        When::NotNow => is != by_having,
    };
    let comes = if is { "comes" } else { "goes" };
    let message = format!("`{keyword}` {comes} where `{}` is defined", mention.last());
    let lines: Vec<usize> = old.iter().chain(&new).copied().collect();
    (is != was && !is_so).then_some(Claimed { ruling: Ruling::Contradicted, part, lines, message })
}

/// The changed lines of a side that define a name.
fn heads(diff: &Diff, side: &Blocks<'_>, name: &str) -> Vec<usize> {
    let is_defined = |code: &str| defines(code, name) || function_name(code).is_some_and(|own| own == name);
    let is_head = |line: usize| diff.lines()[line].kind != LineKind::Context;
    side.lines.iter().filter(|line| is_head(line.line) && is_defined(line.code)).map(|line| line.line).collect()
}

/// Whether a line of code has a word as an identifier of its own.
fn has_keyword(code: &str, keyword: &str) -> bool {
    tokens(code).iter().any(|token| token.kind == TokenKind::Name && &code[token.span.clone()] == keyword)
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{state::RULE, twins::texts_apart};

    const DIFF: &str = "--- a/store.ts\n+++ b/store.ts\n@@ @@\n class Store {\n-  public load(key) {\n-    return this.data[key];\n+  private async load(key) {\n+    return await this.data[key];\n   }\n-  async close() {\n+  close() {\n   }\n }\n";

    #[test]
    fn how_something_is_defined_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            DIFF,
            &[
                ("`load` is now asynchronous.", "`load` is now synchronous."),
                ("`load` becomes async.", "`load` becomes sync."),
                ("This makes `load` private.", "This makes `load` public."),
                ("`load` was public.", "`load` was private."),
                ("`close` was async and is now sync.", "`close` was sync and is now async."),
                ("`close` is no longer async.", "`close` is no longer synchronous."),
                ("`close` goes from async to sync.", "`close` goes from sync to async."),
            ],
        );
    }
}
