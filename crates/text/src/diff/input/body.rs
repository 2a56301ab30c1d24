//! Where a hunk ends, and how many lines of the old and the new file it holds.

use super::lines::Lines;
use crate::diff::{Counts, open_hunk};

/// A hunk's lines: up to `end`, the first that is not in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) end: usize,
    /// What its header promises and what is there, where they differ.
    pub(super) miscounted: Option<Miscount>,
    /// Whether the text behind the diff begins where it ends: nothing else can tell a hunk without promises from a text.
    pub(super) is_last: bool,
}

/// The old and new lines that a header promises, and those that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Miscount {
    pub(super) promised: Counts,
    pub(super) found: Counts,
}

/// The lines of the hunk whose header is line `header`. The counts are believed where the lines agree with them, else the lines
/// are. With `text_follows`, something else stands behind the diff, and a hunk that has all its lines is not followed further.
pub(super) fn body(lines: &Lines, header: usize, text_follows: bool) -> Body {
    let start = header + 1;
    let Some(promised) = open_hunk(lines.at(header), header + 1).promised else {
        let end = uncounted(lines, start);
        let text = (start..end).find(|&at| text_follows && is_unmarked(lines, at));
        let end = text.map_or(end, |text| without_empty(lines, start, text));
        return Body { end, miscounted: None, is_last: text.is_some() };
    };
    if let Some(end) = by_counts(lines, start, promised, text_follows) {
        return Body { end, miscounted: None, is_last: false };
    }
    let end = by_markers(lines, start, text_follows);
    let found = (start..end).fold(Counts { old: 0, new: 0 }, |sum, index| sum.and(of_line(lines.at(index))));
    Body { end, miscounted: Some(Miscount { promised, found }), is_last: false }
}

impl Counts {
    pub(super) fn and(self, (old, new): (usize, usize)) -> Counts {
        Counts { old: self.old + old, new: self.new + new }
    }
}

/// How many old and new lines a line of a hunk is.
fn of_line(line: &str) -> (usize, usize) {
    match line.as_bytes().first() {
        Some(b'\\') => (0, 0),
        Some(b'+') => (0, 1),
        Some(b'-') => (1, 0),
        _ => (1, 1),
    }
}

/// The end of a hunk without promises, as [`crate::diff::Diff::parse`] sees it, and before what is around a commit.
fn uncounted(lines: &Lines, start: usize) -> usize {
    let ends = |&at: &usize| {
        lines.is_hunk(at) || lines.is_git_header(at) || lines.envelope(at).is_some() || lines.is_git_signature(at)
    };
    (start..lines.len()).find(ends).unwrap_or(lines.len())
}

/// The end of a hunk that has just what was promised.
fn by_counts(lines: &Lines, start: usize, promised: Counts, text_follows: bool) -> Option<usize> {
    let mut found = Counts { old: 0, new: 0 };
    let mut at = start;
    while found != promised {
        let ended = at == lines.len() || lines.is_hunk(at) || lines.is_git_header(at) || lines.envelope(at).is_some();
        if ended || found.old > promised.old || found.new > promised.new {
            return None;
        }
        found = found.and(of_line(lines.at(at)));
        at += 1;
    }
    while lines.at(at).starts_with('\\') {
        at += 1;
    }
    let next = (at..lines.len()).find(|&next| !lines.is_blank(next));
    let goes_on = next.is_some_and(|next| match lines.at(next).as_bytes().first() {
        Some(b'-') => !lines.is_name_pair(next) && !lines.is_signature(next),
        Some(b'+' | b' ' | b'\t') => true,
        _ => false,
    });
    (text_follows || !goes_on).then_some(at)
}

/// The end of a hunk by what its lines begin with. Lines without a marker are context that lost its blank if changed lines
/// follow, else they are no longer the hunk's; empty lines at the end are not either.
fn by_markers(lines: &Lines, start: usize, text_follows: bool) -> usize {
    let stops = |&at: &usize| {
        let other_file = || {
            if lines.is_name_pair(at) { lines.is_hunk(at + 2) } else { lines.is_file_start(at) }
        };
        lines.is_hunk(at) || lines.envelope(at).is_some() || lines.is_git_signature(at) || other_file()
    };
    let mut end = (start..lines.len()).find(stops).unwrap_or(lines.len());
    if let Some(unmarked) = (start..end).find(|&at| is_unmarked(lines, at)) {
        let is_changed = |at: usize| lines.at(at).starts_with(['+', '-']);
        if text_follows || !(unmarked..end).any(is_changed) {
            end = unmarked;
        }
    }
    without_empty(lines, start, end)
}

fn is_unmarked(lines: &Lines, at: usize) -> bool {
    let first = lines.at(at).as_bytes().first();
    !lines.is_blank(at) && !matches!(first, Some(b' ' | b'\t' | b'+' | b'-' | b'\\'))
}

/// The end of a hunk without the empty lines at it.
fn without_empty(lines: &Lines, start: usize, end: usize) -> usize {
    (start..end).rev().find(|&at| !lines.at(at).is_empty()).map_or(start, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (usize, Option<[usize; 4]>) {
        let found = body(&Lines::new(text), 0, false);
        let counts = |m: Miscount| [m.promised.old, m.promised.new, m.found.old, m.found.new];
        (found.end, found.miscounted.map(counts))
    }

    #[test]
    fn right_counts_are_believed_and_wrong_ones_are_not() {
        assert_eq!(of("@@ -1,2 +1,2 @@\n-a\n+b\n c\n"), (4, None));
        // a removed line that reads like a header, and context that lost its blank
        assert_eq!(of("@@ -1,2 +1 @@\n--- a\nc\n+++ b\n"), (4, Some([2, 1, 2, 2])));
        assert_eq!(of("@@ -1,2 +1 @@\n--- a\nc\n--- b\n+++ b\n@@ -1 +1 @@\n"), (3, None));
        assert_eq!(of("@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n\n"), (4, Some([9, 9, 2, 2])));
        assert_eq!(of("@@ -1 +1 @@\n-b\n+c\n+d\n@@ -9 +9 @@\n"), (4, Some([1, 1, 1, 2])));
        assert_eq!(of("@@ -1,9 +1,9 @@\n-b\n+c\n-- \n2.47.3\n"), (3, Some([9, 9, 1, 1])));
        assert_eq!(of("@@ -1,9 +1,9 @@\n-b\n+c\nSome words.\n"), (3, Some([9, 9, 1, 1])));
        assert_eq!(of("@@ -1,9 +1,9 @@\n-b\ndef f():\n+c\n"), (4, Some([9, 9, 2, 2])));
        assert_eq!(of("@@ ... @@\n-b\n+c\nSome words.\n"), (4, None));
    }

    #[test]
    fn a_message_never_fills_a_hunk_that_is_short() {
        let short = "@@ -1,5 +1,5 @@\n-b\n+c\ncommit 0123456789abcdef\nAuthor: A\n\n    x\n";
        assert_eq!(of(short), (3, Some([5, 5, 1, 1])));
    }
}
