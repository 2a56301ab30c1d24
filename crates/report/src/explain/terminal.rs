//! An explanation as a page for the terminal.
//!
//! Red and yellow are what speaks against the text. Where it is asked for, attribution is blue and surprise orange, from greyish to
//! strong, on grounds of one darkness that white letters can be read on: strong stands out on a dark terminal and on a light one.
//! Nothing depends on colour alone: lines have bars, and without colours the tokens that got most are marked from below.

use std::fmt::Write;

use anstyle::{Ansi256Color, AnsiColor, Color, RgbColor, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{
    explanation::{Basis, DiffLine, DiffLineKind, Explanation, TokenSegment},
    view::{Piece, ShownLine},
};
use crate::{
    columns::elided,
    findings::{Odds, fact_lines, look, meaning},
    grid::{Grid, number},
    hidden::visible,
    names::short,
};
use veridiff_core::{finding::FactsFinding, verdict::Verdict};
use veridiff_facts::rules::Ruling;
use veridiff_text::printable::printable;

/// The terminal that a page is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns; fewer than 40 are taken as 40.
    pub width: usize,
    /// Which colours it can show.
    pub colours: Colours,
}

/// The colours that a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// It shows no colours: the page is plain text.
    None,
    /// It shows the palette of 256 colours.
    Ansi256,
    /// It shows any colour, of 24 bits.
    TrueColor,
}

/// Steps from greyish to strong, of one hue, all dark enough for white letters.
struct Ramp {
    palette: [u8; 3],
    greyish: [u8; 3],
    strong: [u8; 3],
}

/// The shades of attribution.
const BLUE: Ramp = Ramp { palette: [60, 25, 26], greyish: [95, 100, 125], strong: [0, 90, 215] };

/// The shades of surprise.
const ORANGE: Ramp = Ramp { palette: [95, 94, 130], greyish: [115, 100, 88], strong: [178, 88, 0] };

/// Levels below it are not shaded: a page where everything is shaded shows nothing.
const FAINT: f64 = 0.12;

/// Surprise, in nats, that has the strongest shade: a probability of 1 in 3,000.
const MOST_SURPRISE: f64 = 8.0;

/// Columns between the stops of tabs.
const TAB: usize = 4;

/// Rows that a line of the diff may take.
const MOST_ROWS: usize = 8;

impl Screen {
    fn width(self) -> usize {
        self.width.max(40)
    }

    /// White on a background of the ramp at `level`, 0 to 1.
    fn shade(self, ramp: &Ramp, level: f64) -> Style {
        if level < FAINT {
            return Style::new();
        }
        let level = level.min(1.0);
        let mix = |i: usize| {
            (f64::from(ramp.greyish[i]) + (f64::from(ramp.strong[i]) - f64::from(ramp.greyish[i])) * level) as u8
        };
        let background: Color = match self.colours {
            Colours::None => return Style::new(),
            Colours::Ansi256 => {
                let step = (level * ramp.palette.len() as f64) as usize;
                Ansi256Color(ramp.palette[step.min(ramp.palette.len() - 1)]).into()
            }
            Colours::TrueColor => RgbColor(mix(0), mix(1), mix(2)).into(),
        };
        Style::new().bg_color(Some(background)).fg_color(Some(Ansi256Color(231).into()))
    }

    fn write(self, page: &mut String, style: Style, text: &str) {
        if self.colours == Colours::None || style == Style::new() {
            page.push_str(text);
        } else {
            let _ = write!(page, "{style}{text}{style:#}");
        }
    }

    fn heading(self, page: &mut String, title: &str, about: &str) {
        let rest = match (title, about) {
            (_, "") => String::new(),
            ("", about) => about.to_owned(),
            _ => format!(": {about}"),
        };
        let bold = Run::new(title, Style::new().bold());
        self.rows(page, &[bold, Run::new(&rest, Style::new())]);
    }

    /// Runs in as many rows as they need.
    fn rows(self, page: &mut String, runs: &[Run]) {
        for row in wrapped(runs, self.width()) {
            row.iter().for_each(|run| self.write(page, run.style, &run.text));
            end_line(page);
        }
    }
}

/// A stretch of text that has one look.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    text: String,
    style: Style,
    /// 0 to 1: what is marked from below where there are no colours.
    level: f64,
    /// Its share of the attribution, 0 to 1.
    share: f64,
}

