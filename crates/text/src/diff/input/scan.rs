//! An input taken apart: headers of files, hunks, and what stands outside a diff.

use std::{borrow::Cow, ops::Range};

use super::{
    body::{Miscount, body},
    combined,
    lines::{Envelope, Lines},
    note::Note,
};
use crate::diff::names::Files;

/// A piece of an input, in its order.
pub(super) struct Part<'t> {
    pub(super) kind: PartKind,
    /// What stays of it.
    pub(super) text: Cow<'t, str>,
    /// Index of the file that it belongs to.
    pub(super) file: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A line above the hunks of a file; whether it says of itself that something changed, as a new mode does.
    Header { is_change: bool },
    /// A blank line between the others.
    Blank,
    /// A hunk, and whether it has an added or removed line.
    Hunk { is_change: bool },
    /// Nothing stays of what was here.
    Cut,
}

/// All that an input holds.
#[derive(Default)]
pub(super) struct Scan<'t> {
    pub(super) parts: Vec<Part<'t>>,
    pub(super) files: Vec<String>,
    pub(super) binaries: Vec<String>,
    pub(super) notes: Vec<Note>,
    /// What stands outside, each with what it begins with.
    pub(super) outside: Vec<(Range<usize>, Option<Envelope>)>,
    /// The first line of the text behind the diff.
    pub(super) end: usize,
}

/// Where in a diff the next line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In no file.
    Nowhere,
    /// Above the first hunk of a file.
    Headers,
    /// Below a hunk.
    Hunks,
}

/// What the headers of the current file said.
#[derive(Default)]
struct CurrentFile {
    is_combined: bool,
    is_new: bool,
    is_deleted: bool,
}

struct Scanner<'l, 't> {
    lines: &'l Lines<'t>,
    at: usize,
    place: Place,
    names: Files,
    file: CurrentFile,
    /// The next line that surely is a diff's, as it was looked for last, or the end: it stays the next one until it is reached.
    strong: usize,
    scan: Scan<'t>,
}

/// Takes the lines apart. With `text_follows`, the first line below a diff that is no part of one ends it.
pub(super) fn scan<'t>(lines: &Lines<'t>, text_follows: bool) -> Scan<'t> {
    let mut scanner = Scanner {
        lines,
        at: 0,
        place: Place::Nowhere,
        names: Files::default(),
        file: CurrentFile::default(),
        strong: 0,
        scan: Scan::default(),
    };
    while scanner.at < lines.len() {
        if !scanner.step(text_follows) {
            break;
        }
    }
    Scan { end: scanner.at, files: scanner.names.into_names(), ..scanner.scan }
}

