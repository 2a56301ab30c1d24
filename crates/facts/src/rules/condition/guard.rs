//! What a condition in code says of a thing.

use veridiff_text::grounding::stem;

use crate::{
    blocks::Guard,
    code::{Token, TokenKind, pieces, tokens, value},
    mention::{Mention, without_self},
    occurrences::stems,
};

/// What a condition is about.
#[derive(Debug)]
pub enum Subject<'m> {
    /// A thing that is named.
    Named(&'m Mention),
    /// Stems of words.
    Words(Vec<String>),
}

/// What is said of the subject of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said<'m> {
    /// It is there, set or true; or it is not.
    True(bool),
    /// It is as a word says, or it is not: "is a number", "is hidden".
    Such(String, bool),
    /// It is the same as another thing; or it is not.
    Same(&'m Mention, bool),
    /// It is more than another thing; or less.
    More(&'m Mention, bool),
}

/// Words of which one denies the other, by their stems.
const OPPOSITES: [(&str, &str); 12] = [
    ("hidden", "visible"),
    ("enabled", "disabled"),
    ("valid", "invalid"),
    ("open", "closed"),
    ("active", "inactive"),
    ("success", "failure"),
    ("online", "offline"),
    ("public", "private"),
    ("known", "unknown"),
    ("supported", "unsupported"),
    ("equal", "different"),
    ("locked", "unlocked"),
];

/// Ends of names that say that what is before them is nothing.
const NOTHING: [&str; 10] =
    ["is_none", "is_empty", "isEmpty", "is_err", "isNull", "isBlank", "isNil", "isUndefined", "IsEmpty", "empty"];
/// And that it is something.
const SOMETHING: [&str; 7] = ["is_some", "is_ok", "isPresent", "isDefined", "isSet", "any", "exists"];

/// The parts of a condition joined by `and` or `or`, and which of both; `None` where it has both.
pub(super) fn atoms(code: &str) -> Option<(Vec<&str>, Option<bool>)> {
    let (and, or) = (code.contains("&&") || code.contains(" and "), code.contains("||") || code.contains(" or "));
    let split = |marks: [&'static str; 2]| code.split(marks[0]).flat_map(move |part| part.split(marks[1])).collect();
    match (and, or) {
        (true, true) => None,
        (true, false) => Some((split(["&&", " and "]), Some(true))),
        (false, true) => Some((split(["||", " or "]), Some(false))),
        (false, false) => Some((vec![code], None)),
    }
}

/// Whether a guard says of the subject what is claimed; `None` if it says nothing of it that can be compared.
pub fn holds(guard: &Guard, subject: &Subject<'_>, claimed: &Said<'_>) -> Option<bool> {
    let code = guard.condition.as_str();
    // where a whole is denied nothing is known of its parts
    if code.contains("!(") || code.contains("not (") {
        return None;
    }
    let (atoms, joint) = atoms(code)?;
    // with `and` a branch where the whole does not hold says nothing of one part, with `or` one where it holds
    if joint.is_some_and(|and| and == guard.negated) {
        return None;
    }
    let says: Vec<bool> = atoms.into_iter().filter_map(|atom| atom_says(atom.trim(), subject, claimed)).collect();
    match says[..] {
        [says] => Some(says ^ guard.negated),
        _ => None,
    }
}

/// Whether a guard has the subject at all.
pub fn speaks_of(guard: &Guard, subject: &Subject<'_>) -> bool {
    let code = &guard.condition;
    tokens(code)
        .iter()
        .any(|token| token.kind == TokenKind::Name && is_subject(&code[token.span.clone()], subject).is_some())
}

/// Whether a name is the subject; with `Some(false)` it is its opposite.
fn is_subject(path: &str, subject: &Subject<'_>) -> Option<bool> {
    let path = without_self(path);
    let parts: Vec<&str> = pieces(path).collect();
    match subject {
        Subject::Named(mention) => {
            let own = without_self(&mention.code);
            let is = path == own
                || parts.last() == Some(&mention.last())
                || (parts.contains(&mention.last()) && mention.pieces().len() == 1)
                || path.strip_prefix(own).is_some_and(|rest| rest.starts_with(['.', '?', '-', ':']));
            is.then_some(true)
        }
        Subject::Words(words) => {
            let is_end =
                |part: &str| NOTHING.contains(&part) || SOMETHING.contains(&part) || part == "length" || part == "size";
            let last = parts.iter().rev().find(|part| !is_end(part))?;
            let own = stems(last);
            let own: Vec<&String> =
                own.iter().filter(|s| !["is", "has", "should", "get", "can", "was"].contains(&s.as_str())).collect();
            if own.is_empty() {
                return None;
            }
            if own.iter().all(|part| words.contains(part)) {
                return Some(true);
            }
            let opposite = |part: &str| {
                OPPOSITES.iter().find_map(|(a, b)| {
                    let (a, b) = (stem(a), stem(b));
                    if a == part { Some(b) } else { (b == part).then_some(a) }
                })
            };
            let [part] = own[..] else { return None };
            opposite(part).is_some_and(|other| words.contains(&other)).then_some(false)
        }
    }
}

struct Atom<'c> {
    code: &'c str,
    all: Vec<Token>,
}

impl<'c> Atom<'c> {
    fn written(&self, index: usize) -> &'c str {
        self.all.get(index).map_or("", |token| &self.code[token.span.clone()])
    }

    fn mark(&self, index: usize) -> &'c str {
        if self.all.get(index).is_some_and(|token| token.kind == TokenKind::Mark) { self.written(index) } else { "" }
    }

    fn has(&self, mention: &Mention) -> bool {
        self.all.iter().any(|token| {
            let written = &self.code[token.span.clone()];
            match token.kind {
                TokenKind::Name => {
                    without_self(written) == mention.code || pieces(written).next_back() == Some(mention.last())
                }
                TokenKind::Number => mention.value().is_some() && value(written) == mention.value(),
                TokenKind::Text => written == mention.code,
                TokenKind::Mark => false,
            }
        })
    }
}

