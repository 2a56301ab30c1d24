//! What the table of metrics leaves out: in sample beside out of fold, DeLong's interval, precision, calibration.

use super::view::View;
use crate::{
    grid::{Grid, interval_text, p_value, rate, signed},
    names::short,
    predictors::scorer,
    table::{NamedTable, predictor_records},
};
use veridiff_detector::Evaluation;

pub(super) const VIEW: View = View {
    printed: Some(2),
    tables: |evaluation| vec![NamedTable::new("quality", quality_grid(evaluation), predictor_records(evaluation))],
    legend,
    ..View::EMPTY
};

fn quality_grid(evaluation: &Evaluation) -> Grid {
    let scorer = scorer(evaluation);
    let trained = evaluation.predictors.iter().any(|predictor| predictor.overall.in_sample.is_some());
    let mut heads = vec!["predictor", "AUC", "DeLong [95%]"];
    if trained {
        heads.extend(["in sample\nAUC", "in sample\nacc."]);
    }
    heads.extend(["AP", "r", "p", "Brier", "ECE", "ECE mass"]);
    let title = if trained {
        "The same rows: out of fold, and in sample (trained on the rows it is judged by: flattering)"
    } else {
        "The same rows, more figures"
    };
    let mut grid = Grid::new(title, &heads);
    for predictor in &evaluation.predictors {
        let figure = &predictor.overall;
        let mut row = vec![
            short(&predictor.name, scorer).to_owned(),
            rate(figure.auc),
            interval_text(figure.delong.and_then(|delong| delong.interval)),
        ];
        if trained {
            let in_sample = figure.in_sample.as_ref();
            row.extend([rate(in_sample.and_then(|i| i.auc)), rate(in_sample.and_then(|i| i.accuracy))]);
        }
        row.extend([
            rate(figure.average_precision),
            signed(figure.correlation.map(|correlation| correlation.r)),
            p_value(figure.correlation.and_then(|correlation| correlation.p)),
        ]);
        row.extend(figure.calibration.iter().flat_map(|calibration| {
            [calibration.brier, calibration.ece_equal_width, calibration.ece_equal_mass].map(|value| rate(Some(value)))
        }));
        grid.push(row);
    }
    grid
}

/// What the heads of [`quality_grid`] mean.
fn legend(evaluation: &Evaluation) -> String {
    let brier = evaluation.predictors.last().and_then(|predictor| predictor.overall.calibration);
    let base = brier.map_or_else(String::new, |c| format!(" (base rate alone: {:.3})", c.brier_base_rate));
    format!(
        "DeLong: standard error with groups; AP: average precision (by chance {:.3}).\n\
         r: point-biserial correlation, of a feature as stored, its p for independent rows.\n\
         Brier score{base}.\n\
         ECE: calibration error in ten bins of equal width, or of equally many rows.\n",
        evaluation.n_positive as f64 / evaluation.n.max(1) as f64
    )
}
