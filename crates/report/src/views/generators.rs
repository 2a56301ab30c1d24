//! The combination, or the detector, by generator.

use serde_json::Value;

use super::view::View;
use crate::{
    grid::{Grid, rate, with_interval},
    table::{NamedTable, record},
};
use veridiff_detector::{PredictorEvaluation, PredictorKind};

pub(super) const VIEW: View = View {
    printed: Some(1),
    tables: |evaluation| {
        let whole = evaluation.predictors.last();
        whole.map(|whole| NamedTable::new("generators", generator_grid(whole), generators(whole))).into_iter().collect()
    },
    ..View::EMPTY
};

fn generator_grid(predictor: &PredictorEvaluation) -> Grid {
    let title = match predictor.kind {
        PredictorKind::Detector => "The detector, by generator".to_owned(),
        _ => "The combination, by generator; left out: no row of it, and no diff of the test fold, in training"
            .to_owned(),
    };
    let left_out = predictor.leave_one_generator_out.as_ref();
    let mut heads = vec!["generator", "n", "halluc.", "major.", "AUC [95%]", "acc."];
    if left_out.is_some() {
        heads.extend(["left out [95%]", "acc."]);
    }
    let mut grid = Grid::new(title, &heads);
    for (index, within) in predictor.per_generator.iter().enumerate() {
        let figure = &within.figure;
        let mut row = vec![
            within.generator.clone(),
            figure.n.to_string(),
            figure.n_positive.to_string(),
            rate(figure.majority),
            with_interval(figure.auc, figure.interval),
            rate(figure.accuracy),
        ];
        if let Some(left_out) = left_out.and_then(|left_out| left_out.per_generator.get(index)) {
            row.extend([with_interval(left_out.figure.auc, left_out.figure.interval), rate(left_out.figure.accuracy)]);
        }
        grid.push(row);
    }
    if !predictor.per_generator.is_empty() {
        let mean = &predictor.within_generators;
        let mut row = vec![format!("mean of {}", mean.n_generators)];
        row.extend(["", "", ""].map(str::to_owned));
        row.extend([with_interval(mean.auc, mean.interval), String::new()]);
        row.extend(left_out.map(|l| with_interval(l.within_generators.auc, l.within_generators.interval)));
        grid.push(row);
    }
    grid
}

/// Each generator's figures, with those where it was left out of training.
fn generators(whole: &PredictorEvaluation) -> Vec<Value> {
    let left_out = whole.leave_one_generator_out.as_ref();
    let rows = whole.per_generator.iter().enumerate().map(|(i, within)| {
        let mut value = record(within);
        if let Some(figure) = left_out.and_then(|left_out| left_out.per_generator.get(i)) {
            value["left_out"] = record(&figure.figure);
        }
        value
    });
    rows.collect()
}
