//! How one condition stands to another, as far as their code tells.

use super::status::How;
use crate::language::Language;
use crate::syntax::tokens;

/// Words and operators that say the opposite of each other.
const OPPOSITES: [(&str, &str); 7] = [
    ("==", "!="),
    ("===", "!=="),
    ("<", ">="),
    (">", "<="),
    ("is", "is not"),
    ("in", "not in"),
    ("instanceof", "!instanceof"),
];

/// How the condition behind keyword and code `old` became `new`.
pub(super) fn compare(old: (&str, &str), new: (&str, &str), language: Option<Language>) -> How {
    let (old_words, new_words) = (words(old.1, language), words(new.1, language));
    let how = compare_words(&old_words, &new_words, 0);
    match (is_negative(old.0), is_negative(new.0)) {
        (false, false) => how,
        (true, true) => flip(how),
        _ if old_words == new_words => How::Inverted,
        _ => How::Value,
    }
}

/// Whether what the condition decides runs where it does not hold.
fn is_negative(keyword: &str) -> bool {
    matches!(keyword, "unless" | "until")
}

fn flip(how: How) -> How {
    match how {
        How::Widened => How::Narrowed,
        How::Narrowed => How::Widened,
        How::Value | How::Inverted => how,
    }
}

/// The words and operators of a condition; operators of several characters or words are one.
fn words(code: &str, language: Option<Language>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut end = usize::MAX;
    for token in tokens(code, language) {
        let word = &code[token.span.clone()];
        let touches = end == token.span.start;
        end = token.span.end;
        if let Some(last) = words.last_mut() {
            let joined = match (last.as_str(), word) {
                ("=" | "!" | "<" | ">", "=") | ("==" | "!=", "=") | ("&", "&") | ("|", "|") if touches => {
                    format!("{last}{word}")
                }
                ("is", "not") => "is not".to_owned(),
                ("!", "in") => "not in".to_owned(),
                _ => String::new(),
            };
            if !joined.is_empty() {
                *last = joined;
                continue;
            }
        }
        words.push(match word {
            "and" => "&&".to_owned(),
            "or" => "||".to_owned(),
            "not" => "!".to_owned(),
            _ => word.to_owned(),
        });
    }
    words
}

fn compare_words(old: &[String], new: &[String], depth: usize) -> How {
    let (old, new) = (unwrapped(old), unwrapped(new));
    match (negated(old), negated(new)) {
        (Some(old), Some(new)) if depth < 4 => return flip(compare_words(old, new, depth + 1)),
        (Some(inner), None) if unwrapped(inner) == new => return How::Inverted,
        (None, Some(inner)) if unwrapped(inner) == old => return How::Inverted,
        _ => {}
    }
    if let Some(how) = one_word_apart(old, new) {
        return how;
    }
    let (old_any, new_any) = (split(old, "||"), split(new, "||"));
    if old_any.len() > 1 || new_any.len() > 1 {
        match subset(&old_any, &new_any) {
            How::Value => {}
            how => return how,
        }
    }
    let (old_all, new_all) = (split(old, "&&"), split(new, "&&"));
    if old_all.len() > 1 || new_all.len() > 1 {
        match flip(subset(&old_all, &new_all)) {
            How::Value => {}
            how => return how,
        }
    }
    // the same parts, once all of them and once any
    if same(&old_all, &new_any) && old_all.len() > 1 {
        return How::Widened;
    }
    if same(&old_any, &new_all) && old_any.len() > 1 {
        return How::Narrowed;
    }
    How::Value
}

/// Without the brackets around all of it.
fn unwrapped(mut words: &[String]) -> &[String] {
    while let [first, inner @ .., last] = words {
        if first != "(" || last != ")" || closes_early(inner) {
            break;
        }
        words = inner;
    }
    words
}

/// Whether a bracket closes that none of these words opened.
fn closes_early(words: &[String]) -> bool {
    let mut depth = 0usize;
    for word in words {
        match word.as_str() {
            "(" => depth += 1,
            ")" if depth == 0 => return true,
            ")" => depth -= 1,
            _ => {}
        }
    }
    false
}

