//! Text that cannot drive the terminal that shows it.

/// The text with every control character shown as an escape, so that no name can drive a terminal, and every character
/// that turns the direction of writing, so that no line reads otherwise than it is.
pub fn printable(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_control() || turns(c) {
            out.extend(c.escape_default())
        } else {
            out.push(c)
        }
        out
    })
}
