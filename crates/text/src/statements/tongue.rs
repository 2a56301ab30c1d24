//! Which language a text is in: English or another, by scripts and frequent words.

use super::{
    lexicon::{is_any_english, is_foreign},
    tokens::{Token, TokenKind},
};

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextLanguage {
    /// English.
    English,
    /// Another language.
    Other,
    /// Too few words to tell.
    Unknown,
}

impl TextLanguage {
    /// `english`, `other` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            TextLanguage::English => "english",
            TextLanguage::Other => "other",
            TextLanguage::Unknown => "unknown",
        }
    }
}

/// The words of a text so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Words of Latin letters.
    latin: usize,
    /// Those that are frequent in English.
    english: usize,
    /// Those that are frequent in another language, or have a letter that English lacks.
    foreign: usize,
    /// Words of another script; where it has no blanks, characters.
    other_script: usize,
}

impl Count {
    /// Counts the words among tokens; names, links and numbers are no words.
    pub fn add(&mut self, text: &str, tokens: &[Token]) {
        for token in tokens.iter().filter(|token| token.kind == TokenKind::Word) {
            let word = &text[token.span.clone()];
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            let latin = word.chars().filter(|&c| is_latin(c)).count();
            if letters == 0 {
                continue;
            }
            if latin * 2 < letters {
                self.other_script += if word.chars().any(is_without_blanks) { letters } else { 1 };
                continue;
            }
            self.latin += 1;
            let lower = word.to_lowercase().replace('’', "'");
            let english = is_any_english(&lower) || lower.split(['-', '/']).all(is_any_english);
            self.english += usize::from(english);
            self.foreign += usize::from(!english && (is_foreign(&lower) || !lower.is_ascii() || elides(&lower)));
        }
    }

    pub fn language(self) -> TextLanguage {
        let Count { latin, english, foreign, other_script } = self;
        if other_script * 5 > (latin + other_script) * 2 {
            return TextLanguage::Other;
        }
        let is_foreign = foreign > english || (foreign * 4 > latin && foreign >= 3 && foreign * 4 > english * 3);
        if is_foreign && (foreign >= 2 || latin >= 5) {
            return TextLanguage::Other;
        }
        // a terse line of a message can consist of names that look like words
        if latin >= 8 && english * 8 < latin {
            return TextLanguage::Other;
        }
        if english >= 2 && english * 3 >= latin { TextLanguage::English } else { TextLanguage::Unknown }
    }
}

/// Whether a letter is Latin, with or without marks.
fn is_latin(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Whether a character is of a script that writes no blanks between words.
fn is_without_blanks(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a word begins with an article or pronoun that lost its vowel: `l'objet`, `d'une`, `c'est`.
fn elides(word: &str) -> bool {
    ["l'", "d'", "c'", "n'", "s'", "j'", "qu'", "dell'", "un'"]
        .iter()
        .any(|start| word.strip_prefix(start).is_some_and(|rest| rest.len() > 1))
}
