//! A finding for a person: the verdict, the words it is about underlined, and beside them the lines of the change that say so.

use std::{fmt::Write, ops::Range};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::{
    card::{Odds, meaning_of},
    executed::execution_lines,
    judged::judge_lines,
    message::{objections, one_line, open},
};
use crate::columns::{elided, fitting};
use veridiff_facts::rules::Ruling;
use veridiff_facts::{
    finding::{FactFinding, FactLine, Finding},
    verdict::Verdict,
};
use veridiff_text::printable::printable;

/// Columns of a page of findings, which goes to logs too.
const WIDTH: usize = 130;

/// Columns that a place takes at most beside the line that it is of.
const MAX_PLACE: usize = 32;

/// What stands before the lines under a verdict.
const INDENT: &str = "  ";

/// A few lines about one text, with ANSI styles (strip them where they do not belong), under its name if it `is_named`: a single text
/// needs none. What the input says is shown with its control characters escaped.
pub fn page(finding: &Finding, is_named: bool) -> String {
    let mut page = String::new();
    let (style, word) = match finding.verdict {
        Some(verdict) => (look(verdict), verdict.words()),
        None => (Style::new().bold(), "failed"),
    };
    let mut facts: Vec<&FactFinding> = objections(finding).collect();
    facts.sort_by_key(|fact| (fact.byte_start, fact.rule));
    let name = if is_named { format!("  {}", printable(&finding.id)) } else { String::new() };
    let _ = write!(page, "{style}{word}{style:#}{name}");
    let why = match (finding.verdict, &finding.error) {
        (Some(verdict), _) => meaning_of(finding, verdict),
        (None, error) => error.as_deref().unwrap_or("").into(),
    };
    let _ = writeln!(page, ": {}", printable(&why));
    if facts.is_empty() {
        let dim = Style::new().dimmed();
        // of several statements, the one that cannot be told
        match open(finding).filter(|_| finding.statements.len() > 1) {
            Some(statement) => {
                let room = WIDTH - INDENT.len() - "text │ ".width();
                let span = statement.byte_start..statement.byte_end;
                let Underlined { line, lead, width } = Underlined::new(&finding.text, span, room);
                let look = look(Verdict::Abstain);
                let _ = writeln!(page, "{INDENT}{dim}text │{dim:#} {line}");
                let _ = writeln!(
                    page,
                    "{INDENT}{dim}     │{dim:#} {}{look}{}{look:#}",
                    " ".repeat(lead),
                    "^".repeat(width)
                );
            }
            None => {
                let _ = writeln!(page, "{INDENT}{dim}text │{dim:#} {}", printable(&one_line(&finding.text)));
            }
        }
    }
    let accuses = finding.verdict >= Some(Verdict::Unsupported);
    page.push_str(&fact_lines(&finding.text, &facts, accuses, true, WIDTH));
    let odds = Odds::new(finding.p_detector, finding.threshold).zip(finding.verdict);
    if let Some(odds) = odds.and_then(|(odds, verdict)| odds.under(verdict)) {
        let _ = writeln!(page, "{INDENT}{}", odds.says());
    }
    for likelier in &finding.evidence.likelier {
        let _ = writeln!(page, "{INDENT}{}", printable(&one_line(&likelier.says())));
    }
    for line in &finding.evidence.lines {
        let mark = if line.changed { "┃" } else { "│" };
        let _ = writeln!(
            page,
            "{INDENT}rests {:>3.0}% on line {:>3} of the diff {mark} {}",
            100.0 * line.share,
            line.diff_line,
            printable(&one_line(&line.text))
        );
    }
    finding
        .evidence
        .execution
        .iter()
        .flat_map(execution_lines)
        .for_each(|line| page.push_str(&format!("{INDENT}{line}\n")));
    finding.judge.iter().flat_map(judge_lines).for_each(|line| page.push_str(&format!("{INDENT}{line}\n")));
    // beside many others a text without objection is one line; alone, it is told how far the reading went
    let least = if is_named { Verdict::Abstain } else { Verdict::Clear };
    if finding.verdict >= Some(least) {
        for note in &finding.notes {
            let _ = writeln!(page, "{INDENT}note: {}", printable(note));
        }
    }
    page
}

