//! What an annotator looks at: one sample, the open question, the definitions. Lines come with ANSI styles (strip them where
//! they do not belong); control characters of the input are shown as escapes.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

use crate::{Outcome, Question, RULES, Session, TREE};
use veridiff_text::{
    diff::{Diff, LineKind},
    printable::printable,
    sample::{Sample, Task},
};

/// How many columns tab stops are apart.
const TAB: usize = 4;

/// Columns left of a diff line's text: two numbers of five, the bar, and blanks.
const GUTTER: usize = 14;

/// The least width that is wrapped for; narrower terminals wrap by themselves.
const NARROWEST: usize = 40;

/// An answer that an annotator is shown: their own earlier one, or those to settle.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The annotator who gave it.
    pub who: String,
    /// What the annotator answered.
    pub outcome: Outcome,
    /// What the annotator noted beside it.
    pub note: Option<String>,
}

fn styled(out: &mut String, style: Style, text: &str) {
    let _ = write!(out, "{style}{text}{style:#}");
}

fn colour(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(colour.into()))
}

/// Tabs as blanks up to the next stop, everything else that is not printed as an escape.
fn shown(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for piece in text.split_inclusive('\t') {
        let plain = printable(piece.strip_suffix('\t').unwrap_or(piece));
        column += width(&plain);
        out.push_str(&plain);
        if piece.ends_with('\t') {
            let blanks = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        }
    }
    out
}

fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A line cut into pieces of at most `most` columns; one piece for no limit. With `at_blanks`, after a blank where there is one.
fn folded(line: &str, most: Option<usize>, at_blanks: bool) -> Vec<&str> {
    let Some(most) = most else { return vec![line] };
    let (mut pieces, mut rest) = (Vec::new(), line);
    loop {
        let mut columns = 0;
        let fits = rest.char_indices().find(|(_, c)| {
            columns += c.width().unwrap_or(0);
            columns > most
        });
        let Some((end, _)) = fits else {
            pieces.push(rest);
            return pieces;
        };
        let blank = rest[..end].rfind(' ').map(|at| at + 1).filter(|_| at_blanks);
        // at least one character, even if it is wider than the limit
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let (piece, after) = rest.split_at(blank.unwrap_or(end).max(first));
        pieces.push(piece);
        rest = after;
    }
}

/// The open sample of a session: a rule that says where one is, the diff with its gutter, the text, the reference if there is
/// one, and what was answered. Who wrote the text is not shown. `columns` is the terminal's width, `None` to wrap nothing.
pub fn sample_page(session: &Session, earlier: &[Earlier], columns: Option<usize>) -> String {
    let Some(sample) = session.sample() else { return String::new() };
    let columns = columns.map(|columns| columns.max(NARROWEST));
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let mut page = String::from("\n");
    let place = format!(
        "── {} of {} ── {} answered ── round {} ── {} ── {} ",
        session.place(),
        session.len(),
        session.n_answered(),
        session.round(),
        sample.task,
        printable(&blind(sample))
    );
    let rule = columns.map_or(0, |columns| columns.saturating_sub(width(&place)));
    styled(&mut page, bold, &(place + &"─".repeat(rule)));
    page.push('\n');
    diff_lines(&mut page, sample, columns);
    let text = match sample.task {
        Task::Review => "The comment",
        Task::Commit => "The message",
    };
    prose(&mut page, text, &sample.text, columns);
    if let Some(reference) = sample.reference() {
        prose(&mut page, "The reference, by a person", reference, columns);
    }
    page.push('\n');
    for Earlier { who, outcome, note } in earlier {
        let note = note.as_ref().map_or(String::new(), |note| format!(" ({})", printable(note)));
        styled(&mut page, dim, &format!("{}: {outcome}{note}", printable(who)));
        page.push('\n');
    }
    page
}

/// The sample's id without the generator's name, which ids often hold: who wrote the text must not sway the answer.
fn blind(sample: &Sample) -> String {
    match sample.generator.as_deref().filter(|generator| !generator.is_empty()) {
        Some(generator) => sample.id.replace(generator, "…"),
        None => sample.id.clone(),
    }
}

fn diff_lines(page: &mut String, sample: &Sample, columns: Option<usize>) {
    let dim = Style::new().dimmed();
    let most = columns.map(|columns| columns - GUTTER);
    let mut line = |numbers: [Option<usize>; 2], kind: LineKind, text: &str| {
        let style = match kind {
            LineKind::Added => colour(AnsiColor::Green),
            LineKind::Removed => colour(AnsiColor::Red),
            LineKind::Context => Style::new(),
            LineKind::Header => colour(AnsiColor::Cyan),
        };
        let bar = if kind.is_changed() { "┃" } else { "│" };
        let text = shown(text);
        for (index, piece) in folded(&text, most, false).into_iter().enumerate() {
            let number = |n: Option<usize>| n.filter(|_| index == 0).map_or(String::new(), |n| n.to_string());
            styled(page, dim, &format!("{:>5} {:>5} ", number(numbers[0]), number(numbers[1])));
            styled(page, style, &format!("{bar} {piece}"));
            page.push('\n');
        }
    };
    match Diff::parse(&sample.diff) {
        Ok(diff) => {
            for (index, of) in diff.lines().iter().enumerate() {
                line([of.old, of.new], of.kind, diff.line_text(index));
            }
        }
        // it is still to be judged: as it is, without numbers
        Err(error) => {
            for text in sample.diff.lines() {
                let kind = match text.as_bytes().first() {
                    Some(b'+') => LineKind::Added,
                    Some(b'-') => LineKind::Removed,
                    Some(b'@') => LineKind::Header,
                    _ => LineKind::Context,
                };
                line([None, None], kind, text);
            }
            let _ = writeln!(page, "note: {}", printable(&error.to_string()));
        }
    }
}

