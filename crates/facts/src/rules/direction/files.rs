//! Whole files that are said to come or to go.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::diff::{Diff, LineKind};

use crate::rules::{
    Claimed, Ruling, Scene,
    phrase::{is_denied, pattern},
};

/// What the header of a diff says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Added,
    Deleted,
    Changed,
}

/// What may stand behind the file: of places the histories themselves, since "add `a.json` to .gitignore" adds a line and no file.
const BEHIND: &str = r"(?: (?:file|too|again|altogether|along with|together with|and|next to|beside|with|here|as well|now|(?:in|from|to) (?:the |this |our )?(?:repo|repository|tree|source tree|git|version control|project|commit|change|diff|pr|patch))\b|[,.;:?!]|$)";

/// A file that is said to come, or to go.
static CLAIMS: LazyLock<Vec<(State, Regex)>> = LazyLock::new(|| {
    let comes =
        "(?:adds?|added|commits?|committed|creates?|created|introduc(?:es?|ed)|checks? in|brings? in|restores?)";
    let goes = "(?:deletes?|deleted|removes?|removed|drops?|dropped|gets? rid of|takes? out)";
    let is = "(?:is|was|gets?|has been)(?: being| now)?";
    vec![
        (
            State::Added,
            pattern(&format!(r"\b{comes} (?:an? |the |this )?(?:new |whole |entire )?(?:file )?(@\d+){BEHIND}")),
        ),
        (
            State::Deleted,
            pattern(&format!(r"\b{goes} (?:the |this )?(?:old |whole |entire )?(?:file )?(@\d+){BEHIND}")),
        ),
        (State::Added, pattern(&format!(r"(@\d+) {is} (?:added|new|created|committed|introduced)\b"))),
        (State::Deleted, pattern(&format!(r"(@\d+) (?:{is} (?:deleted|removed|dropped|gone)|goes away|disappears)\b"))),
    ]
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:should|could|would|may|might|must|consider|please|instead|rather|not|[a-z]+n't|never|no longer)\b")
});

/// What the statement says of files.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    if OPEN.is_match(said) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (state, pattern) in CLAIMS.iter() {
        for captures in pattern.captures_iter(said) {
            let part = captures.get(0).expect("the whole").range();
            let Some(mention) = scene.clause.mention(&captures[1]).filter(|_| !is_denied(&said[..part.start])) else {
                continue;
            };
            let Some((line, is)) = state_of(scene.change.diff, &mention.code) else { continue };
            let message = match (state, is) {
                (State::Added, State::Deleted) => format!("the change deletes `{}`", mention.code),
                (State::Deleted, State::Added) => format!("the change adds `{}`", mention.code),
                (State::Deleted, State::Changed) => format!("the change leaves `{}` there", mention.code),
                _ => continue,
            };
            found.push(Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message });
        }
    }
    found.truncate(1);
    found
}

/// What becomes of the one file of this name, with the line that says so; none where there are several, or it gets another name.
fn state_of(diff: &Diff, name: &str) -> Option<(usize, State)> {
    let lines = diff.lines();
    let is_of = |text: &str| {
        let mut paths = text.split([' ', '\t']).map(|path| path.trim_start_matches("a/").trim_start_matches("b/"));
        paths.any(|path| path == name || path.strip_suffix(name).is_some_and(|before| before.ends_with('/')))
    };
    let heads: Vec<usize> = (0..lines.len())
        .filter(|&index| lines[index].kind == LineKind::Header && diff.line_text(index).starts_with("diff --git "))
        .filter(|&index| is_of(diff.line_text(index).trim_end()))
        .collect();
    let [head] = heads[..] else { return None };
    let header = (head + 1..lines.len())
        .take_while(|&index| lines[index].kind == LineKind::Header)
        .take_while(|&index| !diff.line_text(index).starts_with("diff --git "));
    for index in header {
        let text = diff.line_text(index);
        if text.starts_with("new file mode") {
            return Some((index, State::Added));
        } else if text.starts_with("deleted file mode") {
            return Some((index, State::Deleted));
        } else if text.starts_with("rename ") || text.starts_with("copy ") {
            return None;
        }
    }
    Some((head, State::Changed))
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::{direction::RULE, twins::texts_apart};

    const THREE: &str = "diff --git a/app.lock b/app.lock\nnew file mode 100644\nBinary files /dev/null and b/app.lock differ\n\
                         diff --git a/old/run.py b/old/run.py\ndeleted file mode 100644\n--- a/old/run.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n\
                         diff --git a/main.py b/main.py\n--- a/main.py\n+++ b/main.py\n@@ -1 +1 @@\n-y = 1\n+y = 2\n";

    #[test]
    fn files_that_come_and_go_are_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            THREE,
            &[
                ("This commits app.lock. Was that on purpose?", "This deletes app.lock. Was that on purpose?"),
                ("old/run.py is removed.", "run.py is new."),
                ("It changes main.py", "It removes main.py"),
                ("It removes main.py from the exclude list", "It removes main.py from the repository"),
                ("It adds run.py to .gitignore", "It adds run.py to the repo"),
                ("It removes `app.lock` from .gitignore", "It removes `app.lock`."),
            ],
        );
    }
}
