//! What a statement names: code between marks, names and numbers in its prose.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use crate::code::{TokenKind, is_name_char, pieces, squeezed, tokens, value};

/// What kind of thing is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MentionKind {
    /// An identifier or a path of identifiers, with or without `()` behind it.
    Name,
    /// A number.
    Number,
    /// `true`, `None`, `null` and their like.
    Constant,
    /// An option of a command, `--color`.
    Flag,
    /// The name of a file.
    File,
    /// Code of several tokens.
    Snippet,
    /// Words between quotes.
    Text,
}

/// Something that a statement names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its kind.
    pub kind: MentionKind,
    /// Its bytes in the text, without the marks around it.
    pub span: Range<usize>,
    /// The same with the marks.
    pub outer: Range<usize>,
    /// Whether it stands between marks, so that the author says it is code.
    pub is_marked: bool,
    /// What it is looked up by: the name without `()`, `self.` and decoration.
    pub code: String,
}

impl Mention {
    /// The identifiers of a name, in order.
    pub fn pieces(&self) -> Vec<&str> {
        pieces(&self.code).collect()
    }

    /// The last identifier of a name.
    pub fn last(&self) -> &str {
        pieces(&self.code).next_back().unwrap_or(&self.code)
    }

    /// The value of a number.
    pub fn value(&self) -> Option<f64> {
        (self.kind == MentionKind::Number).then(|| value(&self.code)).flatten()
    }

    /// Whether it is what stands to the right of a `=`: a number, a constant or a string.
    pub fn is_literal(&self) -> bool {
        matches!(self.kind, MentionKind::Number | MentionKind::Constant | MentionKind::Text)
    }
}

/// Words that are written like names of code and are names of products.
const PRODUCTS: [&str; 50] = [
    "GitHub",
    "GitLab",
    "JavaScript",
    "TypeScript",
    "CoffeeScript",
    "iOS",
    "macOS",
    "NumPy",
    "PyPI",
    "PyTorch",
    "OpenSSL",
    "OpenSSH",
    "jQuery",
    "iPhone",
    "iPad",
    "YouTube",
    "LinkedIn",
    "PowerShell",
    "MySQL",
    "PostgreSQL",
    "SQLite",
    "MongoDB",
    "GraphQL",
    "WebSocket",
    "WebKit",
    "FreeBSD",
    "OpenBSD",
    "NetBSD",
    "AppVeyor",
    "CircleCI",
    "DevOps",
    "README.md",
    "eBPF",
    "LaTeX",
    "BibTeX",
    "MinGW",
    "LibreSSL",
    "OAuth",
    "IPv4",
    "IPv6",
    "BigQuery",
    "Node.js",
    "node.js",
    "Vue.js",
    "Next.js",
    "camelCase",
    "PascalCase",
    "snake_case",
    "CamelCase",
    "WebAssembly",
];

const CONSTANTS: [&str; 12] =
    ["true", "false", "True", "False", "None", "null", "nil", "NULL", "nullptr", "undefined", "NaN", "Infinity"];

/// Constants that are no words of English, so that they mean code without marks too.
const BARE_CONSTANTS: [&str; 8] = ["true", "false", "True", "False", "None", "null", "NULL", "nullptr"];

/// Operators that can be looked up as they are written.
const OPERATORS: [&str; 16] =
    ["??", "||", "&&", "==", "!=", "===", "!==", "<=", ">=", "=>", "?.", ":=", "<<", ">>", "+=", "-="];

const EXTENSIONS: [&str; 41] = [
    "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "go", "gradle", "h", "hpp", "html", "ini",
    "java", "js", "json", "jsx", "kt", "lock", "md", "mjs", "php", "pl", "proto", "py", "pyi", "rb", "rs", "rst", "sh",
    "sql", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
];

static MARKED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"``([^`\n]+)``|`([^`\n]+)`|"([^"\n]{1,120})"|“([^”\n]{1,120})”|'([^'\n]{1,80})'|‘([^’\n]{1,80})’"#;
    Regex::new(pattern).expect("a valid pattern")
});

static BARE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[^\s\x60,;()\[\]{}<>]+(?:\(\))?").expect("a valid pattern"));

