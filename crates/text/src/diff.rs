//! Unified diffs and bare hunks as lines with byte spans.
//!
//! A line belongs to a change if it starts with `+` or `-` inside a hunk. A hunk opens at a line that starts with `@@`
//! and closes at `diff --git `; a text without any `@@` is one hunk. Where a hunk header promises counts they are held
//! to, and once they are met a file header (`--- a` above `+++ b`) or a mail signature closes the hunk as well: only
//! the counts can tell such a header from a removed line that reads `-- a`.

mod hunks;
pub mod input;
mod names;

pub use hunks::{Hunk, Selection};

use std::ops::Range;

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// Only in the new file.
    Added,
    /// Only in the old file.
    Removed,
    /// In both files.
    Context,
    /// In neither: file and hunk headers, `\ No newline at end of file`, mail around a patch.
    Header,
}

impl LineKind {
    /// Whether the line is part of the change.
    pub fn is_changed(self) -> bool {
        matches!(self, LineKind::Added | LineKind::Removed)
    }
}

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: LineKind,
    /// Its bytes in the diff's text: marker included, line feed excluded, a carriage return before it included.
    pub span: Range<usize>,
    /// 1-based number in the old file, if the line is in it and the hunk header gave numbers.
    pub old: Option<usize>,
    /// 1-based number in the new file, if the line is in it and the hunk header gave numbers.
    pub new: Option<usize>,
    /// Index into [`Diff::files`], if a file header came before.
    pub file: Option<usize>,
}

/// Which bytes count as changed; the default is the definition, the rest are other readings of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ChangedBytes {
    /// Leave the `+` or `-` out.
    pub exclude_marker: bool,
    /// Take the line feed in.
    pub include_newline: bool,
    /// Every line that starts with `+` or `-`, file headers too.
    pub naive_headers: bool,
}

/// A parsed diff; owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    text: String,
    lines: Vec<Line>,
    files: Vec<String>,
}

impl Diff {
    /// Reads a unified diff (git format or plain, any number of files) or a bare hunk.
    ///
    /// A hunk header whose counts cannot be read (`@@ ... @@`) opens a hunk without promises and without line numbers.
    ///
    /// # Errors
    /// [`DiffError::Empty`] for blank text, [`DiffError::HunkCount`] where a hunk is longer or shorter than its header
    /// promises, [`DiffError::Combined`] for a merge commit's diff against several parents.
    pub fn parse(text: &str) -> Result<Diff, DiffError> {
        if text.trim().is_empty() {
            return Err(DiffError::Empty);
        }
        Parser::new(text).run()
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number on the new side of the line at `index`, or of the one that stands where it stood: behind or before it in its hunk, else
    /// in another hunk of its file. None of a file that is gone.
    pub fn new_side(&self, index: usize) -> Option<usize> {
        let of = self.lines[index].file;
        let of_hunk = |line: &&Line| line.file == of && line.kind != LineKind::Header;
        let of_file = |line: &&Line| line.file == of;
        let (behind, before) = (self.lines[index..].iter(), self.lines[..index].iter().rev());
        let near =
            behind.clone().take_while(of_hunk).chain(before.clone().take_while(of_hunk)).find_map(|line| line.new);
        near.or_else(|| behind.take_while(of_file).chain(before.take_while(of_file)).find_map(|line| line.new))
    }

    /// The lines in order. Joined with line feeds they are the text, but for a line feed at its very end.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The files' names in order of appearance: the new name, or the old one of a deleted file.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The text of line `index`, without its line feed; empty past the end.
    pub fn line_text(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |line| &self.text[line.span.clone()])
    }

    /// Index of the line that holds byte `byte` of the text (a line feed belongs to the line it ends), if there is one.
    pub fn line_at(&self, byte: usize) -> Option<usize> {
        let after = self.lines.partition_point(|line| line.span.start <= byte);
        (byte < self.text.len()).then(|| after.checked_sub(1)).flatten()
    }

    /// Byte spans of the added and removed lines, in order, by the default definition: marker in, line feed out.
    pub fn changed_spans(&self) -> Vec<Range<usize>> {
        self.changed_spans_by(ChangedBytes::default())
    }

    /// Byte spans of the changed lines by another reading; a span may be empty (a lone marker left out).
    pub fn changed_spans_by(&self, bytes: ChangedBytes) -> Vec<Range<usize>> {
        let starts_with_marker = |line: &Line| matches!(self.text.as_bytes().get(line.span.start), Some(b'+' | b'-'));
        let changed = |line: &&Line| line.kind.is_changed() || (bytes.naive_headers && starts_with_marker(line));
        let span = |line: &Line| {
            let start = line.span.start + usize::from(bytes.exclude_marker);
            let has_feed = line.span.end < self.text.len();
            start..line.span.end + usize::from(bytes.include_newline && has_feed)
        };
        self.lines.iter().filter(changed).map(span).collect()
    }
}

/// A line's numbers in the old and the new file, where it is in them.
type LineNumbers = (Option<usize>, Option<usize>);

/// The two counts of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    old: usize,
    new: usize,
}

/// A hunk being read.
#[derive(Debug, Default)]
struct OpenHunk {
    /// 1-based line of its header; 0 if it has none.
    header: usize,
    promised: Option<Counts>,
    found_old: usize,
    found_new: usize,
    /// Numbers of the first line in the old and the new file.
    starts: Option<Counts>,
}

impl OpenHunk {
    fn found(&self) -> Counts {
        Counts { old: self.found_old, new: self.found_new }
    }

    fn is_complete(&self) -> bool {
        self.promised == Some(self.found())
    }

