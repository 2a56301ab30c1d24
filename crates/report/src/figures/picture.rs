//! Where a picture stands in a report, and how it is finished.

use super::canvas::Canvas;
use crate::{
    grid::clean,
    pictures::{MissingPicture, Picture},
};

/// Where a picture stands in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chapter {
    /// Among those of single metrics.
    Metrics,
    /// Among those of what is made of all metrics.
    Together,
    /// Among those of whether metrics flag the same rows.
    SameRows,
    /// Among those of which hallucinations are found.
    Found,
}

impl Chapter {
    /// Every chapter, in the order of a report.
    pub const ALL: [Chapter; 4] = [Chapter::Metrics, Chapter::Together, Chapter::SameRows, Chapter::Found];

    /// Its head.
    pub fn title(self) -> &'static str {
        match self {
            Chapter::Metrics => "How well metrics tell hallucinations",
            Chapter::Together => "The metrics together",
            Chapter::SameRows => "Whether metrics see the same",
            Chapter::Found => "Which hallucinations are found",
        }
    }
}

/// The picture on a canvas, finished. `name` is that of its files; the caption's white space is collapsed.
pub fn picture(name: &str, title: &str, subtitle: &str, caption: String, canvas: Canvas) -> Picture {
    let caption = clean(&caption.split_whitespace().collect::<Vec<_>>().join(" "));
    let width = canvas.outer_width();
    let svg = canvas.finish(title, subtitle, &caption);
    Picture { name: name.to_owned(), title: clean(title), caption, svg, width }
}

/// A picture of this title that there is no data for, and why.
pub fn missing(title: &str, why: &str) -> MissingPicture {
    MissingPicture { title: clean(title), why: clean(why) }
}
