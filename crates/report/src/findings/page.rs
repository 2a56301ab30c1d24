//! A finding for a person: the verdict, the words it is about underlined, and the lines of the change that say so.

use std::{fmt::Write, ops::Range};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::message::{objections, one_line};
use veridiff_core::{
    finding::{FactFinding, FactLine, FactsFinding, Finding},
    verdict::Verdict,
};
use veridiff_facts::rules::Ruling;
use veridiff_text::printable::printable;

/// Columns of a text's line that are shown around the words that are meant.
const WIDTH: usize = 110;

/// Lines of the change that are shown of a fact.
const MAX_LINES: usize = 2;

/// A few lines about one text, with ANSI styles (strip them where they do not belong). What the input says is shown with its
/// control characters escaped.
pub fn page(finding: &Finding) -> String {
    let mut page = String::new();
    let (style, word) = match finding.verdict {
        Some(verdict) => (look(verdict), verdict.words()),
        None => (Style::new().bold(), "failed"),
    };
    let _ = write!(page, "{style}{word:<16}{style:#} {}", printable(&finding.id));
    let mut facts: Vec<&FactFinding> = objections(finding).collect();
    facts.sort_by_key(|fact| (fact.byte_start, fact.rule));
    if facts.is_empty() {
        let _ = write!(page, ": {}", printable(&one_line(&finding.text)));
    }
    page.push('\n');
    if let Some(error) = &finding.error {
        let _ = writeln!(page, "    {}", printable(error));
    }
    page.push_str(&fact_lines(&finding.text, &facts, true));
    let evidence = &finding.evidence;
    let mut all = finding.statements.iter().flat_map(|statement| &statement.facts);
    // a reason that stands above as a fact is not said again
    let is_explained =
        all.any(|fact| fact.ruling == Ruling::Contradicted || finding.reason.as_ref() == Some(&fact.says));
    if let Some(reason) = finding.reason.as_ref().filter(|_| !is_explained) {
        let _ = writeln!(page, "    {}", printable(reason));
    }
    if let Some(p) = finding.p_detector.filter(|_| finding.verdict == Some(Verdict::Unsupported)) {
        let _ = writeln!(page, "    the detector finds it improbable: {:.0}% of such texts are unsupported", 100.0 * p);
    }
    for line in &evidence.lines {
        let mark = if line.changed { "┃" } else { "│" };
        let _ = writeln!(
            page,
            "    rests {:>3.0}% on line {:>3} {mark} {}",
            100.0 * line.share,
            line.diff_line,
            printable(&one_line(&line.text))
        );
    }
    if finding.verdict >= Some(Verdict::Abstain) {
        for note in &finding.notes {
            let _ = writeln!(page, "    note: {}", printable(note));
        }
    }
    page
}

/// What facts say of a text: the words that are meant underlined, in colour if that is wanted, the code and what it says, the lines of
/// the change.
pub(crate) fn fact_lines(text: &str, facts: &[&FactFinding], in_colour: bool) -> String {
    let mut page = String::new();
    for fact in facts {
        let style = match fact.ruling >= Ruling::Nowhere {
            _ if !in_colour => Style::new(),
            true => look(Verdict::Contradicted),
            false => look(Verdict::Abstain),
        };
        let (line, under) = underlined(text, fact.byte_start..fact.byte_end);
        let _ = writeln!(page, "    {line}");
        let _ = writeln!(page, "    {style}{under}{style:#} {}: {}", fact.rule, printable(&fact.says));
        for line in fact.lines.iter().take(MAX_LINES) {
            let _ = writeln!(page, "      {}: {}", place_of(line), printable(&one_line(&line.text)));
        }
    }
    page
}

/// What stands behind the verdict of the facts alone.
pub(crate) fn about(facts: &FactsFinding) -> &str {
    match facts.verdict {
        Verdict::Contradicted | Verdict::Unsupported => "by the change itself",
        Verdict::Clear => "from the change itself, which is no proof",
        Verdict::NothingToCheck => "that could be true or false of the change",
        Verdict::Abstain => facts.reason.as_deref().unwrap_or("from the change itself"),
    }
}

/// Where a line of the change is, for a person.
pub(crate) fn place_of(line: &FactLine) -> String {
    line.place.as_ref().map_or_else(
        || format!("line {} of the diff", line.diff_line),
        |place| format!("{}:{}", printable(&place.file), place.line),
    )
}

/// How a verdict looks on a terminal.
pub(crate) fn look(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Contradicted | Verdict::Unsupported => AnsiColor::Red,
        Verdict::Abstain => AnsiColor::Yellow,
        Verdict::Clear => AnsiColor::Green,
        Verdict::NothingToCheck => return Style::new().dimmed(),
    };
    Style::new().fg_color(Some(colour.into())).bold()
}

/// The line of a text in which some of its bytes stand, cut to a width, and a line that underlines them.
fn underlined(text: &str, span: Range<usize>) -> (String, String) {
    let text_before = text.get(..span.start).unwrap_or("");
    let start = text_before.rfind('\n').map_or(0, |at| at + 1);
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let shown = printable(text[start..end].trim_end()).to_string();
    let lead = printable(text.get(start..span.start).unwrap_or("")).to_string();
    let meant = printable(text.get(span.start..span.end.min(end)).unwrap_or("")).to_string();
    // far along a long line, what is before is left out
    let skipped = if lead.width() + meant.width() > WIDTH { lead.chars().count().saturating_sub(20) } else { 0 };
    let cut = |text: &str| -> String { text.chars().skip(skipped).take(WIDTH).collect() };
    let (mark, pad) = if skipped > 0 { ("…", 1) } else { ("", 0) };
    let lead_width = lead.chars().skip(skipped).collect::<String>().width() + pad;
    let width = meant.width().clamp(1, WIDTH.saturating_sub(lead_width).max(1));
    (format!("{mark}{}", cut(&shown)), format!("{}{}", " ".repeat(lead_width), "‾".repeat(width)))
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
