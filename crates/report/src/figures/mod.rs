//! The pictures of an evaluation: data in, SVG out; PNG from the same SVG.
//!
//! | file | owns |
//! |---|---|
//! | `theme.rs` | colours, sizes and the scale around a centre |
//! | `type_setting.rs` | the bundled font, widths of text, text made to fit |
//! | `canvas.rs` | shapes and text; the finished SVG |
//! | `axis.rs`, `colour_bar.rs` | axes with round ticks; the key to colours |
//! | `describe.rs` | what captions say of rows and procedure |
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
mod bars;
mod canvas;
mod colour_bar;
mod curves;
pub(super) mod describe;
mod heat_map;
mod intervals;
mod joint;
mod overlap;
pub mod png;
mod theme;
pub(super) mod type_setting;

#[cfg(test)]
mod tests;

pub(super) use bars::slug;
use canvas::Canvas;
pub(super) use curves::best_metrics;

use veridiff_detector::{Evaluation, LabelledRows};

/// Columns that pictures are drawn by where the table has them: what kind of hallucination, in which language.
pub const COLUMNS: [&str; 2] = ["label_type", "language"];

/// A finished picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its files, without extension.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What it shows in full: rows, procedure, intervals, settings.
    pub caption: String,
    /// The picture.
    pub svg: String,
    /// How wide it is, in CSS pixels.
    pub width: f64,
}

impl Figure {
    fn new(name: &str, title: &str, subtitle: &str, caption: String, canvas: Canvas) -> Self {
        let caption = type_setting::clean(&caption.split_whitespace().collect::<Vec<_>>().join(" "));
        let width = canvas.outer_width();
        let svg = canvas.finish(title, subtitle, &caption);
        Self { name: name.to_owned(), title: type_setting::clean(title), caption, svg, width }
    }
}

/// A picture that there is no data for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it would have shown.
    pub title: String,
    /// Why it is missing.
    pub why: String,
}

impl LeftOut {
    fn new(title: &str, why: &str) -> Self {
        Self { title: type_setting::clean(title), why: type_setting::clean(why) }
    }
}

/// Pictures that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its head.
    pub title: &'static str,
    /// The pictures, in the order to look at them.
    pub figures: Vec<Figure>,
}

/// Every picture that the evaluation has data for, by section, and those it has none for. `rows` are the rows
/// evaluated.
pub fn figures(evaluation: &Evaluation, rows: &LabelledRows) -> (Vec<Section>, Vec<LeftOut>) {
    let columns = evaluation.predictors.last().map_or(&[][..], |predictor| &predictor.by);
    let mut by_columns: Vec<Result<Figure, LeftOut>> =
        columns.iter().map(|figures| bars::by_column(evaluation, figures)).collect();
    for column in COLUMNS.iter().filter(|column| columns.iter().all(|figures| figures.column != **column)) {
        let title = format!("Hallucinations by {column}");
        by_columns.push(Err(LeftOut::new(&title, &format!("the rows have no values in a column `{column}`"))));
    }
    let sections = [
        (
            "How well metrics tell hallucinations",
            vec![
                intervals::aucs(evaluation),
                heat_map::auc_by_generator(evaluation),
                heat_map::correlation_by_generator(evaluation),
            ],
        ),
        ("The metrics together", vec![curves::roc(evaluation, rows), curves::calibration(evaluation)]),
        ("Whether metrics see the same", vec![overlap::top(evaluation), joint::distribution(evaluation)]),
        ("Which hallucinations are found", by_columns),
    ];
    let (mut kept, mut left_out, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (title, made) in sections {
        let mut figures = Vec::new();
        for result in made {
            match result {
                Ok(mut figure) => {
                    // two columns may differ only in what a file name cannot hold
                    let twins = names.iter().filter(|name| **name == figure.name).count();
                    names.push(figure.name.clone());
                    if twins > 0 {
                        figure.name += &format!("-{}", twins + 1);
                    }
                    figures.push(figure);
                }
                Err(without) => left_out.push(without),
            }
        }
        if !figures.is_empty() {
            kept.push(Section { title, figures });
        }
    }
    (kept, left_out)
}
