//! What a transport adds to a text: a byte order mark, colours, other line ends, another encoding.

use std::borrow::Cow;

const BYTE_ORDER_MARK: char = '\u{feff}';
const ESCAPE: char = '\u{1b}';

/// Bytes as text: UTF-16 by its byte order mark, which some shells write, else UTF-8. What is not UTF-8 becomes replacement
/// characters, and the number of the first such line is given: a diff may well hold a file of another encoding.
pub fn decode(bytes: &[u8]) -> (String, Option<usize>) {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect();
        (String::from_utf16_lossy(&units), None)
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), None),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
                (String::from_utf8_lossy(bytes).into_owned(), Some(line))
            }
        },
    }
}

/// The text as git printed it: no byte order mark, no colours, and line feeds where every line has a carriage return too.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text.trim_start_matches(BYTE_ORDER_MARK));
    if is_coloured(&text) {
        let plain = without_escapes(&text);
        text = Cow::Owned(plain.trim_start_matches(BYTE_ORDER_MARK).to_owned());
    }
    let n = n_foreign_ends(&text);
    if n > 0 {
        let without = |line: &str| match line.strip_suffix('\n') {
            Some(line) => line[..line.len() - n].to_owned() + "\n",
            None => line.to_owned(),
        };
        text = Cow::Owned(text.split_inclusive('\n').map(without).collect());
    }
    text
}

/// Whether the escapes are the terminal's: those of a file's own stand behind the marker of a line.
fn is_coloured(text: &str) -> bool {
    text.starts_with(ESCAPE) || text.contains("\n\u{1b}")
}

/// The text without CSI sequences (colours), OSC sequences (links), and every escape character.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        plain.push_str(&rest[..at]);
        let after = &rest[at + ESCAPE.len_utf8()..];
        rest = &after[sequence_length(after)..];
    }
    plain + rest
}

/// How many bytes after an escape character belong to its sequence; none if it is of neither kind, or broken.
fn sequence_length(after: &str) -> usize {
    let bytes = after.as_bytes();
    match bytes.first() {
        Some(b'[') => {
            let end = 1 + bytes[1..].iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            if matches!(bytes.get(end), Some(0x40..=0x7e)) { end + 1 } else { 0 }
        }
        // up to the bell, or to an escape and a backslash, on the same line
        Some(b']') => match bytes.iter().position(|byte| matches!(byte, b'\n' | 7 | 0x1b)) {
            Some(end) if bytes[end] == 7 => end + 1,
            Some(end) if bytes[end] == 0x1b && bytes.get(end + 1) == Some(&b'\\') => end + 2,
            _ => 0,
        },
        _ => 0,
    }
}

/// How many carriage returns every line ends with, the headers as well, which git never prints: a transport has put them in.
fn n_foreign_ends(text: &str) -> usize {
    let is_header = |line: &str| line.starts_with("@@") || line.starts_with("diff ") || line.starts_with("--- ");
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    if !lines.clone().any(is_header) {
        return 0;
    }
    lines.map(|line| line.len() - line.trim_end_matches('\r').len()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_links_are_taken_out_only_where_a_terminal_was_addressed() {
        let coloured = "\u{1b}[1mdiff --git a/x b/x\u{1b}[m\n\u{1b}[36m@@ -1 +1 @@\u{1b}[m\n\u{1b}[31m-a\u{1b}[m\n\
                        \u{1b}[32m+\u{1b}[m\u{1b}[32mb\u{1b}]8;;http://x\u{1b}\\c\u{1b}]8;;\u{7}\u{1b}[m\n";
        assert_eq!(normal(coloured), "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+bc\n");
        let of_the_file = "@@ -1 +1 @@\n-print('\u{1b}[31m')\n+print('\u{1b}[32m')\n";
        assert_eq!(normal(of_the_file), of_the_file);
        // broken sequences lose the escape character and nothing else
        assert_eq!(normal("\u{1b}[31\n\u{1b}]8;;x\n\u{1b}[\u{1b}[m\u{1b}"), "[31\n]8;;x\n[");
    }

    #[test]
    fn marks_and_line_ends_of_a_transport_go_and_those_of_a_file_stay() {
        assert_eq!(normal("\u{feff}@@ -1 +1 @@\r\n-a\r\n+b\r\n"), "@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(normal("@@ -1 +1 @@\r\r\n-a\r\r\r\n+b\r\r\nc"), "@@ -1 +1 @@\n-a\r\n+b\nc");
        for kept in ["@@ -1 +1 @@\n-a\r\n+b\n", "-a\r\n+b\r\n", "@@ -1 +1 @@\n-a\r\n+b\r\n"] {
            assert_eq!(normal(kept), kept);
        }
    }

    #[test]
    fn bytes_are_text_in_three_encodings() {
        let wide = |of: fn(u16) -> [u8; 2]| "\u{feff}+é\n".encode_utf16().flat_map(of).collect::<Vec<_>>();
        assert_eq!(decode(&wide(u16::to_le_bytes)), ("+é\n".into(), None));
        assert_eq!(decode(&wide(u16::to_be_bytes)), ("+é\n".into(), None));
        assert_eq!(decode("+é\n".as_bytes()), ("+é\n".into(), None));
        assert_eq!(decode(b"-a\n+\xe9\n"), ("-a\n+\u{fffd}\n".into(), Some(2)));
        assert_eq!(decode(b"\xff\xfe"), (String::new(), None));
    }
}
