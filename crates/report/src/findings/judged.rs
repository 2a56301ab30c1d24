//! A judge's words beside a finding, as data: whatever they hold drives no terminal and opens no page.

use veridiff_facts::judge_finding::JudgeFinding;
use veridiff_text::printable::printable;

/// Most characters of a judge's reasons that are shown.
const MOST: usize = 400;

/// What a judge said, a line each; nothing is indented.
pub fn judge_lines(judged: &JudgeFinding) -> Vec<String> {
    let name = printable(&judged.judge);
    let Some(score) = judged.score else {
        let why = judged.error.as_deref().unwrap_or("it was not asked");
        return vec![format!("judge {name}: no score ({})", printable(why))];
    };
    let kind = judged.kind.as_deref().filter(|kind| *kind != "none");
    let kind = kind.map_or_else(String::new, |kind| format!(", {}", printable(kind)));
    let mut lines = vec![format!("judge {name}: {score:.1} of 4{kind} (a model's opinion; it decides nothing)")];
    if let Some(explanation) = judged.explanation.as_deref().filter(|text| !text.trim().is_empty()) {
        let shown: String = explanation.chars().take(MOST).collect();
        let more = if shown.len() < explanation.len() { " …" } else { "" };
        lines.push(format!("  it says: \"{}\"{more}", printable(&shown)));
    }
    for quote in &judged.quotes {
        let place = match quote.diff_line {
            Some(line) => format!("line {line} of the diff"),
            None => "not in the diff: made up".to_owned(),
        };
        lines.push(format!("  it quotes: \"{}\" ({place})", printable(&quote.quote)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use veridiff_facts::judge_finding::JudgeQuote;

    use super::*;

    #[test]
    fn a_hostile_judge_is_data() {
        let judged = JudgeFinding {
            judge: "m".into(),
            score: Some(3.25),
            p: Some(0.9),
            kind: Some("unsupported".into()),
            explanation: Some("\u{1b}[2Jall\nis well\u{202e}".into()),
            quotes: vec![JudgeQuote::of("+a", "+a\n"), JudgeQuote::of("rm -rf", "+a\n")],
            error: None,
        };
        let lines = judge_lines(&judged);
        assert_eq!(lines[0], "judge m: 3.2 of 4, unsupported (a model's opinion; it decides nothing)");
        assert!(lines.iter().all(|line| !line.contains(['\u{1b}', '\n', '\u{202e}'])), "{lines:?}");
        assert_eq!(lines[2], "  it quotes: \"+a\" (line 1 of the diff)");
        assert!(lines[3].ends_with("(not in the diff: made up)"));
        let failed = JudgeFinding { score: None, error: Some("too_long".into()), ..judged };
        assert_eq!(judge_lines(&failed), ["judge m: no score (too_long)"]);
    }
}
