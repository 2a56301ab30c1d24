//! The paper's table 4: the best single metrics, then what the learner makes of sets of them.

use serde_json::{Map, Value};

use super::view::View;
#[cfg(feature = "figures")]
use crate::figures::{Chapter, curves};
use crate::{
    describe,
    grid::{Grid, rate, with_interval},
    predictors::{best_metrics, metrics},
    table::{NamedTable, record},
};
use veridiff_detector::{Comparison, Evaluation, Figure, Learner, PredictorKind, StepwiseEvaluation};

pub(super) const VIEW: View = View {
    tables: |evaluation| vec![combination(evaluation)],
    #[cfg(feature = "figures")]
    pictures: Some((Chapter::Together, |evaluation, rows| {
        vec![curves::roc(evaluation, rows), curves::calibration(evaluation)]
    })),
    ..View::EMPTY
};

fn combination(evaluation: &Evaluation) -> NamedTable {
    let heads = ["predictor", "metrics", "acc. %", "major. %", "AUC [95%]", "in sample\nacc. %", "in sample\nAUC"];
    let title = match evaluation.predictors.last().map(|predictor| predictor.kind) {
        Some(PredictorKind::Detector) => "The detector".to_owned(),
        _ => format!(
            "Best single metrics (first the best of each family), and {} over several; out of fold",
            describe::learner(evaluation.settings.learner)
        ),
    };
    let mut grid = Grid::new(title, &heads);
    let mut records = Vec::new();
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}", 100.0 * value));
    let mut push = |kind: &str, name: &str, n_features: Option<usize>, figure: &Figure| {
        let in_sample = figure.in_sample;
        grid.push(vec![
            name.to_owned(),
            n_features.map_or_else(String::new, |n| n.to_string()),
            percent(figure.accuracy),
            percent(figure.majority),
            with_interval(figure.auc, figure.interval),
            percent(in_sample.and_then(|in_sample| in_sample.accuracy)),
            rate(in_sample.and_then(|in_sample| in_sample.auc)),
        ]);
        let mut value = record(figure);
        if let Value::Object(fields) = &mut value {
            let mut named = Map::from_iter([
                ("kind".to_owned(), kind.into()),
                ("name".to_owned(), name.into()),
                ("n_features".to_owned(), n_features.into()),
            ]);
            named.append(fields);
            records.push(Value::Object(named));
        }
    };
    for metric in best_metrics(evaluation) {
        push("metric", &metric.name, Some(1), &metric.overall);
    }
    let n_features = metrics(evaluation).count();
    let sets = evaluation.analyses.get::<Comparison>().into_iter().flat_map(|comparison| &comparison.sets);
    // as the paper has them: all comes last
    let (all, parts): (Vec<_>, Vec<_>) = sets.partition(|set| set.features.len() == n_features);
    for set in parts {
        push("set", &set.name, Some(set.features.len()), &set.overall);
    }
    if let Some(stepwise) = evaluation.analyses.get::<StepwiseEvaluation>() {
        let name = match evaluation.settings.learner {
            Learner::Logistic => "all, chosen stepwise".to_owned(),
            _ => format!("all, chosen stepwise ({})", describe::learner(Learner::Logistic)),
        };
        push("stepwise", &name, Some(stepwise.choice.selected.len()), &stepwise.overall);
    }
    match all.first() {
        Some(set) => push("set", &set.name, Some(n_features), &set.overall),
        None => {
            if let Some(whole) = evaluation.predictors.last() {
                let detector = whole.kind == PredictorKind::Detector;
                let (name, n) = if detector { (whole.name.as_str(), None) } else { ("all", Some(n_features)) };
                push(if detector { "detector" } else { "set" }, name, n, &whole.overall);
            }
        }
    }
    NamedTable::new("combination", grid, records)
}
