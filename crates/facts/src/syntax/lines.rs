//! What stands in lines that no grammar reads: calls, values, names, literals and what common keywords begin.

use std::ops::Range;

use super::code::{comment_words, squeeze, string_content};
use super::draft::{Draft, Found};
use super::item::ItemKind;
use super::tokens::{Token, TokenKind, tokens};
use crate::language::Language;

/// Lines of one text beyond this are not read.
const MAX_LINES: usize = 50_000;

/// Keywords that begin something, and what.
const KEYWORDS: &[(&str, ItemKind)] = &[
    ("def", ItemKind::Function),
    ("function", ItemKind::Function),
    ("func", ItemKind::Function),
    ("fun", ItemKind::Function),
    ("fn", ItemKind::Function),
    ("class", ItemKind::Type),
    ("struct", ItemKind::Type),
    ("interface", ItemKind::Type),
    ("enum", ItemKind::Type),
    ("trait", ItemKind::Type),
    ("if", ItemKind::Condition),
    ("elif", ItemKind::Condition),
    ("elseif", ItemKind::Condition),
    ("elsif", ItemKind::Condition),
    ("unless", ItemKind::Condition),
    ("while", ItemKind::Condition),
    ("until", ItemKind::Condition),
    ("return", ItemKind::Return),
    ("raise", ItemKind::Raise),
    ("throw", ItemKind::Raise),
    ("except", ItemKind::Catch),
    ("catch", ItemKind::Catch),
    ("rescue", ItemKind::Catch),
];

/// Keywords that are no names.
const CONTROL: &[&str] = &[
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "const",
    "continue",
    "default",
    "do",
    "done",
    "else",
    "end",
    "esac",
    "fi",
    "final",
    "finally",
    "for",
    "foreach",
    "from",
    "goto",
    "import",
    "in",
    "is",
    "let",
    "loop",
    "match",
    "mut",
    "new",
    "not",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "static",
    "switch",
    "then",
    "try",
    "use",
    "using",
    "val",
    "var",
    "with",
    "yield",
];

/// Reads some lines of the draft's text; what an item already stands for is not read again, and what is only a use may become more.
pub(super) fn read(lines: &[Range<usize>], language: Option<Language>, draft: &mut Draft) {
    let mut wanted = vec![false; draft.line_count()];
    for range in lines {
        wanted[range.start.min(draft.line_count())..range.end.min(draft.line_count())].fill(true);
    }
    let literals: Vec<bool> = literal_bytes(draft);
    let mut line = 0;
    while line < wanted.len().min(MAX_LINES) {
        let start = line;
        while line < wanted.len() && wanted[line] {
            line += 1;
        }
        if start < line {
            let bytes = draft.line_span(start).start..draft.line_span(line - 1).end;
            read_block(bytes, &literals, language, draft);
        }
        line += 1;
    }
}

/// The bytes that comments and literals of the draft take already.
fn literal_bytes(draft: &Draft) -> Vec<bool> {
    let mut bytes = vec![false; draft.text.len()];
    for item in draft.items() {
        use ItemKind::{Comment, Constant, Number, Text};
        if matches!(item.kind, Comment | Constant | Number | Text) && !item.span.is_empty() {
            bytes[item.span.start] = true;
            if item.kind == Comment || item.kind == Text {
                bytes[item.span.clone()].fill(true);
            }
        }
    }
    bytes
}

fn read_block(bytes: Range<usize>, literals: &[bool], language: Option<Language>, draft: &mut Draft) {
    let text = draft.text;
    let Some(block) = text.get(bytes.clone()) else { return };
    let tokens: Vec<Token> = tokens(block, language)
        .into_iter()
        .map(|token| Token { kind: token.kind, span: token.span.start + bytes.start..token.span.end + bytes.start })
        .collect();
    let reader = Reader { text, tokens: &tokens, dashes: language.is_none() };
    for (index, token) in tokens.iter().enumerate() {
        let is_read = literals.get(token.span.start).copied().unwrap_or(false);
        let found = match token.kind {
            TokenKind::Comment if !is_read => Some((ItemKind::Comment, comment_words(reader.code(index)), None)),
            TokenKind::Number if !is_read => Some((ItemKind::Number, reader.code(index).to_owned(), None)),
            TokenKind::Text if !is_read => {
                let content = string_content(reader.code(index));
                if let Some(value) = reader.value(index) {
                    reader.keep(ItemKind::Binding, content, content, Some(value), token.span.clone(), draft);
                }
                Some((ItemKind::Text, content.to_owned(), None))
            }
            TokenKind::Word if !is_read => reader.word(index, draft),
            _ => None,
        };
        if let Some((kind, name, value)) = found {
            reader.keep(kind, &name, &name, value, token.span.clone(), draft);
        }
    }
}

