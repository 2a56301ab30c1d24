//! VD010: a change that is said to be of comments or layout only changes code.

mod effects;

use std::sync::LazyLock;

use regex::Regex;

use super::{Claimed, Rule, Ruling, Scene, phrase::pattern};
use crate::changes::Extent;
use veridiff_text::{diff::LineKind, statements::StatementKind};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD010",
    name: "extent",
    summary: "The text says that only comments or layout changed, and the change is one of code.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(effects::check),
};

static ONLY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:(?:only|just|purely|nothing but) (?:changes? |touches |reformats |updates |about |a |the )?(?:comments?|formatting|whitespace|white space|indentation|layout|docstrings?)\b|(?:comment|formatting|whitespace|indentation|layout|docstring)s?[- ]only\b|no (?:code|functional) changes?\b)",
    )
});

/// What may stand behind the words if it is the change that they are said of: its end, what became of them, or a word for a change. In
/// "reject whitespace-only names" and "only comments by the author" they are said of something else.
static OF_A_CHANGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?: ?[.,;:!?()–—]|$| (?:and|or|but|here|in (?:this|the|that)|is|are|was|were|has|have|got|gets?|chang\w+|differ\w*|edits?|modif\w+|touch\w+|updat\w+|fix\w*|clean-?ups?|tweaks?|adjust\w*|commits?|diffs?|patch(?:es)?|prs?|pull|refactor\w*|work|stuff|as far|so|no|nothing)\b)",
    )
});

/// A verb of what code does, with the words for what it does it to: "skip only whitespace".
static DONE_BY_CODE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:(?:accept|allow|collect|consider|contain|count|drop|emit|find|get|handl|hold|ignor|includ|keep|list|load|match|pars|print|process|read|reject|render|return|show|skip|strip|support|trim|warn)(?:e|s|es|ed|ing|ping|ming|ting)?(?: about)?|with|of) (?:[a-z]+ )?$",
    )
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if scene.kind != StatementKind::Assertion {
        return Vec::new();
    }
    let Some(said) = ONLY.find(&scene.clause.skeleton) else { return Vec::new() };
    let behind = &scene.clause.skeleton[said.end()..];
    if !OF_A_CHANGE.is_match(behind) || DONE_BY_CODE.is_match(&scene.clause.skeleton[..said.start()]) {
        return Vec::new();
    }
    // "not only comments", "if it were only whitespace"
    let before = &scene.clause.skeleton[..said.start()];
    if [" not ", "n't ", " if ", " more than ", " rather ", " it's ", " it is "]
        .iter()
        .any(|word| format!(" {before}").contains(word))
    {
        return Vec::new();
    }
    // a refactoring keeps what code does, which no line tells
    let is_of_code = said.as_str().contains("functional");
    let files = &scene.change.changes().files;
    let is_code = files.iter().any(|file| file.extent == Extent::Code);
    let claimed =
        |ruling, lines, message: &str| vec![Claimed { ruling, part: said.range(), lines, message: message.to_owned() }];
    match (is_code, is_of_code) {
        (false, _) if !files.is_empty() => claimed(Ruling::Holds, Vec::new(), "no line of code changes"),
        (true, false) => {
            let is_code = |line: &usize| {
                let code = scene.change.code(*line).trim();
                let is_comment =
                    ["#", "//", "*", "/*", "\"\"\"", "--", "<!--"].iter().any(|mark| code.starts_with(mark));
                scene.change.diff.lines()[*line].kind == LineKind::Added && !code.is_empty() && !is_comment
            };
            let lines: Vec<usize> = (0..scene.change.diff.lines().len()).filter(is_code).take(1).collect();
            claimed(Ruling::Contradicted, lines, "code changes as well")
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::phrase::said;
    use veridiff_text::sample::Task;

    #[test]
    fn a_change_of_code_is_more_than_comments() {
        let code = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-# one\n+# two\n-x = 1\n+x = 2\n";
        let comments = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-# one\n+# two\n x = 1\n";
        for text in ["Only comments are touched.", "This is a comment-only change.", "Purely whitespace."] {
            let ruling = |diff| said(&RULE, diff, text, Task::Review, StatementKind::Assertion);
            assert_eq!((ruling(code), ruling(comments)), (Some(Ruling::Contradicted), Some(Ruling::Holds)), "{text}");
        }
        for text in [
            "This is not only comments.",
            "No functional change.",
            "Comments are updated.",
            "Reject whitespace-only names.",
            "Skip only whitespace.",
            "Skipping only whitespace.",
            "It includes only comments.",
            "Ignoring only whitespace.",
            "Parses only layout.",
            "Accept names that are not whitespace-only.",
            "Shows only comments by the author.",
            "Returns just the layout that was asked for.",
        ] {
            assert_eq!(said(&RULE, code, text, Task::Review, StatementKind::Assertion), None, "{text}");
        }
    }
}
