//! Words, numbers, strings, comments and marks of code in any language, without a grammar.

use std::ops::Range;

use crate::language::Language;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TokenKind {
    /// A name or a keyword.
    Word,
    /// A number with its digits, point, exponent and suffix.
    Number,
    /// A string with its quotes.
    Text,
    /// A comment with its marks.
    Comment,
    /// One character of anything else.
    Mark,
}

/// A token with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Range<usize>,
}

/// The tokens of `text`, in order; blanks are left out. Every character is looked at a bounded number of times.
pub(crate) fn tokens(text: &str, language: Option<Language>) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, style: Style::of(language), dead: [0; 3] };
    let mut tokens = Vec::new();
    while let Some(c) = lexer.rest().chars().next() {
        let start = lexer.at;
        let kind = lexer.step(c);
        if let Some(kind) = kind {
            tokens.push(Token { kind, span: start..lexer.at });
        }
    }
    tokens
}

/// How a language marks comments and strings.
struct Style {
    line: &'static [&'static str],
    block: &'static [(&'static str, &'static str)],
    /// Strings in three quotes.
    triple: bool,
    /// Strings between backticks go over lines.
    long_backtick: bool,
    /// A single quote holds one character, or stands alone.
    lifetimes: bool,
    /// Nothing is known, so a mark only counts where it stands apart.
    unknown: bool,
}

impl Style {
    fn of(language: Option<Language>) -> Style {
        use Language::{Go, JavaScript, Php, Python, Ruby, Rust, Tsx, TypeScript};
        let (line, block): (&[&str], &[(&str, &str)]) = match language {
            Some(Python | Ruby) => (&["#"], &[]),
            Some(Php) => (&["//", "#"], &[("/*", "*/")]),
            Some(_) => (&["//"], &[("/*", "*/")]),
            None => (&["//", "#", "--", ";;"], &[("/*", "*/"), ("<!--", "-->")]),
        };
        Style {
            line,
            block,
            triple: matches!(language, Some(Python) | None),
            long_backtick: matches!(language, Some(JavaScript | TypeScript | Tsx | Go)),
            lifetimes: language == Some(Rust),
            unknown: language.is_none(),
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    style: Style,
    /// For each quote the end of the part of the text in which no closing one was found.
    dead: [usize; 3],
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn before(&self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    /// The end of the current line, feed excluded.
    fn line_end(&self) -> usize {
        self.rest().find('\n').map_or(self.text.len(), |length| self.at + length)
    }

    /// Goes past one token, or one blank.
    fn step(&mut self, c: char) -> Option<TokenKind> {
        if c.is_whitespace() {
            self.at += c.len_utf8();
            return None;
        }
        if let Some(end) = self.comment_end() {
            self.at = end;
            return Some(TokenKind::Comment);
        }
        if let Some(end) = self.string_end(c) {
            self.at = end;
            return Some(TokenKind::Text);
        }
        if is_word_start(c) {
            self.take_while(is_word);
            return Some(TokenKind::Word);
        }
        if c.is_ascii_digit() {
            self.take_number();
            return Some(TokenKind::Number);
        }
        self.at += c.len_utf8();
        Some(TokenKind::Mark)
    }

    fn take_while(&mut self, inside: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !inside(c)).unwrap_or(rest.len());
    }

    fn take_number(&mut self) {
        loop {
            self.take_while(is_word);
            let rest = self.rest().as_bytes();
            let digit = |index: usize| rest.get(index).is_some_and(u8::is_ascii_digit);
            let exponent = matches!(self.before(), Some('e' | 'E' | 'p' | 'P'));
            let goes_on = match rest.first() {
                Some(b'.') => digit(1),
                Some(b'+' | b'-') => exponent && digit(1),
                _ => false,
            };
            if !goes_on {
                return;
            }
            self.at += 1;
        }
    }

    fn comment_end(&self) -> Option<usize> {
        let rest = self.rest();
        for (open, close) in self.style.block {
            if let Some(inner) = rest.strip_prefix(open) {
                let length = inner.find(close).map_or(inner.len(), |found| found + close.len());
                return Some(self.at + open.len() + length);
            }
        }
        let apart = |mark: &str| match (self.style.unknown, mark) {
            (false, _) => true,
            (true, "//") => self.before() != Some(':'),
            (true, _) => {
                self.before().is_none_or(char::is_whitespace)
                    && rest[mark.len()..].chars().next().is_none_or(char::is_whitespace)
            }
        };
        let starts = self.style.line.iter().any(|mark| rest.starts_with(mark) && apart(mark));
        starts.then(|| self.line_end())
    }

    fn string_end(&mut self, c: char) -> Option<usize> {
        let index = match c {
            '"' => 0,
            '\'' => 1,
            '`' => 2,
            _ => return None,
        };
        let rest = self.rest();
        if self.style.triple && c != '`' {
            let triple = if c == '"' { "\"\"\"" } else { "'''" };
            if let Some(inner) = rest.strip_prefix(triple) {
                return Some(self.at + 3 + inner.find(triple).map_or(inner.len(), |found| found + 3));
            }
        }
        if c == '\'' {
            if self.style.lifetimes {
                let inner = rest.get(1..)?;
                let first = inner.chars().next()?;
                let length = if first == '\\' { inner.get(2..)?.find('\'')? + 2 } else { first.len_utf8() };
                return (length <= 12 && inner.get(length..)?.starts_with('\'')).then_some(self.at + length + 2);
            }
            if self.style.unknown && self.before().is_some_and(char::is_alphanumeric) {
                return None;
            }
        }
        if self.at < self.dead[index] {
            return None;
        }
        let long = c == '`' && self.style.long_backtick;
        let mut escaped = false;
        for (offset, found) in rest.char_indices().skip(1) {
            match found {
                '\n' if !long => {
                    self.dead[index] = self.at + offset;
                    return None;
                }
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if found == c => return Some(self.at + offset + 1),
                _ => {}
            }
        }
        self.dead[index] = self.text.len();
        None
    }
}

fn is_word_start(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, language: Option<Language>) -> Vec<(TokenKind, &str)> {
        tokens(text, language).into_iter().map(|token| (token.kind, &text[token.span])).collect()
    }

    #[test]
    fn numbers_are_whole() {
        use TokenKind::{Mark, Number, Word};
        assert_eq!(
            read("60.0 0x1F 1_000 1e-5 2.5f64", None).into_iter().map(|t| t.1).collect::<Vec<_>>(),
            ["60.0", "0x1F", "1_000", "1e-5", "2.5f64"]
        );
        let range = [(Number, "0"), (Mark, "."), (Mark, "."), (Number, "3"), (Mark, "."), (Word, "x")];
        assert_eq!(read("0..3.x", Some(Language::Rust)), range);
    }

    #[test]
    fn strings_and_comments_of_a_language_are_its_own() {
        use TokenKind::{Comment, Mark, Text, Word};
        assert_eq!(read("a # \"b\"", Some(Language::Python)), [(Word, "a"), (Comment, "# \"b\"")]);
        assert_eq!(read("'#' // x", Some(Language::Java)), [(Text, "'#'"), (Comment, "// x")]);
        assert_eq!(read("&'a 'b'", Some(Language::Rust)), [(Mark, "&"), (Mark, "'"), (Word, "a"), (Text, "'b'")]);
        assert_eq!(read("http://x don't 'q'", None).len(), 9);
        assert_eq!(read("\"open\n\"b\"", None), [(Mark, "\""), (Word, "open"), (Text, "\"b\"")]);
    }
}
