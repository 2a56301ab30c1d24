//! The tokens of a block: words, names of code with everything between backticks and quotes, numbers, links, references, tags and
//! single signs; what stands in brackets is known.

mod run;

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word of prose.
    Word,
    /// A name of code, or what is quoted.
    Name,
    /// A number with its unit, a version.
    Number,
    /// An address on the web or of mail.
    Link,
    /// An issue, a commit, a person.
    Reference,
    /// A tag of HTML, an image, a named emoji.
    Tag,
    /// One other sign; an ellipsis is one.
    Sign(char),
}

/// A token and its bytes in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub span: Range<usize>,
    pub kind: TokenKind,
    /// Whether it stands between brackets, or is one of them.
    pub inside: bool,
}

impl Token {
    /// Whether it is this sign.
    pub fn is(&self, sign: char) -> bool {
        self.kind == TokenKind::Sign(sign)
    }
}

/// Most bytes that backticks, double quotes, single quotes and brackets hold together.
const LONGEST_CODE: usize = 1000;
const LONGEST_QUOTE: usize = 300;
const LONGEST_WORDS: usize = 120;
const LONGEST_BRACKETS: usize = 2000;

/// Tags of HTML that comments use; anything else between angle brackets is a type.
const TAGS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "center",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figure",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "s",
    "samp",
    "small",
    "source",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "video",
];

/// The tokens of `text[block]`.
pub(super) fn tokens(text: &str, block: Range<usize>) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = block.start;
    while at < block.end {
        let rest = &text[at..block.end];
        let before = text[block.start..at].chars().next_back();
        let Some(c) = rest.chars().next() else { break };
        let (len, kind) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else {
            token(rest, c, before)
        };
        tokens.push(Token { span: at..at + len, kind, inside: false });
        at += len;
    }
    mark_brackets(&mut tokens);
    tokens
}

/// Length and kind of the token at the start of `rest`, which begins with `c` and stands behind `before`.
fn token(rest: &str, c: char, before: Option<char>) -> (usize, TokenKind) {
    let behind_word = before.is_some_and(char::is_alphanumeric);
    let behind_blank = before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '*' | '_'));
    let next = rest[c.len_utf8()..].chars().next();
    let found = match c {
        '`' => Some(inline_code(rest)),
        '"' if !behind_word => quoted(rest, '"', '"', LONGEST_QUOTE),
        '“' => quoted(rest, '“', '”', LONGEST_QUOTE),
        '«' => quoted(rest, '«', '»', LONGEST_QUOTE),
        '\'' | '‘' if !behind_word => quoted(rest, c, if c == '‘' { '’' } else { c }, LONGEST_WORDS),
        '<' => tag(rest).map(|len| (len, TokenKind::Tag)).or_else(|| angle_link(rest)),
        '!' if rest.starts_with("![") => image(rest).map(|len| (len, TokenKind::Tag)),
        '(' if before == Some(']') => target(rest).map(|len| (len, TokenKind::Link)),
        ':' if behind_blank => emoji(rest).map(|len| (len, TokenKind::Tag)),
        '.' | '…' => {
            let len = rest.len() - rest.trim_start_matches(['.', '…']).len();
            if len > 1 {
                return (len, TokenKind::Sign('…'));
            }
            next.filter(|n| behind_blank && n.is_alphabetic()).map(|_| 1 + run::run(&rest[1..])).map(name)
        }
        '-' | '/' | '\\' | '@' | '#' | '~' if behind_blank || c == '\\' => run::marked(rest, c),
        _ => None,
    };
    if let Some(found) = found {
        return found;
    }
    if c.is_alphanumeric() || c == '_' || c == '$' {
        return run::word(rest);
    }
    (c.len_utf8(), TokenKind::Sign(c))
}

fn name(len: usize) -> (usize, TokenKind) {
    (len, TokenKind::Name)
}

/// Code between runs of backticks of one length; a run without its fellow is a sign.
fn inline_code(rest: &str) -> (usize, TokenKind) {
    let marks = rest.bytes().take_while(|&b| b == b'`').count();
    let bytes = rest.as_bytes();
    let last = bytes.len().min(marks + LONGEST_CODE);
    let mut at = marks;
    while at < last {
        let run = bytes[at..].iter().take(marks + 1).take_while(|&&b| b == b'`').count();
        if run == marks && marks <= 16 {
            return (at + run, TokenKind::Name);
        }
        // a longer run is passed over whole
        at += if run == 0 { 1 } else { bytes[at..].iter().take_while(|&&b| b == b'`').count() };
    }
    (marks, TokenKind::Sign('`'))
}

