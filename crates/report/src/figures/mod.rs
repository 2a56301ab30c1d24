//! The pictures of an evaluation: data in, SVG out; PNG from the same SVG.
//!
//! | file | owns |
//! |---|---|
//! | `theme.rs` | colours, sizes and the scale around a centre |
//! | `type_setting.rs` | the bundled font, widths of text, text made to fit |
//! | `canvas.rs` | shapes and text; the finished SVG |
//! | `axis.rs`, `colour_bar.rs` | axes with round ticks; the key to colours |
//! | `picture.rs` | where pictures stand in a report; what makes a finished one of a canvas |
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
mod picture;
pub(crate) mod png;
mod subtitle;
mod theme;
mod type_setting;

#[cfg(test)]
mod tests;

pub(crate) use picture::Chapter;
