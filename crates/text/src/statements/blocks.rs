//! A text's blocks: paragraphs, list items, headings and rows of tables, and the code, quotes, markup and trailers between them.

use std::ops::Range;

use super::{
    line::{closes, fence, fence_behind_words, heading, indent, is_rule, is_trailer, looks_like_trailer, marker},
    tokens::tag,
};

/// Most markers and tags that are taken off one line.
const MOST_MARKERS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A paragraph, or one list item without its marker.
    Prose,
    /// A heading without its marker.
    Heading,
    /// A row of a table.
    Row,
    /// A fence with what is in it, indented code, a command at a prompt.
    Code,
    /// Quoted lines.
    Quote,
    /// Tags, comments, rules.
    Markup,
    /// One trailer.
    Trailer,
}

/// A block and its bytes, without blanks around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub kind: BlockKind,
    pub span: Range<usize>,
}

/// The blocks of a text in order.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push(at..at + line.trim_end_matches(['\n', '\r']).len());
        at += line.len();
    }
    let indents = lines.iter().map(|line| &text[line.clone()]).filter(|line| !line.trim().is_empty()).map(indent);
    let common = indents.min().unwrap_or(0);
    let trailers_from = first_of_trailers(text, &lines);
    let mut reader =
        Reader { text, lines, common, trailers_from, found: Vec::new(), open: None, behind_blank: true, list: None };
    reader.read();
    reader.found
}

/// The line where the trailers begin that make up the last paragraph; the number of lines if there are none.
fn first_of_trailers(text: &str, lines: &[Range<usize>]) -> usize {
    let is_blank = |line: &Range<usize>| text[line.clone()].trim().is_empty();
    let end = lines.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
    let start = lines[..end].iter().rposition(is_blank).map_or(0, |blank| blank + 1);
    let all = lines[start..end].iter().all(|line| {
        let line = &text[line.clone()];
        looks_like_trailer(line) || line.starts_with([' ', '\t'])
    });
    let opens = lines.get(start).is_some_and(|line| looks_like_trailer(&text[line.clone()]));
    if start > 0 && opens && all { start } else { lines.len() }
}

/// The list item that a line can go on.
#[derive(Debug, Clone, Copy)]
struct Item {
    /// Columns before its content.
    indent: usize,
    /// Its number, if it has one.
    number: Option<u32>,
}

