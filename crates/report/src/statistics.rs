//! The figures of an evaluation beyond the AUC as tables: precision, calibration and correlation, groups, comparisons,
//! coefficients, overlaps.

use super::{
    figures::describe,
    repeats,
    tables::{Grid, common_scorer, number, rate, short, with_interval},
};
use veridiff_detector::{
    ColumnFigures, Comparison, Correlation, Estimate, Evaluation, FitStatus, Interval, JointDistribution, Learner,
    LeftOut, LikelihoodFit, Overlap, PredictorKind, Region, Side, StepAction, StepwiseEvaluation, Term,
};

/// Every table that the evaluation has figures for, in the order to read them.
pub(super) fn grids(evaluation: &Evaluation) -> Vec<Grid> {
    let mut grids = vec![quality_grid(evaluation)];
    if let Some(predictor) = evaluation.predictors.last() {
        let name = if predictor.kind == PredictorKind::Detector { "The detector" } else { "The combination" };
        grids.extend(predictor.by.iter().map(|figures| column_grid(name, figures)));
    }
    if let Some(comparison) = &evaluation.comparison {
        grids.extend([set_grid(comparison, evaluation.settings.learner), pair_grid(comparison)]);
    }
    if let Some(fit) = &evaluation.coefficients {
        grids.push(coefficient_grid("All features", fit, None));
    }
    if let Some(stepwise) = &evaluation.stepwise {
        grids.extend([step_grid(stepwise), choice_grid(stepwise, evaluation.settings.n_folds)]);
    }
    grids.extend(evaluation.overlap.as_ref().map(overlap_grid));
    grids.extend(evaluation.joint.as_ref().map(joint_grid));
    grids.extend(evaluation.repeats.as_ref().map(repeats::repeat_grid));
    grids.extend(evaluation.transfer.as_ref().map(repeats::transfer_grid));
    grids
}

/// A p-value, 0 to 1.
pub(super) fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        // smaller ones have lost their digits, down to zero
        Some(p) if p < 1e-99 => "<1e-99".to_owned(),
        Some(p) if p < 1e-4 => format!("{p:.0e}"),
        Some(p) => format!("{p:.4}"),
    }
}

fn interval_text(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "-".to_owned(), |Interval { low, high }| format!("[{low:.2}, {high:.2}]"))
}

fn signed(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.3}"))
}

/// Part of a whole with its share in percent.
fn part(count: usize, whole: usize) -> String {
    if whole == 0 { count.to_string() } else { format!("{count} ({:.0}%)", 100.0 * count as f64 / whole as f64) }
}

