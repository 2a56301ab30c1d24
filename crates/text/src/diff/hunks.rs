//! The hunks of a diff, and the diff that some of them make.

use std::ops::Range;

use super::{Diff, LineKind};

/// A hunk of a parsed diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'d> {
    /// Index of the line with `@@`; a bare hunk has none.
    pub header: Option<usize>,
    /// Indices of its lines, without the header.
    pub lines: Range<usize>,
    /// Index into [`Diff::files`], if a file header came before.
    pub file: Option<usize>,
    /// What stands behind the second `@@`: the function or class around the hunk, as git sees it.
    pub section: Option<&'d str>,
}

/// Some of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The text, which [`Diff::parse`] reads.
    pub text: String,
    /// For each of its lines, the index of the line in the whole diff.
    pub lines: Vec<usize>,
}

impl Diff {
    /// The hunks in order.
    pub fn hunks(&self) -> Vec<Hunk<'_>> {
        let is_outside = |index: usize| self.lines[index].kind == LineKind::Header;
        let is_inside = |&index: &usize| !is_outside(index) || self.line_text(index).starts_with('\\');
        let is_header = |index: usize| is_outside(index) && self.line_text(index).starts_with("@@");
        let end = |start: usize| (start..self.lines.len()).find(|index| !is_inside(index)).unwrap_or(self.lines.len());
        let headers: Vec<usize> = (0..self.lines.len()).filter(|&index| is_header(index)).collect();
        if headers.is_empty() {
            let bare = 0..end(0);
            let hunk = || Hunk { header: None, file: self.lines[0].file, section: None, lines: bare.clone() };
            let is_blank = bare.clone().all(|index| self.line_text(index).trim().is_empty());
            return if is_blank { Vec::new() } else { vec![hunk()] };
        }
        let hunk = |header: usize| Hunk {
            header: Some(header),
            lines: header + 1..end(header + 1),
            file: self.lines[header].file,
            section: section(self.line_text(header)),
        };
        headers.into_iter().map(hunk).collect()
    }

    /// The hunks that `keep` wants, below the headers of their files. Of files without such a hunk nothing is left; if there is
    /// none at all, the text is empty.
    pub fn select(&self, mut keep: impl FnMut(usize, &Hunk) -> bool) -> Selection {
        let mut selection = Selection::default();
        // the headers of the current file, where it ends, and whether they stand in the selection
        let (mut headers, mut end, mut is_headed) = (0..0, 0, false);
        for (index, hunk) in self.hunks().iter().enumerate() {
            let start = hunk.header.unwrap_or(hunk.lines.start);
            if (end..start).any(|line| !self.line_text(line).trim().is_empty()) {
                (headers, is_headed) = (self.file_start(end..start)..start, false);
            }
            end = hunk.lines.end;
            if keep(index, hunk) {
                selection.lines.extend(headers.clone().filter(|_| !is_headed));
                selection.lines.extend(start..end);
                is_headed = true;
            }
        }
        for &index in &selection.lines {
            let end = self.lines.get(index + 1).map_or(self.text.len(), |next| next.span.start);
            selection.text.push_str(&self.text[self.lines[index].span.start..end]);
        }
        selection
    }

    /// The changed lines, each with the lines of context that touch it, under the new path of its file: the change and little else, for
    /// a model that reads only so many tokens. [`Diff::parse`] reads it as a bare hunk; it is empty if no line is changed.
    pub fn changes(&self) -> String {
        let is_changed = |index: usize| self.lines.get(index).is_some_and(|line| line.kind.is_changed());
        let shown = |index: usize| -> Option<&str> {
            let text = self.line_text(index);
            let touches = is_changed(index + 1) || index.checked_sub(1).is_some_and(is_changed);
            match self.lines[index].kind {
                LineKind::Header => text.strip_prefix("+++ ").map(|path| path.strip_prefix("b/").unwrap_or(path)),
                LineKind::Context => touches.then_some(text),
                LineKind::Added | LineKind::Removed => Some(text),
            }
        };
        let lines: Vec<&str> = (0..self.lines.len()).filter_map(shown).collect();
        if self.lines.iter().any(|line| line.kind.is_changed()) { lines.join("\n") } else { String::new() }
    }

    /// Where the last file begins among lines between two hunks.
    fn file_start(&self, between: Range<usize>) -> usize {
        let last = |begins: &dyn Fn(usize) -> bool| between.clone().rev().find(|&line| begins(line));
        let starts = |line: usize, prefix: &str| self.line_text(line).starts_with(prefix);
        last(&|line| starts(line, "diff "))
            .or_else(|| last(&|line| starts(line, "Index: ")))
            .or_else(|| last(&|line| starts(line, "--- ") && starts(line + 1, "+++ ")))
            .unwrap_or(between.start)
    }
}

