//! The input that CCT5 was trained on (Lin et al. 2023, arXiv:2305.10785): the lines of a hunk, each behind a token that says what
//! became of it, without line feeds.

use std::sync::LazyLock;

use regex::Regex;

use super::{Piece, Prompt};

/// The markers of kept, added and deleted lines.
pub const MARKERS: [&str; 3] = ["<keep>", "<add>", "<del>"];

/// What CCT5's own texts begin with.
pub const MESSAGE_MARKER: &str = "<msg>";

/// Tokens of the diff that its training kept, beside the special ones around them.
pub(super) const MOST_TOKENS: usize = 508;

/// A diff as pieces: the first line is dropped if it is a hunk header, blank lines are, and every other one loses its first
/// character and the blanks around it. What is neither `+` nor `-` counts as kept, further headers too.
pub(super) fn render(diff: &str) -> Prompt {
    static HEADER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^@@ -\d+,\d+ \+\d+,\d+ @@").expect("the pattern is well-formed"));
    let mut prompt = Prompt { text: String::new(), diff: 0..0, pieces: Vec::new() };
    for (index, line) in diff.split('\n').enumerate() {
        if line.trim().is_empty() || (index == 0 && HEADER.is_match(line)) {
            continue;
        }
        let mut rest = line.chars();
        let marker = match rest.next() {
            Some('+') => MARKERS[1],
            Some('-') => MARKERS[2],
            _ => MARKERS[0],
        };
        let start = prompt.text.len();
        prompt.text += marker;
        prompt.text += rest.as_str().trim();
        let changed = marker != MARKERS[0];
        prompt.pieces.push(Piece { marker, span: start..prompt.text.len(), line: index, changed });
    }
    prompt.diff = 0..prompt.text.len();
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_pieces() {
        let prompt = render("@@ -1,4 +1,4 @@ fn f() {\n a\n\n-  b  \r\n+\n@@ -9,1 +9,1 @@\n  <add> c\n\\ No newline");
        assert_eq!(prompt.text, "<keep>a<del>b<add><keep>@ -9,1 +9,1 @@<keep><add> c<keep>No newline");
        assert_eq!(prompt.diff, 0..prompt.text.len());
        let pieces: Vec<_> = prompt.pieces.iter().map(|p| (&prompt.text[p.span.clone()], p.line, p.changed)).collect();
        assert_eq!(pieces[..3], [("<keep>a", 1, false), ("<del>b", 3, true), ("<add>", 4, true)]);
        assert_eq!(prompt.piece_at(7).map(|piece| piece.line), Some(3));
        // a header that does not say both counts is kept, as in the original
        assert_eq!(render("@@ -1 +1 @@\n+x").text, "<keep>@ -1 +1 @@<add>x");
    }
}
