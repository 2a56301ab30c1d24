//! Where a quote stands in a text, white space and the look of quotation marks aside.

use std::ops::Range;

/// The fewest words of a quote that shows anything by itself.
const MIN_WORDS: usize = 3;

/// Letters with the bytes that they stand for: runs of white space are one blank, all quotation marks one mark.
fn folded(text: &str) -> Vec<(char, Range<usize>)> {
    let mut out: Vec<(char, Range<usize>)> = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let c = match c {
            c if c.is_whitespace() => ' ',
            '"' | '`' | '‘' | '’' | '‚' | '“' | '”' | '„' | '«' | '»' | '´' => '\'',
            c => c,
        };
        match out.last_mut() {
            Some((' ', span)) if c == ' ' => span.end = end,
            _ => out.push((c, at..end)),
        }
    }
    out
}

/// The bytes of the text in which the quote stands first, blanks around it left out.
pub fn find(text: &str, quote: &str) -> Option<Range<usize>> {
    let wanted: Vec<char> = folded(quote.trim()).into_iter().map(|(c, _)| c).collect();
    if wanted.is_empty() {
        return None;
    }
    let text = folded(text);
    let starts = text.len().checked_sub(wanted.len())?;
    let is_here = |at: &usize| text[*at..*at + wanted.len()].iter().zip(&wanted).all(|((c, _), want)| c == want);
    let at = (0..=starts).find(is_here)?;
    Some(text[at].1.start..text[at + wanted.len() - 1].1.end)
}

/// The bytes of a quote that shows something: one of at least three words, or a whole passage.
pub fn verified(text: &str, passages: &[Range<usize>], quote: &str) -> Option<Range<usize>> {
    let found = find(text, quote)?;
    let is_whole = || passages.iter().any(|passage| text[passage.clone()].trim() == text[found.clone()].trim());
    (quote.split_whitespace().count() >= MIN_WORDS || is_whole()).then_some(found)
}

/// Whether a line stands in any of some texts as a whole line, white space and a diff's mark before it aside.
pub fn is_line_of(texts: &[&str], line: &str) -> bool {
    let bare = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let unmarked = |line: &str| bare(line.strip_prefix(['+', '-']).unwrap_or(line));
    let (wanted, marked) = (bare(line), unmarked(line));
    !wanted.is_empty()
        && texts.iter().flat_map(|text| text.lines()).any(|known| {
            let (whole, code) = (bare(known), unmarked(known));
            [&whole, &code].into_iter().any(|known| *known == wanted || (*known == marked && !marked.is_empty()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_marks_are_folded_and_bytes_are_the_texts() {
        let text = "Please  use\n“StrictStr” for the é path.";
        let span = find(text, "use \"StrictStr\" for").unwrap();
        assert_eq!(&text[span], "use\n“StrictStr” for");
        assert_eq!(find(text, "use it"), None);
        assert_eq!(find(text, "  "), None);
        assert_eq!(find("", "a"), None);
    }

    #[test]
    fn a_short_quote_shows_nothing_unless_it_is_all_that_was_said() {
        let text = "Add a test. Rename `x`.";
        let passages = [0..11, 12..23];
        assert_eq!(verified(text, &passages, "a test"), None);
        assert_eq!(verified(text, &passages, "Add a test"), Some(0..10));
        assert_eq!(verified(text, &passages, "Rename 'x'."), Some(12..23));
        assert_eq!(verified(text, &passages, "is not in there"), None);
    }

    #[test]
    fn a_line_is_whole_and_of_either_side() {
        let texts = ["@@ -1 +1 @@\n-    return a\n+    return a + b\n", "def f():\n    pass\n"];
        for (line, is) in [
            ("return a + b", true),
            ("+ return a + b", true),
            ("-    return a", true),
            ("def f():", true),
            ("return", false),
            ("", false),
            ("+", false),
        ] {
            assert_eq!(is_line_of(&texts, line), is, "{line}");
        }
    }
}
