//! Words of a statement, and putting others in their place so that the sentence stays one.

use std::ops::Range;

use veridiff_text::grounding::{is_common, is_stop};

/// The words of a text between blanks, without the punctuation and brackets around them.
pub(crate) fn words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                let bare = trimmed(text, from..at);
                if !bare.is_empty() {
                    found.push(bare);
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// A word without the marks that belong to the sentence around it.
fn trimmed(text: &str, word: Range<usize>) -> Range<usize> {
    const AROUND: &[char] = &['(', ')', '[', ']', ',', ';', ':', '!', '?', '"', '\'', '`', '“', '”', '‘', '’', '*'];
    let inner = text[word.clone()].trim_start_matches(AROUND);
    let start = word.end - inner.len();
    let inner = inner.trim_end_matches(AROUND);
    // a full stop ends a sentence, but `.npmrc` and `...` keep theirs
    let inner = if inner.ends_with("..") { inner } else { inner.trim_end_matches('.') };
    start..start + inner.trim_end_matches(AROUND).len()
}

/// The text with other words in a place: with a capital letter where there was one, and the article before them as they want it.
pub(crate) fn replaced(text: &str, place: Range<usize>, with: &str) -> String {
    let had_capital = text[place.clone()].chars().next().is_some_and(char::is_uppercase);
    let is_word = with.chars().all(|c| c.is_ascii_lowercase() || c == ' ' || c == '\'' || c == '-');
    let opens = text[..place.start].trim_end().is_empty() || text[..place.start].trim_end().ends_with(':');
    let with = if had_capital && is_word && (opens || text[place.clone()].chars().skip(1).all(char::is_lowercase)) {
        capitalised(with)
    } else {
        with.to_owned()
    };
    let before = &text[..place.start];
    let mut out = with_article(before, &with);
    out.push_str(&with);
    out.push_str(&text[place.end..]);
    out
}

/// What stands before a word, its last `a` or `an` being the one that the word wants.
fn with_article(before: &str, word: &str) -> String {
    let marks: &[char] = &['`', '"', '\'', '“'];
    let bare = before.trim_end_matches(marks);
    let Some(head) = bare.strip_suffix(' ') else { return before.to_owned() };
    let last = head.rsplit(' ').next().unwrap_or(head);
    let wanted = if sounds_like_vowel(word.trim_start_matches(marks)) { "an" } else { "a" };
    let article = match last {
        "a" | "an" => wanted.to_owned(),
        "A" | "An" => capitalised(wanted),
        _ => return before.to_owned(),
    };
    format!("{}{article}{}", &head[..head.len() - last.len()], &before[head.len()..])
}

/// Whether a word is spoken with a vowel first, by its letters.
fn sounds_like_vowel(word: &str) -> bool {
    const LIKE_YOU: [&str; 7] = ["use", "uni", "url", "utf", "uuid", "eu", "one"];
    const SILENT: [&str; 4] = ["hour", "honest", "html", "http"];
    let lower = word.to_lowercase();
    let begins = |list: &[&str]| list.iter().any(|start| lower.starts_with(start));
    begins(&SILENT) || (lower.starts_with(['a', 'e', 'i', 'o', 'u', '8']) && !begins(&LIKE_YOU))
}

/// With its first letter in upper case.
pub(crate) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Words of prose that say something, in lower case: no grammar, nothing that every change has.
pub(crate) fn content_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2).map(str::to_lowercase);
    words.filter(|word| !is_stop(word) && !is_common(word)).collect()
}

/// Whether a text has one of the words, as whole words in any letters.
pub(crate) fn has_word(text: &str, list: &[&str]) -> bool {
    words(text).into_iter().any(|word| list.iter().any(|one| text[word.clone()].eq_ignore_ascii_case(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_marks_around_them() {
        let text = "Add `foo.bar()` (a \"test\") to .npmrc, e.g. this.";
        let found: Vec<&str> = words(text).into_iter().map(|word| &text[word]).collect();
        assert_eq!(found, ["Add", "foo.bar", "a", "test", "to", ".npmrc", "e.g", "this"]);
    }

    #[test]
    fn grammar_is_kept() {
        assert_eq!(replaced("Add an option", 7..13, "flag"), "Add a flag");
        assert_eq!(replaced("Return a `b` here", 10..11, "a_b"), "Return an `a_b` here");
        assert_eq!(replaced("Add x", 0..3, "remove"), "Remove x");
        assert_eq!(replaced("A user", 2..6, "item"), "An item");
        assert_eq!(replaced("use Foo now", 4..7, "bar_baz"), "use bar_baz now");
    }
}
