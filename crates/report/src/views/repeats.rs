//! Means over folds drawn many times, and what each family of features adds.

use super::view::View;
use crate::{
    grid::{Grid, with_interval},
    table::{NamedTable, records},
};
use veridiff_detector::{RepeatedFigure, Repeats};

pub(super) const VIEW: View = View {
    analysis: Some("repeats"),
    printed: Some(10),
    tables: |evaluation| {
        let Some(repeats) = evaluation.analyses.get::<Repeats>() else { return Vec::new() };
        vec![NamedTable::new("repeats", repeat_grid(repeats), records(&repeats.sets))]
    },
    ..View::EMPTY
};

fn repeat_grid(repeats: &Repeats) -> Grid {
    let title = format!("Means over {} draws of the folds; change against the first", repeats.n_repeats);
    let heads = ["features", "n", "AUC [95%]", "within [95%]", "new [95%]", "change [95%]"];
    let mut grid = Grid::new(title, &heads);
    let cell = |figure: &RepeatedFigure| with_interval(figure.mean, figure.interval);
    let signed = |figure: &RepeatedFigure| match (figure.mean, figure.interval) {
        (Some(mean), Some(interval)) => format!("{mean:+.3} [{:+.2}, {:+.2}]", interval.low, interval.high),
        (mean, _) => mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:+.3}")),
    };
    for set in &repeats.sets {
        grid.push(vec![
            set.name.clone(),
            set.features.len().to_string(),
            cell(&set.pooled),
            cell(&set.within_generators),
            set.leave_one_generator_out.as_ref().map_or_else(|| "-".to_owned(), cell),
            set.change.as_ref().map_or_else(|| "-".to_owned(), signed),
        ]);
    }
    grid
}
