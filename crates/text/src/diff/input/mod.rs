//! Whatever git prints, and what stands around it, read as a change alone.
//!
//! [`read`] stands in front of [`Diff::parse`], which refuses what is not exact: it cuts off mails and commit messages, takes out
//! colours, reads a merge against its first parent, leaves out what no one reads, mends wrong counts, and refuses what is no diff
//! with a guess at what it is. A clean diff passes byte for byte and without a note, and so does what [`read`] gave once.

mod body;
mod combined;
mod error;
mod guess;
mod lines;
mod message;
mod normal;
mod note;
mod scan;
mod unread;

pub use error::{InputError, Instead};
pub use normal::decode;
pub use note::Note;
pub use unread::is_generated;

use self::{
    lines::Lines,
    scan::{PartKind, Scan},
};
use super::Diff;

/// A change as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeText {
    /// What [`Diff::parse`] takes.
    pub diff: String,
    /// What was mended or left out.
    pub notes: Vec<Note>,
    /// The message of the commit, or of all commits in their order, where the input holds one.
    pub message: Option<String>,
}

/// Reads a change: a diff, one hunk of it, a commit as `git show` prints it, several as `git log -p` does, or mails of
/// `git format-patch`.
///
/// # Errors
/// [`InputError`] for what is no diff, with a guess at what it is.
pub fn read(text: &str) -> Result<ChangeText, InputError> {
    read_before(text, false).map(|(change, _)| change)
}

/// Reads a change and what stands behind it, as `(git diff; cat MESSAGE)` prints them: the change ends with its last hunk, as long
/// as the hunks' headers say. The text may be blank.
///
/// # Errors
/// [`InputError`] for what does not begin with a diff.
pub fn read_with_text(text: &str) -> Result<(ChangeText, String), InputError> {
    read_before(text, true)
}

/// Whether [`read`] takes the text for a change.
pub fn looks_like_diff(text: &str) -> bool {
    read(text).is_ok()
}

fn read_before(text: &str, text_follows: bool) -> Result<(ChangeText, String), InputError> {
    let text = normal::normal(text);
    if text.trim().is_empty() {
        return Err(InputError::Blank);
    }
    let lines = Lines::new(&text);
    if guess::is_encoded_mail(&lines) {
        return Err(InputError::NotADiff(Instead::EncodedMail));
    }
    if !guess::has_headers(&lines) {
        return match guess::of_bare_lines(&lines) {
            None => Ok((ChangeText { diff: text.into_owned(), notes: Vec::new(), message: None }, String::new())),
            Some(instead) => Err(InputError::NotADiff(instead)),
        };
    }
    let mut scan = scan::scan(&lines, text_follows);
    let behind = lines.span(scan.end..lines.len()).to_owned();
    leave_generated(&mut scan);
    // what was cut may have been all that had other line ends
    let diff = normal::normal(&joined(&scan)).into_owned();
    let is_change =
        |kind: PartKind| matches!(kind, PartKind::Header { is_change: true } | PartKind::Hunk { is_change: true });
    if !scan.parts.iter().any(|part| is_change(part.kind)) {
        return Err(InputError::NotADiff(guess::of_changeless(&lines, !scan.files.is_empty())));
    }
    Diff::parse(&diff)?;
    let message = messages(&scan, &lines);
    Ok((ChangeText { diff, notes: notes(scan, &lines), message }, behind))
}

/// Takes out the hunks of files that a tool writes, if others are left.
fn leave_generated(scan: &mut Scan) {
    let is_left = |file: Option<usize>| file.is_some_and(|file| is_generated(&scan.files[file]));
    let is_hunk = |kind: PartKind| matches!(kind, PartKind::Hunk { .. });
    if !scan.parts.iter().any(|part| part.kind == PartKind::Hunk { is_change: true } && !is_left(part.file)) {
        return;
    }
    let mut left = Vec::new();
    for part in scan.parts.iter_mut().filter(|part| is_hunk(part.kind)) {
        let Some(file) = part.file.filter(|&file| is_left(Some(file))) else { continue };
        if !left.contains(&scan.files[file]) {
            left.push(scan.files[file].clone());
        }
        part.kind = PartKind::Cut;
        part.text = "".into();
    }
    if !left.is_empty() {
        scan.notes.push(Note::Generated { files: left });
    }
}

/// What stays. Blank lines beside what was cut go with it.
fn joined(scan: &Scan) -> String {
    let mut diff = String::new();
    let (mut blank, mut is_cut) = (String::new(), false);
    for part in &scan.parts {
        match part.kind {
            PartKind::Blank => blank.push_str(&part.text),
            PartKind::Cut => {
                blank.clear();
                is_cut = true;
            }
            PartKind::Header { .. } | PartKind::Hunk { .. } => {
                if !is_cut {
                    diff.push_str(&blank);
                }
                blank.clear();
                is_cut = false;
                diff.push_str(&part.text);
            }
        }
    }
    if !is_cut { diff + &blank } else { diff }
}

fn messages(scan: &Scan, lines: &Lines) -> Option<String> {
    let of = |(range, envelope): &(std::ops::Range<usize>, _)| {
        let lines: Vec<&str> = range.clone().map(|at| lines.at(at)).collect();
        message::message(&lines, *envelope)
    };
    let messages: Vec<String> = scan.outside.iter().map(of).filter(|message| !message.is_empty()).collect();
    (!messages.is_empty()).then(|| messages.join("\n\n"))
}

/// What there is to tell, in the order of the input, and then of whole files.
fn notes(scan: Scan, lines: &Lines) -> Vec<Note> {
    let mut notes = scan.notes;
    for (range, envelope) in scan.outside {
        let is_known = |at: usize| lines.is_blank(at) || lines.is_summary(at) || lines.at(at) == "---";
        let of_range: Vec<&str> = range.clone().map(|at| lines.at(at)).collect();
        if envelope.is_none() && !range.clone().all(is_known) && !message::is_mail(&of_range) {
            let last = range.clone().rev().find(|&at| !lines.is_blank(at)).unwrap_or(range.start);
            notes.push(Note::Outside { first: range.start + 1, last: last + 1 });
        }
    }
    let line = |note: &Note| match note {
        Note::Recounted { line, .. } | Note::FirstParent { line } | Note::NotUtf8 { line } => *line,
        Note::Outside { first, .. } => *first,
        Note::Binary { .. } | Note::Generated { .. } => usize::MAX,
    };
    notes.sort_by_key(line);
    let mut binaries = scan.binaries;
    binaries.dedup();
    if !binaries.is_empty() {
        notes.push(Note::Binary { files: binaries });
    }
    notes
}

#[cfg(test)]
mod tests;
