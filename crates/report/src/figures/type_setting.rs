//! How wide text is, and text made to fit.
//!
//! Widths are those of the bundled font, Arimo, which are Arial's, Helvetica's and Liberation Sans's too: a picture is
//! laid out alike wherever one of these is found. The bundled file has no kerning, so a text is as wide as its letters
//! together.

use std::sync::LazyLock;

use ttf_parser::Face;
use unicode_width::UnicodeWidthChar;

use crate::{
    fonts::{BOLD, REGULAR},
    grid::clean,
};

/// How heavy letters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Ordinary letters, of weight 400.
    Regular,
    /// Bold letters, of weight 700.
    Bold,
}

static FACES: LazyLock<[Face<'static>; 2]> = LazyLock::new(|| {
    [REGULAR, BOLD].map(|bytes| Face::parse(bytes, 0).expect("the bundled fonts are tested to parse"))
});

/// Width of a line of text at `size` pixels to the em, in pixels.
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let face = &FACES[usize::from(weight == Weight::Bold)];
    let em = f64::from(face.units_per_em());
    let letter = |c: char| match face.glyph_index(c).and_then(|glyph| face.glyph_hor_advance(glyph)) {
        Some(advance) => f64::from(advance) / em,
        // another font will draw it: a square for what is wide in a terminal, three quarters of one for the rest
        None => match c.width() {
            Some(0) => 0.0,
            Some(2) => 1.0,
            _ => 0.75,
        },
    };
    size * text.chars().map(letter).sum::<f64>()
}

/// The text, with its middle cut out for `…` if it is wider than `most`: names differ at their ends.
pub fn fitted(text: &str, size: f64, most: f64) -> String {
    let text = clean(text);
    if width(&text, size, Weight::Regular) <= most {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| -> String {
        let head = kept.div_ceil(2);
        letters[..head].iter().chain(['…'].iter()).chain(&letters[letters.len() - (kept - head)..]).collect()
    };
    let mut kept = letters.len() - 1;
    while kept > 2 && width(&cut(kept), size, Weight::Regular) > most {
        kept -= 1;
    }
    cut(kept)
}

/// [`fitted`] for names that stand beside each other: those that are cut to the same text get a number.
pub fn fitted_names<'a>(names: impl Iterator<Item = &'a str>, size: f64, most: f64) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let fitted: Vec<String> = names.iter().map(|name| fitted(name, size, most)).collect();
    let number = |i: usize| {
        let twins =
            |range: std::ops::Range<usize>| range.filter(|&j| fitted[j] == fitted[i] && names[j] != names[i]).count();
        (twins(0..names.len()) > 0).then(|| twins(0..i) + 1)
    };
    (0..names.len())
        .map(|i| match number(i) {
            Some(number) => {
                let mark = format!(" #{number}");
                self::fitted(names[i], size, most - width(&mark, size, Weight::Regular)) + &mark
            }
            None => fitted[i].clone(),
        })
        .collect()
}

/// The text in lines of at most `most` pixels, broken at spaces; a longer word is cut.
pub fn wrapped(text: &str, size: f64, weight: Weight, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in clean(text).split_whitespace() {
        let joined = lines.last().map(|line| format!("{line} {word}"));
        match joined.filter(|line| width(line, size, weight) <= most) {
            Some(line) => *lines.last_mut().expect("it was joined to one") = line,
            None => lines.push(fitted(word, size, most)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_fonts() {
        // Arial's advances in units of 1/2048 em: digits 1139, `i` 455, `W` 1933
        let got = |text: &str| width(text, 2048.0, Weight::Regular);
        assert_eq!((got("0123456789"), got("i"), got("W")), (11390.0, 455.0, 1933.0));
        assert!(width("bold", 12.0, Weight::Bold) > width("bold", 12.0, Weight::Regular));
        assert_eq!(width("評", 10.0, Weight::Regular), 10.0);
        for sign in "0123456789.−–±≤≥×·…’“”[]()@_-+*%→αβχéüłžЖ".chars() {
            assert!(FACES.iter().all(|face| face.glyph_index(sign).is_some()), "{sign} is not in the font");
        }
    }

    #[test]
    fn long_names_keep_their_ends() {
        let name = "attr_unchanged_diff@a-very-long-model-name-7b-instruct";
        let short = fitted(name, 12.0, 120.0);
        assert!(short.starts_with("attr_") && short.ends_with("struct") && short.contains('…'), "{short}");
        assert!(width(&short, 12.0, Weight::Regular) <= 120.0);
        assert_eq!(fitted("short", 12.0, 120.0), "short");
        assert_eq!(fitted("\u{202e}abc\u{0}\u{ffff}", 12.0, 500.0), "\\u{202e}abc\\u{0}\u{fffd}");
        assert_eq!(fitted("abcdefgh", 12.0, 1.0).chars().count(), 3, "something is always left");
    }

    #[test]
    fn names_that_are_cut_alike_are_numbered() {
        let names =
            ["prefix-aaaaaaaaaaa-one-bbbbbbbbbbb-suffix", "prefix-aaaaaaaaaaa-two-bbbbbbbbbbb-suffix", "x", "x"];
        let got = fitted_names(names.into_iter(), 12.0, 100.0);
        assert!(got[0].ends_with("#1") && got[1].ends_with("#2"), "{got:?}");
        assert!(got[..2].iter().all(|name| width(name, 12.0, Weight::Regular) <= 100.0), "{got:?}");
        assert_eq!(got[2..], ["x", "x"]);
    }

    #[test]
    fn lines_break_at_spaces() {
        let text = "one two three four five six seven";
        let lines = wrapped(text, 12.0, Weight::Regular, 80.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 12.0, Weight::Regular) <= 80.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert!(wrapped("", 12.0, Weight::Regular, 80.0).is_empty());
    }
}
