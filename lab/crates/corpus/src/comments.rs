//! Comments that were rewritten in the hunk that changes their code (Panthaplackel et al. 2021): what they say now is true of the
//! new code, what they said before is true of the old one, and nobody had to think of it.
//!
//! Most rewritten comments only say the same in other words. A rewrite counts where a sentence took the place of another that is
//! like it, a word that the old one alone has went from the code of the hunk, and a word that the new one alone has came into it.

mod lines;
mod sentences;

use std::collections::BTreeSet;
use std::ops::Range;

use veridiff_text::diff::{Diff, LineKind};
use veridiff_text::grounding::{is_stop, stem, subwords};

use lines::is_comment;
use sentences::sentences;

/// A sentence of a comment that was rewritten with its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The change of the comment's file without the comment's own lines.
    pub diff: String,
    /// What the comment said.
    pub before: String,
    /// What it says now.
    pub after: String,
}

/// The comments that a change rewrites together with their code.
pub fn rewritten(diff: &Diff) -> Vec<Rewrite> {
    hunks(diff).into_iter().flat_map(|hunk| of_hunk(diff, hunk)).collect()
}

/// The lines of each hunk, without its header.
fn hunks(diff: &Diff) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let is_code = |at: usize| diff.lines()[at].kind != LineKind::Header || diff.line_text(at).starts_with('\\');
    for at in (0..diff.lines().len()).filter(|&at| is_code(at)) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

fn of_hunk(diff: &Diff, hunk: Range<usize>) -> Vec<Rewrite> {
    let Some(path) = diff.lines()[hunk.start].file.and_then(|file| diff.files().get(file)) else { return Vec::new() };
    let sides = [LineKind::Removed, LineKind::Added].map(|kind| Side::new(diff, &hunk, kind, path));
    if sides.iter().any(|side| side.code.is_empty() || side.comments.is_empty()) {
        return Vec::new();
    }
    let evidence = Evidence::new(diff, &sides);
    let rewrite = |(old, new): (&Vec<usize>, &Vec<usize>)| {
        let of = |lines: &[usize]| sentences(diff, lines, lines[0] == hunk.start);
        let mut replaced = replaced(&of(old), &of(new)).into_iter();
        let (before, after) = replaced.find(|(before, after)| evidence.bears_out(before, after))?;
        let rest = without(diff, hunk.start, &old.iter().chain(new).copied().collect())?;
        // what the comment said or says must not stand in the rest
        let is_told = [&before, &after].iter().any(|sentence| rest.contains(sentence.trim_end_matches('.')));
        (!is_told).then_some(Rewrite { diff: rest, before, after })
    };
    of_one_place(diff, &hunk, &sides).into_iter().filter_map(rewrite).collect()
}

/// The lines of a hunk that one side of it has.
struct Side {
    /// Runs of lines of comments, those that the other side lacks among them.
    comments: Vec<Vec<usize>>,
    /// The lines of code that the other side lacks.
    code: Vec<usize>,
}

impl Side {
    fn new(diff: &Diff, hunk: &Range<usize>, kind: LineKind, path: &str) -> Self {
        let is_changed = |at: &usize| diff.lines()[*at].kind == kind;
        let lines: Vec<usize> =
            hunk.clone().filter(|at| is_changed(at) || diff.lines()[*at].kind == LineKind::Context).collect();
        let is = is_comment(diff, &lines, path);
        let mut comments: Vec<Vec<usize>> = Vec::new();
        let mut code = Vec::new();
        for (place, &at) in lines.iter().enumerate() {
            match comments.last_mut() {
                _ if !is[place] => {
                    let is_blank = diff.line_text(at).get(1..).unwrap_or("").trim().is_empty();
                    code.extend((is_changed(&at) && !is_blank).then_some(at));
                }
                Some(last) if place > 0 && is[place - 1] => last.push(at),
                _ => comments.push(vec![at]),
            }
        }
        comments.retain(|run| run.iter().any(is_changed));
        Side { comments, code }
    }
}

