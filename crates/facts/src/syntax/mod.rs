//! What stands in a piece of code, by role: definitions, parameters, calls, conditions, literals.
//!
//! [`Syntax::parse`] reads a whole text, [`Syntax::of_pieces`] the pieces of one that a diff shows. Each language has a table that says
//! what the nodes of its grammar stand for, and one walk collects the items of all of them. Where a fragment does not parse, what stands in
//! its lines is read without a grammar.

pub use item::{Item, ItemKind};

pub(crate) use code::{head, without_blanks};
pub(crate) use tokens::{TokenKind, tokens};

mod bindings;
mod code;
mod draft;
mod imports;
mod item;
#[cfg_attr(
    not(all(feature = "python", feature = "java", feature = "ruby", feature = "php")),
    allow(dead_code, unused_imports, unused_macros, unused_variables, reason = "some roles are one language's only")
)]
mod languages;
mod lines;
mod parse;
mod roles;
#[cfg_attr(
    not(all(feature = "python", feature = "java", feature = "ruby", feature = "php")),
    allow(dead_code, unused_imports, unused_macros, unused_variables, reason = "some roles are one language's only")
)]
mod table;
mod tokens;
mod walk;

use std::ops::Range;

use crate::language::Language;
use draft::Draft;
use parse::Fragments;

/// The items of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Syntax {
    /// In the order of their first bytes, outer ones first.
    pub items: Vec<Item>,
}

impl Syntax {
    /// Reads a text as one piece.
    pub fn parse(text: &str, language: Option<Language>) -> Syntax {
        Syntax::of_pieces(text, std::slice::from_ref(&(0..text.len())), language)
    }

    /// Reads a text of which only `pieces` (bytes, in order) hang together. Where all of them parse without an error as they stand, they are
    /// read as one, so that a type's head in one piece holds the methods in the next; else each alone. A piece that is no part of the text
    /// is left out.
    pub fn of_pieces(text: &str, pieces: &[Range<usize>], language: Option<Language>) -> Syntax {
        let mut draft = Draft::new(text);
        let mut unread = Vec::new();
        let fragments = language.filter(|_| text.len() <= parse::MAX_BYTES);
        match fragments.and_then(|language| Fragments::new(language, text)) {
            Some(mut fragments) => {
                // the indentation of a piece says nothing about what holds it where the pieces between are not shown
                let can_be_whole = pieces.len() > 1 && language != Some(Language::Python);
                if let Some(parsed) = can_be_whole.then(|| fragments.parse_whole(text)).flatten() {
                    walk::walk(&parsed, 0, &mut draft, &mut unread);
                } else {
                    for piece in pieces {
                        let Some(part) = text.get(piece.clone()) else { continue };
                        match fragments.parse_fragment(part) {
                            Some(parsed) => walk::walk(&parsed, piece.start, &mut draft, &mut unread),
                            None => unread.push(draft.line(piece.start)..draft.line(piece.end) + 1),
                        }
                    }
                }
            }
            None => unread.push(0..draft.line_count()),
        }
        lines::read(&unread, language, &mut draft);
        Syntax { items: draft.finish() }
    }
}

#[cfg(test)]
mod tests;
