//! The terminal that a page is written for: its width, its colours, and rows of styled runs.

use std::fmt::Write;

use anstyle::{Ansi256Color, Color, RgbColor, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

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
pub(super) struct Ramp {
    palette: [u8; 3],
    greyish: [u8; 3],
    strong: [u8; 3],
}

/// The shades of attribution.
pub(super) const BLUE: Ramp = Ramp { palette: [60, 25, 26], greyish: [95, 100, 125], strong: [0, 90, 215] };

/// The shades of surprise.
pub(super) const ORANGE: Ramp = Ramp { palette: [95, 94, 130], greyish: [115, 100, 88], strong: [178, 88, 0] };

/// Levels below it are not shaded: a page where everything is shaded shows nothing.
pub(super) const FAINT: f64 = 0.12;

impl Screen {
    pub(super) fn width(self) -> usize {
        self.width.max(40)
    }

    /// White on a background of the ramp at `level`, 0 to 1.
    pub(super) fn shade(self, ramp: &Ramp, level: f64) -> Style {
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

    pub(super) fn write(self, page: &mut String, style: Style, text: &str) {
        if self.colours == Colours::None || style == Style::new() {
            page.push_str(text);
        } else {
            let _ = write!(page, "{style}{text}{style:#}");
        }
    }

    pub(super) fn heading(self, page: &mut String, title: &str, about: &str) {
        let rest = match (title, about) {
            (_, "") => String::new(),
            ("", about) => about.to_owned(),
            _ => format!(": {about}"),
        };
        let bold = Run::new(title, Style::new().bold());
        self.rows(page, &[bold, Run::new(&rest, Style::new())]);
    }

    /// Runs in as many rows as they need.
    pub(super) fn rows(self, page: &mut String, runs: &[Run]) {
        for row in wrapped(runs, self.width()) {
            row.iter().for_each(|run| self.write(page, run.style, &run.text));
            end_line(page);
        }
    }
}

/// A stretch of text that has one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) style: Style,
    /// 0 to 1: what is marked from below where there are no colours.
    pub(super) level: f64,
    /// Its share of the attribution, 0 to 1.
    pub(super) share: f64,
}

impl Run {
    pub(super) fn new(text: &str, style: Style) -> Run {
        Run { text: text.to_owned(), style, level: 0.0, share: 0.0 }
    }
}

/// Rows of at most `room` columns; a line feed ends one. Rows break behind a blank, if there is one in their second half, else
/// anywhere but within a character.
pub(super) fn wrapped(runs: &[Run], room: usize) -> Vec<Vec<Run>> {
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
pub(super) fn end_line(page: &mut String) {
    page.truncate(page.trim_end_matches(' ').len());
    page.push('\n');
}
