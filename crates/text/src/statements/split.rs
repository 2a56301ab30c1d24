//! Where one statement ends and the next begins, in a paragraph, a heading or a row of a table.

use std::ops::Range;

use super::{
    blocks::BlockKind,
    lexicon::{asks_for_more, verb_form},
    tokens::{Token, TokenKind},
};

/// A line of so many bytes with the first word of the next one behind it was not wrapped for want of room.
const ROOM: usize = 50;

/// The statements of a block as ranges of its tokens, in order, none of them empty. What lies between them are markers: the bars
/// of a table, numbers of a list within a paragraph.
pub(super) fn split(text: &str, tokens: &[Token], kind: BlockKind) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut line = 0;
    let mut i = 0;
    while i < tokens.len() {
        if kind == BlockKind::Row && tokens[i].is('|') {
            push(text, tokens, start..i, &mut found);
            start = i + 1;
        } else if i > start && breaks_line(text, tokens, line, i) {
            push(text, tokens, start..i, &mut found);
            start = i;
        } else if let Some(end) = sentence_end(text, tokens, start, i) {
            push(text, tokens, start..end, &mut found);
            start = end;
            i = end - 1;
        }
        if i > 0 && gap(text, tokens, i).contains('\n') {
            line = i;
        }
        i += 1;
    }
    push(text, tokens, start..tokens.len(), &mut found);
    found
}

/// What lies before token `i`.
fn gap<'a>(text: &'a str, tokens: &[Token], i: usize) -> &'a str {
    &text[tokens[i - 1].span.end..tokens[i].span.start]
}

/// Whether nothing or a blank follows token `i`.
fn before_blank(text: &str, tokens: &[Token], i: usize) -> bool {
    i + 1 >= tokens.len() || !gap(text, tokens, i + 1).is_empty()
}

fn push(text: &str, tokens: &[Token], mut range: Range<usize>, found: &mut Vec<Range<usize>>) {
    // the number of an item within a paragraph
    let part = &tokens[range.clone()];
    if part.len() > 2 && is_item_number(text, tokens, range.start, range.start + 1) {
        range.start += 2;
    }
    if !range.is_empty() {
        found.push(range);
    }
}

/// Whether tokens `start` and `mark` are `1.` or `1)` before a blank.
fn is_item_number(text: &str, tokens: &[Token], start: usize, mark: usize) -> bool {
    mark == start + 1
        && (tokens[mark].is('.') || tokens[mark].is(')'))
        && tokens[start].span.len() <= 2
        && text[tokens[start].span.clone()].bytes().all(|b| b.is_ascii_digit())
        && gap(text, tokens, mark).is_empty()
        && before_blank(text, tokens, mark)
}

/// Whether a sentence that began at token `start` ends with token `i`; then the token behind its end, behind closing quotes and
/// brackets.
fn sentence_end(text: &str, tokens: &[Token], start: usize, i: usize) -> Option<usize> {
    let token = &tokens[i];
    let TokenKind::Sign(sign) = token.kind else { return None };
    if token.inside {
        return whole_brackets_end(text, tokens, start, i);
    }
    if matches!(sign, '。' | '！' | '？' | '；' | '｡') {
        return Some(closed(text, tokens, i));
    }
    let stands_free = i == start || !gap(text, tokens, i).is_empty();
    let end = match sign {
        '.' if is_item_number(text, tokens, start, i) => return None,
        '.' if is_initial(text, tokens, i) => return None,
        '.' | '!' | '?' => closed(text, tokens, i),
        '…' => closed(text, tokens, i),
        ';' if before_blank(text, tokens, i) && i > start => return Some(i + 1),
        _ => return None,
    };
    let capital = tokens.get(end).is_none_or(|next| begins_sentence(text, next));
    let ends = before_blank(text, tokens, end - 1)
        && match sign {
            '…' => capital,
            // an operator
            '!' | '?' if stands_free => capital && sign == '?',
            _ => !stands_free || capital,
        };
    ends.then_some(end)
}

/// Whether a token can begin a sentence: no small letter, no sign that goes on.
fn begins_sentence(text: &str, token: &Token) -> bool {
    match token.kind {
        TokenKind::Sign(sign) => !matches!(sign, ',' | ';' | ':' | ')' | ']' | '=' | '+' | '<' | '>' | '&' | '|'),
        _ => !text[token.span.clone()].starts_with(char::is_lowercase),
    }
}

/// The token behind the closing quotes, brackets, emphasis and further marks that follow token `i` directly.
fn closed(text: &str, tokens: &[Token], i: usize) -> usize {
    let mut end = i + 1;
    while end < tokens.len() && gap(text, tokens, end).is_empty() {
        let closes = matches!(
            tokens[end].kind,
            TokenKind::Sign('.' | '!' | '?' | '…' | ')' | ']' | '"' | '\'' | '*' | '_' | '”' | '’' | '»' | '」' | '）')
        );
        if !closes || tokens[end].inside {
            break;
        }
        end += 1;
    }
    end
}

