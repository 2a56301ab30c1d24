//! The text in one piece, with what speaks against it.

use anstyle::Style;

use super::{
    super::explanation::Explanation,
    Detail,
    screen::{Colours, ORANGE, Run, Screen, end_line, wrapped},
};
use crate::{findings::look, hidden::visible};
use veridiff_facts::rules::Ruling;
use veridiff_facts::verdict::Verdict;

/// Surprise, in nats, that has the strongest shade: a probability of 1 in 3,000.
const MOST_SURPRISE: f64 = 8.0;

/// The text in one piece, what speaks against it underlined, or shaded by surprise; the chosen tokens in brackets.
pub(super) fn text_view(page: &mut String, e: &Explanation, screen: Screen, detail: Detail) {
    let against = e.against();
    let about = match (screen.colours, detail) {
        (Colours::None, _) | (_, Detail::Brief) => "",
        _ => "stronger words were less expected, which says nothing of what is true",
    };
    screen.heading(page, "The text", about);
    let chosen = e.chosen.as_ref().map_or(&[][..], |chosen| &chosen.tokens);
    let (first, last) = (chosen.first(), chosen.last());
    let mut runs = Vec::new();
    for piece in e.shown_text() {
        let tokens = piece.positions.start.saturating_sub(e.n_prompt_tokens)
            ..piece.positions.end.saturating_sub(e.n_prompt_tokens);
        let surprise = -e.step.logprob.get(tokens.clone()).map_or(0.0, |of| of.iter().sum::<f64>());
        let is_chosen =
            first.is_some_and(|first| tokens.end > *first) && last.is_some_and(|last| tokens.start <= *last);
        if first.is_some_and(|first| tokens.contains(first)) {
            runs.push(Run::new("⟦", Style::new().bold()));
        }
        let style = match (detail, e.fact_at(&piece, &against)) {
            (Detail::Full, _) => screen.shade(&ORANGE, surprise / MOST_SURPRISE),
            (Detail::Brief, None) => Style::new(),
            (Detail::Brief, Some(fact)) if against[fact].ruling >= Ruling::Nowhere => {
                look(Verdict::Contradicted).underline()
            }
            (Detail::Brief, Some(_)) => look(Verdict::Abstain).underline(),
        };
        let style = if is_chosen { style.bold().underline() } else { style };
        let text = if piece.text.is_empty() { "⟨special⟩".to_owned() } else { lines_kept(piece.text) };
        runs.push(Run::new(&text, style));
        if last.is_some_and(|last| tokens.contains(last)) {
            runs.push(Run::new("⟧", Style::new().bold()));
        }
    }
    for row in wrapped(&runs, screen.width() - 2) {
        page.push_str("  ");
        row.iter().for_each(|run| screen.write(page, run.style, &run.text));
        end_line(page);
    }
    page.push('\n');
}

/// As [`visible`], but line feeds stay.
fn lines_kept(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}
