//! The clauses of a statement.

use std::ops::Range;

use super::{
    lexicon::{Form, is_auxiliary, is_noun_too, verb_form},
    tokens::{Token, TokenKind},
};

/// How many tokens behind a conjunction its verb is looked for.
const REACH: usize = 8;

/// The spans of a statement's clauses: cut behind a semicolon, and before a conjunction with a verb on both sides. The first
/// `label` tokens are the statement's prefix, which stays with the first clause.
pub(super) fn clauses(text: &str, tokens: &[Token], label: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut verb_before = false;
    let mut i = label;
    while i < tokens.len() {
        if let Some(behind) = conjunction(text, tokens, i)
            && i > start
            && verb_before
            && has_verb(text, tokens, behind)
        {
            // the comma stays with what it ends
            found.push(start..i);
            start = i;
            i = behind;
            continue;
        }
        if tokens[i].is(';') && !tokens[i].inside && i + 1 < tokens.len() {
            found.push(start..i + 1);
            start = i + 1;
            verb_before = false;
        }
        verb_before |= is_verb(text, tokens, i, i == label) || is_past(text, tokens, i);
        i += 1;
    }
    found.push(start..tokens.len());
    found.into_iter().map(|range| tokens[range.start].span.start..tokens[range.end - 1].span.end).collect()
}

/// The token behind the conjunction that begins at token `i`, if one does that can join clauses.
fn conjunction(text: &str, tokens: &[Token], i: usize) -> Option<usize> {
    let word = word(text, tokens.get(i)?)?;
    let behind_comma = i > 0 && tokens[i - 1].is(',') && !tokens[i - 1].inside;
    let joins = match word.as_str() {
        "and" | "but" | "because" | "although" | "though" | "whereas" | "however" => true,
        "so" | "which" | "while" | "since" | "or" | "yet" | "thus" | "hence" => behind_comma,
        _ => false,
    };
    // `not only … but also`, `so that`
    let next = word_at(text, tokens, i + 1);
    let fixed = matches!((word.as_str(), next.as_deref()), ("so", Some("that" | "far" | "on")) | ("but", Some("also")));
    (joins && !fixed).then_some(i + 1)
}

/// A word of prose outside brackets, in lower case.
pub(super) fn word(text: &str, token: &Token) -> Option<String> {
    (token.kind == TokenKind::Word && !token.inside).then(|| text[token.span.clone()].to_lowercase())
}

pub(super) fn word_at(text: &str, tokens: &[Token], i: usize) -> Option<String> {
    word(text, tokens.get(i)?)
}

/// Whether a clause with a verb of its own begins at token `from`.
fn has_verb(text: &str, tokens: &[Token], from: usize) -> bool {
    // `it is accepted but ignored`: a participle that shares the verb before
    if is_past(text, tokens, from) && !has_object(text, tokens, from + 1) {
        return false;
    }
    for (n, token) in tokens[from..].iter().take(REACH).enumerate() {
        if matches!(token.kind, TokenKind::Sign(',' | ';' | ':')) {
            // `and, if it is there, deletes it`
            if n > 0 && token.inside {
                continue;
            }
            if n > 0 {
                return false;
            }
        }
        if is_verb(text, tokens, from + n, n == 0) {
            return true;
        }
    }
    false
}

/// Whether token `i` is a verb that makes a clause: an auxiliary, or a verb of programming that is finite, or one in its plain
/// form where a clause begins. What can be a noun too needs an object behind it.
fn is_verb(text: &str, tokens: &[Token], i: usize, opens: bool) -> bool {
    let Some(word) = word_at(text, tokens, i) else { return false };
    if is_auxiliary(&word) {
        return true;
    }
    let Some(form) = verb_form(&word) else { return is_unlisted_verb(tokens, i, &word) };
    let finite = match form {
        Form::Third => true,
        // behind a noun it mostly belongs to that: `the value used by`
        Form::Base | Form::Past => opens || follows_subject(text, tokens, i),
        Form::Gerund => false,
    };
    finite && (!is_noun_too(&word) || opens && i == 0 || has_object(text, tokens, i + 1))
}

/// Whether a word of no list is the verb of the name before it: "`a` wraps".
fn is_unlisted_verb(tokens: &[Token], i: usize, word: &str) -> bool {
    let named = i > 0 && tokens[i - 1].kind == TokenKind::Name && !tokens[i - 1].inside;
    named && word.len() > 3 && word.ends_with('s') && !word.ends_with("ss")
}

/// Whether token `i` is a verb in the past, or its participle.
fn is_past(text: &str, tokens: &[Token], i: usize) -> bool {
    word_at(text, tokens, i).is_some_and(|word| verb_form(&word) == Some(Form::Past))
}

/// Whether the word before token `i` is one that a verb follows that has no ending of its own: `we add`, `they then use`;
/// behind `to` it makes no clause.
fn follows_subject(text: &str, tokens: &[Token], i: usize) -> bool {
    let Some(before) = i.checked_sub(1).and_then(|before| word_at(text, tokens, before)) else { return false };
    matches!(
        before.as_str(),
        "i" | "we" | "you" | "they" | "it" | "this" | "which" | "also" | "then" | "always" | "never" | "not" | "now"
    )
}

/// Whether token `i` begins an object: a determiner, a pronoun, a name.
fn has_object(text: &str, tokens: &[Token], i: usize) -> bool {
    let Some(token) = tokens.get(i) else { return false };
    match token.kind {
        TokenKind::Name | TokenKind::Number => true,
        TokenKind::Word => matches!(
            text[token.span.clone()].to_lowercase().as_str(),
            "a" | "all"
                | "an"
                | "any"
                | "each"
                | "every"
                | "for"
                | "how"
                | "if"
                | "it"
                | "its"
                | "no"
                | "only"
                | "that"
                | "the"
                | "their"
                | "them"
                | "these"
                | "this"
                | "those"
                | "to"
                | "whether"
                | "with"
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    fn read(text: &str) -> Vec<&str> {
        let found = tokens(text, 0..text.len());
        clauses(text, &found, 0).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn a_conjunction_with_a_verb_on_both_sides_cuts() {
        assert_eq!(
            read("The default of `a` is 3 pages, which is too few."),
            ["The default of `a` is 3 pages,", "which is too few."]
        );
        assert_eq!(read("Adds a lock and removes the queue"), ["Adds a lock", "and removes the queue"]);
        assert_eq!(read("Added a lock and removed the queue"), ["Added a lock", "and removed the queue"]);
        assert_eq!(
            read("Add `a`, and remove `b` because it is old, so `c` wins, but slowly"),
            ["Add `a`,", "and remove `b`", "because it is old,", "so `c` wins, but slowly"]
        );
        assert_eq!(
            read("`a` returns 1; it was 2, while `b` has none"),
            ["`a` returns 1;", "it was 2,", "while `b` has none"]
        );
    }

    #[test]
    fn lists_and_brackets_do_not() {
        for whole in [
            "Renames a, b, and c",
            "Adds tests and checks",
            "It is used for reading and writing",
            "The lock (which is new, and is held) works",
            "`a` and `b` are gone",
            "It works so that it is seen",
            "`ttl` is accepted but ignored.",
            "The lock was added and removed again",
        ] {
            assert_eq!(read(whole), [whole]);
        }
    }
}