impl Run {
    fn new(text: &str, style: Style) -> Run {
        Run { text: text.to_owned(), style, level: 0.0, share: 0.0 }
    }
}

/// Rows of at most `room` columns; a line feed ends one. Rows break behind a blank, if there is one in their second half, else
/// anywhere but within a character.
fn wrapped(runs: &[Run], room: usize) -> Vec<Vec<Run>> {
    let cells: Vec<(&str, usize)> = runs
        .iter()
        .enumerate()
        .flat_map(|(index, run)| run.text.graphemes(true).map(move |grapheme| (grapheme, index)))
        .collect();
    let (mut rows, mut start, mut used, mut blank) = (Vec::new(), 0, 0, None);
    let mut index = 0;
    while index < cells.len() {
        let text = cells[index].0;
        if text == "\n" {
            rows.push(start..index);
            (start, used, blank) = (index + 1, 0, None);
            index += 1;
            continue;
        }
        if used + text.width() > room && index > start {
            let end = blank.filter(|&(_, at)| 2 * at > room).map_or(index, |(end, _)| end);
            rows.push(start..end);
            (start, used, blank, index) = (end, 0, None, end);
            continue;
        }
        used += text.width();
        index += 1;
        if text == " " {
            blank = Some((index, used));
        }
    }
    if start < cells.len() || rows.is_empty() {
        rows.push(start..cells.len());
    }
    let mut counted = vec![false; runs.len()];
    let mut row = |range: std::ops::Range<usize>| {
        let mut row: Vec<(usize, Run)> = Vec::new();
        for &(text, of) in &cells[range] {
            match row.last_mut() {
                Some((last, run)) if *last == of => run.text.push_str(text),
                _ => {
                    let share = if std::mem::replace(&mut counted[of], true) { 0.0 } else { runs[of].share };
                    row.push((of, Run { text: text.to_owned(), share, ..runs[of].clone() }));
                }
            }
        }
        row.into_iter().map(|(_, run)| run).collect()
    };
    rows.into_iter().map(&mut row).collect()
}

/// Ends a line without blanks at its end.
fn end_line(page: &mut String) {
    page.truncate(page.trim_end_matches(' ').len());
    page.push('\n');
}

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
    if let Some(facts) = &e.facts {
        facts_view(page, e, facts, screen);
    }
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
    for note in &e.notes {
        screen.heading(page, "note", &visible(note));
    }
    page.push('\n');
}

