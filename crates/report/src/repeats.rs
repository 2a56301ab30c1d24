//! Folds drawn many times, and training on one value of a column for another, as tables.

use super::tables::{Grid, rate, with_interval};
use veridiff_detector::{RepeatedFigure, Repeats, Transfer};

/// Means over the repeats.
pub(super) fn repeat_grid(repeats: &Repeats) -> Grid {
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

/// Every pair of values.
pub(super) fn transfer_grid(transfer: &Transfer) -> Grid {
    let title = format!("By {}: trained on one, tested on another (the same: out of fold)", transfer.column);
    let mut grid = Grid::new(title, &["trained on", "tested on", "n", "halluc.", "AUC [95%]", "within [95%]", "acc."]);
    for pair in &transfer.figures {
        let (figure, within) = (&pair.figure, &pair.within_generators);
        grid.push(vec![
            pair.trained_on.clone(),
            pair.tested_on.clone(),
            figure.n.to_string(),
            figure.n_positive.to_string(),
            with_interval(figure.auc, figure.interval),
            with_interval(within.auc, within.interval),
            rate(figure.accuracy),
        ]);
    }
    grid
}
