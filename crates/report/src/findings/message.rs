//! What every format says of a finding.

use veridiff_core::finding::Finding;

/// The name of the one rule that findings break.
pub(super) const RULE: &str = "unsupported-by-change";

/// One line that says what a finding is about.
pub(super) fn message(finding: &Finding) -> String {
    let probability = finding.p_hallucination.map_or("?".to_owned(), |p| format!("{:.0}%", 100.0 * p));
    // a detector of rare errors accuses below one half
    let how = if finding.p_hallucination.is_some_and(|p| p < 0.5) { "possibly" } else { "probably" };
    let mut text = format!("{how} not supported by the change ({probability}): {}", one_line(&finding.text));
    if let Some(first) = finding.evidence.ungrounded.first() {
        text.push_str(&format!("; {}", first.says));
    }
    text
}

/// Text with its white space collapsed, cut to what fits a line of a report.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 200;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