/// What is said of the text, as `check` shows it.
fn facts_view(page: &mut String, e: &Explanation, facts: &FactsFinding, screen: Screen) {
    let word = Run::new(facts.verdict.words(), look(facts.verdict));
    let why = format!(": {}", printable(&meaning(facts.verdict, facts.reason.as_deref(), &facts.statements)));
    screen.rows(page, &[word, Run::new(&why, Style::new())]);
    page.push_str(&fact_lines(e.text(), &e.against(), screen.colours != Colours::None, screen.width()));
    let odds = e.verdict.as_ref().and_then(|v| Odds::new(Some(v.p_hallucination), Some(v.threshold)));
    if let Some(odds) = odds.and_then(|odds| odds.under(facts.verdict)) {
        screen.heading(page, "", odds.says());
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

/// A bar of `width` columns, in eighths of a column; anything above nothing can be seen.
fn bar(level: f64, width: usize) -> String {
    let eighths = (level.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    let eighths = if level > 0.0 { eighths.max(1) } else { 0 };
    let mut bar = "█".repeat(eighths / 8);
    bar.extend("▏▎▍▌▋▊▉".chars().nth((eighths % 8).wrapping_sub(1)));
    let width = width.saturating_sub(bar.width());
    bar + &" ".repeat(width)
}

/// What stands before a line: its share, numbers and mark.
struct Gutter {
    share_digits: Option<usize>,
    bar: usize,
    number: usize,
    both_numbers: bool,
}

impl Gutter {
    fn new(e: &Explanation, screen: Screen, has_shares: bool) -> Gutter {
        let last = e.lines.iter().flat_map(|line| [line.old, line.new]).flatten().max();
        let number = last.map_or(0, |last| last.to_string().len());
        let width = screen.width();
        let digits = if width >= 60 { 1 } else { 0 };
        Gutter {
            share_digits: has_shares.then_some(digits),
            bar: if width >= 80 { 6 } else { 3 },
            number,
            both_numbers: width >= 72,
        }
    }

    /// How many columns stand before the code.
    fn width(&self) -> usize {
        let share = self.share_digits.map_or(0, |digits| if digits > 0 { 7 } else { 5 } + self.bar + 1);
        share + self.number * if self.both_numbers { 2 } else { 1 } + usize::from(self.both_numbers) + 3
    }

    fn write(&self, page: &mut String, screen: Screen, line: &DiffLine, share: Option<(f64, f64)>, is_against: bool) {
        let dim = Style::new().dimmed();
        let blue = Style::new().fg_color(Some(AnsiColor::Blue.into()));
        if let Some(digits) = self.share_digits {
            let width = if digits > 0 { 5 } else { 3 };
            match share {
                Some((share, level)) => {
                    screen.write(page, dim, &format!("{:width$.digits$}% ", share * 100.0));
                    screen.write(page, blue, &bar(level, self.bar));
                }
                None => screen.write(page, dim, &format!("{:>w$} {:b$}", "cut", "", w = width + 1, b = self.bar)),
            }
            page.push(' ');
        }
        let number = |n: Option<usize>| format!("{:>w$}", n.map_or(String::new(), |n| n.to_string()), w = self.number);
        let numbers = match self.both_numbers {
            true => format!("{} {} ", number(line.old), number(line.new)),
            false => format!("{} ", number(line.new.or(line.old))),
        };
        screen.write(page, dim, &numbers);
        if is_against {
            screen.write(page, look(Verdict::Contradicted), "▶");
        } else {
            screen.write(page, kind_style(line.kind).bold(), if line.kind.is_changed() { "┃" } else { "│" });
        }
        page.push(' ');
    }
}

fn kind_style(kind: DiffLineKind) -> Style {
    match kind {
        DiffLineKind::Added => Style::new().fg_color(Some(AnsiColor::Green.into())),
        DiffLineKind::Removed => Style::new().fg_color(Some(AnsiColor::Red.into())),
        DiffLineKind::Context => Style::new(),
        DiffLineKind::Header => Style::new().fg_color(Some(AnsiColor::Cyan.into())),
    }
}

/// The diff with its gutter: each line's share of attribution, and each token shaded by its own.
fn diff_view(page: &mut String, e: &Explanation, screen: Screen, detail: Detail) {
    let of = e.chosen.as_ref().or(e.sources.as_ref().filter(|_| detail == Detail::Full));
    let against: Vec<usize> =
        e.against().iter().flat_map(|fact| &fact.lines).map(|line| line.diff_line.saturating_sub(1)).collect();
    let shares = of.and_then(|sources| e.shares(&sources.tokens));
    let about = match (&shares, &e.chosen, screen.colours) {
        (None, ..) if against.is_empty() => "",
        (None, ..) => "▶ marks lines that speak against the text",
        (_, Some(_), Colours::None) => {
            "share of what the chosen tokens rest on, line by line; ^ and ~ mark the tokens with most"
        }
        (_, Some(_), _) => "share of what the chosen tokens rest on, line by line; stronger tokens have more",
        (.., Colours::None) => "share of the text's attribution per line; ^ and ~ mark the tokens with most",
        _ => "share of the text's attribution per line; stronger tokens got more",
    };
    screen.heading(page, "The diff", about);
    let of_positions = shares.unwrap_or_default();
    let of_lines = e.line_shares(&of_positions);
    let in_diff = e.tokens.iter().zip(&of_positions).filter(|(token, _)| token.segment == TokenSegment::Diff);
    let most = in_diff.map(|(_, &share)| share).fold(0.0, f64::max);
    let most_of_line = of_lines.iter().copied().fold(0.0, f64::max);
    let gutter = Gutter::new(e, screen, of.is_some());
    let room = screen.width().saturating_sub(gutter.width()).max(10);
    for (index, ((line, shown), share)) in e.lines.iter().zip(e.shown_lines()).zip(of_lines).enumerate() {
        let is_read = line.byte_start.is_some();
        let level = if most_of_line > 0.0 { share / most_of_line } else { 0.0 };
        gutter.write(page, screen, line, is_read.then_some((share, level)), against.contains(&index));
        let rows = wrapped(&code(&shown, line.kind, &of_positions, most, screen), room);
        for (index, row) in rows.iter().enumerate() {
            if index + 1 == MOST_ROWS && rows.len() > MOST_ROWS {
                let rest = rows[index..].iter().flatten();
                let (n, share) =
                    rest.fold((0, 0.0), |(n, share), run| (n + run.text.graphemes(true).count(), share + run.share));
                let share = if share > 0.0 { format!(", {:.1}%", share * 100.0) } else { String::new() };
                indent(page, &gutter);
                let rest = elided(&format!("… {n} characters{share}"), room);
                screen.write(page, Style::new().dimmed(), &rest);
                page.push('\n');
                break;
            }
            if index > 0 {
                indent(page, &gutter);
            }
            row.iter().for_each(|run| screen.write(page, run.style, &run.text));
            end_line(page);
            if screen.colours == Colours::None {
                marks(page, row, &gutter);
            }
        }
    }
    page.push('\n');
}

/// The gutter of a row that goes on with a line.
fn indent(page: &mut String, gutter: &Gutter) {
    page.push_str(&" ".repeat(gutter.width() - 2));
    page.push_str("┊ ");
}

/// A row of marks under a row, if it has any.
fn marks(page: &mut String, row: &[Run], gutter: &Gutter) {
    let mark = |level: f64| match level {
        level if level >= 2.0 / 3.0 => "^",
        level if level >= 1.0 / 3.0 => "~",
        _ => " ",
    };
    let marks: String = row.iter().map(|run| mark(run.level).repeat(run.text.width())).collect();
    if !marks.trim().is_empty() {
        indent(page, gutter);
        page.push_str(marks.trim_end());
        page.push('\n');
    }
}

/// A line of the diff as runs; tabs become an arrow and blanks.
fn code(line: &ShownLine<'_>, kind: DiffLineKind, shares: &[f64], most: f64, screen: Screen) -> Vec<Run> {
    // the marker is not part of the code that tabs align
    let mut column = TAB - 1;
    let mut spread = |text: &str| {
        let mut out = String::new();
        for (index, part) in text.split('\t').enumerate() {
            if index > 0 {
                let width = TAB - column % TAB;
                out.push('→');
                out.push_str(&" ".repeat(width - 1));
                column += width;
            }
            let part = visible(part);
            column += part.width();
            out.push_str(&part);
        }
        out
    };
    let mut runs = Vec::new();
    for Piece { text, positions, is_line_feed } in &line.read {
        let share: f64 = shares.get(positions.clone()).map_or(0.0, |shares| shares.iter().sum());
        let level = if most > 0.0 { share / most } else { 0.0 };
        let text = match is_line_feed {
            false => spread(text),
            true if level >= FAINT && screen.colours != Colours::None => "↵".to_owned(),
            true => String::new(),
        };
        let style = if most > 0.0 { screen.shade(&BLUE, level) } else { kind_style(kind) };
        runs.push(Run { text, style, level, share });
    }
    if !line.unread.is_empty() {
        runs.push(Run::new(&spread(line.unread), Style::new().dimmed()));
    }
    runs
}

/// The text in one piece, what speaks against it underlined, or shaded by surprise; the chosen tokens in brackets.
fn text_view(page: &mut String, e: &Explanation, screen: Screen, detail: Detail) {
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
fn token_table(page: &mut String, e: &Explanation, screen: Screen) {
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
fn feature_table(page: &mut String, e: &Explanation, screen: Screen) {
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
    let row = |feature: &super::FeatureValue| {
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
    let is_shown = |feature: &&super::FeatureValue| match (is_judged, &e.reference) {
        (true, _) => feature.contribution.is_some(),
        (false, Some(_)) => feature.percentile.is_some(),
        (false, None) => feature.value.is_some() && feature.column.contains('@'),
    };
    let mut rows: Vec<Vec<String>> = e.features.iter().filter(is_shown).map(row).collect();
    let n_hidden = e.features.iter().filter(|feature| feature.value.is_some() && !is_shown(feature)).count();
    if let Some(verdict) = &e.verdict {
        let blank = |name: &str, value: f64| {
            let mut row = vec![String::new(); heads.len()];
            row[0] = name.to_owned();
            row[heads.len() - 1] = format!("{value:+.2}");
            row
        };
        rows.push(blank("(an average row)", verdict.intercept));
        rows.push(blank("sum", verdict.log_odds));
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
