//! Values of code against values of sentences.

use crate::{
    bindings::Literal,
    code::{is_name_char, tokens},
};

/// Whether a value of the code is the one that a sentence gives; its quotes may be the sentence's own.
pub fn agrees(value: &Literal, claimed: &Literal) -> bool {
    let same = |text: &str, other: &Literal| match other {
        Literal::Number(bits, _) => crate::code::value(text).is_some_and(|value| value.to_bits() == *bits),
        Literal::Constant(constant) => text.eq_ignore_ascii_case(constant),
        Literal::Text(other) => text == other,
    };
    match (value, claimed) {
        (Literal::Text(text), other) | (other, Literal::Text(text)) => same(text, other),
        _ => value.is(claimed),
    }
}

/// Whether a value of the code and the one that a sentence gives cannot both be meant.
pub fn is_against(value: &Literal, claimed: &Literal) -> bool {
    match (value, claimed) {
        (Literal::Text(a), Literal::Text(b)) => !a.contains(b.as_str()) && !b.contains(a.as_str()),
        // a name between marks may be code that has the value
        (_, Literal::Text(_)) => false,
        (Literal::Number(bits, _), Literal::Constant(_)) | (Literal::Constant(_), Literal::Number(bits, _)) => {
            f64::from_bits(*bits) > 1.0
        }
        _ => true,
    }
}

/// A line's tokens with one name or number for another.
pub fn replaced(code: &str, from: &str, to: &str) -> Vec<String> {
    let mut all = Vec::new();
    for token in tokens(code) {
        let written = &code[token.span];
        for piece in written.split_inclusive(|c: char| !is_name_char(c)) {
            all.push(if piece == from { to.to_owned() } else { piece.to_owned() });
        }
    }
    all
}