/// Comments of both sides that are the same one: they share a line, or are the only ones in lines that took each other's place.
fn of_one_place<'s>(diff: &Diff, hunk: &Range<usize>, sides: &'s [Side; 2]) -> Vec<(&'s Vec<usize>, &'s Vec<usize>)> {
    // lines that are not on both sides have the number of the last one before them that is
    let mut places = Vec::new();
    for at in hunk.clone() {
        let is_shared = diff.lines()[at].kind == LineKind::Context;
        places.push(if is_shared { at } else { places.last().copied().unwrap_or(0) });
    }
    let place = |at: usize| (diff.lines()[at].kind == LineKind::Context, places[at - hunk.start]);
    let meet = |a: &[usize], b: &[usize]| a.iter().any(|&at| b.iter().any(|&other| place(at) == place(other)));
    let [olds, news] = sides.each_ref().map(|side| &side.comments);
    let of_old = |old: &'s Vec<usize>| {
        let mut found = news.iter().filter(|new| meet(old, new));
        let new = found.next().filter(|_| found.next().is_none())?;
        let is_only = olds.iter().filter(|other| meet(other, new)).count() == 1;
        is_only.then_some((old, new))
    };
    olds.iter().filter_map(of_old).collect()
}

/// The sentences that took the place of others, one by one, where as many came as went.
fn replaced(before: &[String], after: &[String]) -> Vec<(String, String)> {
    let others = |of: &[String], other: &[String]| -> Vec<String> {
        of.iter().filter(|one| !other.contains(one)).cloned().collect()
    };
    let (gone, come) = (others(before, after), others(after, before));
    if gone.len() == come.len() { gone.into_iter().zip(come).collect() } else { Vec::new() }
}

/// The words of a text by their stems: names whole and in pieces, numbers.
fn keys(text: &str) -> BTreeSet<String> {
    let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty());
    let of_name = |name: &str| {
        let mut keys = subwords(name);
        keys.push(stem(name));
        keys
    };
    let says = |key: &String| key.chars().all(|c| c.is_ascii_digit()) || key.len() > 2 && !is_stop(key);
    names.flat_map(of_name).filter(says).collect()
}

/// The names, words and numbers of code, whole, by their stems.
fn tokens(code: &str) -> impl Iterator<Item = String> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty()).map(stem)
}

/// What the code of a hunk lost and gained. A part of a name is no evidence: whoever calls `find_x` now what was `get_x` before
/// changes nothing that a comment could be wrong about.
struct Evidence {
    removed: BTreeSet<String>,
    added: BTreeSet<String>,
}

impl Evidence {
    fn new(diff: &Diff, sides: &[Side; 2]) -> Self {
        let of =
            |side: &Side| side.code.iter().flat_map(|&at| tokens(diff.line_text(at).get(1..).unwrap_or(""))).collect();
        let [removed, added] = sides.each_ref().map(of);
        Evidence { removed, added }
    }

    /// Whether the code says that both sentences speak of it, the one of what it was, the other of what it is.
    fn bears_out(&self, before: &str, after: &str) -> bool {
        let (old, new) = (keys(before), keys(after));
        let n_shared = old.intersection(&new).count();
        let is_alike = 2 * n_shared >= old.len().min(new.len()) && n_shared >= 1;
        let gone: Vec<&String> = old.difference(&new).collect();
        let come: Vec<&String> = new.difference(&old).collect();
        let is_shown = gone.iter().any(|key| self.removed.contains(*key) && !self.added.contains(*key))
            && come.iter().any(|key| self.added.contains(*key) && !self.removed.contains(*key));
        is_alike && is_shown && !is_respelt(&gone, &come)
    }
}

/// Whether all that a sentence lost came back in another spelling.
fn is_respelt(gone: &[&String], come: &[&String]) -> bool {
    let is_number = |key: &String| key.chars().all(|c| c.is_ascii_digit());
    let is_like = |a: &String, b: &String| {
        !is_number(a)
            && !is_number(b)
            && (a.starts_with(b.as_str()) || b.starts_with(a.as_str()) || distance(a, b) <= 1 + a.len() / 6)
    };
    gone.iter().all(|old| come.iter().any(|new| is_like(old, new)))
}

