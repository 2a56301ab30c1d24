//! Code as tokens, in any language: what a name, a number and a string are when they are compared.

use std::ops::Range;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An identifier, or a path of identifiers joined by `.`, `::`, `->` or `?.`.
    Name,
    /// A number.
    Number,
    /// What stands between quotes.
    Text,
    /// One character of anything else.
    Mark,
}

/// A token of a line of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its bytes; of a text without its quotes.
    pub span: Range<usize>,
}

/// Whether a character can stand in an identifier.
pub fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The tokens of a piece of code. A quote that is not closed on its line is a mark.
pub fn tokens(code: &str) -> Vec<Token> {
    let mut found = Vec::new();
    // quotes that close nowhere from here on: those behind are escaped, and each would be looked for to the end
    let (mut at, mut dead) = (0, Vec::new());
    while let Some(c) = code[at..].chars().next() {
        let end = at + c.len_utf8();
        if c.is_whitespace() {
            if c == '\n' {
                dead.clear();
            }
            at = end;
        } else if c.is_ascii_digit() {
            let stop = number_end(code, at);
            found.push(Token { kind: TokenKind::Number, span: at..stop });
            at = stop;
        } else if is_name_char(c) || (c == '@' && code[end..].starts_with(|c: char| c.is_alphabetic())) {
            let start = if c == '@' { end } else { at };
            let stop = path_end(code, start);
            found.push(Token { kind: TokenKind::Name, span: start..stop });
            at = stop;
        } else if matches!(c, '"' | '\'' | '`') {
            let stop = if dead.contains(&c) { Err(Open::Never) } else { text_end(code, end, c) };
            match stop {
                Ok(stop) => {
                    found.push(Token { kind: TokenKind::Text, span: end..stop });
                    at = stop + 1;
                }
                Err(open) => {
                    dead.extend((open == Open::Never).then_some(c));
                    found.push(Token { kind: TokenKind::Mark, span: at..end });
                    at = end;
                }
            }
        } else {
            found.push(Token { kind: TokenKind::Mark, span: at..end });
            at = end;
        }
    }
    found
}

/// The end of the number that starts at `at`: `0x1F`, `1_000`, `60.0`, `1e-5`, with a suffix of letters (`10ms`, `5u32`).
fn number_end(code: &str, at: usize) -> usize {
    let bytes = code.as_bytes();
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        let next_is_digit = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        let continues = byte.is_ascii_alphanumeric()
            || (byte == b'_' && bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric))
            || (byte == b'.' && next_is_digit)
            || (matches!(byte, b'+' | b'-')
                && matches!(bytes[end - 1], b'e' | b'E')
                && next_is_digit
                && !code[at..].starts_with("0x"));
        if !continues {
            break;
        }
        end += 1;
    }
    end.max(at + 1)
}

/// The end of the path of identifiers that starts at `at`.
fn path_end(code: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        end += code[end..].find(|c: char| !is_name_char(c)).unwrap_or(code.len() - end);
        let joint = [".", "::", "->", "?.", "#"].into_iter().find(|joint| {
            let rest = code[end..].strip_prefix(joint);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$'))
        });
        match joint {
            Some(joint) => end += joint.len(),
            None => return end,
        }
    }
}

/// Why a quote opens no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// It is an apostrophe.
    Apostrophe,
    /// No other one closes it on its line.
    Never,
}

/// Where the text that opened with `quote` before `start` ends; a letter before a closing `'` and one behind is an apostrophe.
fn text_end(code: &str, start: usize, quote: char) -> Result<usize, Open> {
    let mut escaped = false;
    for (offset, c) in code[start..].char_indices() {
        match c {
            '\n' => return Err(Open::Never),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => {
                let is_apostrophe = quote == '\''
                    && offset > 0
                    && code[..start - 1].ends_with(char::is_alphanumeric)
                    && code[start + offset + 1..].starts_with(char::is_alphanumeric);
                return if is_apostrophe { Err(Open::Apostrophe) } else { Ok(start + offset) };
            }
            _ => {}
        }
    }
    Err(Open::Never)
}

