//! Conditions inside a line: `c ? a : b`, `a if c else b`, `a || b`, `a ?? b`.

use std::sync::LazyLock;

use regex::Regex;

use crate::{blocks::Guard, code::tokens, mention::without_self, rules::thing::Thing};

static TERNARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:=|\breturn\b|\(|:|^)\s*\(?(?P<condition>[^=?:]+(?:[=!]==?[^=?:]+)?)\s\?\s(?P<yes>[^?]+?)\s:\s(?P<no>[^?]+)$").expect("a valid pattern")
});

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:=|\breturn\b|\()\s*(?P<yes>[^=]+?)\sif\s(?P<condition>.+?)\selse\s(?P<no>.+)$")
        .expect("a valid pattern")
});

static FALLBACK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:[=:(,]|\breturn\b)\s*(?P<condition>[\w.$\[\]'\x22]+)\s(?:\|\||\?\?|or)\s(?P<no>[^|]+)$")
        .expect("a valid pattern")
});

/// The condition in a line under which the part of it runs that has what a thing names and the other part has not.
pub fn guards(code: &str, line: usize, thing: &Thing<'_>) -> Vec<Guard> {
    let code = code.trim();
    if code.starts_with("if ") || code.starts_with("if(") || code.starts_with("while") || code.starts_with("} else if")
    {
        return Vec::new();
    }
    let has = |part: &str| {
        let is_one = |written: &str| thing.mentions.iter().any(|mention| without_self(written) == mention.code);
        tokens(part).into_iter().any(|token| is_one(&part[token.span]))
    };
    let guard = |captures: &regex::Captures<'_>, negated| Guard {
        condition: captures["condition"].trim().trim_end_matches(')').trim_start_matches('(').to_owned(),
        negated,
        line,
    };
    let mut found = Vec::new();
    for pattern in [&*TERNARY, &*PYTHON] {
        if let Some(captures) = pattern.captures(code) {
            match (has(&captures["yes"]), has(&captures["no"])) {
                (true, false) => found.push(guard(&captures, false)),
                (false, true) => found.push(guard(&captures, true)),
                _ => {}
            }
        }
    }
    if let Some(captures) = FALLBACK.captures(code).filter(|captures| has(&captures["no"])) {
        found.push(guard(&captures, true));
    }
    found
}
