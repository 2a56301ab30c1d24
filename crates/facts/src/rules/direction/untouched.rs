//! What is said to be changed and stands on unchanged lines alone.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::{diff::LineKind, sample::Task, statements::StatementKind};

use crate::{
    mention::{Mention, MentionKind},
    rules::{
        Claimed, Ruling, Scene,
        phrase::{is_denied, pattern},
        thing::is_comment,
    },
};

/// What a change does to a name itself, so that a changed line has it. Fewer verbs than those by which
/// [`patterns`](super::patterns) has a thing come or go: `creates` and `implements` are not among them.
const CHANGES: &str = "(?:adds?|added|introduc(?:es?|ed)|renam(?:es?|ed)|replac(?:es?|ed)|export(?:s|ed)?|expos(?:es?|ed)|extract(?:s|ed)?|inlin(?:es?|ed)|import(?:s|ed)?|mov(?:es?|ed)|drop(?:s|ped)?|remov(?:es?|ed)|delet(?:es?|ed))";

/// What a message in the imperative says to be done from here on.
const DOES: &str = "(?:use|call|return|define|declare|pass|set|raise|throw|switch to|prefer)";

/// The words behind a name that leave it the thing that is meant: `add x fallback` adds no `x`.
const BEHIND: &str = r"(?:$|[.,;)]| (?:to|in|into|from|for|with|as|at|so|and|instead|rather|by|inside|within|before|after|function|method|class|struct|helper|argument|parameter|option|flag|field|attribute|property|constant)\b)";

static CLAIMS: LazyLock<[(bool, Regex); 4]> = LazyLock::new(|| {
    let thing = format!(r"(?:the |an? |new |also |missing |unused |all |its )*(@\d+){BEHIND}");
    let done = "(?:added|introduced|renamed|replaced|moved|extracted|inlined)";
    let swaps = "(?:renam(?:es?|ed|ing)|replac(?:es?|ed|ing)|swap(?:s|ped|ping)?)";
    [
        (true, pattern(&format!(r"^(?:[^:@]{{1,25}}: )?(?:{CHANGES}|{DOES}) {thing}"))),
        (false, pattern(&format!(r"\b(?:this|it|change|commit|patch|pr|which)(?: also| now)? {CHANGES} {thing}"))),
        (false, pattern(&format!(r"(@\d+) (?:is|are|gets?)(?: now)? {done}\b"))),
        // what is put in a place has to be there
        (false, pattern(&format!(r"\b{swaps} (?:the )?@\d+(?: [a-z]+)? (?:with|by|to|for|into) {thing}"))),
    ]
});

/// What the statement says to be changed.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if scene.kind != StatementKind::Assertion {
        return Vec::new();
    }
    let skeleton = &scene.clause.skeleton;
    let mut found = Vec::new();
    for (of_commits, pattern) in CLAIMS.iter().filter(|(of_commits, _)| !of_commits || scene.task == Task::Commit) {
        let Some(captures) = pattern.captures(skeleton) else { continue };
        let thing = captures.get(1).expect("the thing");
        let start = if *of_commits { 0 } else { captures.get(0).expect("the whole").start() };
        let Some(mention) = scene.clause.mention(thing.as_str()).filter(|_| !is_denied(&skeleton[..start])) else {
            continue;
        };
        if let Some(lines) = untouched(scene, mention) {
            let name = &scene.clause.text[mention.span.clone()];
            let message = format!("`{name}` is on unchanged lines alone");
            found.push(Claimed { ruling: Ruling::Contradicted, part: start..thing.end(), lines, message });
        }
    }
    found.truncate(1);
    found
}

/// The unchanged lines of code that have a name, where the change neither has it in another form nor stands in what is called so.
fn untouched(scene: &Scene<'_, '_>, mention: &Mention) -> Option<Vec<usize>> {
    const SHORTEST: usize = 4;
    let name = mention.last();
    // words between quotes are a title or a library as often as code
    let is_quoted = mention.is_marked && !scene.clause.text[mention.outer.clone()].starts_with('`');
    if mention.kind != MentionKind::Name || name.len() < SHORTEST || is_quoted {
        return None;
    }
    let find = scene.change.find(mention);
    let places = find.exactly()?;
    let diff = scene.change.diff;
    let lower = name.to_lowercase();
    let [new, old] = scene.change.sides();
    let is_of_change = |line: usize| match diff.lines()[line].kind {
        LineKind::Added => new.around(line).iter().any(|scope| scope.name == name) || has(scene, line, &lower),
        LineKind::Removed => old.around(line).iter().any(|scope| scope.name == name) || has(scene, line, &lower),
        // names of files, and the heads of what a hunk stands in
        LineKind::Header => diff.line_text(line).to_lowercase().contains(&lower),
        LineKind::Context => false,
    };
    if !places.added.is_empty() || !places.removed.is_empty() || (0..diff.lines().len()).any(is_of_change) {
        return None;
    }
    let is_code = |line: &&usize| !is_comment(scene.change.code(**line));
    let lines: Vec<usize> = places.context.iter().filter(is_code).copied().collect();
    (!lines.is_empty() && lines.len() == places.context.len()).then_some(lines)
}

/// Whether a line has a word in any case, as part of another one too.
fn has(scene: &Scene<'_, '_>, line: usize, lower: &str) -> bool {
    scene.change.code(line).to_lowercase().contains(lower)
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{direction::RULE, twins::texts_apart};

    const DIFF: &str = "--- a/send.go\n+++ b/send.go\n@@ -1,4 +1,5 @@ func sendAll(box Box) {\n \tfirst := openBox(box)\n-\tcopyPlain(first)\n+\tcopySealed(first)\n+\tstampAll(first)\n \tcloseBox(first)\n }\n";

    #[test]
    fn what_is_changed_stands_on_a_changed_line() {
        texts_apart(
            &RULE,
            Task::Commit,
            DIFF,
            &[
                ("Call `stampAll` before the box is closed", "Call `openBox` before the box is closed"),
                ("send: add `copySealed`", "send: add `closeBox`"),
                ("Rename copyPlain to copySealed", "Rename openBox to copySealed"),
                ("Move `sendAll` on", "Replace `closeBox` by a defer"),
                ("Add `closeBox` handling", "It adds `closeBox` to the end."),
                ("`copyPlain` is replaced.", "`openBox` is replaced."),
                ("This replaces `copyPlain` by `copySealed`.", "This replaces `copyPlain` by `closeBox`."),
            ],
        );
    }
}
