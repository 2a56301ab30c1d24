//! What has which value in a line of code: assignments, defaults, keys, constants, attributes, setters.

use crate::code::{TokenKind, pieces, tokens, value};

/// A name with a literal value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The last identifier of the name.
    pub name: String,
    /// The value.
    pub value: Literal,
}

/// A value that stands in code as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A number, by the bits of its value, as it is written.
    Number(u64, String),
    /// A string.
    Text(String),
    /// `true`, `None` and their like.
    Constant(String),
}

impl Literal {
    /// Whether two values are the same; spellings of the languages' constants are.
    pub fn is(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Number(a, _), Literal::Number(b, _)) => a == b,
            (Literal::Text(a), Literal::Text(b)) => a == b,
            (Literal::Constant(a), Literal::Constant(b)) => meaning(a) == meaning(b),
            _ => false,
        }
    }

    /// As it is written.
    pub fn written(&self) -> &str {
        match self {
            Literal::Number(_, written) | Literal::Text(written) | Literal::Constant(written) => written,
        }
    }
}

/// One word for the spellings of a constant.
fn meaning(constant: &str) -> &str {
    match constant {
        "True" | "true" | "TRUE" | "YES" => "true",
        "False" | "false" | "FALSE" | "NO" => "false",
        "None" | "null" | "nil" | "NULL" | "nullptr" | "undefined" => "null",
        other => other,
    }
}

/// The literal that a word of code is; `None` for names.
pub fn literal(kind: TokenKind, written: &str, is_negative: bool) -> Option<Literal> {
    match kind {
        TokenKind::Number => value(written).map(|value| {
            let sign = if is_negative { -1.0 } else { 1.0 };
            Literal::Number((sign * value).to_bits(), format!("{}{written}", if is_negative { "-" } else { "" }))
        }),
        TokenKind::Text => Some(Literal::Text(written.to_owned())),
        TokenKind::Name => {
            ["true", "null", "false"].contains(&meaning(written)).then(|| Literal::Constant(written.to_owned()))
        }
        TokenKind::Mark => None,
    }
}

/// The names of a line of code that have literal values.
pub fn bindings(code: &str) -> Vec<Binding> {
    let all = tokens(code);
    let written = |index: usize| all.get(index).map_or("", |token| &code[token.span.clone()]);
    let is_mark = |index: usize, mark: &str| {
        all.get(index).is_some_and(|token| token.kind == TokenKind::Mark && written(index) == mark)
    };
    let mut found = Vec::new();
    for (index, token) in all.iter().enumerate() {
        let name = match token.kind {
            TokenKind::Name => pieces(written(index)).next_back().unwrap_or("").to_owned(),
            TokenKind::Text => written(index).to_owned(),
            _ => continue,
        };
        // `ttl: float = 60.0`: the type has no value
        if index > 0 && is_mark(index - 1, ":") && is_mark(index + 1, "=") {
            continue;
        }
        let Some(at) = value_place(&is_mark, &all, index, written) else { continue };
        // `=>` and `==` are no assignments
        let is_negative = is_mark(at, "-");
        let at = at + usize::from(is_negative);
        let Some(token) = all.get(at) else { continue };
        let ends = all
            .get(at + 1)
            .is_none_or(|_| [",", ")", ";", "}", "]", "#", "{", "/"].iter().any(|mark| is_mark(at + 1, mark)));
        if let Some(value) = literal(token.kind, written(at), is_negative).filter(|_| ends) {
            found.push(Binding { name, value });
        }
    }
    found.extend(declared(code, &all));
    found
}

