//! Features chosen by steps.

use super::{coefficients::coefficient_grid, view::View};
use crate::{
    grid::{Grid, rate, with_interval},
    table::{NamedTable, records},
};
use veridiff_detector::{StepAction, StepwiseEvaluation};

/// The steps themselves.
pub(super) const VIEW: View = View {
    analysis: Some("stepwise"),
    printed: Some(6),
    tables: |evaluation| {
        let Some(stepwise) = evaluation.analyses.get::<StepwiseEvaluation>() else { return Vec::new() };
        vec![NamedTable::new("stepwise", step_grid(stepwise), records(&stepwise.choice.steps))]
    },
    ..View::EMPTY
};

/// The coefficients of the features that they chose.
pub(super) const CHOICE: View = View {
    analysis: Some("stepwise"),
    printed: Some(7),
    tables: |evaluation| {
        let Some(stepwise) = evaluation.analyses.get::<StepwiseEvaluation>() else { return Vec::new() };
        let grid = choice_grid(stepwise, evaluation.settings.n_folds);
        vec![NamedTable::new("stepwise-coefficients", grid, records(&stepwise.choice.fit.terms))]
    },
    ..View::EMPTY
};

fn step_grid(stepwise: &StepwiseEvaluation) -> Grid {
    let figure = &stepwise.overall;
    let title = format!(
        "Stepwise by AIC: AUC {} out of fold (chosen anew in each), {} in sample (flattering)",
        with_interval(figure.auc, figure.interval),
        rate(figure.in_sample.and_then(|in_sample| in_sample.auc)),
    );
    let mut grid = Grid::new(title, &["step", "features", "AIC"]);
    let n_start = match stepwise.choice.steps.first() {
        Some(step) if step.action == StepAction::Add => step.n_features - 1,
        Some(step) => step.n_features + 1,
        None => stepwise.choice.selected.len(),
    };
    grid.push(vec!["start".to_owned(), n_start.to_string(), format!("{:.3}", stepwise.choice.start_aic)]);
    for step in &stepwise.choice.steps {
        let sign = if step.action == StepAction::Add { "+" } else { "−" };
        grid.push(vec![format!("{sign} {}", step.feature), step.n_features.to_string(), format!("{:.3}", step.aic)]);
    }
    grid
}

fn choice_grid(stepwise: &StepwiseEvaluation, n_folds: usize) -> Grid {
    let folds = |feature: &str| {
        let n = stepwise.chosen.iter().find(|chosen| chosen.feature == feature).map_or(0, |chosen| chosen.n_folds);
        format!("{n} of {n_folds}")
    };
    coefficient_grid("The chosen features", &stepwise.choice.fit, Some(&folds))
}