/// What a `not` before all of it denies.
fn negated(words: &[String]) -> Option<&[String]> {
    let (first, inner) = words.split_first()?;
    let is_whole = split(inner, "&&").len() == 1 && split(inner, "||").len() == 1;
    (first == "!" && is_whole).then_some(inner)
}

/// The parts between an operator outside brackets.
fn split<'w>(words: &'w [String], operator: &str) -> Vec<&'w [String]> {
    let mut depth = 0usize;
    words
        .split(|word| {
            match word.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && word == operator
        })
        .collect()
}

/// Widened if the old parts are some of the new ones, narrowed if it is the other way.
fn subset(old: &[&[String]], new: &[&[String]]) -> How {
    let all_in = |some: &[&[String]], others: &[&[String]]| some.iter().all(|part| others.contains(part));
    match (all_in(old, new), all_in(new, old)) {
        (true, false) => How::Widened,
        (false, true) => How::Narrowed,
        _ => How::Value,
    }
}

fn same(left: &[&[String]], right: &[&[String]]) -> bool {
    left.len() == right.len() && left.iter().all(|part| right.contains(part))
}

/// What follows from one operator or number that is another one.
fn one_word_apart(old: &[String], new: &[String]) -> Option<How> {
    if old.len() != new.len() {
        return None;
    }
    let mut apart = (0..old.len()).filter(|&index| old[index] != new[index]);
    let (index, None) = (apart.next()?, apart.next()) else { return None };
    let (before, after) = (old[index].as_str(), new[index].as_str());
    let is_whole = split(old, "&&").len() == 1 && split(old, "||").len() == 1;
    let opposite = |pair: &(&str, &str)| *pair == (before, after) || *pair == (after, before);
    if is_whole && OPPOSITES.iter().any(opposite) {
        return Some(How::Inverted);
    }
    match (before, after) {
        ("<", "<=") | (">", ">=") => return Some(How::Widened),
        ("<=", "<") | (">=", ">") => return Some(How::Narrowed),
        _ => {}
    }
    let (before, after) = (number(before)?, number(after)?);
    let operator = index.checked_sub(1).map(|left| old[left].as_str())?;
    match operator {
        ">" | ">=" => Some(if after < before { How::Widened } else { How::Narrowed }),
        "<" | "<=" => Some(if after > before { How::Widened } else { How::Narrowed }),
        _ => None,
    }
}

fn number(word: &str) -> Option<f64> {
    word.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_stands_to_another_as_a_person_sees_it() {
        use How::{Inverted, Narrowed, Value, Widened};
        let cases = [
            ("not x", "x", Inverted),
            ("a", "!a", Inverted),
            ("!(a && b)", "a && b", Inverted),
            ("x is None", "x is not None", Inverted),
            ("k in d", "k not in d", Inverted),
            ("a == b", "a != b", Inverted),
            ("n < 3", "n >= 3", Inverted),
            ("a and b", "a or b", Widened),
            ("a || b", "a && b", Narrowed),
            ("a", "a or b", Widened),
            ("a && b", "a", Widened),
            ("a", "a && f(b, c)", Narrowed),
            ("n < 3", "n <= 3", Widened),
            ("n >= 10", "n > 10", Narrowed),
            ("n > 5", "n > 3", Widened),
            ("n < 5", "n < 3", Narrowed),
            ("!(a && b)", "!(a || b)", Narrowed),
            ("a && n < 3", "a && n <= 3", Widened),
            ("a", "b", Value),
            ("a && x == 1", "a && x != 1", Value),
            ("f(a)", "f(a, b)", Value),
        ];
        for (old, new, expected) in cases {
            assert_eq!(compare(("if", old), ("if", new), None), expected, "{old} -> {new}");
        }
        assert_eq!(compare(("if", "a"), ("unless", "a"), None), Inverted);
        assert_eq!(compare(("unless", "a"), ("unless", "a or b"), None), Narrowed);
    }
}
