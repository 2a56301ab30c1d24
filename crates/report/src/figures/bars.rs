//! Hallucinations by the values of a column, labelled and found (the paper's figures 10, 11 and 12).

use super::{
    axis::Scale,
    canvas::{Canvas, PLAIN, Stroke},
    picture::{missing, picture},
    subtitle,
    theme::{BODY, HALLUCINATED, NEUTRAL, Tone},
    type_setting::{Weight, fitted_names, width},
};
use crate::{
    describe,
    names::slug,
    pictures::{MissingPicture, Picture},
};
use veridiff_core::analysis::REPORT_COLUMNS;
use veridiff_detector::{ColumnFigures, Evaluation, PredictorKind};
use veridiff_text::printable::printable;

/// One value of the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCounts {
    /// What it is called.
    pub name: String,
    /// Its rows that are labelled hallucinated.
    pub labelled: usize,
    /// Those of them that are called so.
    pub found: usize,
    /// Its rows that are called hallucinated, rightly or not.
    pub called: usize,
}

/// More values than this are summed up.
const MOST_VALUES: usize = 20;
const ROW_HEIGHT: f64 = 34.0;
const PLOT_WIDTH: f64 = 240.0;
const COLUMN_WIDTH: f64 = 58.0;

/// Draws, for each value, its share of the labelled hallucinations and its share of those found, with the counts
/// beside.
pub fn draw(values: &[ValueCounts]) -> Canvas {
    let names = fitted_names(values.iter().map(|value| value.name.as_str()), BODY, 200.0);
    let left = names.iter().map(|name| width(name, BODY, Weight::Regular)).fold(0.0, f64::max) + 10.0;
    let total = |count: fn(&ValueCounts) -> usize| values.iter().map(count).sum::<usize>().max(1) as f64;
    let (labelled, found) = (total(|v| v.labelled), total(|v| v.found));
    let shares: Vec<[f64; 2]> =
        values.iter().map(|v| [100.0 * v.labelled as f64 / labelled, 100.0 * v.found as f64 / found]).collect();
    let most = shares.iter().flatten().copied().fold(10.0, f64::max);
    let x = Scale::new((0.0, most), (left, left + PLOT_WIDTH));
    let top = 22.0;
    let height = values.len() as f64 * ROW_HEIGHT;
    let heads = ["labelled", "called", "found", "recall"];
    let columns_x = |i: usize| left + PLOT_WIDTH + 8.0 + COLUMN_WIDTH * (i + 1) as f64;
    let mut canvas = Canvas::new(columns_x(heads.len() - 1), top + height + 62.0);
    for (value, text) in x.ticks(5) {
        canvas.line((x.at(value), top), (x.at(value), top + height), Stroke::new(Tone::Grid, 1.0));
        canvas.text(x.at(value), top + height + 15.0, &format!("{text}%"), PLAIN.small().middle());
    }
    for (i, head) in heads.iter().enumerate() {
        canvas.text(columns_x(i), 10.0, head, PLAIN.small().end().tone(Tone::Muted));
    }
    for (i, value) in values.iter().enumerate() {
        let y = top + (i as f64 + 0.5) * ROW_HEIGHT;
        canvas.label(left - 10.0, y, &names[i], &value.name, PLAIN.end());
        for (bar, tone) in [(0_u8, NEUTRAL), (1, HALLUCINATED)] {
            let area = [left, y - 12.0 + 12.0 * f64::from(bar), x.at(shares[i][usize::from(bar)]) - left, 11.0];
            canvas.rectangle(area, tone, &format!("{:.1}%", shares[i][usize::from(bar)]));
        }
        let recall = match value.labelled {
            0 => "–".to_owned(),
            n => format!("{:.2}", value.found as f64 / n as f64),
        };
        let counts = [value.labelled, value.called, value.found].map(describe::count);
        for (column, text) in counts.iter().chain([&recall]).enumerate() {
            canvas.text_at_middle(columns_x(column), y, text, PLAIN.small().end());
        }
    }
    canvas.line((left, top), (left, top + height), Stroke::new(Tone::Rule, 1.0));
    let y = top + height + 40.0;
    for (i, (tone, text)) in
        [(NEUTRAL, "share of the labelled"), (HALLUCINATED, "share of the found")].into_iter().enumerate()
    {
        let x = left + 170.0 * i as f64;
        canvas.rectangle([x, y - 5.0, 14.0, 10.0], tone, "");
        canvas.text_at_middle(x + 20.0, y, text, PLAIN.small());
    }
    canvas
}

