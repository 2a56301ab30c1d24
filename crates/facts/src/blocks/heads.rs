//! What opens a block: the head of a function or a type, a condition, and what leaves it.

use std::sync::LazyLock;

use regex::Regex;

use super::{Guard, Scope, ScopeKind};

static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    let modifiers = r"(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|static|async|export|default|final|abstract|override|virtual|inline|extern|const|unsafe|synchronized)\s+)*";
    Regex::new(&format!(
        r"(?x)^{modifiers}(?:def|fn|func|function\*?)\s+(?:\([^)]*\)\s*)?(?:self\.)?(?P<keyword>[\w$]+[?!]?)
        |^{modifiers}(?:class|struct|impl|trait|interface|enum)\s+(?P<class>[\w$]+)
        |^(?:(?:export\s+)?(?:const|let|var)\s+)?(?P<arrow>[\w$.]+)\s*[:=]\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::\s*[\w<>\[\]|\s]+)?=>|[\w$]+\s*=>)
        |^{modifiers}(?:async\s+|get\s+|set\s+|\*\s*)?(?P<method>[\w$]+)\s*\([^;]*\)\s*(?::\s*[^;={{]+)?\{{$
        |^(?:[\w:<>,*&\[\]\s.@]+?[\s*&])(?P<typed>~?[\w$]+)\s*\([^;=]*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:throws\s+[\w.,\s]+)?\{{?$
        |^.*\bfunction\s+(?P<inner>[\w$]+)\s*\([^()]*\)\s*\{{$"
    ))
    .expect("a valid pattern")
});

/// Words that look like the name of a method where they open a block.
const NO_METHODS: [&str; 14] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "else",
    "with",
    "do",
    "try",
    "function",
    "using",
    "synchronized",
    "match",
];

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\}\s*)?(?P<keyword>if|elif|elsif|else if|unless|while|when|until)\b\s*(?P<rest>.*)$")
        .expect("a valid pattern")
});

pub(super) static BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\s(?P<keyword>if|unless)\s+(?P<rest>.+?)(?:\s+else\s+(?P<else>.+))?;?$").expect("a valid pattern")
});

static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:return|raise|throw|continue|break|goto|exit|panic!?|bail!?|die|abort|process\.exit|sys\.exit|os\.Exit|next\b)").expect("a valid pattern")
});

/// Whether code leaves the block that it stands in.
pub fn is_exit(code: &str) -> bool {
    EXIT.is_match(code)
}

/// The name that a line gives to a function or a type.
pub fn function_name(code: &str) -> Option<String> {
    scope_of(code).filter(|scope| scope.kind != ScopeKind::Test).map(|scope| scope.name)
}

static TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^(?:it|test|describe|context|specify|suite)(?:\.\w+)?\s*\(?\s*["'`]([^"'`]+)["'`]"#)
        .expect("a valid pattern")
});

/// What a line is the head of: a function, a type, or a test with a text for its name.
pub(super) fn scope_of(code: &str) -> Option<Scope> {
    if let Some(captures) = TEST.captures(code.trim()) {
        return Some(Scope { name: captures[1].to_owned(), kind: ScopeKind::Test });
    }
    let first = code.trim().split([' ', '(']).next()?;
    if ["return", "new", "await", "throw", "raise", "yield", "delete", "else", "case", "typedef", "goto"]
        .contains(&first)
    {
        return None;
    }
    let captures = FUNCTION.captures(code.trim())?;
    let name =
        ["keyword", "class", "arrow", "method", "typed", "inner"].into_iter().find_map(|group| captures.name(group))?;
    let last = name.as_str().rsplit('.').next().unwrap_or(name.as_str());
    let kind = if captures.name("class").is_some() { ScopeKind::Type } else { ScopeKind::Function };
    (!NO_METHODS.contains(&last)).then(|| Scope { name: last.to_owned(), kind })
}

/// The condition that a line opens a block with, and what runs on the same line, if anything.
pub(super) fn condition_of(code: &str) -> Option<(Guard, Option<String>)> {
    let captures =
        CONDITION.captures(code.strip_prefix("} ").unwrap_or(code).trim_start_matches("else ").trim_start())?;
    let negated = matches!(&captures["keyword"], "unless" | "until");
    let rest = captures["rest"].trim();
    let (condition, inline) = if rest.starts_with('(') {
        let end = closing(rest)?;
        let condition = &rest[1..end];
        // `(a) && (b)` has more behind it
        let behind = rest[end + 1..].trim().trim_start_matches('{').trim();
        if behind.starts_with(['&', '|', '=', '!', '<', '>', '+', '-', '*', '/', '.'])
            || behind.starts_with("and ")
            || behind.starts_with("or ")
        {
            let whole = rest.trim_end_matches(['{', ':', ' ']);
            (whole, "")
        } else {
            (condition, behind.trim_start_matches(':').trim())
        }
    } else if let Some(at) = rest.find(" {").or_else(|| rest.strip_suffix('{').map(str::len)) {
        (&rest[..at], rest[at..].trim().trim_start_matches('{').trim())
    } else if let Some((condition, behind)) =
        rest.rsplit_once(':').filter(|(c, b)| !c.is_empty() && !b.contains(['"', '\'', ']', '}']))
    {
        (condition, behind.trim())
    } else {
        (rest.trim_end_matches(" then"), "")
    };
    let inline = inline.trim_end_matches('}').trim();
    let is_comment = inline.starts_with("//") || inline.starts_with('#') || inline.starts_with("/*");
    let inline = (!inline.is_empty() && !is_comment).then(|| inline.to_owned());
    Some((Guard { condition: condition.trim().to_owned(), negated, line: 0 }, inline))
}

/// The byte of the parenthesis that closes the one at the start.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions() {
        for (code, name) in [
            ("async def get(self):", Some("get")),
            ("pub(crate) fn len(&self) -> usize {", Some("len")),
            ("func (p *Pool) Get(ctx context.Context) error {", Some("Get")),
            ("const f = async (a, b) => {", Some("f")),
            ("public void put(String k) throws IOException {", Some("put")),
            ("size_t ring_size(const struct ring *r)", Some("ring_size")),
            ("exports.run = function (x) {", Some("run")),
            ("if (x) {", None),
            ("return foo(bar)", None),
            ("foo(bar);", None),
        ] {
            assert_eq!(function_name(code).as_deref(), name, "{code}");
        }
    }
}
