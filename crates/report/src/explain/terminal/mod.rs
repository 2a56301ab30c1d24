//! An explanation as a page for the terminal.
//!
//! Red and yellow are what speaks against the text. Where it is asked for, attribution is blue and surprise orange, from greyish to
//! strong, on grounds of one darkness that white letters can be read on: strong stands out on a dark terminal and on a light one.
//! Nothing depends on colour alone: lines have bars, and without colours the tokens that got most are marked from below.

mod diff;
mod screen;
mod tables;
mod text;

pub use screen::{Colours, Screen};

use anstyle::Style;

use super::explanation::{Basis, Explanation};
use crate::{
    findings::{Odds, fact_lines, look, meaning},
    hidden::visible,
};
use diff::diff_view;
use screen::Run;
use tables::{feature_table, token_table};
use text::text_view;
use veridiff_text::printable::printable;

/// How much a page for the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The verdict, what speaks against the text, the text and the diff; of chosen tokens what they rest on.
    Brief,
    /// What the model read too: surprise and attribution of every token, and the features.
    Full,
}

/// The page, with ANSI styles if the screen has colours. What hides or drives in the input is shown as escapes. Where tokens are
/// chosen, the shares and shades of the diff are of what these rest on.
pub fn terminal_page(explanation: &Explanation, screen: Screen, detail: Detail) -> String {
    let mut page = String::new();
    head(&mut page, explanation, screen, detail);
    text_view(&mut page, explanation, screen, detail);
    diff_view(&mut page, explanation, screen, detail);
    if detail == Detail::Full || explanation.chosen.is_some() {
        token_table(&mut page, explanation, screen);
    }
    if detail == Detail::Full {
        feature_table(&mut page, explanation, screen);
    } else {
        let chosen = if explanation.chosen.is_some() { "" } else { "--phrase WORDS says which lines words rest on, " };
        screen.heading(&mut page, "", &format!("{chosen}--full what the model read, with every feature"));
    }
    page
}

/// What is said of the text, of which sample, what it rests on.
fn head(page: &mut String, e: &Explanation, screen: Screen, detail: Detail) {
    finding_view(page, e, screen);
    let scorer = (detail == Detail::Full).then_some(e.scorer.as_str());
    let about = [e.id.as_deref(), scorer, Some(&e.sample.task), e.sample.generator.as_deref()];
    let about: Vec<String> = about.into_iter().flatten().map(|part| visible(part).into_owned()).collect();
    screen.heading(page, "", &about.join(" · "));
    if let (Some(sources), Detail::Full) = (&e.sources, detail) {
        screen.heading(page, "The text rests on", &parts(sources));
    }
    if let Some(chosen) = &e.chosen {
        screen.heading(page, &chosen_name(chosen), &parts(chosen));
    }
    for note in e.all_notes() {
        screen.heading(page, "note", &visible(note));
    }
    page.push('\n');
}

/// The finding, as `check` shows it.
fn finding_view(page: &mut String, e: &Explanation, screen: Screen) {
    let finding = &e.finding;
    if let Some(error) = &finding.error {
        screen.heading(page, "no verdict", &visible(error));
    }
    let Some(verdict) = finding.verdict else { return };
    let why = format!(": {}", printable(&meaning(verdict, finding.reason.as_deref(), &finding.statements)));
    screen.rows(page, &[Run::new(verdict.words(), look(verdict)), Run::new(&why, Style::new())]);
    page.push_str(&fact_lines(e.text(), &e.against(), true, screen.colours != Colours::None, screen.width()));
    let odds = Odds::new(finding.p_detector, finding.threshold);
    if let Some(odds) = odds.and_then(|odds| odds.under(verdict)) {
        screen.heading(page, "", odds.says());
    }
    for likelier in &finding.evidence.likelier {
        screen.heading(page, "", &visible(&likelier.says()));
    }
}

fn chosen_name(chosen: &Basis) -> String {
    let (first, last) = (chosen.tokens.first().map_or(0, |t| t + 1), chosen.tokens.last().map_or(0, |t| t + 1));
    let text = visible(&chosen.text);
    if first == last {
        format!("Token {first}, `{text}`, rests on")
    } else {
        format!("Tokens {first} to {last}, `{text}`, rest on")
    }
}

fn parts(sources: &Basis) -> String {
    let parts = &sources.parts;
    [
        ("changed lines", parts.changed),
        ("other lines of the diff", parts.unchanged_diff),
        ("the prompt around it", parts.prompt),
        ("earlier words of the text", parts.text),
    ]
    .map(|(name, share)| format!("{name} {:.0}%", share * 100.0))
    .join(", ")
}