    /// Counts a line; its numbers in the old and the new file.
    fn take(&mut self, kind: LineKind) -> LineNumbers {
        let mut numbers = (None, None);
        if matches!(kind, LineKind::Removed | LineKind::Context) {
            numbers.0 = self.starts.and_then(|start| start.old.checked_add(self.found_old));
            self.found_old += 1;
        }
        if matches!(kind, LineKind::Added | LineKind::Context) {
            numbers.1 = self.starts.and_then(|start| start.new.checked_add(self.found_new));
            self.found_new += 1;
        }
        numbers
    }
}

struct Parser<'t> {
    text: &'t str,
    /// Each line with its first byte.
    raw: Vec<(usize, &'t str)>,
    lines: Vec<Line>,
    files: names::Files,
    hunk: Option<OpenHunk>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let mut start = 0;
        let mut raw = Vec::new();
        for piece in text.split_inclusive('\n') {
            raw.push((start, piece.strip_suffix('\n').unwrap_or(piece)));
            start += piece.len();
        }
        let is_bare = !raw.iter().any(|(_, line)| line.starts_with("@@"));
        Parser {
            text,
            lines: Vec::with_capacity(raw.len()),
            raw,
            files: names::Files::default(),
            hunk: is_bare.then(OpenHunk::default),
        }
    }

    fn run(mut self) -> Result<Diff, DiffError> {
        for index in 0..self.raw.len() {
            let (start, line) = self.raw[index];
            let (kind, (old, new)) = self.classify(index, line)?;
            let file = self.files.current();
            self.lines.push(Line { kind, span: start..start + line.len(), old, new, file });
        }
        self.close()?;
        Ok(Diff { text: self.text.to_owned(), lines: self.lines, files: self.files.into_names() })
    }

    fn classify(&mut self, index: usize, line: &str) -> Result<(LineKind, LineNumbers), DiffError> {
        let header = (LineKind::Header, (None, None));
        if line.starts_with("@@@") {
            return Err(DiffError::Combined { line: index + 1 });
        }
        if line.starts_with("@@") {
            self.close()?;
            self.hunk = Some(open_hunk(line, index + 1));
            self.files.hunk();
            return Ok(header);
        }
        if line.starts_with("diff --git ") {
            self.close()?;
            self.files.git_header(line);
            return Ok(header);
        }
        if self.closes_hunk(index, line) {
            self.close()?;
        }
        let Some(hunk) = &mut self.hunk else {
            self.files.header(line);
            return Ok(header);
        };
        let is_blank = line.trim().is_empty();
        let kind = match line.as_bytes().first() {
            Some(b'\\') => return Ok(header),
            _ if is_blank && hunk.is_complete() => return Ok(header),
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            _ => LineKind::Context,
        };
        Ok((kind, hunk.take(kind)))
    }

    /// Whether this line, after a hunk that has all its lines, cannot be one more of them.
    fn closes_hunk(&self, index: usize, line: &str) -> bool {
        if !self.hunk.as_ref().is_some_and(OpenHunk::is_complete) {
            return false;
        }
        let follows =
            |offset: usize, prefix: &str| self.raw.get(index + offset).is_some_and(|(_, l)| l.starts_with(prefix));
        match line.as_bytes().first() {
            Some(b'-') => {
                let file_header = line.starts_with("--- ") && follows(1, "+++ ");
                file_header || line.trim_end_matches('\r') == "-- "
            }
            Some(b'+' | b' ' | b'\t' | b'\\' | b'\r') | None => false,
            Some(_) => true,
        }
    }

    fn close(&mut self) -> Result<(), DiffError> {
        let Some(hunk) = self.hunk.take() else { return Ok(()) };
        let found = hunk.found();
        match hunk.promised {
            Some(promised) if promised != found => Err(DiffError::HunkCount {
                line: hunk.header,
                promised: (promised.old, promised.new),
                found: (found.old, found.new),
            }),
            _ => Ok(()),
        }
    }
}

/// The hunk that `@@ -old,count +new,count @@` opens; without promises if it is not of that form.
fn open_hunk(line: &str, number: usize) -> OpenHunk {
    let counts = || {
        let inner = line.strip_prefix("@@ -")?;
        let (old, rest) = inner.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        Some((number_and_count(old)?, number_and_count(new)?))
    };
    let mut hunk = OpenHunk { header: number, ..OpenHunk::default() };
    if let Some(((old, old_count), (new, new_count))) = counts() {
        hunk.starts = Some(Counts { old, new });
        hunk.promised = Some(Counts { old: old_count, new: new_count });
    }
    hunk
}

/// `12,6` as (12, 6); a count of one may be left out.
fn number_and_count(range: &str) -> Option<(usize, usize)> {
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// Why a text is not a diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// Nothing but blanks.
    #[error("the diff is empty")]
    Empty,
    /// A hunk has other line counts than its header says.
    #[error(
        "diff line {line}: the hunk header promises {} old and {} new lines, found {} old and {} new",
        promised.0, promised.1, found.0, found.1
    )]
    HunkCount {
        /// 1-based line of the hunk header in the diff.
        line: usize,
        /// Old and new lines by the header.
        promised: (usize, usize),
        /// Old and new lines found.
        found: (usize, usize),
    },
    /// A diff against several parents, which has several marker columns.
    #[error("diff line {line}: this is a combined diff of a merge (`@@@`), not a diff against one parent")]
    Combined {
        /// 1-based line of the hunk header in the diff.
        line: usize,
    },
}

impl DiffError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            DiffError::Empty => "give a unified diff or one hunk of it",
            DiffError::HunkCount { .. } => {
                "the diff was cut, stripped or edited: produce it again, or drop its `@@` line to have it read as a bare \
                 hunk"
            }
            DiffError::Combined { .. } => "choose a parent: `git diff REV^1 REV`, or `git show -m --first-parent REV`",
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests;
