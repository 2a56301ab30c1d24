//! One sample, token by token: as a page for the terminal and as JSON.

use std::fmt::Write;

use anstyle::{Ansi256Color, AnsiColor, Style};
use serde::Serialize;

use super::tables::{Grid, printable};
use crate::{aggregate::Aggregates, diff::LineKind, scorer::Measurement, tokens::Segment};

/// Everything measured on one sample, as documented JSON.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The sample's id, or null if it has none.
    pub id: Option<String>,
    /// The scorer's name.
    pub scorer: String,
    /// N, tokens of the prompt.
    pub n_prompt_tokens: usize,
    /// T, tokens of the text.
    pub n_response_tokens: usize,
    /// Diff tokens dropped to fit the token budget.
    pub n_cut_tokens: usize,
    /// How prompt and text meet: `clean` or `merged`.
    pub boundary: &'static str,
    /// The N + T token ids.
    pub token_ids: Vec<u32>,
    /// The same tokens with their place and kind.
    pub tokens: Vec<Token>,
    /// Scores of the T text tokens.
    pub step: Step,
    /// `[N + T][T]`: row = position, column = text token; null where the position is not visible to it. Null as a whole
    /// without attribution.
    pub attribution: Option<Vec<Vec<Option<f64>>>>,
    /// The row of an encoder-decoder's start token, which has a share of every column: T entries. Absent for other models.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attribution_start: Vec<f64>,
    /// Means over the text's tokens; null without attribution.
    pub aggregates: Option<AggregatesJson>,
    /// Milliseconds in the model, loading and text handling left out.
    pub timing_ms: Timing,
}

/// One token.
#[derive(Debug, Serialize)]
pub struct Token {
    /// Its bytes, as text (a token that splits a character has all of it).
    pub text: String,
    /// First byte in prompt + text.
    pub byte_start: usize,
    /// One past the last byte.
    pub byte_end: usize,
    /// `special`, `instruction`, `diff` or `response`.
    pub segment: &'static str,
    /// On an added or removed line.
    pub changed: bool,
    /// 0-based line of the diff; null outside it.
    pub diff_line: Option<usize>,
}

/// Scores of the text's tokens, one entry each.
#[derive(Debug, Serialize)]
pub struct Step {
    /// ln p, nats.
    pub logprob: Vec<f64>,
    /// Raw logit.
    pub logit: Vec<f64>,
    /// 0 to 1.
    pub probability: Vec<f64>,
    /// Nats.
    pub entropy: Vec<f64>,
}

/// The aggregates under their feature names.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "documented once, in the registry of features")]
pub struct AggregatesJson {
    pub attr_source: f64,
    pub attr_target: Option<f64>,
    pub attr_changed: f64,
    pub attr_unchanged: f64,
    pub attr_source_diff: f64,
    pub attr_unchanged_diff: f64,
}

impl From<Aggregates> for AggregatesJson {
    fn from(a: Aggregates) -> Self {
        AggregatesJson {
            attr_source: a.source,
            attr_target: a.target,
            attr_changed: a.changed,
            attr_unchanged: a.unchanged,
            attr_source_diff: a.source_diff,
            attr_unchanged_diff: a.unchanged_diff,
        }
    }
}

/// Where the time went.
#[derive(Debug, Serialize)]
pub struct Timing {
    /// Forward pass, scores and attribution.
    pub total: f64,
}

impl Explanation {
    /// Gathers a measurement.
    pub fn new(id: Option<&str>, scorer: &str, m: &Measurement) -> Self {
        let e = &m.encoding;
        let tokens = (0..e.ids.len()).map(|i| Token {
            text: e.token_text(i).to_owned(),
            byte_start: e.spans[i].start,
            byte_end: e.spans[i].end,
            segment: match e.segments[i] {
                Segment::Special => "special",
                Segment::Instruction => "instruction",
                Segment::Diff => "diff",
                Segment::Response => "response",
            },
            changed: e.changed[i],
            diff_line: e.diff_lines[i],
        });
        let attribution = m.matrix.as_ref().map(|matrix| {
            (0..e.ids.len()).map(|i| matrix.columns.iter().map(|column| column.get(i).copied()).collect()).collect()
        });
        Explanation {
            id: id.map(str::to_owned),
            scorer: scorer.to_owned(),
            n_prompt_tokens: e.n_prompt,
            n_response_tokens: e.n_response(),
            n_cut_tokens: e.n_cut,
            boundary: e.boundary.name(),
            token_ids: e.ids.clone(),
            tokens: tokens.collect(),
            step: Step {
                logprob: m.scores.logprob.clone(),
                logit: m.scores.logit.clone(),
                probability: m.scores.probability.clone(),
                entropy: m.scores.entropy.clone(),
            },
            attribution,
            attribution_start: m.matrix.as_ref().map_or(Vec::new(), |matrix| matrix.start.clone()),
            aggregates: m.aggregates.map(AggregatesJson::from),
            timing_ms: Timing { total: m.elapsed.as_secs_f64() * 1e3 },
        }
    }
}

/// Background colours from no attribution to most, light to dark so that they also read in grey.
const HEAT: [u8; 6] = [230, 229, 222, 215, 209, 203];

fn heat(share: f64) -> Style {
    if share <= 0.0 {
        return Style::new();
    }
    let level = ((share * HEAT.len() as f64) as usize).min(HEAT.len() - 1);
    Style::new().bg_color(Some(Ansi256Color(HEAT[level]).into())).fg_color(Some(Ansi256Color(16).into()))
}

fn styled(out: &mut String, style: Style, text: &str) {
    let _ = write!(out, "{style}{text}{style:#}");
}

