//! Characters that hide, move their neighbours or drive a terminal, and text without them.

use std::borrow::Cow;

/// Whether a character is invisible where it stands, moves its neighbours or drives a terminal: control and format characters,
/// those that turn the direction of writing ("Trojan Source", Boucher and Anderson 2021, arXiv:2111.00169), blanks without
/// width. Joiners and variation selectors are part of the emoji they stand in and are left alone.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every hidden character as an escape.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}