/// What a part of a text names, in order, none inside another.
pub fn mentions(text: &str, part: Range<usize>) -> Vec<Mention> {
    let prose = &text[part.clone()];
    let mut found: Vec<Mention> = Vec::new();
    for captures in MARKED.captures_iter(prose) {
        let (outer, Some(inner)) = (captures.get(0).expect("the whole"), captures.iter().skip(1).flatten().next())
        else {
            continue;
        };
        let is_code = outer.as_str().starts_with('`');
        // an apostrophe is no quote
        let before = prose[..outer.start()].chars().next_back();
        let behind = prose[outer.end()..].chars().next();
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if !is_code && (is_word(before) || is_word(behind)) {
            continue;
        }
        let at = part.start + inner.start() + (inner.as_str().len() - inner.as_str().trim_start().len());
        let written = inner.as_str().trim();
        if let Some((kind, code)) = marked(written, is_code) {
            found.push(Mention {
                kind,
                span: at..at + written.len(),
                outer: part.start + outer.start()..part.start + outer.end(),
                is_marked: true,
                code,
            });
        }
    }
    let n_marked = found.len();
    for run in BARE.find_iter(prose) {
        let trimmed =
            run.as_str().trim_start_matches(|c: char| !is_name_char(c) && !matches!(c, '-' | '@' | '.' | '/'));
        let start = part.start + run.end() - trimmed.len();
        let trimmed = trimmed.trim_end_matches(['.', ':', '!', '?', '\'', '"', '*', '’', '-', '/', '`']);
        let trimmed = trimmed.strip_suffix("'s").or_else(|| trimmed.strip_suffix("’s")).unwrap_or(trimmed);
        let span = start..start + trimmed.len();
        if trimmed.is_empty() || found[..n_marked].iter().any(|m| m.outer.start < span.end && span.start < m.outer.end)
        {
            continue;
        }
        if let Some((kind, code)) = bare(trimmed, text[..start].chars().next_back()) {
            found.push(Mention { kind, outer: span.clone(), span, is_marked: false, code });
        }
    }
    found.sort_by_key(|mention| mention.span.start);
    found
}

/// Every word of a part of a text as if it were a name: letters, digits and `_` alone.
pub fn bare_words(text: &str, part: Range<usize>) -> Vec<Mention> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z_][A-Za-z0-9_]*").expect("a valid pattern"));
    let is_joint = |c: Option<char>| c.is_some_and(|c| is_name_char(c) || matches!(c, '\'' | '’' | '-' | '/' | '.'));
    let of = |found: regex::Match<'_>| {
        let span = part.start + found.start()..part.start + found.end();
        let behind = text[span.end..].strip_prefix('.').unwrap_or(&text[span.end..]).chars().next();
        let is_apart = !is_joint(text[..span.start].chars().next_back()) && !is_joint(behind);
        let code = found.as_str().to_owned();
        is_apart.then(|| Mention { kind: MentionKind::Name, outer: span.clone(), span, is_marked: false, code })
    };
    WORD.find_iter(&text[part.clone()]).filter_map(of).collect()
}

/// What stands between marks.
fn marked(written: &str, is_code: bool) -> Option<(MentionKind, String)> {
    if written.is_empty() {
        return None;
    }
    if let Some(simple) = simple(written) {
        return Some(simple);
    }
    let unquoted = written.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    if let Some(inner) = unquoted.filter(|inner| !inner.contains(['"', '\''])) {
        return Some((MentionKind::Text, inner.to_owned()));
    }
    let tokens = tokens(written);
    if !is_code {
        let is_prose = !written.contains(['(', '=', '{', ';', '_', '<', '[']);
        return Some((if is_prose { MentionKind::Text } else { MentionKind::Snippet }, written.to_owned()));
    }
    // a single sign is everywhere: nothing that can be looked up
    let is_telling = tokens.iter().any(|token| token.kind != TokenKind::Mark) || OPERATORS.contains(&written);
    is_telling.then(|| (MentionKind::Snippet, written.to_owned()))
}

/// A single thing: a name, a number, a constant, an option, a file.
fn simple(written: &str) -> Option<(MentionKind, String)> {
    if CONSTANTS.contains(&written) {
        return Some((MentionKind::Constant, written.to_owned()));
    }
    if is_file(written) {
        return Some((MentionKind::File, written.trim_start_matches("./").to_owned()));
    }
    if let Some(flag) = written.strip_prefix("--").or_else(|| written.strip_prefix('-')) {
        let is_flag =
            flag.starts_with(|c: char| c.is_alphabetic()) && flag.chars().all(|c| is_name_char(c) || c == '-');
        return is_flag.then(|| (MentionKind::Flag, written.to_owned()));
    }
    let plain = written.trim_start_matches(['@', '&', '*', '#', '.', ':', '!']).trim_end_matches(['!', '?', ':', '=']);
    let plain = plain
        .strip_suffix("(...)")
        .or_else(|| plain.strip_suffix("()"))
        .or_else(|| plain.strip_suffix("(…)"))
        .unwrap_or(plain);
    let plain = plain.strip_suffix('!').unwrap_or(plain);
    if value(plain).is_some() {
        return Some((MentionKind::Number, plain.to_owned()));
    }
    let all = tokens(plain);
    match &all[..] {
        [token] if token.kind == TokenKind::Name && token.span.len() == plain.len() => {
            Some((MentionKind::Name, without_self(plain).to_owned()))
        }
        _ => None,
    }
}

