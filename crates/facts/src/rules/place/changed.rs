//! Where the change itself is said to be: in a function that the diff shows, and that no changed line is in.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::diff::LineKind;

use crate::{
    blocks::{Blocks, ScopeKind},
    mention::MentionKind,
    rules::{Claimed, Ruling, Scene, phrase::pattern},
};

/// A verb of change and the function that it is said to be in.
static CLAIMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let changes = "(?:add(?:s|ed)?|insert(?:s|ed)?|introduc(?:es?|ed)|remov(?:es?|ed)|delet(?:es?|ed)|drop(?:s|ped)?|gone|chang(?:es?|ed)|replac(?:es?|ed)|renam(?:es?|ed)|switch(?:es|ed)?|new|now|set|calls?|called|us(?:es?|ed)|check(?:s|ed)?|return(?:s|ed)?|log(?:s|ged)?|guard(?:s|ed)?|wrap(?:s|ped)?|convert(?:s|ed)?|handl(?:es?|ed)|lost|loses?)";
    vec![
        pattern(&format!(
            r"\b{changes}\b[^,;:.()]{{0,60}}? (?:in|inside|within|from|out of|at the (?:top|start|beginning|end|bottom) of)(?: the)?(?: function| method)? (@\d+)(?: [a-z]+)?(?:[,.;?)]|$)"
        )),
        pattern(r"^(@\d+): [a-z]+"),
    ]
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|[a-z]+n't|never|as|like|should|could|would|may|might|must|please|consider|moved?|moves|moving|unlike|same|also|still|too|elsewhere|unused|test\w*)\b",
    )
});

/// What the statement says of the place of the change.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    if OPEN.is_match(said) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for captures in CLAIMS.iter().flat_map(|pattern| pattern.captures_iter(said)) {
        let Some(place) = scene.clause.mention(&captures[1]).filter(|place| place.kind == MentionKind::Name) else {
            continue;
        };
        let part = captures.get(0).expect("the whole").range();
        if let Some((lines, name)) = elsewhere(scene, place.last()) {
            let message = format!("all changed lines are in `{name}`, none in `{}`", place.last());
            found.push(Claimed { ruling: Ruling::Contradicted, part, lines, message });
        }
    }
    found.truncate(1);
    found
}

/// The first changed line and its function, if all changed lines stand in functions that the diff shows, and none in one that it shows too.
fn elsewhere(scene: &Scene<'_, '_>, name: &str) -> Option<(Vec<usize>, String)> {
    let sides = scene.change.sides();
    let is_function = |blocks: &&Blocks<'_>| {
        blocks.all_scopes().iter().any(|scope| scope.name == name && scope.kind == ScopeKind::Function)
    };
    // the name itself on a changed line is the change
    let on_changed = scene
        .change
        .occurrences
        .name(name)
        .is_some_and(|places| !places.added.is_empty() || !places.removed.is_empty());
    if on_changed || !sides.iter().any(is_function) {
        return None;
    }
    let mut first = None;
    for (line, at) in scene.change.diff.lines().iter().enumerate() {
        let blocks = match at.kind {
            LineKind::Added => sides[0],
            LineKind::Removed => sides[1],
            _ => continue,
        };
        if scene.change.code(line).trim().is_empty() {
            continue;
        }
        let scopes = blocks.scopes(line)?;
        let own = scopes.iter().find(|scope| scope.kind == ScopeKind::Function)?;
        if scopes.iter().any(|scope| scope.name == name) {
            return None;
        }
        first = first.or_else(|| Some((vec![line], own.name.clone())));
    }
    first
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::place::RULE;
    use crate::rules::twins::texts_apart;

    const PYTHON: &str = "--- a/ship.py\n+++ b/ship.py\n@@ @@\n def load(cargo):\n     weigh(cargo)\n     return cargo\n \n def sail(cargo):\n     lift_anchor()\n+    log_departure(cargo)\n     return cargo\n";

    #[test]
    fn the_place_of_the_whole_change_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            PYTHON,
            &[("A new line of log is called in `sail`.", "A new line of log is called in `load`.")],
        );
    }
}
