//! The combination, or the detector, by the values of a column: what is labelled, called and found.

use super::view::View;
#[cfg(feature = "figures")]
use crate::figures::{Chapter, bars};
use crate::{
    grid::{Grid, p_value, part, rate, with_interval},
    names::slug,
    table::{NamedTable, records},
};
use veridiff_detector::{ColumnFigures, Evaluation, Figure, PredictorKind};

pub(super) const VIEW: View = View {
    printed: Some(3),
    tables,
    #[cfg(feature = "figures")]
    pictures: Some((Chapter::Found, |evaluation, _| bars::by_columns(evaluation))),
    ..View::EMPTY
};

fn tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let Some(whole) = evaluation.predictors.last() else { return Vec::new() };
    let name = if whole.kind == PredictorKind::Detector { "The detector" } else { "The combination" };
    let table = |figures: &ColumnFigures| {
        let file = format!("by-{}", slug(&figures.column));
        NamedTable::new(file, column_grid(name, figures), records(&figures.values))
    };
    whole.by.iter().map(table).collect()
}

fn column_grid(name: &str, figures: &ColumnFigures) -> Grid {
    let differs = figures.recall.map_or_else(String::new, |test| {
        let rough = if test.smallest_expected < 5.0 { ", rough: few rows" } else { "" };
        format!("; equal recall: p {} (chi-squared {:.1}{rough})", p_value(Some(test.p)), test.chi_squared)
    });
    let title = format!("{name}, by {}{differs}", figures.column);
    let heads = [figures.column.as_str(), "n", "halluc.", "called", "found", "recall", "AUC [95%]", "acc.", "major."];
    let mut grid = Grid::new(title, &heads);
    let total =
        |count: fn(&Figure) -> usize| -> usize { figures.values.iter().map(|value| count(&value.figure)).sum() };
    let (n, positive) = (total(|f| f.n), total(|f| f.n_positive));
    let (flagged, found) = (total(|f| f.n_flagged), total(|f| f.n_true_positive));
    let recall = |found: usize, positive: usize| rate((positive > 0).then(|| found as f64 / positive as f64));
    for value in &figures.values {
        let figure = &value.figure;
        grid.push(vec![
            value.value.clone().unwrap_or_else(|| "(none)".to_owned()),
            part(figure.n, n),
            part(figure.n_positive, positive),
            part(figure.n_flagged, flagged),
            part(figure.n_true_positive, found),
            recall(figure.n_true_positive, figure.n_positive),
            with_interval(figure.auc, figure.interval),
            rate(figure.accuracy),
            rate(figure.majority),
        ]);
    }
    let sums = [n, positive, flagged, found].map(|count| count.to_string());
    grid.push(["all".to_owned()].into_iter().chain(sums).chain([recall(found, positive)]).collect());
    grid
}