/// What facts say of a text, in at most `width` columns: the words that are meant underlined, in colour if that is wanted, the code and
/// what it says, the lines of the change with their places beside them. Where nothing `accuses` any more, facts are told as what is open.
pub(crate) fn fact_lines(text: &str, facts: &[&FactFinding], accuses: bool, in_colour: bool, width: usize) -> String {
    let style = |style: Style| if in_colour { style } else { Style::new() };
    let dim = style(Style::new().dimmed());
    let places = facts.iter().flat_map(|fact| telling(&fact.lines)).map(place_of);
    let most = MAX_PLACE.min(width / 3);
    let gutter = places.map(|place| place.width()).max().unwrap_or(0).clamp("text".len(), most);
    let room = width.saturating_sub(INDENT.len() + gutter + " │ ".width()).max(10);
    let mut page = String::new();
    let mut row = |name: &str, line: &str| {
        let name = format!("{}{name}", " ".repeat(gutter.saturating_sub(name.width())));
        let _ = writeln!(page, "{INDENT}{dim}{name} │{dim:#} {line}");
    };
    let mut last = String::new();
    for fact in facts {
        let accuses = accuses && fact.ruling >= Ruling::Nowhere;
        let look = style(look(if accuses { Verdict::Contradicted } else { Verdict::Abstain }));
        let Underlined { line, lead, width } = Underlined::new(text, fact.byte_start..fact.byte_end, room);
        // several facts of one line stand below it
        if line != last {
            row("text", &line);
            last = line;
        }
        let (blanks, marks) = (" ".repeat(lead), "^".repeat(width));
        let says = format!("{}: {}", fact.rule, printable(&fact.says));
        if lead + width + 1 + says.width() <= room {
            row("", &format!("{blanks}{look}{marks} {says}{look:#}"));
        } else {
            row("", &format!("{blanks}{look}{marks}{look:#}"));
            for part in wrapped(&says, room) {
                row("", &format!("{look}{part}{look:#}"));
            }
        }
        for line in telling(&fact.lines) {
            let side = match line.text.as_bytes().first() {
                Some(b'+') => style(Style::new().fg_color(Some(AnsiColor::Green.into()))),
                Some(b'-') => style(Style::new().fg_color(Some(AnsiColor::Red.into()))),
                _ => Style::new(),
            };
            let place = place_of(line);
            let tail: String = place.chars().rev().take(gutter.saturating_sub(1)).collect();
            let place =
                if place.width() > gutter { format!("…{}", tail.chars().rev().collect::<String>()) } else { place };
            let code = elided(&printable(&code_of(line)), room);
            row(&place, &format!("{side}{code}{side:#}"));
        }
    }
    page
}

/// The lines of a fact that say most beside each other: the first, or where both sides have some, the two of them that stand nearest.
fn telling(lines: &[FactLine]) -> Vec<&FactLine> {
    let of_side = |marker: char| lines.iter().filter(move |line| line.text.starts_with(marker));
    let pairs = of_side('-').flat_map(|old| of_side('+').map(move |new| [old, new]));
    let nearest = pairs.min_by_key(|[old, new]| old.diff_line.abs_diff(new.diff_line));
    nearest.map_or_else(|| lines.iter().take(2).collect(), Vec::from)
}

/// A line of code behind its marker, without the blanks before it.
pub(crate) fn code_of(line: &FactLine) -> String {
    match line.text.chars().next() {
        Some(marker @ ('+' | '-' | ' ')) => format!("{marker} {}", line.text[1..].trim_start()),
        _ => line.text.clone(),
    }
}