/// A name without the object that every method has.
pub fn without_self(name: &str) -> &str {
    ["self.", "this.", "this->", "self->", "cls.", "Self::", "self::"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix).filter(|rest| !rest.is_empty()))
        .unwrap_or(name)
}

fn is_file(written: &str) -> bool {
    let name = written.rsplit('/').next().unwrap_or(written);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_path = written.chars().all(|c| is_name_char(c) || matches!(c, '.' | '/' | '-' | '+'));
    is_path && EXTENSIONS.contains(&extension) && !stem.is_empty() && (stem.len() > 1 || written.contains('/'))
}

/// A name or a number that stands in prose without marks.
fn bare(written: &str, before: Option<char>) -> Option<(MentionKind, String)> {
    if PRODUCTS.contains(&written) || written.contains("://") || before == Some('#') {
        return None;
    }
    if BARE_CONSTANTS.contains(&written) {
        return Some((MentionKind::Constant, written.to_owned()));
    }
    if written.starts_with(|c: char| c.is_ascii_digit()) {
        // versions, dates and ordinals are no numbers that code holds
        let number = written.trim_end_matches('%');
        let number =
            ["ms", "s", "px", "kb", "mb"].into_iter().find_map(|unit| number.strip_suffix(unit)).unwrap_or(number);
        return value(number).map(|_| (MentionKind::Number, number.to_owned()));
    }
    let (kind, code) = simple(written)?;
    let is_code = match kind {
        MentionKind::Flag => written.starts_with("--"),
        MentionKind::File => true,
        MentionKind::Name => is_code_like(written, &code),
        _ => false,
    };
    is_code.then_some((kind, code))
}

/// Whether a word of prose can only be a name of code.
fn is_code_like(written: &str, code: &str) -> bool {
    let is_identifier = code.chars().all(|c| is_name_char(c) || matches!(c, '.' | ':' | '-' | '>' | '#'));
    if !is_identifier || code.len() < 3 {
        return false;
    }
    let chars: Vec<char> = code.chars().collect();
    let inner_hump = chars.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let underscore = code.trim_matches('_').contains('_') || code.starts_with("__");
    let path = code.contains("::") || code.contains("->") || {
        let parts: Vec<&str> = code.split('.').collect();
        parts.len() > 1
            && parts.iter().all(|part| part.len() > 1 && part.starts_with(|c: char| c.is_alphabetic() || c == '_'))
            && !parts[1..].iter().any(|part| ["com", "org", "io", "net", "dev"].contains(part))
    };
    written.ends_with("()")
        || written.starts_with('@') && code.len() > 3
        || inner_hump
        || underscore
        || path
        || code.starts_with('$')
}

/// What a snippet is compared by.
pub fn key(snippet: &str) -> String {
    squeezed(snippet)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(MentionKind, String)> {
        mentions(text, 0..text.len()).into_iter().map(|mention| (mention.kind, mention.code)).collect()
    }

    #[test]
    fn what_a_statement_names_is_found() {
        use MentionKind::*;
        let read = |text: &str| read(text);
        let owned = |list: &[(MentionKind, &str)]| list.iter().map(|(k, c)| (*k, (*c).to_owned())).collect::<Vec<_>>();
        assert_eq!(
            read("`self._cond` isn't `time.time()` but None; it's 60.0, user's max_size and fooBar."),
            owned(&[
                (Name, "_cond"),
                (Name, "time.time"),
                (Constant, "None"),
                (Number, "60.0"),
                (Name, "max_size"),
                (Name, "fooBar")
            ])
        );
        assert_eq!(
            read("See src/cache.py and the 'not yet' text, --color, `x > 0`, e.g. GitHub #123 or 1.2.3."),
            owned(&[(File, "src/cache.py"), (Text, "not yet"), (Flag, "--color"), (Snippet, "x > 0")])
        );
        assert_eq!(
            read("Wait 500ms (or 2s) in Foo::bar() — ``ttl`` 'name'"),
            owned(&[(Number, "500"), (Number, "2"), (Name, "Foo::bar"), (Name, "ttl"), (Name, "name"),])
        );
        assert!(read("Don't say the users' names; it's fine.").is_empty());
    }
}
