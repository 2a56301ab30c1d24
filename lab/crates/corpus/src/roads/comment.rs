//! What a comment said before it was rewritten with its code. Nobody made these twins false: the change did.

use std::collections::{BTreeSet, HashSet};

use veridiff_facts::change::Change;
use veridiff_text::diff::{Diff, LineKind};

use super::{About, Balance, Kind, Road, Twin};
use crate::aside::changed_lines_hash;
use crate::case::{CommitCase, Told};
use crate::comments::{Rewrite, rewritten};
use crate::message::Statement;
use crate::truth::{Seen, fact, seen};
use crate::{Settings, chance, undone};

/// Pairs of a comment before and after. Of half of them the change is taken undone: then what it said before is the true one, so
/// that neither being longer nor being newer tells.
pub struct Comment;

impl Road for Comment {
    fn name(&self) -> &'static str {
        "comment"
    }

    fn kind(&self) -> Kind {
        Kind::Outdated
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }
}

/// The comments that a commit rewrites with their code, each as a case of its own with its twin.
pub(crate) fn cases(commit: &str, diff: &Diff, settings: &Settings) -> Vec<CommitCase> {
    // a commit may say the same of several places
    let mut known = HashSet::new();
    let found = rewritten(diff).into_iter().enumerate();
    let found = found.filter_map(|(place, rewrite)| case(commit, place, rewrite, settings));
    found
        .filter(|case| {
            let told = &case.statements[0];
            let mut both = [told.statement.text.clone(), told.twins[0].text.clone()];
            both.sort();
            known.insert(both)
        })
        .collect()
}

/// A rewritten comment; `None` where it is not sure to be false, or its file's change is too long.
fn case(commit: &str, place: usize, rewrite: Rewrite, settings: &Settings) -> Option<CommitCase> {
    let is_undone = chance(settings.seed, &["comment", commit, &rewrite.after]) % 2 == 1;
    let diff = Diff::parse(&rewrite.diff).ok().filter(|diff| diff.text().len() <= settings.max_diff)?;
    let (diff, text, twin) = match is_undone {
        true => (Diff::parse(&undone(&diff)?).ok()?, rewrite.before, rewrite.after),
        false => (diff, rewrite.after, rewrite.before),
    };
    let change = Change::new(&diff);
    if still_stands(&diff, &text, &twin) || seen(&change, &text) == Seen::Contradicted {
        return None;
    }
    let fact = fact(&change, &text, &twin)?;
    let twin = Twin { road: Comment.name().to_owned(), text: twin, about: About::Same, edit: None, fact };
    let mut case = CommitCase::new(commit, &diff, changed_lines_hash(&diff), Vec::new(), None);
    case.comment = Some(place);
    case.statements.push(Told { statement: Statement { text, head: 0 }, twins: vec![twin] });
    Some(case)
}

/// Whether two sentences differ in one name alone, and the twin's one is still there, or the other one was there before: then both may
/// be true.
fn still_stands(diff: &Diff, text: &str, twin: &str) -> bool {
    let others = |of: &str, than: &str| -> Vec<String> { names(of).difference(&names(than)).cloned().collect() };
    let ([come], [gone]) = (&others(text, twin)[..], &others(twin, text)[..]) else { return false };
    let has = |name: &str, without: LineKind| {
        let lines = diff.lines().iter().enumerate();
        let mut side = lines.filter(|(_, line)| line.kind != LineKind::Header && line.kind != without);
        side.any(|(at, _)| names(diff.line_text(at).get(1..).unwrap_or("")).contains(name))
    };
    let is_number = gone.chars().all(|c| c.is_ascii_digit());
    !is_number && (has(gone, LineKind::Removed) || has(come, LineKind::Added))
}

/// The names, words and numbers of a text, whole.
fn names(text: &str) -> BTreeSet<String> {
    let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    names.filter(|name| !name.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/x.go\n+++ b/x.go\n@@ -1,5 +1,5 @@ package x\n // NewReader returns a reader.\n\
-// The default timeout is 10 seconds.\n+// The default timeout is 30 seconds.\n func NewReader() *Reader {\n\
-\treturn &Reader{timeout: 10}\n+\treturn &Reader{timeout: 30}\n }\n";

    #[test]
    fn the_text_that_is_true_is_that_of_the_new_side() {
        let diff = Diff::parse(DIFF).unwrap();
        let mut n_undone = 0;
        for seed in 0..8 {
            let cases = cases("c", &diff, &Settings { seed, ..Settings::default() });
            let [case] = &cases[..] else { panic!("{cases:?}") };
            let told = &case.statements[0];
            let is_undone = told.statement.text.contains("10");
            n_undone += usize::from(is_undone);
            assert!(told.twins[0].text.contains(if is_undone { "30" } else { "10" }));
            assert!(case.diff.contains(if is_undone {
                "+\treturn &Reader{timeout: 10}"
            } else {
                "+\treturn &Reader{timeout: 30}"
            }));
            assert!(!case.diff.contains("default"), "the comment's own lines are gone: {}", case.diff);
        }
        assert!((1..8).contains(&n_undone), "both ways: {n_undone}");
    }

    #[test]
    fn a_name_that_is_still_there_may_be_meant() {
        let of = |context: &str| {
            let diff = format!("--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n {context}\n-Get(a)\n+Find(a)\n");
            let diff = Diff::parse(&diff).unwrap();
            still_stands(&diff, "Find returns the first", "Get returns the first")
        };
        assert!(of("Get(b)") && of("Find(b)"));
        assert!(!of("Other(b)"));
    }
}