/// A thing whose declaration on this line names its default: `size = Column(Integer, default=5)`, `add_argument("--size", default=5)`,
/// `` `size` int DEFAULT 5``.
fn declared(code: &str, all: &[crate::code::Token]) -> Option<Binding> {
    let written = |index: usize| all.get(index).map_or("", |token| &code[token.span.clone()]);
    let at = (1..all.len()).find(|&index| written(index).eq_ignore_ascii_case("default"))?;
    let is_flag = |index: &usize| all[*index].kind == TokenKind::Text && written(*index).starts_with("--");
    let name = match (0..at).find(is_flag) {
        Some(flag) => written(flag).trim_start_matches('-').replace('-', "_"),
        None if written(1) == "=" && written(at + 1) == "=" => pieces(written(0)).next_back()?.to_owned(),
        None if written(at) == "DEFAULT" && all[0].kind != TokenKind::Mark => written(0).to_owned(),
        None => return None,
    };
    let value_at = at + if matches!(written(at + 1), "=" | ":") { 2 } else { 1 };
    let is_negative = written(value_at) == "-";
    let token = all.get(value_at + usize::from(is_negative))?;
    let value = literal(token.kind, &code[token.span.clone()], is_negative)?;
    Some(Binding { name, value })
}

/// The token at which the value of the name at `index` starts.
fn value_place<'c>(
    is_mark: &impl Fn(usize, &str) -> bool,
    all: &[crate::code::Token],
    index: usize,
    written: impl Fn(usize) -> &'c str,
) -> Option<usize> {
    let is_equal = |at: usize| is_mark(at, "=") && !is_mark(at + 1, "=") && !is_mark(at + 1, ">");
    let adjoins = |at: usize| all.get(at).zip(all.get(at + 1)).is_some_and(|(a, b)| a.span.end == b.span.start);
    if index >= 2 && is_mark(index - 2, "#") && written(index - 1) == "define" {
        return Some(index + 1);
    }
    if index >= 1
        && written(index - 1) == "define"
        && all.get(index + 1).is_some_and(|token| token.kind != TokenKind::Mark)
    {
        return Some(index + 1);
    }
    if is_equal(index + 1) {
        // `{5}` of an attribute
        return Some(if is_mark(index + 2, "{") && adjoins(index + 1) { index + 3 } else { index + 2 });
    }
    if is_mark(index + 1, "=") && is_mark(index + 2, ">") {
        return Some(index + 3);
    }
    if is_mark(index + 1, ":") {
        if is_equal(index + 2) {
            return Some(index + 3);
        }
        // a type between the name and its value
        let typed = (index + 3..(index + 9).min(all.len())).find(|&at| is_equal(at));
        let no_end =
            |at: usize| !(index + 2..at).any(|between| [",", ";", "{", ")"].iter().any(|mark| is_mark(between, mark)));
        return Some(typed.filter(|&at| no_end(at)).map_or(index + 2, |at| at + 1));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: &str) -> Vec<(String, String)> {
        bindings(code).into_iter().map(|binding| (binding.name, binding.value.written().to_owned())).collect()
    }

    #[test]
    fn names_have_values_in_every_language() {
        for (code, expected) in [
            ("def __init__(self, max_size=100, ttl: float = 60.0):", &[("max_size", "100"), ("ttl", "60.0")][..]),
            ("#define RING_CAPACITY 1024", &[("RING_CAPACITY", "1024")]),
            ("const MAX: usize = 8;", &[("MAX", "8")]),
            ("self.ttl = -1", &[("ttl", "-1")]),
            ("{ retries: 3, \"name\": 'x', on => true }", &[("retries", "3"), ("name", "x"), ("on", "true")]),
            ("<Input size={5} kind=\"a\" />", &[("size", "5"), ("kind", "a")]),
            ("x := 5", &[("x", "5")]),
            ("size = Column(Integer, default=5)", &[("default", "5"), ("size", "5")]),
            ("p.add_argument('--max-size', type=int, default=-1)", &[("default", "-1"), ("max_size", "-1")]),
            ("`has_all` bool DEFAULT NULL,", &[("has_all", "NULL")]),
            ("if x == 5 and y >= 3:", &[]),
            ("x = 5 * 60", &[]),
            ("f(x => 5 + 1)", &[]),
        ] {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            assert_eq!(read(code), expected, "{code}");
        }
    }
}
