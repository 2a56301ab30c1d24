//! The single metrics of an evaluation: which there are, and which of them lead.

use crate::names::common_scorer;
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{Direction, Evaluation, PredictorEvaluation, PredictorKind};

/// How many single metrics stand beside the combination.
const N_METRICS: usize = 4;

/// The single metrics, in the order of the evaluation.
pub(crate) fn metrics(evaluation: &Evaluation) -> impl Iterator<Item = &PredictorEvaluation> {
    evaluation.predictors.iter().filter(|predictor| predictor.kind == PredictorKind::Feature)
}

/// The scorer that all single metrics have in common, if they have one.
pub(crate) fn scorer(evaluation: &Evaluation) -> Option<&str> {
    common_scorer(metrics(evaluation).map(|metric| metric.name.as_str()))
}

/// Single metrics with a direction that all folds agree on, best first: the best of each family, then the rest, at most four.
pub(crate) fn best_metrics(evaluation: &Evaluation) -> Vec<&PredictorEvaluation> {
    let auc = |metric: &PredictorEvaluation| metric.overall.auc.unwrap_or(0.0);
    let mut known: Vec<&PredictorEvaluation> = metrics(evaluation)
        .filter(|metric| metric.direction != Some(Direction::Mixed) && metric.overall.auc.is_some())
        .collect();
    known.sort_by(|a, b| auc(b).total_cmp(&auc(a)));
    let mut families = Vec::new();
    let (first, rest): (Vec<_>, Vec<_>) = known.into_iter().partition(|metric| {
        let family = CATALOGUE.family_of(&metric.name).map(|family| family.name);
        let new = !families.contains(&family);
        families.push(family);
        new
    });
    let mut chosen: Vec<&PredictorEvaluation> = first.into_iter().chain(rest).take(N_METRICS).collect();
    chosen.sort_by(|a, b| auc(b).total_cmp(&auc(a)));
    chosen
}
