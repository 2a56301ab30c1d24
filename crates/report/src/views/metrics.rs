//! Every single metric and what is made of all together: AUCs, accuracy, direction.

use std::fmt::Write;

use super::view::View;
#[cfg(feature = "figures")]
use crate::figures::{Chapter, heat_map, intervals};
use crate::{
    describe,
    grid::{Grid, rate, with_interval},
    names::short,
    predictors::scorer,
    table::{NamedTable, predictor_records},
};
use veridiff_detector::{Direction, Evaluation, Learner, PredictorKind};

pub(super) const VIEW: View = View {
    printed: Some(0),
    tables: |evaluation| vec![NamedTable::new("metrics", predictor_grid(evaluation), predictor_records(evaluation))],
    legend,
    #[cfg(feature = "figures")]
    pictures: Some((Chapter::Metrics, |evaluation, _| {
        vec![
            intervals::aucs(evaluation),
            heat_map::auc_by_generator(evaluation),
            heat_map::correlation_by_generator(evaluation),
        ]
    })),
    ..View::EMPTY
};

fn predictor_grid(evaluation: &Evaluation) -> Grid {
    let scorer = scorer(evaluation);
    let mut title = format!(
        "ROC-AUC: {} rows, {} hallucinated, {} groups, {} generators",
        evaluation.n,
        evaluation.n_positive,
        evaluation.n_groups,
        evaluation.generators.len()
    );
    if let Some(scorer) = scorer {
        let _ = write!(title, "; features @{scorer}");
    }
    let fitted_here = evaluation.predictors.iter().any(|p| p.kind != PredictorKind::Detector);
    let heads: &[&str] = if fitted_here {
        &["predictor", "sign", "raw", "AUC [95%]", "within [95%]", "new", "acc.", "major."]
    } else {
        &["predictor", "AUC [95%]", "within [95%]", "acc.", "major."]
    };
    let mut grid = Grid::new(title, heads);
    for predictor in &evaluation.predictors {
        let (within, overall) = (&predictor.within_generators, &predictor.overall);
        let aucs = [with_interval(overall.auc, overall.interval), with_interval(within.auc, within.interval)];
        let accuracy = [rate(overall.accuracy), rate(overall.majority)];
        let mut row = Vec::with_capacity(heads.len());
        if fitted_here {
            let new = predictor.leave_one_generator_out.as_ref().and_then(|left_out| left_out.pooled.auc);
            let raw = predictor.raw_auc.map_or_else(String::new, |auc| rate(Some(auc)));
            row.extend([short(&predictor.name, scorer).to_owned(), sign(predictor.direction).to_owned(), raw]);
            row.extend(aucs);
            row.push(rate(new));
        } else {
            row.push(format!("detector {}", predictor.name));
            row.extend(aucs);
        }
        row.extend(accuracy);
        grid.push(row);
    }
    grid
}

fn sign(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::Higher) => "+",
        Some(Direction::Lower) => "−",
        Some(Direction::Mixed) => "±",
        None => "",
    }
}

fn legend(evaluation: &Evaluation) -> String {
    let settings = &evaluation.settings;
    let intervals = format!("95% intervals from {} resamples of groups", settings.bootstrap.n_resamples);
    if describe::judges_detector(evaluation) {
        return format!(
            "The detector as it is, calibrated, flagging what `check` would call unsupported; {intervals}, seed {}.\n",
            settings.bootstrap.seed
        );
    }
    let learner = match settings.learner {
        Learner::Logistic => format!("L2 {}", settings.l2),
        learner => describe::learner(learner).to_owned(),
    };
    format!(
        "Out of fold ({} folds, groups whole, {learner}); {intervals}; seed {}.\n\
         sign: + higher is hallucinated, − lower, ± the folds disagree; raw: AUC of the feature as stored.\n\
         within: mean of the AUCs within generators; new: the generator and the diff both left out of training.\n\
         acc.: at the threshold best on the training folds; major.: always answering the larger class.\n",
        settings.n_folds, settings.bootstrap.seed
    )
}
