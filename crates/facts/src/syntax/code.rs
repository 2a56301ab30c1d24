//! Pieces of code as they are kept in an item: without blanks, with single blanks, without quotes, without comment marks.

use std::borrow::Cow;

/// A value's first bytes say enough, and nested calls would otherwise keep their arguments once a level.
const VALUE_BYTES: usize = 2000;
/// A path longer than this is an expression, and its last part is enough.
const PATH_BYTES: usize = 200;

/// The first bytes of a text, up to `bytes` and never a part of a character.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Code with single blanks between its words and none around it; cut with an ellipsis where it is very long.
pub(crate) fn squeeze(code: &str) -> String {
    let cut = code.len() > VALUE_BYTES;
    let mut squeezed = String::with_capacity(code.len().min(VALUE_BYTES));
    for word in head(code, VALUE_BYTES).split_whitespace() {
        if !squeezed.is_empty() {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    if cut {
        squeezed.push('…');
    }
    squeezed
}

/// A path without blanks, or `name` where it is too long to be one.
pub(crate) fn path(code: &str, name: &str) -> String {
    if code.len() > PATH_BYTES {
        return name.to_owned();
    }
    code.chars().filter(|c| !c.is_whitespace()).collect()
}

/// A name without what marks its kind in some languages: `$x`, `@x`, `#x`, `:x`, `'a`.
pub(crate) fn bare_name(code: &str) -> &str {
    let bare = code.trim_start_matches(['$', '@', '#', ':', '&', '*', '\'']).trim_end_matches(':');
    if bare.is_empty() { code } else { bare }
}

/// What stands between the quotes of a string: prefix letters, hashes and up to three quotes are taken off both ends.
pub(crate) fn string_content(code: &str) -> &str {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let body = code.trim_start_matches(|c: char| c.is_ascii_alphabetic() || matches!(c, '@' | '$' | '#'));
    let Some(quote) = body.chars().next().filter(|&c| is_quote(c)) else {
        return code.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')).unwrap_or(code);
    };
    let count = if body.len() >= 6 && body.chars().take(3).all(|c| c == quote) { 3 } else { 1 };
    let body = body.trim_end_matches('#');
    let inner = &body[count.min(body.len())..];
    let closing = inner.chars().rev().take(count).take_while(|&c| c == quote).count();
    &inner[..inner.len() - closing]
}

/// The words of a comment or a documentation string, without the marks around and before its lines.
pub(crate) fn comment_words(code: &str) -> String {
    let code = if code.trim_start().starts_with(['/', '#', '*', '-', '<']) { code } else { string_content(code) };
    let mut words = String::new();
    for line in head(code, 2 * VALUE_BYTES).lines() {
        let line = line.trim().trim_start_matches("<!--").trim_end_matches("-->").trim_end_matches("*/");
        let line = line.trim_start_matches(['/', '*', '#', '!']).trim_start_matches("--");
        for word in line.split_whitespace() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
    }
    words
}

/// Code without the one pair of brackets that holds all of it.
pub(crate) fn without_brackets(code: &str) -> &str {
    let code = code.trim();
    let inner = [('(', ')'), ('[', ']'), ('{', '}')]
        .into_iter()
        .find_map(|(open, close)| code.strip_prefix(open)?.strip_suffix(close));
    inner.map_or(code, str::trim)
}

/// Code in which only what is between its words is left out, to compare how two pieces read.
pub(crate) fn without_blanks(code: &str) -> Cow<'_, str> {
    if code.contains(char::is_whitespace) { Cow::Owned(code.split_whitespace().collect()) } else { Cow::Borrowed(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_of_every_kind_come_off() {
        let contents = [
            ("\"a b\"", "a b"),
            ("'x'", "x"),
            ("rb'x'", "x"),
            ("\"\"\"doc\"\"\"", "doc"),
            ("r#\"raw\"#", "raw"),
            ("`t`", "t"),
            ("@\"v\"", "v"),
            ("\"\"", ""),
            ("\"", ""),
            ("<stdio.h>", "stdio.h"),
            ("bare", "bare"),
            ("\"é", "é"),
        ];
        for (code, content) in contents {
            assert_eq!(string_content(code), content, "{code}");
        }
    }

    #[test]
    fn marks_of_comments_come_off() {
        let words = [
            ("// a  b", "a b"),
            ("# a", "a"),
            ("/* a\n * b\n */", "a b"),
            ("/// c", "c"),
            ("\"\"\"Doc.\n\n    More.\"\"\"", "Doc. More."),
            ("<!-- x -->", "x"),
        ];
        for (code, expected) in words {
            assert_eq!(comment_words(code), expected, "{code}");
        }
    }

    #[test]
    fn brackets_come_off_once() {
        assert_eq!(without_brackets("( a, b )"), "a, b");
        assert_eq!(without_brackets("((a))"), "(a)");
        assert_eq!(without_brackets("a"), "a");
    }
}