/// What stands behind the second `@@` of a hunk's header.
fn section(header: &str) -> Option<&str> {
    let (_, section) = header.strip_prefix("@@")?.split_once("@@")?;
    Some(section.trim()).filter(|section| !section.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@ int f()\n-x\n+y\n@@ -9 +9 @@\n-p\n\\ No newline at end of file\n+q\n\
                       diff --git a/r b/s\nrename from r\nrename to s\n\
                       diff --git a/b.c b/b.c\n--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-u\n+v";

    #[test]
    fn changes_are_what_an_adapter_was_taught_on() {
        // as `changes_of` of scripts/adapter/train.py
        let far = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@ fn\n one\n two\n-three\n+drei\n four\n five\n@@ -9 +9 @@\n-a\n\
                   \\ No newline at end of file\n+b\ndiff --git a/y b/y\ndeleted file mode 1\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let changes = Diff::parse(far).unwrap().changes();
        assert_eq!(changes, "x\n two\n-three\n+drei\n four\n-a\n+b\n/dev/null\n-gone");
        assert_eq!(Diff::parse(&changes).unwrap().changed_spans().len(), 5);
        assert_eq!(Diff::parse("diff --git a/r b/s\nrename from r\nrename to s\n").unwrap().changes(), "");
        assert_eq!(Diff::parse(" a\n b\n+c").unwrap().changes(), " b\n+c");
    }

    #[test]
    fn hunks_know_their_lines_file_and_section() {
        let diff = Diff::parse(TWO).unwrap();
        let hunks: Vec<_> = diff.hunks().into_iter().map(|h| (h.header, h.lines, h.file, h.section)).collect();
        assert_eq!(
            hunks,
            [
                (Some(3), 4..6, Some(0), Some("int f()")),
                (Some(6), 7..10, Some(0), None),
                (Some(16), 17..19, Some(2), None)
            ]
        );
        let bare = Diff::parse("-x\n+y\n").unwrap();
        assert_eq!(bare.hunks(), [Hunk { header: None, lines: 0..2, file: None, section: None }]);
        assert_eq!(Diff::parse("diff --git a/x b/x\nold mode 1\n").unwrap().hunks(), []);
    }

    #[test]
    fn some_hunks_are_a_diff_with_the_headers_of_their_files() {
        let diff = Diff::parse(TWO).unwrap();
        let second = diff.select(|index, _| index == 1);
        assert_eq!(
            second.text,
            "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -9 +9 @@\n-p\n\\ No newline at end of file\n+q\n"
        );
        assert_eq!(second.lines, [0, 1, 2, 6, 7, 8, 9]);
        let last = diff.select(|_, hunk| hunk.file == Some(2));
        assert_eq!(last.text, "diff --git a/b.c b/b.c\n--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-u\n+v");
        assert_eq!(diff.select(|_, _| false), Selection::default());
        let plain =
            Diff::parse("Index: a\n--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\nIndex: b\n--- b\n+++ b\n@@ -1 +1 @@\n-p\n+q\n")
                .unwrap();
        assert_eq!(plain.select(|index, _| index == 0).text, "Index: a\n--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n");
    }
}