struct Reader<'r> {
    text: &'r str,
    tokens: &'r [Token],
    /// Whether `-` joins words.
    dashes: bool,
}

impl<'r> Reader<'r> {
    fn code(&self, index: usize) -> &'r str {
        self.tokens.get(index).and_then(|token| self.text.get(token.span.clone())).unwrap_or("")
    }

    /// Whether two tokens stand side by side.
    fn touch(&self, left: usize, right: usize) -> bool {
        match (self.tokens.get(left), self.tokens.get(right)) {
            (Some(left), Some(right)) => left.span.end == right.span.start,
            _ => false,
        }
    }

    /// A word that begins something, or is called, or gets a value, or is used.
    fn word(&self, index: usize, draft: &mut Draft) -> Option<(ItemKind, String, Option<String>)> {
        let word = self.code(index);
        let keyword = KEYWORDS.iter().find(|(keyword, _)| *keyword == word).map(|found| found.1);
        if let Some(kind) = keyword.filter(|_| !self.touch(index, index + 1) || self.code(index + 1) == "(") {
            return self.keyword(index, kind, draft);
        }
        if keyword.is_some() || CONTROL.contains(&word) {
            return None;
        }
        if matches!(word, "true" | "false" | "null" | "nil" | "None" | "True" | "False" | "undefined") {
            return Some((ItemKind::Constant, word.to_owned(), None));
        }
        // a part of a path that goes on: its last part stands for it
        let name = self.name(index);
        let path = if name.len() > word.len() { name } else { self.path(index) };
        let span = self.tokens[index].span.clone();
        let next = self.code(index + 1);
        if next == "(" || (next == "!" && self.code(index + 2) == "(" && self.touch(index, index + 1)) {
            let open = if next == "(" { index + 1 } else { index + 2 };
            let arguments = self.until_closed(open);
            self.keep(ItemKind::Call, name, path, Some(arguments), span, draft);
        } else if let Some(value) = self.value(index) {
            self.keep(ItemKind::Binding, name, path, Some(value), span, draft);
        } else {
            self.keep(ItemKind::Use, name, path, None, span, draft);
        }
        None
    }

    fn keyword(&self, index: usize, kind: ItemKind, draft: &mut Draft) -> Option<(ItemKind, String, Option<String>)> {
        let word = self.code(index);
        match kind {
            ItemKind::Function | ItemKind::Type => {
                let name = self.tokens.get(index + 1).filter(|token| token.kind == TokenKind::Word)?;
                let text = self.name(index + 1);
                self.keep(kind, text, text, None, name.span.clone(), draft);
                None
            }
            ItemKind::Raise => {
                let mut at = index + 1;
                if self.code(at) == "new" {
                    at += 1;
                }
                let name = if self.tokens.get(at)?.kind == TokenKind::Word { self.code(at) } else { "" };
                let arguments = (self.code(at + 1) == "(").then(|| self.until_closed(at + 1));
                self.keep(kind, name, name, arguments, self.tokens[index].span.clone(), draft);
                None
            }
            ItemKind::Catch => {
                let at = if self.code(index + 1) == "(" { index + 2 } else { index + 1 };
                let is_type = self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word);
                let name = if is_type { self.code(at) } else { "" };
                self.keep(kind, name, name, None, self.tokens[index].span.clone(), draft);
                None
            }
            _ => {
                let value = self.rest_of_line(index + 1);
                let value = value.trim_end_matches(['{', ':', ';', ' ']);
                let value = value.strip_suffix("then").unwrap_or(value);
                Some((kind, word.to_owned(), Some(squeeze(super::code::without_brackets(value)))))
            }
        }
    }

    /// Where words are joined with `-` as in YAML and shells, the whole of it.
    fn name(&self, index: usize) -> &'r str {
        let mut first = index;
        while self.dashes && first >= 2 && index - first < 16 && self.code(first - 1) == "-" {
            let joined = self.touch(first - 2, first - 1) && self.touch(first - 1, first);
            if !joined || self.tokens[first - 2].kind != TokenKind::Word {
                break;
            }
            first -= 2;
        }
        self.text.get(self.tokens[first].span.start..self.tokens[index].span.end).unwrap_or("")
    }

    /// The path that ends with a word, as it is written.
    fn path(&self, index: usize) -> &'r str {
        let mut first = index;
        while first > 0 && index - first < 24 && self.touch(first - 1, first) {
            let joined = match self.code(first - 1) {
                "." => 1,
                ":" | ">" if first >= 2 && self.touch(first - 2, first - 1) => 2,
                _ => break,
            };
            let is_pair =
                joined == 1 || matches!((self.code(first - 2), self.code(first - 1)), (":", ":") | ("-", ">"));
            let Some(before) = first.checked_sub(joined + 1) else { break };
            if !is_pair || !self.touch(before, before + 1) || self.tokens[before].kind != TokenKind::Word {
                break;
            }
            first = before;
        }
        self.text.get(self.tokens[first].span.start..self.tokens[index].span.end).unwrap_or("")
    }

    /// The value that `=`, `:=` or `:` gives to a word or a string.
    fn value(&self, index: usize) -> Option<String> {
        let (next, after) = (self.code(index + 1), self.code(index + 2));
        let first = match next {
            "=" if !matches!(after, "=" | ">" | "~") || !self.touch(index + 1, index + 2) => index + 2,
            "=" if after == ">" && self.touch(index + 1, index + 2) => index + 3,
            ":" if after == "=" && self.touch(index + 1, index + 2) => index + 3,
            ":" if !self.touch(index + 1, index + 2) && self.touch(index, index + 1) => index + 2,
            _ => return None,
        };
        let value = self.rest_of_line(first);
        (!value.is_empty()).then_some(value)
    }

    /// The code from a token to the end of its line, or to a comma, a semicolon, a closing bracket or a comment before.
    fn rest_of_line(&self, first: usize) -> String {
        let Some(start) = self.tokens.get(first).map(|token| token.span.start) else { return String::new() };
        let Some(before) = first.checked_sub(1).map(|before| self.tokens[before].span.end) else {
            return String::new();
        };
        if self.text.get(before..start).is_none_or(|gap| gap.contains('\n')) {
            return String::new();
        }
        let (mut end, mut depth) = (start, 0usize);
        for token in self.tokens.iter().skip(first).take(256) {
            if token.kind == TokenKind::Comment
                || self.text.get(end..token.span.start).is_none_or(|gap| gap.contains('\n'))
            {
                break;
            }
            if token.kind == TokenKind::Mark {
                match self.text.as_bytes()[token.span.start] {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' if depth == 0 => break,
                    b')' | b']' | b'}' => depth -= 1,
                    b',' | b';' if depth == 0 => break,
                    _ => {}
                }
            }
            end = token.span.end;
        }
        squeeze(self.text.get(start..end).unwrap_or(""))
    }

    /// The code between an opening bracket and its closing one, or the end of what is looked at.
    fn until_closed(&self, open: usize) -> String {
        let Some(start) = self.tokens.get(open).map(|token| token.span.end) else { return String::new() };
        let (mut end, mut depth) = (start, 1usize);
        for token in self.tokens.iter().skip(open + 1).take(256) {
            if token.kind == TokenKind::Mark {
                match self.text.as_bytes()[token.span.start] {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    _ => {}
                }
            }
            if depth == 0 {
                break;
            }
            end = token.span.end;
        }
        squeeze(self.text.get(start..end).unwrap_or(""))
    }

    fn keep(
        &self,
        kind: ItemKind,
        name: &str,
        path: &str,
        value: Option<String>,
        span: Range<usize>,
        draft: &mut Draft,
    ) {
        let at = span.start;
        let is_word = matches!(self.text.as_bytes().get(at), Some(b) if b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | 128..));
        if is_word && draft.refine(at, kind, path, value.as_ref()) {
            return;
        }
        let path = path.to_owned();
        draft.push(Found { kind, name, path, value, span, at, scope: None, guards: Vec::new() });
    }
}
