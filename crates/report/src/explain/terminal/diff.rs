//! The diff with its gutter: which lines speak against the text, and what it rests on.

use anstyle::{AnsiColor, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{
    super::{
        explanation::{DiffLine, DiffLineKind, Explanation, TokenSegment},
        view::{Piece, ShownLine, folded},
    },
    Detail,
    screen::{BLUE, Colours, FAINT, Run, Screen, end_line, wrapped},
};
use crate::{columns::elided, findings::look, hidden::visible};
use veridiff_facts::verdict::Verdict;

/// Columns between the stops of tabs.
const TAB: usize = 4;

/// Rows that a line of the diff may take.
const MOST_ROWS: usize = 8;

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
                None => screen.write(page, dim, &format!("{:<w$}", "unread", w = width + 2 + self.bar)),
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
pub(super) fn diff_view(page: &mut String, e: &Explanation, screen: Screen, detail: Detail) {
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
    let folds = e.folds();
    for (index, ((line, shown), share)) in e.lines.iter().zip(e.shown_lines()).zip(of_lines).enumerate() {
        if let Some(fold) = folds.iter().find(|fold| fold.contains(&index)) {
            if index == fold.start {
                indent(page, &gutter);
                screen.write(page, Style::new().dimmed(), &elided(&folded(fold), room));
                page.push('\n');
            }
            continue;
        }
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
