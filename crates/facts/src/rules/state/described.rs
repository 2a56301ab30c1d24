//! What is described in words and said to be new, or not to be.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use crate::{
    code::squeezed,
    lexicon::presupposed,
    occurrences::Places,
    rules::{Claimed, Ruling, Scene, phrase::pattern, resolve::lines_of},
};

static NEW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:^|[,;:.] |\bthat |\bbecause )([^,;:()]{4,70}?) (is|are|isn't|aren't|is not|are not) (?:brand |all |really )?new(?:[,.;:?]| here| in this| with this|$)",
    )
});

/// What the statement calls new.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let said = presupposed(&scene.clause.skeleton, scene.kind == StatementKind::Question);
    let Some(captures) = said.and_then(|said| NEW.captures(said)) else { return Vec::new() };
    let part = captures.get(0).expect("the whole").range();
    let is_new = !captures[2].contains('t');
    let lines = lines_of(scene, &captures[1], Places::new_side);
    let Some(&first) = lines.first() else { return Vec::new() };
    let diff = scene.change.diff;
    let was_there = |line: &usize| {
        let code = squeezed(scene.change.code(*line));
        diff.lines()[*line].kind == LineKind::Context
            || (0..diff.lines().len()).any(|other| {
                diff.lines()[other].kind == LineKind::Removed && squeezed(scene.change.code(other)) == code
            })
    };
    let is_against = if is_new {
        lines.iter().all(was_there)
    } else {
        lines.iter().all(|line| !was_there(line)) && only_adds(scene, &lines)
    };
    let message = if is_new { "its line was there before" } else { "its line is added" };
    if is_against {
        vec![Claimed { ruling: Ruling::Contradicted, part, lines: vec![first], message: message.to_owned() }]
    } else {
        Vec::new()
    }
}

/// Whether lines stand where none made way for them.
fn only_adds(scene: &Scene<'_, '_>, lines: &[usize]) -> bool {
    let of = |line: &usize| scene.change.spots().iter().find(|spot| spot.added.contains(line));
    lines.iter().all(|line| of(line).is_some_and(|spot| !spot.replaces()))
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{state::RULE, twins::texts_apart};

    const C: &str = "--- a/run.c\n+++ b/run.c\n@@ @@\n void run(struct job *job)\n {\n \tif (job->sign == NULL)\n \t\tjob->sign = \"+\";\n+\tlimit_memory(job);\n }\n";

    #[test]
    fn what_was_there_is_not_new() {
        texts_apart(
            &RULE,
            Task::Review,
            C,
            &[
                ("The limit of memory is new, is it tested?", "The default for the sign is new, is it tested?"),
                ("The default for the sign isn't new, right?", "The limit of the memory isn't new, right?"),
            ],
        );
    }
}