/// A text under a heading, indented by two.
fn prose(page: &mut String, heading: &str, text: &str, columns: Option<usize>) {
    page.push('\n');
    styled(page, Style::new().bold(), heading);
    page.push('\n');
    for line in text.lines() {
        for piece in folded(&shown(line), columns.map(|columns| columns - 2), true) {
            let _ = writeln!(page, "  {}", piece.trim_end());
        }
    }
}

/// The open question with its answers and the keys that always work.
pub fn question_lines(question: &Question, task: Task) -> String {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let mut lines = String::new();
    styled(&mut lines, bold, question.words.of(task));
    lines.push_str("\n ");
    for choice in question.choices {
        lines.push(' ');
        styled(&mut lines, colour(AnsiColor::Yellow).bold(), &choice.key.to_string());
        let _ = write!(lines, " {} ", choice.name);
    }
    lines.push('\n');
    styled(&mut lines, dim, "  b back  s skip  w write a note  r show again  ? definitions  q quit");
    lines.push('\n');
    lines
}

/// Every question with what its answers mean, and the rules for hard cases.
pub fn definitions(task: Task, columns: Option<usize>) -> String {
    let mut page = String::from("\n");
    let columns = columns.map(|columns| columns.max(NARROWEST));
    for question in &TREE {
        styled(&mut page, Style::new().bold(), question.words.of(task));
        page.push('\n');
        for choice in question.choices {
            let text = format!("{} {}: {}", choice.key, choice.name, choice.meaning.of(task));
            let mut indent = "  ";
            for piece in folded(&text, columns.map(|columns| columns - 6), true) {
                let _ = writeln!(page, "{indent}{}", piece.trim_end());
                indent = "      ";
            }
        }
    }
    styled(&mut page, Style::new().bold(), "Hard cases");
    page.push('\n');
    for rule in RULES {
        let _ = writeln!(page, "  {rule}");
    }
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_the_width_and_lose_nothing() {
        for (line, most) in
            [("", 5), ("ab cd ef gh", 4), ("日本語の文字列", 5), ("x\u{301}y", 1), ("🦀🦀", 1), ("no-blank-at-all", 3)]
        {
            for at_blanks in [false, true] {
                let pieces = folded(line, Some(most), at_blanks);
                assert_eq!(pieces.concat(), line);
                for piece in &pieces {
                    let one = piece.chars().count() == 1;
                    assert!(width(piece.trim_end()) <= most || one, "`{piece}` of `{line}` in {most}");
                }
            }
        }
        assert_eq!(folded("ab cd ef gh", Some(6), true), ["ab cd ", "ef gh"]);
        assert_eq!(folded("ab cd", None, true), ["ab cd"]);
    }

    #[test]
    fn nothing_in_a_sample_drives_the_terminal() {
        assert_eq!(shown("\ta\tb"), "    a   b");
        assert_eq!(shown("a\u{1b}[2Jb\r\u{202e}\u{7}"), "a\\u{1b}[2Jb\\r\\u{202e}\\u{7}");
        assert_eq!(blind(&Sample { generator: Some("knn".into()), ..Sample::new("py-1-knn", "+a", "t") }), "py-1-…");
        let mut sample = Sample::new("a\u{1b}[1m", "@@ -1 +1 @@\n-a\u{1b}[31m\n+\u{202e}b", "</script>\u{1b}]0;x\u{7}");
        sample.reference = Some("r\u{9b}1m".into());
        let session = Session::new("ann", 1, vec![&sample], &[]);
        let earlier = [Earlier { who: "x\u{1b}".into(), outcome: Outcome::Others, note: Some("n\u{1b}c".into()) }];
        let page = anstream::adapter::strip_str(&sample_page(&session, &earlier, Some(60))).to_string();
        let hostile = |c: char| c.is_control() && c != '\n' || c == '\u{202e}' || c == '\u{9b}';
        assert!(!page.contains(hostile), "{page:?}");
        for part in ["┃ -a\\u{1b}[31m", "</script>", "x\\u{1b}: others (n\\u{1b}c)", "r\\u{9b}1m"] {
            assert!(page.contains(part), "`{part}` is not in {page}");
        }
    }

    #[test]
    fn a_diff_that_cannot_be_parsed_is_shown_all_the_same() {
        let sample = Sample::new("a", "@@ -1,9 +1,9 @@\n-a\n+b", "t");
        let session = Session::new("ann", 1, vec![&sample], &[]);
        let page = anstream::adapter::strip_str(&sample_page(&session, &[], None)).to_string();
        assert!(page.contains("┃ +b") && page.contains("note: diff line 1: the hunk header promises"), "{page}");
    }
}