struct Reader<'a> {
    text: &'a str,
    lines: Vec<Range<usize>>,
    /// Columns by which all lines are indented.
    common: usize,
    trailers_from: usize,
    found: Vec<Block>,
    /// The paragraph that the next line may go on.
    open: Option<Range<usize>>,
    behind_blank: bool,
    list: Option<Item>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut n = 0;
        while n < self.lines.len() {
            n = self.line(n);
        }
        self.close();
    }

    /// Reads line `n`, and those that belong to the same block of code or quotes; returns the next one to read.
    fn line(&mut self, n: usize) -> usize {
        let whole = self.lines[n].clone();
        let Some(mut at) = self.first(whole.clone()) else {
            self.close();
            self.behind_blank = true;
            return n + 1;
        };
        let mut columns = indent(&self.text[whole.clone()]).saturating_sub(self.common);
        let behind_blank = std::mem::replace(&mut self.behind_blank, false);
        let inside = self.list.map_or(0, |item| item.indent);
        if behind_blank && columns < inside && marker(&self.text[at..whole.end]).is_none() {
            self.list = None;
        }
        if behind_blank && columns >= inside + 4 && marker(&self.text[at..whole.end]).is_none() {
            return self.indented(n, inside + 4);
        }
        if n >= self.trailers_from || is_trailer(&self.text[at..whole.end]) {
            self.push(BlockKind::Trailer, at..whole.end);
            return n + 1;
        }
        // markers and tags stand before others: `- > quoted`, `<p>text`
        for _ in 0..MOST_MARKERS {
            let rest = &self.text[at..whole.end];
            let cut = if let Some(end) = self.markup(at, whole.end) {
                self.push(BlockKind::Markup, at..end);
                if end >= whole.end {
                    return self.line_behind(n, end);
                }
                end
            } else if is_rule(rest) {
                self.push(BlockKind::Markup, at..whole.end);
                return n + 1;
            } else if let Some(mark) = fence(rest) {
                return self.fenced(n, at, mark);
            } else if rest.starts_with(">>> ") || rest.starts_with("$ ") {
                self.push(BlockKind::Code, at..whole.end);
                return n + 1;
            } else if rest.starts_with('>') {
                return self.quoted(n, at);
            } else if let Some(len) = self.item(rest, columns) {
                self.close();
                at + len
            } else {
                break;
            };
            columns += cut - at;
            let Some(next) = self.first(cut..whole.end) else { return n + 1 };
            at = next;
        }
        let rest = &self.text[at..whole.end];
        if let Some(len) = heading(rest) {
            let content = at + len..at + rest.trim_end().trim_end_matches('#').len().max(len);
            match self.first(content.clone()) {
                Some(_) => self.push(BlockKind::Heading, content),
                None => self.push(BlockKind::Markup, at..whole.end),
            }
        } else if rest.starts_with('|') {
            self.push(BlockKind::Row, at..whole.end);
        } else if let Some(offset) = fence_behind_words(rest) {
            self.go_on(at..at + offset);
            return self.fenced(n, at + offset, ('`', 3));
        } else {
            self.go_on(at..whole.end);
        }
        n + 1
    }

    /// The first byte of a range that is not blank.
    fn first(&self, range: Range<usize>) -> Option<usize> {
        let part = &self.text[range.clone()];
        let blanks = part.len() - part.trim_start().len();
        (blanks < part.len()).then_some(range.start + blanks)
    }

    /// The line to read behind a comment that began on line `n` and ends at `end`; what stands behind it on its last line is a line
    /// of its own.
    fn line_behind(&mut self, n: usize, end: usize) -> usize {
        let last = n + self.lines[n..].partition_point(|line| line.start < end).max(1) - 1;
        if end >= self.lines[last].end {
            return last + 1;
        }
        self.lines[last].start = end;
        last
    }

    /// Length of the list marker that opens an item here. In the middle of a paragraph a dash or a number can be the wrapped
    /// rest of a sentence.
    fn item(&mut self, rest: &str, columns: usize) -> Option<usize> {
        let found = marker(rest)?;
        let dash = rest.starts_with(['–', '—', '·', '+']);
        let follows = |number: u32| {
            number == 1 || self.list.and_then(|item| item.number).is_some_and(|last| last.saturating_add(1) == number)
        };
        if self.open.is_some() && (found.number.is_some_and(|n| !follows(n)) || (dash && self.list.is_none())) {
            return None;
        }
        self.list = Some(Item { indent: columns + found.len, number: found.number });
        Some(found.len)
    }

    /// Where the tags or the comment end that stand at `at`.
    fn markup(&self, at: usize, line_end: usize) -> Option<usize> {
        if self.text[at..].starts_with("<!--") {
            return Some(self.text[at..].find("-->").map_or(self.text.trim_end().len(), |n| at + n + 3));
        }
        let mut end = at;
        while let Some(len) = tag(&self.text[end..line_end]) {
            end += len;
        }
        (end > at).then_some(end)
    }

    fn fenced(&mut self, n: usize, at: usize, mark: (char, usize)) -> usize {
        let last = (n + 1..self.lines.len()).find(|&i| closes(&self.text[self.lines[i].clone()], mark));
        let last = last.unwrap_or(self.lines.len() - 1);
        self.push(BlockKind::Code, at..self.lines[last].end);
        last + 1
    }

    fn indented(&mut self, n: usize, least: usize) -> usize {
        let mut last = n;
        for i in n + 1..self.lines.len() {
            let line = &self.text[self.lines[i].clone()];
            if line.trim().is_empty() {
                continue;
            }
            if indent(line).saturating_sub(self.common) < least {
                break;
            }
            last = i;
        }
        self.push(BlockKind::Code, self.lines[n].start..self.lines[last].end);
        last + 1
    }

    fn quoted(&mut self, n: usize, at: usize) -> usize {
        let is_quoted = |line: &Range<usize>| self.text[line.clone()].trim_start().starts_with('>');
        let more = self.lines[n + 1..].iter().take_while(|line| is_quoted(line)).count();
        self.push(BlockKind::Quote, at..self.lines[n + more].end);
        n + more + 1
    }

    fn go_on(&mut self, range: Range<usize>) {
        match &mut self.open {
            Some(open) => open.end = range.end,
            None => self.open = Some(range),
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.push(BlockKind::Prose, open);
        }
    }

    fn push(&mut self, kind: BlockKind, span: Range<usize>) {
        if self.open.is_some() {
            self.close();
        }
        let part = &self.text[span.clone()];
        let start = span.start + part.len() - part.trim_start().len();
        let end = start + part.trim().len();
        if start < end {
            self.found.push(Block { kind, span: start..end });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockKind::*, *};

    fn read(text: &str) -> Vec<(BlockKind, &str)> {
        blocks(text).into_iter().map(|block| (block.kind, &text[block.span])).collect()
    }

    #[test]
    fn items_lose_their_markers_and_keep_their_wrapped_lines() {
        assert_eq!(
            read("Two things:\n- one\n  goes on\n- [ ] two\n\n1. x\n2. y\nas of\n2015. z"),
            [
                (Prose, "Two things:"),
                (Prose, "one\n  goes on"),
                (Prose, "two"),
                (Prose, "x"),
                (Prose, "y\nas of\n2015. z")
            ]
        );
    }

    #[test]
    fn code_quotes_and_markup_stand_apart() {
        assert_eq!(
            read(
                "Use this:\n```suggestion\na\n\n- b\n```\nThen\n\n    indented\n\n    code\n\nend\n> said\n> before\nme"
            ),
            [
                (Prose, "Use this:"),
                (Code, "```suggestion\na\n\n- b\n```"),
                (Prose, "Then"),
                (Code, "indented\n\n    code"),
                (Prose, "end"),
                (Quote, "> said\n> before"),
                (Prose, "me")
            ]
        );
        assert_eq!(
            read(
                "<details>\n<summary>More</summary>\n<!-- a\nb --> c\n| a | b |\n|---|---|\n\n## Why\n##\nSo: ```js\nx"
            ),
            [
                (Markup, "<details>"),
                (Markup, "<summary>"),
                (Prose, "More</summary>"),
                (Markup, "<!-- a\nb -->"),
                (Prose, "c"),
                (Row, "| a | b |"),
                (Markup, "|---|---|"),
                (Heading, "Why"),
                (Markup, "##"),
                (Prose, "So:"),
                (Code, "```js\nx")
            ]
        );
    }

    #[test]
    fn a_message_indented_as_a_whole_is_no_code() {
        assert_eq!(read("    Fix it\n\n    It was wrong.\n"), [(Prose, "Fix it"), (Prose, "It was wrong.")]);
    }

    #[test]
    fn trailers_are_one_block_each() {
        assert_eq!(
            read("Fix it\n\nWhy: it broke\n\nRelease-Notes: none\nSigned-off-by: A <a@b.c>\n"),
            [
                (Prose, "Fix it"),
                (Prose, "Why: it broke"),
                (Trailer, "Release-Notes: none"),
                (Trailer, "Signed-off-by: A <a@b.c>")
            ]
        );
        assert_eq!(read("Fix-It: now"), [(Prose, "Fix-It: now")]);
    }
}
