//! Text in the columns of a terminal.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// As much of a text's beginning as fits into `room` columns, in whole characters.
pub(crate) fn fitting(text: &str, room: usize) -> &str {
    let mut used = 0;
    let fits = |(_, grapheme): &(usize, &str)| {
        used += grapheme.width();
        used <= room
    };
    let last = text.grapheme_indices(true).take_while(fits).last();
    last.map_or("", |(start, grapheme)| &text[..start + grapheme.len()])
}

/// Text cut to `room` columns, a mark at its end where it was cut.
pub(crate) fn elided(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    format!("{}…", fitting(text, room.saturating_sub(1)))
}
