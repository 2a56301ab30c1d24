//! What a commit says that the code does by a keyword, where no line of the new side has it.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use crate::rules::{Claimed, Ruling, Scene, phrase::pattern, thing::is_comment};

/// The verb that a message begins with, or what a function is made to do; and how code does it.
static DEEDS: LazyLock<Vec<(Regex, Regex)>> = LazyLock::new(|| {
    let of = |verb: &str, code: &str| {
        let start = r"(?:^(?:[a-z@0-9_./()\[\] -]{1,40}: )?|\b(?:and|to|then|function|method|it|let|have|make|makes) )";
        (pattern(&format!(r"{start}(?:{verb})\b")), Regex::new(code).expect("a valid pattern"))
    };
    vec![
        of(
            "return (?:an? |the )?(?:error|err|null|none|nil|early|true|false|empty)",
            r"(?i)\breturn|=>|->|\byield\b|\bOk\(|\bErr\(|\bSome\(|\bNone\b|Result",
        ),
        of("panics?|panic", r"(?i)panic|unwrap|expect|abort|fatal|unreachable|assert"),
        of("assert(?: that)?", r"(?i)assert|expect|should|\bmust|require|check|verify|\bt\.|ensure"),
        of("await", r"(?i)await|then|async|wait"),
    ]
});

/// What the message says that is done.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    let is_said = scene.kind == StatementKind::Assertion && scene.task == veridiff_text::sample::Task::Commit;
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:not|never|[a-z]+n't|no longer|instead|rather|stop|without|avoid|remove\w*|fix(?:es|ed)?|allow|support|add(?:s|ed)?|document\w*|test\w*|types?|comments?)\b",
        )
    });
    if !is_said || OPEN.is_match(skeleton) {
        return Vec::new();
    }
    let diff = scene.change.diff;
    let is_new = |line: &usize| {
        matches!(diff.lines()[*line].kind, LineKind::Added | LineKind::Context) && !is_comment(scene.change.code(*line))
    };
    let added: Vec<usize> =
        (0..diff.lines().len()).filter(|&line| diff.lines()[line].kind == LineKind::Added).collect();
    let mut found = Vec::new();
    for (verb, code) in DEEDS.iter() {
        let Some(said) = verb.find(skeleton) else { continue };
        let is_done = (0..diff.lines().len()).filter(is_new).any(|line| code.is_match(scene.change.code(line)));
        let implies = diff.files().iter().any(|file| gives_last_value(file));
        if !is_done && !implies && !added.is_empty() {
            let message = "no line of the new side does so".to_owned();
            found.push(Claimed {
                ruling: Ruling::Contradicted,
                part: said.range(),
                lines: added[..1].to_vec(),
                message,
            });
        }
    }
    found
}

/// Whether a file is of a language in which the last expression of a body is what it gives, without a keyword.
fn gives_last_value(file: &str) -> bool {
    const ENDINGS: [&str; 22] = [
        "rs", "rb", "kt", "kts", "scala", "sc", "swift", "ex", "exs", "erl", "clj", "cljs", "el", "lisp", "hs", "elm",
        "ml", "fs", "r", "R", "jl", "nix",
    ];
    file.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{
        Ruling,
        effect::RULE,
        twins::{texts_apart, worst_of_text},
    };

    const GO: &str = "--- a/run.go\n+++ b/run.go\n@@ -1,3 +1,5 @@\n func run(a string) {\n-\tlisten(a)\n+\tif e := listen(a); e != nil {\n+\t\tpanic(e)\n+\t}\n }\n";

    #[test]
    fn a_keyword_that_no_line_has_is_not_what_it_does() {
        texts_apart(
            &RULE,
            Task::Commit,
            GO,
            &[
                ("run: panic when it cannot listen", "run: return an error when it cannot listen"),
                ("Stop on a failing listener", "Assert that the listener works"),
            ],
        );
    }

    #[test]
    fn a_language_that_gives_its_last_value_needs_no_keyword() {
        let named = |file: &str| GO.replace("run.go", file);
        let text = "run: return an error when it cannot listen";
        let ruling = |diff: &str| worst_of_text(&RULE, diff, text, Task::Commit);
        assert_eq!(ruling(GO), Some(Ruling::Contradicted));
        for file in ["run.kt", "run.scala", "run.swift", "run.ex", "run.hs"] {
            assert_eq!(ruling(&named(file)), None, "{file}");
        }
    }
}