/// A page for the terminal, with ANSI styles (strip them where they do not belong). Control characters of the input are shown
/// as escapes.
pub fn terminal_page(m: &Measurement) -> String {
    let mut page = String::new();
    diff_view(&mut page, m);
    token_table(&mut page, m);
    page
}

/// How much of the text's attribution each position got: the mean over the text's tokens.
fn received(m: &Measurement) -> Vec<f64> {
    let mut received = vec![0.0; m.encoding.ids.len()];
    if let Some(matrix) = &m.matrix {
        for column in &matrix.columns {
            for (sum, value) in received.iter_mut().zip(column) {
                *sum += value.abs() / matrix.columns.len() as f64;
            }
        }
    }
    received
}

/// The diff with its gutter: share of attribution per line, line numbers, and each token shaded by its own.
fn diff_view(page: &mut String, m: &Measurement) {
    let e = &m.encoding;
    let received = received(m);
    let total: f64 = received.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let largest = (0..e.n_prompt).filter(|&i| e.segments[i] == Segment::Diff).map(|i| received[i]).fold(0.0, f64::max);
    // a template may take the lines apart: the tokens then say where their line is
    let is_whole = e.text.get(e.diff.clone()).is_some_and(|diff| m.diff.text().starts_with(diff));
    let dim = Style::new().dimmed();
    styled(page, Style::new().bold(), "The diff");
    let about =
        if m.matrix.is_some() { ": share of the text's attribution per line; darker tokens got more" } else { "" };
    let _ = writeln!(page, "{about}");
    for (index, line) in m.diff.lines().iter().enumerate() {
        let tokens: Vec<usize> = (0..e.n_prompt).filter(|&i| e.diff_lines[i] == Some(index)).collect();
        let share: f64 = tokens.iter().map(|&i| received[i]).sum::<f64>() / total;
        let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
        let marker = match line.kind {
            LineKind::Added => Style::new().fg_color(Some(AnsiColor::Green.into())).bold(),
            LineKind::Removed => Style::new().fg_color(Some(AnsiColor::Red.into())).bold(),
            LineKind::Context => Style::new(),
            LineKind::Header => Style::new().fg_color(Some(AnsiColor::Cyan.into())),
        };
        let bar = if line.kind.is_changed() { "┃" } else { "│" };
        let share = if m.matrix.is_some() { format!("{:5.1}%", share * 100.0) } else { " ".repeat(6) };
        styled(page, dim, &format!("{share} {:>4} {:>4} ", number(line.old), number(line.new)));
        styled(page, marker, bar);
        page.push(' ');
        // tokens may overlap or straddle lines: only the part inside the line, after what is already written
        let (mut at, end) = if is_whole {
            (e.diff.start + line.span.start, e.diff.start + line.span.end)
        } else {
            let spans = || tokens.iter().map(|&i| &e.spans[i]);
            (spans().map(|s| s.start).min().unwrap_or(0), spans().map(|s| s.end).max().unwrap_or(0))
        };
        for i in tokens {
            let (from, to) = (e.spans[i].start.max(at), e.spans[i].end.min(end));
            if let Some(text) = (from < to).then(|| e.text.get(from..to)).flatten() {
                let style = if largest > 0.0 { heat(received[i] / largest) } else { marker };
                styled(page, style, &printable(text));
                at = to;
            }
        }
        let cut = end.min(e.diff.end).max(at);
        if let Some(rest) = e.text.get(at..cut) {
            styled(page, marker, &printable(rest));
        }
        page.push('\n');
    }
    if e.n_cut > 0 {
        let _ = writeln!(page, "       … {} tokens of the diff were cut to fit", e.n_cut);
    }
    page.push('\n');
}

/// A row per token of the text: how surprising it was, and where its attribution flows from.
fn token_table(page: &mut String, m: &Measurement) {
    let e = &m.encoding;
    let heads = ["token", "p", "ln p", "entropy", "changed", "unchanged", "text", "rests most on"];
    let mut grid =
        Grid::new("The text, token by token (largest attribution to a changed, unchanged, earlier text token)", &heads);
    for t in 0..e.n_response() {
        let mut cells = vec![
            quoted(e.token_text(e.n_prompt + t)),
            format!("{:.3}", m.scores.probability[t]),
            format!("{:.2}", m.scores.logprob[t]),
            format!("{:.2}", m.scores.entropy[t]),
        ];
        if let Some(matrix) = &m.matrix {
            let column = &matrix.columns[t];
            let largest = |keep: &dyn Fn(usize) -> bool| {
                column.iter().enumerate().filter(|&(i, _)| keep(i)).max_by(|a, b| a.1.total_cmp(b.1))
            };
            let cell = |found: Option<(usize, &f64)>| found.map_or("-".to_owned(), |(_, v)| format!("{v:.3}"));
            cells.push(cell(largest(&|i| i < e.n_prompt && e.changed[i])));
            cells.push(cell(largest(&|i| i < e.n_prompt && !e.changed[i])));
            cells.push(cell(largest(&|i| i >= e.n_prompt)));
            let in_diff = largest(&|i| e.segments[i] == Segment::Diff);
            cells.push(in_diff.map_or(String::new(), |(i, _)| {
                let line = e.diff_lines[i].map_or(String::new(), |l| format!(" (line {})", l + 1));
                format!("{}{line}", quoted(e.token_text(i)))
            }));
        }
        grid.push(cells);
    }
    page.push_str(&grid.to_text());
}

fn quoted(text: &str) -> String {
    format!("`{}`", printable(text))
}
