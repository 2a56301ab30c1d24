//! Trained on the rows with one value of a column, tested on those with another.

use super::view::View;
use crate::{
    grid::{Grid, rate, with_interval},
    table::{NamedTable, records},
};
use veridiff_detector::Transfer;

pub(super) const VIEW: View = View {
    analysis: Some("transfer"),
    printed: Some(11),
    tables: |evaluation| {
        let Some(transfer) = evaluation.analyses.get::<Transfer>() else { return Vec::new() };
        vec![NamedTable::new("transfer", transfer_grid(transfer), records(&transfer.figures))]
    },
    ..View::EMPTY
};

fn transfer_grid(transfer: &Transfer) -> Grid {
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