/// Lines of at most `room` columns, broken between words where there is one.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        for (index, part) in pieces(word, room).into_iter().enumerate() {
            let last = lines.last_mut().expect("there is a line");
            if last.is_empty() {
                last.push_str(part);
            } else if index == 0 && last.width() + 1 + part.width() <= room {
                last.push(' ');
                last.push_str(part);
            } else {
                lines.push(part.to_owned());
            }
        }
    }
    lines
}

/// A word in pieces of at most `room` columns.
fn pieces(word: &str, room: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), word);
    while rest.width() > room {
        let head = fitting(rest, room);
        let head = if head.is_empty() { rest } else { head };
        pieces.push(head);
        rest = &rest[head.len()..];
    }
    pieces.push(rest);
    pieces
}

/// Where a line of the change is, for a person.
pub(crate) fn place_of(line: &FactLine) -> String {
    let file = line.place.as_ref().map(|place| printable(&place.file).to_string());
    match (file, line.number) {
        (Some(file), Some(number)) => format!("{file}:{number}"),
        (None, Some(number)) => format!("line {number}"),
        (_, None) => format!("line {} of the diff", line.diff_line),
    }
}

/// How a verdict looks on a terminal, in its own colours, which its ground goes with.
pub(crate) fn look(verdict: Verdict) -> Style {
    let coloured = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match verdict {
        Verdict::Contradicted | Verdict::Unsupported => coloured(AnsiColor::Red).bold(),
        // bold would make it a bright yellow, which no white ground shows
        Verdict::Abstain => coloured(AnsiColor::Yellow),
        Verdict::Clear => coloured(AnsiColor::Green).bold(),
        Verdict::NothingToCheck => Style::new().dimmed(),
    }
}

/// The line of a text in which some of its bytes stand, cut to a width, and where a line below it underlines them.
struct Underlined {
    /// The line, as much as there is room for.
    line: String,
    /// Columns before the words that are meant.
    lead: usize,
    /// Columns of these.
    width: usize,
}

impl Underlined {
    fn new(text: &str, span: Range<usize>, room: usize) -> Self {
        let text_before = text.get(..span.start).unwrap_or("");
        let start = text_before.rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let before = printable(text.get(start..span.start).unwrap_or("")).to_string();
        let meant = printable(text.get(span.start..span.end.min(end)).unwrap_or("")).to_string();
        let behind = printable(text.get(span.end.min(end)..end).unwrap_or("").trim_end()).to_string();
        // of a long line, what is before the words is shortened first
        let too_much = (before.width() + meant.width()).saturating_sub(room);
        let before = match too_much {
            0 => before,
            _ => {
                let keep = before.width().saturating_sub(too_much + 1);
                let mut kept = before.as_str();
                while kept.width() > keep {
                    kept = &kept[kept.chars().next().map_or(0, char::len_utf8)..];
                }
                format!("…{kept}")
            }
        };
        let lead = before.width();
        let width = meant.width().clamp(1, room.saturating_sub(lead).max(1));
        Underlined { line: elided(&format!("{before}{meant}{behind}"), room), lead, width }
    }
}

/// One line that counts verdicts: `12 checked: 2 contradicted, 1 unsupported, …`.
pub fn summary(findings: &[Finding]) -> String {
    let mut parts = Vec::new();
    for verdict in
        [Verdict::Contradicted, Verdict::Unsupported, Verdict::Abstain, Verdict::Clear, Verdict::NothingToCheck]
    {
        let n = findings.iter().filter(|finding| finding.verdict == Some(verdict)).count();
        if n > 0 {
            parts.push(format!("{n} {}", verdict.words()));
        }
    }
    let n_failed = findings.iter().filter(|finding| finding.verdict.is_none()).count();
    if n_failed > 0 {
        parts.push(format!("{n_failed} failed"));
    }
    format!("{} checked: {}", findings.len(), parts.join(", "))
}
