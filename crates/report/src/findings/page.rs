//! A finding for a person: verdict, probability, and why.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::message::one_line;
use veridiff_core::finding::Finding;
use veridiff_detector::Verdict;
use veridiff_text::printable::printable;

/// A few lines about one text, with ANSI styles (strip them where they do not belong). What the input says is shown with its
/// control characters escaped.
pub fn page(finding: &Finding) -> String {
    let mut page = String::new();
    let (style, word) = match finding.verdict {
        Some(Verdict::Unsupported) => (Style::new().fg_color(Some(AnsiColor::Red.into())).bold(), "unsupported"),
        Some(Verdict::Abstain) => (Style::new().fg_color(Some(AnsiColor::Yellow.into())).bold(), "abstain"),
        Some(Verdict::Supported) => (Style::new().fg_color(Some(AnsiColor::Green.into())).bold(), "supported"),
        None => (Style::new().bold(), "failed"),
    };
    let _ = write!(page, "{style}{word:<11}{style:#}");
    if let Some(p) = finding.p_hallucination {
        let _ = write!(page, " {:>3.0}%", 100.0 * p);
    }
    let _ = writeln!(page, "  {}: {}", printable(&finding.id), printable(&one_line(&finding.text)));
    if let Some(error) = &finding.error {
        let _ = writeln!(page, "    {}", printable(error));
    }
    for fact in &finding.evidence.ungrounded {
        let _ = writeln!(page, "    {}", printable(&fact.says));
    }
    let evidence = &finding.evidence;
    if !evidence.surprising.is_empty() {
        let words: Vec<String> = evidence
            .surprising
            .iter()
            .map(|word| format!("`{}` ({:.1})", printable(&word.word), word.logprob))
            .collect();
        let _ = writeln!(page, "    surprising after this diff (ln p): {}", words.join(", "));
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
    if finding.verdict != Some(Verdict::Supported) && !evidence.features.is_empty() {
        let parts: Vec<String> =
            evidence.features.iter().take(3).map(|c| format!("{} {:+.2}", printable(&c.feature), c.log_odds)).collect();
        let _ = writeln!(page, "    log-odds moved most by: {}", parts.join(", "));
    }
    for note in &finding.notes {
        let _ = writeln!(page, "    note: {}", printable(note));
    }
    page
}
