//! The pictures of an evaluation: data in, SVG out; PNG from the same SVG.
//!
//! | file | owns |
//! |---|---|
//! | `theme.rs` | colours, sizes and the scale around a centre |
//! | `type_setting.rs` | the bundled font, widths of text, text made to fit |
//! | `canvas.rs` | shapes and text; the finished SVG |
//! | `axis.rs`, `colour_bar.rs` | axes with round ticks; the key to colours |
//! | `subtitle.rs` | what stands under a picture's title |
//! | `heat_map.rs` | metrics by generators: AUC, correlation |
//! | `intervals.rs` | AUCs with intervals |
//! | `curves.rs` | ROC and calibration |
//! | `overlap.rs`, `joint.rs` | tops of metrics, two metrics together |
//! | `bars.rs` | hallucinations by type, by language, by any column |
//! | `png.rs` | SVG to pixels |
//!
//! Each kind has a `draw` from plain data, and a function that takes that data out of an [`Evaluation`] or says why
//! there is no picture.

mod axis;
pub(crate) mod bars;
mod canvas;
mod colour_bar;
pub(crate) mod curves;
pub(crate) mod heat_map;
pub(crate) mod intervals;
pub(crate) mod joint;
pub(crate) mod overlap;
pub(crate) mod png;
mod subtitle;
mod theme;
mod type_setting;

#[cfg(test)]
mod tests;

use canvas::Canvas;

use crate::{
    grid::clean,
    pictures::{MissingPicture, Picture},
};

/// Where a picture stands in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chapter {
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
fn picture(name: &str, title: &str, subtitle: &str, caption: String, canvas: Canvas) -> Picture {
    let caption = clean(&caption.split_whitespace().collect::<Vec<_>>().join(" "));
    let width = canvas.outer_width();
    let svg = canvas.finish(title, subtitle, &caption);
    Picture { name: name.to_owned(), title: clean(title), caption, svg, width }
}

/// A picture of this title that there is no data for, and why.
fn missing(title: &str, why: &str) -> MissingPicture {
    MissingPicture { title: clean(title), why: clean(why) }
}