/// What the detector's own table leaves out: in sample beside out of fold, DeLong's interval, precision, calibration.
pub(super) fn quality_grid(evaluation: &Evaluation) -> Grid {
    let scorer = common_scorer(evaluation.predictors.iter().filter_map(|predictor| match predictor.kind {
        PredictorKind::Feature => Some(predictor.name.as_str()),
        PredictorKind::Combination | PredictorKind::Detector => None,
    }));
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
pub(super) fn legend(evaluation: &Evaluation) -> String {
    let brier = evaluation.predictors.last().and_then(|predictor| predictor.overall.calibration);
    let base = brier.map_or_else(String::new, |c| format!(" (base rate alone: {:.3})", c.brier_base_rate));
    let mut text = format!(
        "DeLong: standard error with groups; AP: average precision (by chance {:.3}).\n\
         r: point-biserial correlation, of a feature as stored, its p for independent rows.\n\
         Brier score{base}.\n\
         ECE: calibration error in ten bins of equal width, or of equally many rows.\n",
        evaluation.n_positive as f64 / evaluation.n.max(1) as f64
    );
    if evaluation.coefficients.is_some() || evaluation.stepwise.is_some() {
        text.push_str(
            "Coefficients: maximum likelihood on all rows, no penalty; VIF: variance inflation.\n\
             p: for independent rows, and with groups (sandwich); it knows nothing of a choice of features.\n",
        );
    }
    text
}

pub(super) fn column_grid(name: &str, figures: &ColumnFigures) -> Grid {
    let differs = figures.recall.map_or_else(String::new, |test| {
        let rough = if test.smallest_expected < 5.0 { ", rough: few rows" } else { "" };
        format!("; equal recall: p {} (chi-squared {:.1}{rough})", p_value(Some(test.p)), test.chi_squared)
    });
    let title = format!("{name}, by {}{differs}", figures.column);
    let heads = [figures.column.as_str(), "n", "halluc.", "called", "found", "recall", "AUC [95%]", "acc.", "major."];
    let mut grid = Grid::new(title, &heads);
    let total = |count: fn(&veridiff_detector::Figure) -> usize| -> usize {
        figures.values.iter().map(|value| count(&value.figure)).sum()
    };
    let (n, positive) = (total(|f| f.n), total(|f| f.n_positive));
    let (flagged, found) = (total(|f| f.n_flagged), total(|f| f.n_true_positive));
    let recall = |found: usize, positive: usize| rate((positive > 0).then(|| found as f64 / positive as f64));
    for value in &figures.values {
        let figure = &value.figure;
        grid.push(vec![
            value.value.clone().unwrap_or_else(|| "(none)".to_owned()),
            part(figure.n, n),
            part(figure.n_positive, positive),
            part(figure.n_flagged, flagged),
            part(figure.n_true_positive, found),
            recall(figure.n_true_positive, figure.n_positive),
            with_interval(figure.auc, figure.interval),
            rate(figure.accuracy),
            rate(figure.majority),
        ]);
    }
    let sums = [n, positive, flagged, found].map(|count| count.to_string());
    grid.push(["all".to_owned()].into_iter().chain(sums).chain([recall(found, positive)]).collect());
    grid
}

pub(super) fn set_grid(comparison: &Comparison, learner: Learner) -> Grid {
    let heads = ["set", "features", "AUC [95%]", "within [95%]", "acc.", "major.", "in sample\nAUC", "in sample\nacc."];
    let title = format!("Sets of features: {} out of fold, and in sample (flattering)", describe::learner(learner));
    let mut grid = Grid::new(title, &heads);
    for set in &comparison.sets {
        let (figure, within) = (&set.overall, &set.within_generators);
        grid.push(vec![
            set.name.clone(),
            set.features.len().to_string(),
            with_interval(figure.auc, figure.interval),
            with_interval(within.auc, within.interval),
            rate(figure.accuracy),
            rate(figure.majority),
            rate(figure.in_sample.and_then(|in_sample| in_sample.auc)),
            rate(figure.in_sample.and_then(|in_sample| in_sample.accuracy)),
        ]);
    }
    grid
}

pub(super) fn pair_grid(comparison: &Comparison) -> Grid {
    let heads = ["pair", "AUC difference", "DeLong [95%]", "bootstrap [95%]", "z", "p", "p (Holm)"];
    let mut grid = Grid::new("Pairs of sets: the same rows and folds, DeLong's paired test with groups", &heads);
    for pair in &comparison.pairs {
        grid.push(vec![
            format!("{} - {}", pair.first, pair.second),
            signed(pair.difference),
            interval_text(pair.interval),
            interval_text(pair.bootstrap_interval),
            pair.z.map_or_else(|| "-".to_owned(), |z| format!("{z:+.2}")),
            p_value(pair.p),
            p_value(pair.p_holm),
        ]);
    }
    grid
}

/// `folds` gives, for a feature, in how many folds it was chosen.
pub(super) fn coefficient_grid(what: &str, fit: &LikelihoodFit, folds: Option<&dyn Fn(&str) -> String>) -> Grid {
    let scorer = common_scorer(fit.terms.iter().map(|term| term.feature.as_str()));
    let status = match fit.status {
        FitStatus::Converged => "",
        FitStatus::Separated => "; SEPARATED, no finite estimate",
        FitStatus::QuasiSeparated => "; QUASI-SEPARATED, no finite estimate",
        FitStatus::NotConverged => "; NOT CONVERGED",
    };
    // a log-likelihood is never above zero; rounded to it, it has no sign
    let log_likelihood = |value: f64| if value > -0.05 { "0.0".to_owned() } else { format!("{value:.1}") };
    let title = format!(
        "{what}{status}: AIC {:.1}, log-likelihood {} (null {}), McFadden {:.3}",
        fit.aic,
        log_likelihood(fit.log_likelihood),
        log_likelihood(fit.log_likelihood_null),
        fit.pseudo_r2
    );
    let estimated = fit.intercept.is_some() || fit.terms.iter().any(|term| term.estimate.is_some());
    let mut heads = vec!["feature"];
    if estimated {
        heads.extend(["coefficient", "per sd", "SE", "z", "p", "p groups"]);
    }
    heads.push("VIF");
    heads.extend(folds.map(|_| "folds"));
    let mut grid = Grid::new(title, &heads);
    let estimate_cells = |estimate: Option<Estimate>| match estimate {
        None if !estimated => Vec::new(),
        None => vec!["-".to_owned(); 6],
        Some(estimate) => vec![
            number(estimate.coefficient),
            format!("{:+.3}", estimate.standardised),
            number(estimate.model.standard_error),
            format!("{:+.2}", estimate.model.z),
            p_value(Some(estimate.model.p)),
            p_value(estimate.clustered.map(|test| test.p)),
        ],
    };
    let vif = |term: &Term| match term.left_out {
        Some(LeftOut::Constant) => "constant".to_owned(),
        Some(LeftOut::Collinear) => "collinear".to_owned(),
        None => term.vif.map_or_else(|| "-".to_owned(), |vif| format!("{vif:.1}")),
    };
    for term in &fit.terms {
        let mut row = vec![short(&term.feature, scorer).to_owned()];
        row.extend(estimate_cells(term.estimate));
        row.push(vif(term));
        row.extend(folds.map(|folds| folds(&term.feature)));
        grid.push(row);
    }
    if estimated {
        let mut intercept = vec!["(intercept)".to_owned()];
        intercept.extend(estimate_cells(fit.intercept));
        grid.push(intercept);
    }
    grid
}

pub(super) fn step_grid(stepwise: &StepwiseEvaluation) -> Grid {
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

pub(super) fn choice_grid(stepwise: &StepwiseEvaluation, n_folds: usize) -> Grid {
    let folds = |feature: &str| {
        let n = stepwise.chosen.iter().find(|chosen| chosen.feature == feature).map_or(0, |chosen| chosen.n_folds);
        format!("{n} of {n_folds}")
    };
    coefficient_grid("The chosen features", &stepwise.choice.fit, Some(&folds))
}

pub(super) fn overlap_grid(overlap: &Overlap) -> Grid {
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

/// Whether both are one measure under two scorers: then they have one unit and can be compared row by row.
pub(super) fn has_diagonal(joint: &JointDistribution) -> bool {
    let measure = |name: &str| name.split_once('@').map(|(measure, _)| measure.to_owned());
    measure(&joint.x).is_some() && measure(&joint.x) == measure(&joint.y)
}

/// What a joint distribution counts: the rows above and below the diagonal where there is one, else all rows.
pub(super) fn joint_sides(joint: &JointDistribution) -> Vec<(&'static str, Side)> {
    if has_diagonal(joint) {
        return vec![("above", joint.above_diagonal), ("below", joint.below_diagonal)];
    }
    let n_positive = joint.points.iter().filter(|(_, _, positive)| *positive).count();
    vec![("all", Side { n: joint.points.len(), n_positive })]
}

pub(super) fn joint_grid(joint: &JointDistribution) -> Grid {
    let correlation = joint.correlation.map_or_else(
        || "one does not vary".to_owned(),
        |Correlation { r, p, .. }| format!("r {r:+.3}, p {}", p_value(p)),
    );
    let title = format!("{} (x) and {} (y): {correlation}; the distribution is in the JSON", joint.x, joint.y);
    let mut grid = Grid::new(title, &["side of the diagonal", "rows", "halluc."]);
    for (side, Side { n, n_positive }) in joint_sides(joint) {
        let name = match side {
            "all" => "no unit in common, no diagonal".to_owned(),
            side => format!("y {side} x"),
        };
        grid.push(vec![name, n.to_string(), part(n_positive, n)]);
    }
    grid
}
