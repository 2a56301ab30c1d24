//! What the model read, in tables: the tokens of the text, and the features.

use unicode_width::UnicodeWidthStr;

use super::{
    super::{
        explanation::{DiffLine, Explanation, TokenSegment},
        features::FeatureValue,
    },
    screen::Screen,
};
use crate::{
    columns::elided,
    grid::{Grid, number},
    hidden::visible,
    names::short,
};
use veridiff_text::printable::printable;

/// A table that leaves out columns, those of `spare` in turn, until it is as narrow as the screen.
fn table(screen: Screen, heads: &[&str], rows: &[Vec<String>], spare: &[&str]) -> String {
    let mut left_out = 0;
    loop {
        let keep: Vec<usize> = (0..heads.len()).filter(|&i| !spare[..left_out].contains(&heads[i])).collect();
        let mut grid = Grid::new("", &keep.iter().map(|&i| heads[i]).collect::<Vec<_>>());
        rows.iter().for_each(|row| grid.push(keep.iter().map(|&i| row.get(i).cloned().unwrap_or_default()).collect()));
        let text = grid.to_text();
        let text = text.strip_prefix('\n').unwrap_or(&text);
        let fits = text.lines().all(|line| line.width() <= screen.width());
        if fits || left_out == spare.len() {
            return text.to_owned();
        }
        left_out += 1;
    }
}

/// A row per token of the text: how surprising it was, and where its attribution flows from.
pub(super) fn token_table(page: &mut String, e: &Explanation, screen: Screen) {
    let tokens: Vec<usize> = match &e.chosen {
        Some(chosen) => chosen.tokens.clone(),
        None => (0..e.n_response_tokens).collect(),
    };
    let columns = "its largest attribution to a changed, another (unchanged), an earlier text token";
    screen.heading(page, "The text, token by token", if e.attribution.is_some() { columns } else { "" });
    let room = (screen.width() / 4).clamp(10, 24);
    let rows: Vec<Vec<String>> = tokens.iter().map(|&t| token_row(e, t, room)).collect();
    let all = ["token", "no.", "p", "ln p", "entropy", "changed", "unchanged", "text", "rests most on"];
    let heads = if e.attribution.is_some() { &all[..] } else { &all[..5] };
    page.push_str(&table(screen, heads, &rows, &["text", "unchanged", "p", "changed", "entropy", "no."]));
    page.push('\n');
}

fn token_row(e: &Explanation, t: usize, room: usize) -> Vec<String> {
    let name = |position: usize| quoted(&e.tokens[position].text, room);
    let mut cells = vec![
        name(e.n_prompt_tokens + t),
        (t + 1).to_string(),
        format!("{:.3}", e.step.probability[t]),
        format!("{:.2}", e.step.logprob[t]),
        format!("{:.2}", e.step.entropy[t]),
    ];
    let Some(rows) = &e.attribution else { return cells };
    let largest = |keep: &dyn Fn(usize) -> bool| {
        let of = rows.iter().enumerate().filter(|&(i, _)| keep(i)).filter_map(|(i, row)| Some((i, row[t]?)));
        of.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let cell = |found: Option<(usize, f64)>| found.map_or("-".to_owned(), |(_, value)| format!("{value:.3}"));
    let n = e.n_prompt_tokens;
    cells.push(cell(largest(&|i| i < n && e.tokens[i].changed)));
    cells.push(cell(largest(&|i| i < n && !e.tokens[i].changed)));
    cells.push(cell(largest(&|i| i >= n)));
    let in_diff = largest(&|i| e.tokens[i].segment == TokenSegment::Diff);
    cells.push(in_diff.map_or(String::new(), |(i, _)| {
        let line = e.tokens[i].diff_line.map_or(String::new(), |line| format!(" ({})", line_name(e, line)));
        format!("{}{line}", name(i))
    }));
    cells
}

/// A line as the gutter beside the diff counts it.
fn line_name(e: &Explanation, index: usize) -> String {
    match e.lines.get(index) {
        Some(DiffLine { new: Some(new), .. }) => format!("line {new}"),
        Some(DiffLine { old: Some(old), .. }) => format!("old line {old}"),
        _ => format!("row {} of the diff", index + 1),
    }
}

/// A token in backticks, of at most `room` columns.
fn quoted(text: &str, room: usize) -> String {
    format!("`{}`", elided(&visible(text), room.saturating_sub(2)))
}

/// The features that matter here, with where each falls and what it says to the detector.
pub(super) fn feature_table(page: &mut String, e: &Explanation, screen: Screen) {
    let about = match &e.reference {
        Some(reference) => format!("pct. is the percentile among {} {}", reference.n_rows, printable(&reference.rows)),
        None => String::new(),
    };
    screen.heading(page, "Features", &about);
    let mut heads = vec!["feature", "value"];
    if e.reference.is_some() {
        heads.extend(["pct.", "low to high"]);
    }
    let is_judged = e.features.iter().any(|feature| feature.contribution.is_some());
    if is_judged {
        heads.push("adds");
    }
    let row = |feature: &FeatureValue| {
        let name = elided(&visible(short(&feature.column, Some(&e.scorer))), screen.width().min(80) - 23);
        let mut row = vec![name, feature.value.map_or("-".into(), number)];
        if e.reference.is_some() {
            let track = |percentile: f64| {
                let at = (percentile / 10.0).floor().clamp(0.0, 9.0) as usize;
                format!("{}●{}", "─".repeat(at), "─".repeat(9 - at))
            };
            row.push(feature.percentile.map_or("-".into(), |percentile| format!("{percentile:.0}")));
            row.push(feature.percentile.map_or(String::new(), track));
        }
        if is_judged {
            row.push(feature.contribution.map_or(String::new(), |contribution| format!("{contribution:+.2}")));
        }
        row
    };
    // what the detector uses, else what can be compared, else what the model gives: all of them are pages long
    let is_shown = |feature: &&FeatureValue| match (is_judged, &e.reference) {
        (true, _) => feature.contribution.is_some(),
        (false, Some(_)) => feature.percentile.is_some(),
        (false, None) => feature.value.is_some() && feature.column.contains('@'),
    };
    let mut rows: Vec<Vec<String>> = e.features.iter().filter(is_shown).map(row).collect();
    let n_hidden = e.features.iter().filter(|feature| feature.value.is_some() && !is_shown(feature)).count();
    if let Some(odds) = e.log_odds {
        let blank = |name: &str, value: f64| {
            let mut row = vec![String::new(); heads.len()];
            row[0] = name.to_owned();
            row[heads.len() - 1] = format!("{value:+.2}");
            row
        };
        rows.push(blank("(an average row)", odds.intercept));
        rows.push(blank("sum", odds.sum));
    }
    page.push_str(&table(screen, &heads, &rows, &["low to high"]));
    if is_judged {
        screen.heading(
            page,
            "",
            "adds: above zero speaks for unsupported, below it for supported, against an average row (log-odds)",
        );
    }
    if n_hidden > 0 {
        screen.heading(page, "", &format!("{n_hidden} more features are not shown: --html and --json have them"));
    }
}