/// Brackets around a whole sentence end it: `(That is all.) Then …`.
fn whole_brackets_end(text: &str, tokens: &[Token], start: usize, i: usize) -> Option<usize> {
    let last = tokens.get(i + 1).is_none_or(|next| !next.inside || next.is('('));
    let full = i > start + 1
        && tokens[i].is(')')
        && tokens[start].is('(')
        && ['.', '!', '?'].into_iter().any(|mark| tokens[i - 1].is(mark))
        && last;
    (full && before_blank(text, tokens, i)).then_some(i + 1)
}

/// Whether the dot at token `i` stands behind the initial of a name: `J. Doe`.
fn is_initial(text: &str, tokens: &[Token], i: usize) -> bool {
    let Some(before) = i.checked_sub(1) else { return false };
    let initial = &text[tokens[before].span.clone()];
    tokens[before].kind == TokenKind::Word
        && gap(text, tokens, i).is_empty()
        && initial.len() == 1
        && initial != "I"
        && initial.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether a statement ends with the line that begins at token `line` and ends before token `i`: the next word had room on it, and
/// begins like a new statement. A wrapped line goes on.
fn breaks_line(text: &str, tokens: &[Token], line: usize, i: usize) -> bool {
    let (last, next) = (&tokens[i - 1], &tokens[i]);
    if !gap(text, tokens, i).contains('\n') || (last.inside && next.inside && !next.is('(')) {
        return false;
    }
    let goes_on = match last.kind {
        TokenKind::Sign(sign) => matches!(sign, ',' | '-' | '/' | '+' | '=' | '&' | '—' | '–'),
        TokenKind::Word => asks_for_more(&text[last.span.clone()].to_lowercase()),
        _ => false,
    };
    if goes_on {
        return false;
    }
    // a colon at the end of a line announces what follows
    if last.is(':') {
        return true;
    }
    let word = text[next.span.start..].split_whitespace().next().map_or(0, str::len);
    let had_room = last.span.end - tokens[line].span.start + 1 + word <= ROOM;
    let first = &text[next.span.clone()];
    let is_new = match next.kind {
        TokenKind::Sign(sign) => matches!(sign, '(' | '[' | '*'),
        TokenKind::Word => first.starts_with(char::is_uppercase) || verb_form(&first.to_lowercase()).is_some(),
        _ => true,
    };
    had_room && is_new
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    fn read(text: &str) -> Vec<&str> {
        let found = tokens(text, 0..text.len());
        let cut = |range: Range<usize>| &text[found[range.start].span.start..found[range.end - 1].span.end];
        split(text, &found, BlockKind::Prose).into_iter().map(cut).collect()
    }

    #[test]
    fn sentences_end_at_marks_before_blanks() {
        assert_eq!(read("It is. Is it? Yes! Then; so"), ["It is.", "Is it?", "Yes!", "Then;", "so"]);
        assert_eq!(read("(It is.) He said \"no.\" (So it is)."), ["(It is.)", "He said \"no.\" (So it is)."]);
        assert_eq!(read("**It is.** And `a. b; c` is"), ["**It is.**", "And `a. b; c` is"]);
        assert_eq!(read("这是。那是！"), ["这是。", "那是！"]);
    }

    #[test]
    fn dots_inside_end_nothing() {
        for whole in [
            "Waits 3.5 s, e.g. in foo.py is read by J. Doe vs. others, etc. and so on",
            "Hmm... this waits … for (a; b. c) and [x; y]",
            "Reads https://a.b/c. d".trim_end_matches(" . d").trim_end_matches(". d"),
            "if a ! b ? c : d",
            "i.e. it is",
        ] {
            assert_eq!(read(whole), [whole]);
        }
        assert_eq!(read("It waits... Then it is, etc. The end"), ["It waits...", "Then it is, etc.", "The end"]);
    }

    #[test]
    fn a_wrapped_line_goes_on_and_a_short_one_ends() {
        let wrapped = "The parser reads the whole of the file before it looks at any\nOption that was given";
        assert_eq!(read(wrapped), [wrapped]);
        assert_eq!(
            read("Fix the parser\nAdd a test\nand one more case\nremove it"),
            ["Fix the parser", "Add a test\nand one more case", "remove it"]
        );
    }

    #[test]
    fn numbers_of_items_in_a_line_are_markers() {
        assert_eq!(read("It does this. 1. It reads. 2. It writes."), ["It does this.", "It reads.", "It writes."]);
        assert_eq!(read("1. "), ["1."]);
    }
}