/// The identifiers of a path, in order.
pub fn pieces(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['.', ':', '#', '?', '-', '>']).filter(|piece| !piece.is_empty())
}

/// A number's value: `60.0`, `0x3C`, `60u32` and `6_0` are the same. `None` for what is no number by itself, such as `10ms` or `2nd`.
pub fn value(number: &str) -> Option<f64> {
    let plain: String = number.chars().filter(|&c| c != '_' && c != ',').collect();
    let lower = plain.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            return u64::from_str_radix(digits.trim_end_matches(['u', 'l']), radix).ok().map(|n| n as f64);
        }
    }
    const SUFFIXES: [&str; 20] = [
        "usize", "isize", "u128", "i128", "u64", "i64", "f64", "u32", "i32", "f32", "u16", "i16", "u8", "i8", "ull",
        "ul", "ll", "l", "f", "n",
    ];
    let digits = SUFFIXES.into_iter().find_map(|suffix| lower.strip_suffix(suffix)).unwrap_or(&lower);
    let digits = if digits.is_empty() { &lower } else { digits };
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with(['e', '.']);
    digits.parse().ok().filter(|value: &f64| is_number && value.is_finite())
}

/// Code without blanks, quotes made alike and end marks cut off: what two pieces of code are compared by.
pub fn squeezed(code: &str) -> String {
    let squeezed: String =
        code.chars().filter(|c| !c.is_whitespace()).map(|c| if matches!(c, '\'' | '`') { '"' } else { c }).collect();
    squeezed.trim_end_matches([';', ',']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_that_close_nowhere_are_looked_for_once() {
        let kinds = |code: &str| tokens(code).into_iter().map(|token| token.kind).collect::<Vec<_>>();
        use TokenKind::{Mark, Name, Text};
        assert_eq!(kinds(r#""\"a"#), [Mark, Mark, Mark, Name]);
        assert_eq!(kinds("\"a\n\"b\""), [Mark, Name, Text], "and again on the next line");
        assert_eq!(kinds("don't 'x'"), [Name, Mark, Name, Text]);
        let begun = std::time::Instant::now();
        assert_eq!(tokens(&format!("\"{}", "\\\"".repeat(200_000))).len(), 400_001);
        // each of 200,000 to the end would be 40 thousand million letters
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    fn read(code: &str) -> Vec<(TokenKind, &str)> {
        tokens(code).into_iter().map(|token| (token.kind, &code[token.span])).collect()
    }

    #[test]
    fn code_is_read_by_token() {
        use TokenKind::*;
        assert_eq!(
            read("self._lock = threading.Lock()  # don't"),
            [
                (Name, "self._lock"),
                (Mark, "="),
                (Name, "threading.Lock"),
                (Mark, "("),
                (Mark, ")"),
                (Mark, "#"),
                (Name, "don"),
                (Mark, "'"),
                (Name, "t")
            ]
        );
        assert_eq!(read("x[1:2_000] + 0x1F - 1e-5"), {
            let m = |s| (Mark, s);
            let n = |s| (Number, s);
            [(Name, "x"), m("["), n("1"), m(":"), n("2_000"), m("]"), m("+"), n("0x1F"), m("-"), n("1e-5")]
        });
        assert_eq!(read("a->b::C 'it\\'s' \"x"), [(Name, "a->b::C"), (Text, "it\\'s"), (Mark, "\""), (Name, "x")]);
        assert_eq!(read("ü.é€"), [(Name, "ü.é"), (Mark, "€")]);
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for same in [["60", "60.0"], ["0x3C", "60"], ["1_000", "1000"], ["5u32", "5"], ["1e3", "1000.0f"]] {
            assert_eq!(value(same[0]), value(same[1]), "{same:?}");
            assert!(value(same[0]).is_some(), "{same:?}");
        }
        assert_eq!(["10ms", "2nd", "1.2.3", "", "e"].map(value), [None; 5]);
        assert_ne!(value("600"), value("60.0"));
    }
}
