//! The pieces of a sentence that each do one thing, finer than clauses: what is between commas, and what a conjunction begins.

use super::{
    clauses::word,
    lexicon::{Form, is_auxiliary, verb_form},
    tokens::{Token, TokenKind},
};

/// A word of a sentence as the rules for its kind see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A word of prose in lower case.
    Word(String),
    /// A name of code, or what is quoted.
    Name,
    /// A number.
    Number,
    /// A reference or a link.
    Reference,
}

impl Item {
    /// The word, or nothing for what is none.
    pub fn word(&self) -> &str {
        match self {
            Item::Word(word) => word,
            _ => "",
        }
    }

    /// Whether it can be looked up in a change.
    pub fn is_exact(&self) -> bool {
        matches!(self, Item::Name | Item::Number)
    }
}

/// The pieces of a sentence in order, none of them empty. What stands in brackets counts only where nothing else is there.
pub(super) fn segments(text: &str, tokens: &[Token]) -> Vec<Vec<Item>> {
    let bracketed = tokens.iter().all(|token| token.inside || matches!(token.kind, TokenKind::Sign(_)));
    let mut found: Vec<Vec<Item>> = vec![Vec::new()];
    let shown: Vec<&Token> = tokens.iter().filter(|token| bracketed || !token.inside).collect();
    for (i, token) in shown.iter().enumerate() {
        let item = match token.kind {
            TokenKind::Word => Item::Word(word_of(text, token)),
            TokenKind::Name => Item::Name,
            TokenKind::Number => Item::Number,
            TokenKind::Link | TokenKind::Reference => Item::Reference,
            TokenKind::Tag => continue,
            TokenKind::Sign(sign) => {
                if matches!(sign, ',' | ';' | ':' | '—' | '–' | '-' | '…' | '.' | '!' | '?' | '，' | '、') {
                    found.push(Vec::new());
                }
                continue;
            }
        };
        let next = shown.get(i + 1).and_then(|next| word(text, next));
        if let Item::Word(conjunction) = &item
            && begins(conjunction, next.as_deref())
        {
            found.push(Vec::new());
        }
        if let Some(last) = found.last_mut() {
            last.push(item);
        }
    }
    found.retain(|segment| !segment.is_empty());
    found
}

fn word_of(text: &str, token: &Token) -> String {
    text[token.span.clone()].to_lowercase().replace('’', "'")
}

/// Whether a word with `next` behind it begins a piece of its own.
fn begins(word: &str, next: Option<&str>) -> bool {
    let next = next.unwrap_or("");
    match word {
        "but" | "because" | "although" | "though" | "whereas" | "however" => true,
        "as" | "since" | "so" | "given" => {
            matches!(
                next,
                "he" | "i"
                    | "it"
                    | "it's"
                    | "you're"
                    | "we're"
                    | "they're"
                    | "there's"
                    | "that"
                    | "the"
                    | "there"
                    | "these"
                    | "they"
                    | "this"
                    | "we"
                    | "you"
            )
        }
        "and" | "or" => {
            is_auxiliary(next)
                || matches!(verb_form(next), Some(Form::Base | Form::Third))
                || matches!(next, "it" | "it's" | "there" | "they" | "this" | "that" | "we" | "you" | "please" | "then")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    fn read(text: &str) -> Vec<String> {
        let item = |item: &Item| match item {
            Item::Word(word) => word.clone(),
            other => format!("{other:?}"),
        };
        let joined = |segment: &Vec<Item>| segment.iter().map(item).collect::<Vec<_>>().join(" ");
        segments(text, &tokens(text, 0..text.len())).iter().map(joined).collect()
    }

    #[test]
    fn commas_and_conjunctions_cut() {
        assert_eq!(
            read("Nice, but `a` is 3 (not 4) and it's old as the name says as it is"),
            ["nice", "but Name is Number", "and it's old", "as the name says", "as it is"]
        );
        assert_eq!(read("(See #1.)"), ["see Reference"]);
        assert!(read("...").is_empty());
    }
}
