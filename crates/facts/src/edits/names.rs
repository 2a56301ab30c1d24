//! Names of the text for other names of the change.

use std::collections::HashMap;

use veridiff_text::diff::LineKind;

use super::{Edit, EditKind};
use crate::{
    change::Change,
    code::{TokenKind, pieces, tokens},
    mention::{Mention, MentionKind},
};

/// Shorter names are counters and the like.
const SHORTEST: usize = 3;

/// Keywords, and names that every method has: no text speaks of them in another name's place.
const NO_NAMES: [&str; 76] = [
    "and",
    "as",
    "assert",
    "async",
    "await",
    "bool",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "cls",
    "const",
    "continue",
    "def",
    "default",
    "defer",
    "del",
    "delete",
    "double",
    "elif",
    "else",
    "end",
    "enum",
    "except",
    "export",
    "extends",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "from",
    "func",
    "function",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "include",
    "int",
    "interface",
    "lambda",
    "let",
    "long",
    "match",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "package",
    "pass",
    "private",
    "protected",
    "public",
    "raise",
    "return",
    "self",
    "Self",
    "static",
    "string",
    "struct",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "use",
    "var",
];

/// What two names must share for one to stand where the other did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    begins_upper: bool,
    is_upper: bool,
    is_called: bool,
}

impl Style {
    fn of(name: &str, is_called: bool) -> Self {
        Style {
            begins_upper: name.starts_with(char::is_uppercase),
            is_upper: !name.contains(char::is_lowercase),
            is_called,
        }
    }
}

/// An identifier of the change.
struct Known<'d> {
    name: &'d str,
    style: Style,
    is_changed: bool,
}

/// Each name for others of the change, those on changed lines and written alike first.
pub fn edits(change: &Change<'_>, text: &str, mentions: &[Mention]) -> Vec<Edit> {
    let known = identifiers(change);
    let names: Vec<&Mention> = mentions.iter().filter(|mention| mention.kind == MentionKind::Name).collect();
    let of_mention = |mention: &&Mention| {
        let last = mention.last();
        let style = Style::of(last, text[mention.outer.clone()].contains("()"));
        let is_other = |known: &&Known<'_>| {
            known.name != last
                && !NO_NAMES.contains(&known.name)
                && known.name.len() >= SHORTEST
                && !text.contains(known.name)
                && !last.contains(known.name)
        };
        let mut others: Vec<&Known<'_>> = known.iter().filter(is_other).collect();
        let rank = |known: &Known<'_>| {
            let same_case = known.style.begins_upper == style.begins_upper && known.style.is_upper == style.is_upper;
            (!same_case, !known.is_changed, known.style.is_called != style.is_called)
        };
        others.sort_by_key(|known| rank(known));
        let Some(at) = text[mention.span.clone()].rfind(last).map(|at| mention.span.start + at) else {
            return Vec::new();
        };
        let edit = |known: &&Known<'_>| Edit::at(EditKind::Name, text, at..at + last.len(), known.name);
        others.iter().take(super::MOST).map(edit).collect()
    };
    // the first alternative of every name, then the second ones: with many names none has more than one
    let lists: Vec<Vec<Edit>> = names.iter().map(of_mention).collect();
    (0..super::MOST).flat_map(|round| lists.iter().filter_map(move |list| list.get(round).cloned())).collect()
}

/// Every identifier of the change's lines once, in order.
fn identifiers<'d>(change: &Change<'d>) -> Vec<Known<'d>> {
    let mut known: Vec<Known<'d>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, line) in change.diff.lines().iter().enumerate() {
        if line.kind == LineKind::Header {
            continue;
        }
        let code = change.code(index);
        for token in tokens(code).into_iter().filter(|token| token.kind == TokenKind::Name) {
            let is_called = code[token.span.end..].trim_start().starts_with('(');
            let path = &code[token.span.clone()];
            let n = pieces(path).count();
            for (place, name) in pieces(path).enumerate() {
                let style = Style::of(name, is_called && place + 1 == n);
                let place = *places.entry(name).or_insert(known.len());
                match known.get_mut(place) {
                    Some(other) => other.is_changed |= line.kind.is_changed(),
                    None => known.push(Known { name, style, is_changed: line.kind.is_changed() }),
                }
            }
        }
    }
    known
}

/// Two names that follow each other, exchanged.
pub fn swaps(text: &str, mentions: &[Mention]) -> Vec<Edit> {
    let kinds = [MentionKind::Name, MentionKind::Number, MentionKind::Constant, MentionKind::Snippet];
    let named: Vec<&Mention> = mentions.iter().filter(|mention| kinds.contains(&mention.kind)).collect();
    let swap = |pair: &[&Mention]| {
        let (first, second) = (pair[0].outer.clone(), pair[1].outer.clone());
        let is_other = pair[0].kind == pair[1].kind && text[first.clone()] != text[second.clone()];
        is_other.then(|| {
            let (a, b) = (&text[first.clone()], &text[second.clone()]);
            let between = &text[first.end..second.start];
            Edit::at(EditKind::Order, text, first.start..second.end, &format!("{b}{between}{a}"))
        })
    };
    named.windows(2).filter_map(swap).collect()
}