/// Whether one comparison, where it holds, says of the subject what is claimed.
fn atom_says(code: &str, subject: &Subject<'_>, claimed: &Said<'_>) -> Option<bool> {
    let atom = Atom { code, all: tokens(code) };
    let of_subject = |index: usize| {
        (atom.all[index].kind == TokenKind::Name).then(|| is_subject(atom.written(index), subject)).flatten()
    };
    let places: Vec<(usize, bool)> = (0..atom.all.len()).filter_map(|i| of_subject(i).map(|same| (i, same))).collect();
    let [(at, same)] = places[..] else { return None };
    // `!f(x)`, `!x.y`, `not x`
    let first = (atom.written(0) == "not" || atom.mark(0) == "!") && atom.mark(1) != "!";
    let denied = first
        || (at > 0 && atom.mark(at - 1) == "!" && (at < 2 || atom.mark(at - 2) != "!"))
        || (at > 0 && atom.written(at - 1) == "not");
    let path = atom.written(at);
    let behind = if atom.mark(at + 1) == "(" {
        (at + 1..atom.all.len()).find(|&i| atom.mark(i) == ")").map_or(atom.all.len(), |i| i + 1)
    } else {
        at + 1
    };
    let behind = (behind..atom.all.len()).find(|&i| atom.mark(i) != ")").unwrap_or(atom.all.len());
    let operator = (behind..atom.all.len()).map(|i| atom.written(i)).take(3).collect::<Vec<_>>().join(" ");
    let right = (behind..atom.all.len())
        .find(|&i| atom.all[i].kind != TokenKind::Mark && !["is", "not"].contains(&atom.written(i)));
    let right = right.map_or("", |i| atom.written(i));
    let equal = if operator.starts_with("= =") || (operator.starts_with("is ") && !operator.starts_with("is not")) {
        Some(true)
    } else if operator.starts_with("! =") || operator.starts_with("is not") {
        Some(false)
    } else {
        None
    };
    let says = match claimed {
        Said::True(claim) => {
            let is = match equal {
                Some(equal) => is_nothing(right)? ^ equal,
                None if operator.starts_with('>') => (right == "0").then_some(true)?,
                None if operator.starts_with(['<', '+', '-', '*', '/', '%'])
                    || operator.starts_with("in ")
                    || operator.starts_with("not in") =>
                {
                    return None;
                }
                // a call or a comparison of something else with the subject
                None if at > 0
                    && atom.all[..at].iter().enumerate().any(|(i, t)| {
                        t.kind == TokenKind::Name
                            && !["not", "len", "bool", "Boolean"].contains(&atom.written(i))
                            && atom.mark(i + 1) == "("
                    }) =>
                {
                    return None;
                }
                None if !operator.is_empty() => return None,
                None => !pieces(path).next_back().is_some_and(|end| NOTHING.contains(&end)),
            };
            is == *claim
        }
        Said::Such(word, claim) => {
            let parts: Vec<String> = atom.all.iter().flat_map(|token| stems(&code[token.span.clone()])).collect();
            parts.contains(word).then_some(())?;
            equal.unwrap_or(true) == *claim
        }
        Said::Same(other, claim) => {
            atom.has(other).then_some(())?;
            // what is strictly more or less is not the same
            let is_apart = operator.starts_with(['<', '>']) && !operator[1..].trim_start().starts_with(['=', '<', '>']);
            equal.or(is_apart.then_some(false))? == *claim
        }
        Said::More(other, claim) => {
            atom.has(other).then_some(())?;
            let before = at
                .checked_sub(1)
                .map(|i| if atom.mark(i) == "=" { atom.mark(i.saturating_sub(1)) } else { atom.mark(i) });
            let more = match (operator.chars().next(), before) {
                (Some('>'), _) => true,
                (Some('<'), _) => false,
                (_, Some(">")) => false,
                (_, Some("<")) => true,
                _ => return None,
            };
            more == *claim
        }
    };
    Some(says ^ denied ^ !same)
}

/// Whether a value in a comparison stands for nothing: `None` where it is a value like any other.
fn is_nothing(value: &str) -> Option<bool> {
    match value {
        "None" | "null" | "nil" | "NULL" | "nullptr" | "undefined" | "false" | "False" | "0" | "" => Some(true),
        "true" | "True" => Some(false),
        _ => None,
    }
}

/// Whether `and` joins two things in a condition, or `or`; `None` where it is not so plain.
pub fn joint(guard: &Guard, things: [&Mention; 2]) -> Option<bool> {
    let (atoms, joint) = atoms(&guard.condition)?;
    let has = |mention: &Mention| atoms.iter().position(|code| Atom { code, all: tokens(code) }.has(mention));
    let (one, other) = (has(things[0])?, has(things[1])?);
    (one != other && !guard.negated).then_some(joint).flatten()
}