/// What stands between two quotes. A closing one stands behind something and before no word, so that apostrophes are none.
fn quoted(rest: &str, open: char, close: char, longest: usize) -> Option<(usize, TokenKind)> {
    let start = open.len_utf8();
    let mut previous = None;
    for (at, c) in rest[start..].char_indices().take_while(|&(at, _)| at < longest) {
        let end = start + at + c.len_utf8();
        let closes = c == close && previous.is_some_and(|p: char| !p.is_whitespace());
        if closes && !rest[end..].starts_with(char::is_alphanumeric) {
            return Some(name(end));
        }
        if previous.is_none() && c.is_whitespace() {
            return None;
        }
        previous = Some(c);
    }
    None
}

/// Length of the tag of HTML at the start of a text.
pub(super) fn tag(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('<')?;
    let name_from = usize::from(inner.starts_with('/'));
    let name: String =
        inner[name_from..].chars().take_while(char::is_ascii_alphanumeric).take(11).collect::<String>().to_lowercase();
    if !TAGS.contains(&name.as_str()) {
        return None;
    }
    let end = inner.bytes().take(LONGEST_CODE).position(|b| b == b'>' || b == b'<')?;
    let behind = inner[name_from + name.len()..].chars().next();
    let closes = inner.as_bytes()[end] == b'>' && behind.is_some_and(|c| c.is_whitespace() || matches!(c, '>' | '/'));
    closes.then_some(end + 2)
}

/// An address between angle brackets.
fn angle_link(rest: &str) -> Option<(usize, TokenKind)> {
    let end = rest.bytes().take(LONGEST_QUOTE).position(|b| b == b'>')?;
    let inner = &rest[1..end];
    let is_link = !inner.contains(char::is_whitespace) && (inner.contains("://") || inner.contains('@'));
    is_link.then_some((end + 1, TokenKind::Link))
}

/// Length of `![alt](url)`.
fn image(rest: &str) -> Option<usize> {
    let alt = rest.bytes().take(LONGEST_QUOTE).position(|b| b == b']')? + 1;
    target(&rest[alt..]).map(|len| alt + len)
}

/// Length of the `(url)` behind a link's text.
fn target(rest: &str) -> Option<usize> {
    let end = rest.bytes().take(LONGEST_CODE).position(|b| b == b')' || b.is_ascii_whitespace())?;
    (rest.starts_with('(') && rest.as_bytes()[end] == b')').then_some(end + 1)
}

/// Length of a named emoji such as `:+1:`.
fn emoji(rest: &str) -> Option<usize> {
    let end = rest.bytes().skip(1).take(40).position(|b| b == b':')? + 1;
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'+' | b'-');
    (end > 2 && rest.as_bytes()[1..end].iter().all(|&b| is_name(b))).then_some(end + 1)
}

/// Marks what stands between brackets that close again soon.
fn mark_brackets(tokens: &mut [Token]) {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let TokenKind::Sign(sign) = token.kind else { continue };
        match sign {
            '(' => open.push((')', i)),
            '[' => open.push((']', i)),
            '{' => open.push(('}', i)),
            ')' | ']' | '}' => {
                // brackets that never close, as in `:(`, lie above the one that does
                let near = open.len().saturating_sub(8);
                let Some(at) = open[near..].iter().rposition(|&(closing, _)| closing == sign) else { continue };
                let (_, from) = open[near + at];
                open.truncate(near + at);
                if token.span.end - tokens[from].span.start <= LONGEST_BRACKETS {
                    pairs.push((from, i));
                }
            }
            _ => {}
        }
    }
    // the outer pairs close last: going backwards, what lies in a pair that was marked is marked already
    let mut marked_from = usize::MAX;
    for (from, to) in pairs.into_iter().rev() {
        if from < marked_from {
            tokens[from..=to.min(marked_from)].iter_mut().for_each(|token| token.inside = true);
            marked_from = from;
        }
    }
}

#[cfg(test)]
mod tests;
