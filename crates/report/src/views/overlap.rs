//! How far the rows that features rank highest are the same.

use serde_json::Value;

use super::view::View;
#[cfg(feature = "figures")]
use crate::figures::{Chapter, overlap};
use crate::{
    grid::{Grid, part},
    names::{common_scorer, short},
    table::{NamedTable, record},
};
use veridiff_detector::{Evaluation, Overlap, Region};

pub(super) const VIEW: View = View {
    analysis: Some("overlap"),
    printed: Some(8),
    tables,
    #[cfg(feature = "figures")]
    pictures: Some((Chapter::SameRows, |evaluation, _| vec![overlap::top(evaluation)])),
    ..View::EMPTY
};

fn tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let Some(overlap) = evaluation.analyses.get::<Overlap>() else { return Vec::new() };
    let named = overlap.regions.iter().map(|region| {
        let mut value = record(region);
        let names = region.metrics.iter().map(|&m| Value::from(overlap.metrics[m].feature.as_str()));
        value["metrics"] = Value::Array(names.collect());
        value
    });
    vec![NamedTable::new("overlap", overlap_grid(overlap), named.collect())]
}

fn overlap_grid(overlap: &Overlap) -> Grid {
    let scorer = common_scorer(overlap.metrics.iter().map(|metric| metric.feature.as_str()));
    let title = format!(
        "Rows ranked in the top {:.0}% by each feature: {} of {} rows in at least one",
        100.0 * overlap.share,
        overlap.n_union,
        overlap.n
    );
    let mut grid = Grid::new(title, &["in the top of", "rows", "halluc."]);
    for metric in &overlap.metrics {
        let name = short(&metric.feature, scorer);
        grid.push(vec![format!("{name}, in all"), metric.n.to_string(), part(metric.n_positive, metric.n)]);
    }
    for Region { metrics, n, n_positive } in &overlap.regions {
        let names: Vec<&str> = metrics.iter().map(|&m| short(&overlap.metrics[m].feature, scorer)).collect();
        let name = if names.len() == 1 { format!("{} only", names[0]) } else { names.join(" & ") };
        grid.push(vec![name, n.to_string(), part(*n_positive, *n)]);
    }
    let neither = (overlap.n - overlap.n_union, overlap.n_positive - overlap.n_union_positive);
    grid.push(vec!["none".to_owned(), neither.0.to_string(), part(neither.1, neither.0)]);
    grid
}
