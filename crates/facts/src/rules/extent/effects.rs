//! A change of comments and blank lines that is said to change what the code does.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use crate::{
    language::Language,
    lexicon::presupposed,
    rules::{Claimed, Ruling, Scene, phrase::pattern, thing::is_comment},
};

/// Words for what code does.
static DOES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:mak(?:e|es|ing)|returns?|returning|throws?|rais(?:e|es|ing)|calls?|calling|now uses?|uses?|using|falls? back|fallback|expects?|handl(?:e|es|ing)|validat(?:e|es|ing)|sets?|checks?|passes|computes?|converts?|rewriting|satisf(?:y|ies)|enables?|disables?|stores?|sends?|loads?|reads?|writes?|accepts?|rejects?)\b",
    )
});

/// Words for comments, layout and what is to be done later; and those that deny or ask.
static OF_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:comment\w*|doc\w*|javadoc|jsdoc|todo|fixme|notes?|noted|blank|empty line|lines?|whitespace|spac(?:e|es|ing)|indent\w*|format\w*|layout|header\w*|licen[cs]e\w*|copyright|lint\w*|eslint|pylint|noqa|pragma|rules?|typos?|spell\w*|wording|grammar|mention\w*|descri\w+|expla\w+|clarif\w+|says?|states?|example|readme|changelog|later|only|no|not|[a-z]+n't|nothing|never|clear\w*|permit\w*|allow\w*|logic|without|cosmetic|style|clean\w*|tid(?:y|ies)|pep8|flake8|annotat\w*|silenc\w+|suppress\w*|silence|newlines?|section|text|should|could|would|may|might|must|please|consider|reword\w*|reformat\w*|remind\w*|update\w*|warn\w*|merge|release|version|typing|types?|coverage)\b",
    )
});

/// What the statement says that the code does, where no line of code changes.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = presupposed(&scene.clause.skeleton, scene.kind == StatementKind::Question) else {
        return Vec::new();
    };
    // texts speak of the code around the change too
    if scene.kind == StatementKind::Request || !CHANGE.is_match(said) || OF_TEXT.is_match(said) {
        return Vec::new();
    }
    let Some(does) = DOES.find(said) else { return Vec::new() };
    let diff = scene.change.diff;
    let is_code = diff.files().iter().all(|file| Language::of_file(file).is_some());
    let changed: Vec<usize> = (0..diff.lines().len()).filter(|&line| diff.lines()[line].kind.is_changed()).collect();
    let is_text = |&line: &usize| {
        scene.change.code(line).trim().is_empty()
            || (is_comment(scene.change.code(line)) && !DIRECTIVE.is_match(scene.change.code(line)))
    };
    if changed.is_empty()
        || !is_code
        || !changed.iter().all(is_text)
        || diff.lines().iter().all(|line| line.kind != LineKind::Context)
    {
        return Vec::new();
    }
    let message = "only comments and blank lines change".to_owned();
    vec![Claimed { ruling: Ruling::Contradicted, part: does.range(), lines: changed[..1].to_vec(), message }]
}

/// Comments that a tool reads.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"#!|\+build|go:|lint|noqa|pragma|type:|@ts-|istanbul|coverage|fmt:|clang-format|\bfrozen_string_literal|-\*-",
    )
});

static CHANGE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(?:now|this change|with this|the change|any ?more|any longer|no longer)\b"));

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::extent::RULE;
    use crate::rules::twins::texts_apart;

    const C: &str = "--- a/ring.c\n+++ b/ring.c\n@@ -1,4 +1,5 @@\n int ring_size(struct ring *r)\n {\n+    /* the lock is held by the caller */\n     return r->n;\n }\n";
    const CODE: &str = "--- a/ring.c\n+++ b/ring.c\n@@ -1,4 +1,5 @@\n int ring_size(struct ring *r)\n {\n+    take(r);\n     return r->n;\n }\n";

    #[test]
    fn comments_change_nothing_that_runs() {
        texts_apart(
            &RULE,
            Task::Commit,
            C,
            &[("Comment on who holds the lock in ring_size", "ring_size now returns the size under the lock")],
        );
        let text = "Make ring_size take the ring";
        assert_eq!(crate::rules::twins::worst_of_text(&RULE, CODE, text, Task::Commit), None);
    }
}
