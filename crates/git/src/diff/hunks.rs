//! The lines that differ between two texts, with what stands around them.

use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Unchanged lines on either side of a change.
const CONTEXT: u32 = 3;

/// How many bytes of a line a hunk header quotes.
const SECTION: usize = 80;

/// Writes the hunks that lead from one text to the other.
pub(super) fn write(out: &mut Vec<u8>, before: &[u8], after: &[u8]) {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let changes: Vec<Hunk> = diff.hunks().collect();
    let old: Vec<&[u8]> = input.before.iter().map(|&token| input.interner[token]).collect();
    let new: Vec<&[u8]> = input.after.iter().map(|&token| input.interner[token]).collect();
    let mut section = Section { old: &old, searched: 0, text: Vec::new() };
    // Changes whose contexts touch share a hunk.
    for changes in changes.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        hunk(out, changes, &old, &new, &mut section);
    }
}

fn hunk(out: &mut Vec<u8>, changes: &[Hunk], old: &[&[u8]], new: &[&[u8]], section: &mut Section) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
    let above = CONTEXT.min(first.before.start);
    let below = CONTEXT.min(old.len() as u32 - last.before.end);
    let old_lines = first.before.start - above..last.before.end + below;
    let new_lines = first.after.start.saturating_sub(above)..last.after.end + below;
    out.extend_from_slice(format!("@@ -{} +{} @@", span(&old_lines), span(&new_lines)).as_bytes());
    let text = section.before(old_lines.start as usize);
    if !text.is_empty() {
        out.push(b' ');
        out.extend_from_slice(text);
    }
    out.push(b'\n');
    let mut next = old_lines.start;
    for change in changes {
        lines(out, b' ', old, next..change.before.start);
        lines(out, b'-', old, change.before.clone());
        lines(out, b'+', new, change.after.clone());
        next = change.before.end;
    }
    lines(out, b' ', old, next..old_lines.end);
}

/// Lines as a hunk header counts them: from 1, the count only where it is not one, and for none the line before.
fn span(lines: &Range<u32>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn lines(out: &mut Vec<u8>, marker: u8, lines: &[&[u8]], range: Range<u32>) {
    for line in lines.get(range.start as usize..range.end as usize).unwrap_or_default() {
        out.push(marker);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// What stands behind `@@`: the last line above a hunk that begins with a letter, `_` or `$`, which in most languages opens a
/// definition.
struct Section<'a> {
    old: &'a [&'a [u8]],
    /// Lines that were looked at for hunks above.
    searched: usize,
    text: Vec<u8>,
}

impl Section<'_> {
    /// For a hunk that begins at a line; where nothing is new since the hunk above, that one's text stands again.
    fn before(&mut self, line: usize) -> &[u8] {
        let opens = |line: &&&[u8]| line.first().is_some_and(|&c| c.is_ascii_alphabetic() || c == b'_' || c == b'$');
        let unseen = self.old.get(self.searched..line).unwrap_or_default();
        if let Some(found) = unseen.iter().rev().find(opens) {
            let text = &found[..found.len().min(SECTION)];
            self.text = until_broken(text.trim_ascii_end()).to_vec();
        }
        self.searched = self.searched.max(line);
        &self.text
    }
}

/// The text up to its first byte that is not UTF-8, where git cuts: either the line has one, or 80 bytes end within a character.
fn until_broken(text: &[u8]) -> &[u8] {
    match std::str::from_utf8(text) {
        Ok(_) => text,
        Err(error) => &text[..error.valid_up_to()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(before: &str, after: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, before.as_bytes(), after.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn counts_and_ends() {
        assert_eq!(of("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(of("a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_eq!(
            of("a", "a\n"),
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
            "the end of the last line is part of it"
        );
    }

    #[test]
    fn changes_six_lines_apart_share_a_hunk() {
        let text = |first: &str, gap: usize| format!("{first}\n{}{first}\n", "=\n".repeat(gap));
        assert_eq!(of(&text("a", 6), &text("b", 6)).matches("@@ -").count(), 1);
        assert_eq!(of(&text("a", 7), &text("b", 7)).matches("@@ -").count(), 2);
    }

    #[test]
    fn the_section_is_cut_between_characters() {
        let name = format!("{}é", "x".repeat(79));
        let before = format!("{name}\n\n\n\n 1\n");
        let after = format!("{name}\n\n\n\n 2\n");
        assert_eq!(of(&before, &after).lines().next().unwrap(), format!("@@ -2,4 +2,4 @@ {}", "x".repeat(79)));
    }

    /// The new text, made from the old one and the hunks.
    fn applied(before: &[u8], hunks: &[u8]) -> Vec<u8> {
        let old: Vec<&[u8]> = before.split_inclusive(|&byte| byte == b'\n').collect();
        let (mut new, mut at, mut marker) = (Vec::new(), 0, b' ');
        for line in hunks.split_inclusive(|&byte| byte == b'\n') {
            match line[0] {
                b'@' => {
                    let text = String::from_utf8_lossy(line);
                    let old_lines = text[4..].split(' ').next().unwrap();
                    let (start, count) = old_lines.split_once(',').unwrap_or((old_lines, "1"));
                    let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
                    let start = if count == 0 { start } else { start - 1 };
                    new.extend_from_slice(&old[at..start].concat());
                    at = start;
                }
                b'+' => new.extend_from_slice(&line[1..]),
                // The line feed before it was not the text's.
                b'\\' if marker != b'-' => _ = new.pop(),
                b'\\' => {}
                kept => {
                    let same = old[at] == &line[1..] || [old[at], b"\n"].concat() == line[1..];
                    assert!(same, "{:?} in the hunk, {:?} in the file", &line[1..], old[at]);
                    if kept == b' ' {
                        new.extend_from_slice(&line[1..]);
                    }
                    at += 1;
                }
            }
            marker = line[0];
        }
        new.extend_from_slice(&old[at..].concat());
        new
    }

    proptest! {
        #[test]
        fn hunks_lead_from_one_text_to_the_other(before in text(), after in text()) {
            let mut out = Vec::new();
            write(&mut out, &before, &after);
            prop_assert_eq!(applied(&before, &out), after);
        }
    }

    /// Few different lines, so that many are the same, and one of bytes that are no text.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec![&b"a"[..], b"b", b"", b"  }", b"\t{", b"\xff\r", b"$x"]);
        (prop::collection::vec(line, 0..60), any::<bool>()).prop_map(|(lines, ends)| {
            let mut text = lines.join(&b"\n"[..]);
            if ends && !text.is_empty() {
                text.push(b'\n');
            }
            text
        })
    }
}