/// The values with hallucinations, most first, the rare ones summed up; and what is said of those without.
fn values(figures: &ColumnFigures) -> (Vec<ValueCounts>, String) {
    let all = figures.values.iter().map(|value| ValueCounts {
        name: value.value.clone().unwrap_or_else(|| "(none)".to_owned()),
        labelled: value.figure.n_positive,
        found: value.figure.n_true_positive,
        called: value.figure.n_flagged,
    });
    let (mut with, without): (Vec<ValueCounts>, Vec<ValueCounts>) = all.partition(|value| value.labelled > 0);
    with.sort_by(|a, b| b.labelled.cmp(&a.labelled).then_with(|| a.name.cmp(&b.name)));
    if with.len() > MOST_VALUES {
        let rest = with.split_off(MOST_VALUES - 1);
        let sum = |count: fn(&ValueCounts) -> usize| rest.iter().map(count).sum();
        with.push(ValueCounts {
            name: format!("other ({})", rest.len()),
            labelled: sum(|v| v.labelled),
            found: sum(|v| v.found),
            called: sum(|v| v.called),
        });
    }
    let called: usize = without.iter().map(|value| value.called).sum();
    let names: Vec<&str> = without.iter().map(|value| value.name.as_str()).collect();
    let note = match names.len() {
        0 => String::new(),
        1..=5 => {
            format!(" Without labelled hallucinations: {} ({} called).", names.join(", "), describe::count(called))
        }
        n => format!(" {n} values have no labelled hallucination ({} rows called).", describe::count(called)),
    };
    (with, note)
}

/// A picture of every column that the evaluation has figures by; those of [`REPORT_COLUMNS`] that it has none by are missing.
pub fn by_columns(evaluation: &Evaluation) -> Vec<Result<Picture, MissingPicture>> {
    let columns = evaluation.predictors.last().map_or(&[][..], |predictor| &predictor.by);
    let absent = REPORT_COLUMNS.iter().filter(|column| columns.iter().all(|figures| figures.column != **column));
    let absent = absent.map(|column| {
        let title = format!("Hallucinations by {column}");
        Err(missing(&title, &format!("the rows have no values in a column `{column}`")))
    });
    columns.iter().map(|figures| by_column(evaluation, figures)).chain(absent).collect()
}

/// The picture of one column's values.
fn by_column(evaluation: &Evaluation, figures: &ColumnFigures) -> Result<Picture, MissingPicture> {
    let title = match figures.column.as_str() {
        "label_type" => "Hallucinations by type, labelled and found".to_owned(),
        column => format!("Hallucinations by {}, labelled and found", printable(column)),
    };
    let (values, note) = values(figures);
    if values.len() < 2 {
        let why = match values.first() {
            None => format!("no row with a value of `{}` is labelled hallucinated", figures.column),
            Some(value) => format!("all hallucinations have one value of `{}`: {}", figures.column, value.name),
        };
        return Err(missing(&title, &why));
    }
    let detector = evaluation.predictors.last().is_some_and(|p| p.kind == PredictorKind::Detector);
    let test = figures.recall.map_or_else(String::new, |test| {
        let p = if test.p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {:.4}", test.p) };
        let rough = if test.smallest_expected < 5.0 { ", rough because some counts are small" } else { "" };
        format!(" Whether recall differs: χ² = {:.1}, {} degrees of freedom, {p}{rough}.", test.chi_squared, test.df)
    });
    let caption = format!(
        "Distribution over {} of the rows labelled hallucinated, and of those among them that the {} calls \
         hallucinated; beside the bars the counts (called: rightly or not) and the recall. {} {}{note}{test}",
        figures.column,
        if detector { "detector" } else { "combination" },
        describe::sample(evaluation),
        describe::procedure(evaluation),
    );
    let subtitle = subtitle::subtitle(evaluation, None);
    Ok(picture(&format!("by-{}", slug(&figures.column)), &title, &subtitle, caption, draw(&values)))
}