/// How many letters must be put, taken or changed to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The change of one file without some lines of one of its hunks, whose header counts what is left. `None` where that cannot be read.
fn without(diff: &Diff, hunk: usize, region: &BTreeSet<usize>) -> Option<String> {
    let file = diff.lines()[hunk].file;
    let gone = |kind: LineKind| region.iter().filter(|&&at| diff.lines()[at].kind == kind).count();
    let both = gone(LineKind::Context);
    let mut out = String::new();
    for at in (0..diff.lines().len()).filter(|at| diff.lines()[*at].file == file && !region.contains(at)) {
        let text = diff.line_text(at);
        if at + 1 == hunk {
            out += &shortened(text, both + gone(LineKind::Removed), both + gone(LineKind::Added))?;
        } else {
            out += text;
        }
        out.push('\n');
    }
    Diff::parse(&out).ok().map(|_| out)
}

/// `@@ -1,5 +1,6 @@ code` with so many lines less on each side.
fn shortened(header: &str, old: usize, new: usize) -> Option<String> {
    let (ranges, section) = header.strip_prefix("@@ -")?.split_once(" @@")?;
    let (before, after) = ranges.split_once(" +")?;
    let less = |range: &str, n: usize| {
        let (start, length) = range.split_once(',').unwrap_or((range, "1"));
        let length = length.parse::<usize>().ok()?.checked_sub(n)?;
        Some(format!("{start},{length}"))
    };
    Some(format!("@@ -{} +{} @@{section}", less(before, old)?, less(after, new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, hunk: &str) -> Vec<Rewrite> {
        rewritten(&Diff::parse(&format!("--- a/{name}\n+++ b/{name}\n{hunk}")).unwrap())
    }

    #[test]
    fn the_sentence_that_went_with_its_code() {
        let hunk =
            "@@ -1,3 +1,3 @@\n // Reader reads.\n-// It waits at most ten seconds for a line.\n+// It waits.\n a\n";
        assert!(found("x.go", hunk).is_empty());
        let hunk = "@@ -1,5 +1,5 @@ package x\n // NewReader returns a reader.\n-// The default timeout is 10 seconds.\n\
+// The default timeout is 30 seconds.\n func NewReader() *Reader {\n-\treturn &Reader{timeout: 10}\n\
+\treturn &Reader{timeout: 30}\n }\n";
        let rewrites = found("x.go", hunk);
        assert_eq!(rewrites.len(), 1, "{rewrites:?}");
        assert_eq!(rewrites[0].before, "The default timeout is 10 seconds.");
        assert_eq!(rewrites[0].after, "The default timeout is 30 seconds.");
        assert_eq!(
            rewrites[0].diff,
            "--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@ package x\n func NewReader() *Reader {\n-\treturn &Reader{timeout: 10}\n\
+\treturn &Reader{timeout: 30}\n }\n"
        );
    }

    #[test]
    fn other_words_for_the_same_are_no_rewrite() {
        let of = |before: &str, after: &str| {
            let hunk = format!(
                "@@ -1,3 +1,3 @@\n def wait():\n-    \"\"\"{before}\"\"\"\n-    return sleep(10)\n+    \"\"\"{after}\"\"\"\n\
+    return pause(30)\n"
            );
            found("x.py", &hunk).len()
        };
        assert_eq!(of("Wait by sleep for some time.", "Wait by pause for some time."), 1);
        assert_eq!(of("Wait at most 10 seconds.", "Wait at most 30 seconds."), 1);
        assert_eq!(of("Wait for a while.", "Wait for some while."), 0, "the code does not bear it out");
        assert_eq!(of("Wait at most 10 seconds.", "Wait for seconds."), 0, "the new one only says less");
        assert_eq!(of("Wait at most 10 seconds.", "Everything is 30 here."), 0, "another sentence");
    }

    #[test]
    fn spelling_is_no_change() {
        assert!(is_respelt(&[&"recieve".into()], &[&"receive".into()]));
        assert!(!is_respelt(&[&"10".into()], &[&"11".into()]));
        assert_eq!((distance("abc", "abc"), distance("abc", "axc"), distance("", "ab")), (0, 1, 2));
    }
}