impl<'t> Scanner<'_, 't> {
    /// Reads one part; false where the text behind the diff begins.
    fn step(&mut self, text_follows: bool) -> bool {
        let (lines, at) = (self.lines, self.at);
        let in_headers = self.place == Place::Headers;
        if let Some(envelope) = lines.envelope(at) {
            self.cut(Some(envelope));
        } else if lines.is_hunk(at) {
            return self.hunk(text_follows);
        } else if lines.is_blank(at) {
            if text_follows && in_headers {
                self.place = Place::Hunks;
            }
            self.push(PartKind::Blank, Cow::Borrowed(lines.span(at..at + 1)), at + 1);
        } else if lines.is_file_start(at) || (in_headers && lines.is_file_header(at)) {
            self.header();
        } else if in_headers && lines.at(at) == "GIT binary patch" {
            self.binary_patch();
        } else if self.place != Place::Nowhere && lines.at(at).starts_with('\\') {
            self.push(PartKind::Header { is_change: false }, Cow::Borrowed(lines.span(at..at + 1)), at + 1);
        } else if text_follows && !self.scan.parts.is_empty() && self.has_diff() {
            if !lines.is_signature(at) {
                return false;
            }
            let end = at + if lines.is_git_signature(at) { 2 } else { 1 };
            self.push(PartKind::Cut, Cow::Borrowed(""), end);
            self.place = Place::Nowhere;
        } else {
            self.cut(None);
        }
        true
    }

    fn has_diff(&self) -> bool {
        self.scan.parts.iter().rev().any(|part| matches!(part.kind, PartKind::Header { .. } | PartKind::Hunk { .. }))
    }

    /// Adds a part and goes on behind it.
    fn push(&mut self, kind: PartKind, text: Cow<'t, str>, end: usize) {
        self.scan.parts.push(Part { kind, text, file: self.names.current() });
        self.at = end;
    }

    fn header(&mut self) {
        const CHANGES: [&str; 8] = [
            "old mode ",
            "new mode ",
            "mode ",
            "new file mode ",
            "deleted file mode ",
            "rename ",
            "copy ",
            "dissimilarity index ",
        ];
        let (lines, at) = (self.lines, self.at);
        let (line, whole) = (lines.at(at), lines.span(at..at + 1));
        self.place = Place::Headers;
        if lines.is_git_header(at) {
            self.file = CurrentFile { is_combined: !line.starts_with("diff --git "), ..CurrentFile::default() };
        }
        self.file.is_new |= line.starts_with("new file mode ");
        self.file.is_deleted |= line.starts_with("deleted file mode ");
        let text = if self.file.is_combined {
            Cow::Owned(combined::header_line(line) + &whole[line.len()..])
        } else {
            Cow::Borrowed(whole)
        };
        let shown = text.trim_end_matches(['\r', '\n']);
        if shown.starts_with("diff --git ") {
            self.names.git_header(shown);
        } else {
            self.names.header(shown);
        }
        let is_whole = lines.is_whole_change(at);
        if is_whole && line.starts_with("Binary files ") {
            let of_line = || line.rsplit_once(" and ").and_then(|(_, new)| new.strip_suffix(" differ"));
            let name = self.names.current_name().or_else(of_line).unwrap_or_default().to_owned();
            self.scan.binaries.push(name);
        }
        let is_change = is_whole || CHANGES.iter().any(|prefix| line.starts_with(prefix));
        self.push(PartKind::Header { is_change }, text, at + 1);
    }

    /// The data of a binary file; what git says without `--binary` stands for it.
    fn binary_patch(&mut self) {
        let is_data = |&at: &usize| {
            let line = self.lines.at(at);
            let is_length = || {
                let length = line.strip_prefix("literal ").or_else(|| line.strip_prefix("delta "));
                length.is_some_and(|length| length.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let is_base85 = || {
                line.len() % 5 == 1
                    && line.bytes().all(|byte| byte.is_ascii_graphic())
                    && line.as_bytes()[0].is_ascii_alphabetic()
            };
            line.is_empty() || is_length() || is_base85()
        };
        let end = (self.at + 1..self.lines.len()).find(|at| !is_data(at)).unwrap_or(self.lines.len());
        // a name may hold the end of a line, and the line that is made of it has one end
        let name = self.names.current_name().unwrap_or_default().replace(char::is_control, " ");
        let side = |is_absent: bool, side: &str| if is_absent { "/dev/null".into() } else { format!("{side}/{name}") };
        let (old, new) = (side(self.file.is_new, "a"), side(self.file.is_deleted, "b"));
        self.scan.binaries.push(name);
        self.push(
            PartKind::Header { is_change: true },
            Cow::Owned(format!("Binary files {old} and {new} differ\n")),
            end,
        );
    }

    /// Reads a hunk; false where the text behind the diff begins.
    fn hunk(&mut self, text_follows: bool) -> bool {
        let (lines, at) = (self.lines, self.at);
        if lines.at(at).starts_with("@@@") {
            let Some(reduced) = combined::reduced(lines, at) else {
                self.cut(None);
                return true;
            };
            if !self.scan.notes.iter().any(|note| matches!(note, Note::FirstParent { .. })) {
                self.scan.notes.push(Note::FirstParent { line: at + 1 });
            }
            self.recounted(at, reduced.miscounted);
            let kind = if reduced.text.is_empty() { PartKind::Cut } else { PartKind::Hunk { is_change: true } };
            self.push_hunk(kind, Cow::Owned(reduced.text), reduced.end);
            return true;
        }
        let body = body(lines, at, text_follows);
        let is_change = (at + 1..body.end).any(|line| lines.at(line).starts_with(['+', '-']));
        let whole = lines.span(at..body.end);
        let text = match body.miscounted {
            None => Cow::Borrowed(whole),
            Some(miscount) => Cow::Owned(with_counts(whole, miscount)),
        };
        self.recounted(at, body.miscounted);
        self.push_hunk(PartKind::Hunk { is_change }, text, body.end);
        !body.is_last
    }

    fn push_hunk(&mut self, kind: PartKind, text: Cow<'t, str>, end: usize) {
        self.names.hunk();
        self.place = Place::Hunks;
        self.push(kind, text, end);
    }

    fn recounted(&mut self, header: usize, miscounted: Option<Miscount>) {
        let note = miscounted.map(|Miscount { promised, found }| Note::Recounted {
            line: header + 1,
            promised: (promised.old, promised.new),
            found: (found.old, found.new),
        });
        self.scan.notes.extend(note);
    }

    /// Leaves out what stands outside a diff, up to the next line that surely is one's. A message can hold a line that looks
    /// like a hunk's header, so that counts only inside a file, or where no file follows.
    fn cut(&mut self, envelope: Option<Envelope>) {
        let (lines, first) = (self.lines, self.at);
        let is_signature = envelope.is_none() && lines.is_signature(first);
        let begins_file = |at: usize| lines.is_file_start(at) && !lines.at(at).starts_with(['B', '*']);
        let is_strong = |at: &usize| lines.envelope(*at).is_some() || begins_file(*at);
        if self.strong <= first {
            self.strong = (first + 1..lines.len()).find(is_strong).unwrap_or(lines.len());
        }
        let strong = self.strong;
        let in_file = self.place != Place::Nowhere;
        let begins_file = strong < lines.len() && begins_file(strong);
        let may_be_weak = envelope.is_none() && !is_signature && (in_file || !begins_file);
        let weak = (first + 1..strong).find(|&at| may_be_weak && lines.is_numbered_hunk(at));
        let end = weak.unwrap_or(strong);
        if !is_signature {
            self.scan.outside.push((first..end, envelope));
        }
        if weak.is_none() {
            self.place = Place::Nowhere;
        }
        self.push(PartKind::Cut, Cow::Borrowed(""), end);
    }
}

/// A hunk with what was found in its header.
fn with_counts(hunk: &str, Miscount { found, .. }: Miscount) -> String {
    let rewritten = || {
        let (old, rest) = hunk.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, rest) = rest.split_once(" @@")?;
        let start = |range: &str| range.split(',').next().unwrap_or_default().to_owned();
        Some(format!("@@ -{},{} +{},{} @@{rest}", start(old), found.old, start(new), found.new))
    };
    rewritten().unwrap_or_else(|| hunk.to_owned())
}
