//! A fitted detector in every format.

use std::fmt::Write;

use serde::Serialize;

use crate::{
    csv::{CsvText, Name, Number},
    describe,
    format::{TableFormat, json, note_lines},
    grid::{Grid, number, rate, with_interval},
    names::{common_scorer, short},
};
use veridiff_detector::{Fit, Model, Predict, Regression, Stack, Trees};

/// A fitted detector: its coefficients, and how well it does in and out of sample.
pub fn fit_page(fit: &Fit, format: TableFormat) -> String {
    let model = fit.detector.model();
    let grid = match (model.trees(), model.stack()) {
        (Some(trees), _) => gain_grid(fit, trees),
        (None, Some(stack)) => member_grid(fit, stack),
        (None, None) => weight_grid(fit),
    };
    match format {
        TableFormat::Json => json(fit),
        TableFormat::Md => format!("{}\n{}", grid.to_markdown(), fit_summary(fit)),
        TableFormat::Latex => grid.to_latex(),
        TableFormat::Csv => fit_csv(fit),
        TableFormat::Text => format!("{}\n{}", grid.to_text(), fit_summary(fit)),
    }
}

/// Each feature with what the model takes from it, in full.
fn fit_csv(fit: &Fit) -> String {
    #[derive(Serialize)]
    struct Weight<'a> {
        feature: Name<'a>,
        mean: Number,
        scale: Number,
        coefficient: Number,
        odds_ratio: Number,
    }
    #[derive(Serialize)]
    struct Gain<'a> {
        feature: Name<'a>,
        mean: Number,
        scale: Number,
        gain: Number,
    }
    #[derive(Serialize)]
    struct Part<'a> {
        member: Name<'a>,
        learner: &'static str,
        features: usize,
        auc: Number,
        auc_without: Number,
        weight: Number,
    }
    let mut csv = CsvText::new();
    if let Some(stack) = fit.detector.model().stack() {
        for (member, weight) in stack.of.iter().zip(&stack.over.coefficients) {
            csv.push_fields(&Part {
                member: Name(&member.family),
                learner: member.model.learner().name(),
                features: member.columns.len(),
                auc: Number(member.auc),
                auc_without: Number(member.auc_without),
                weight: Number(Some(*weight)),
            });
        }
        return csv.finish();
    }
    let coefficients = fit.detector.regression().map_or(&[][..], |regression| &regression.coefficients);
    for (index, (feature, coefficient)) in fit.detector.features.iter().zip(coefficients).enumerate() {
        let (name, [mean, scale]) =
            (Name(&feature.name), [feature.mean, feature.scale].map(|value| Number(Some(value))));
        match fit.detector.trees() {
            Some(trees) => {
                csv.push_fields(&Gain { feature: name, mean, scale, gain: Number(trees.gain.get(index).copied()) });
            }
            None => {
                let [coefficient, odds_ratio] = [*coefficient, coefficient.exp()].map(|value| Number(Some(value)));
                csv.push_fields(&Weight { feature: name, mean, scale, coefficient, odds_ratio });
            }
        }
    }
    csv.finish()
}

/// What a page about a fit is called, and the scorer that its names leave out.
fn fit_title(fit: &Fit) -> (String, Option<&str>) {
    let scorer = common_scorer(fit.detector.features.iter().map(|f| f.name.as_str()));
    let features = scorer.map_or_else(String::new, |scorer| format!("; features @{scorer}"));
    (format!("Detector {}{features}", fit.detector.id()), scorer)
}

/// What trees took from each feature.
fn gain_grid(fit: &Fit, trees: &Trees) -> Grid {
    let (title, scorer) = fit_title(fit);
    let title = format!("{title}; {} {}", trees.trees.len(), describe::learner(fit.detector.learner()));
    let mut grid = Grid::new(title, &["feature", "mean", "sd", "share of the gain"]);
    for (feature, gain) in fit.detector.features.iter().zip(&trees.gain) {
        let name = short(&feature.name, scorer).to_owned();
        grid.push(vec![name, number(feature.mean), number(feature.scale), rate(Some(*gain))]);
    }
    grid
}

/// What a stack makes of each family.
fn member_grid(fit: &Fit, stack: &Stack) -> Grid {
    let title = format!("Detector {}; {}", fit.detector.id(), describe::learner(fit.detector.learner()));
    let mut grid = Grid::new(title, &["family", "learner", "features", "AUC", "without it", "weight"]);
    for (member, weight) in stack.of.iter().zip(&stack.over.coefficients) {
        grid.push(vec![
            member.family.clone(),
            member.model.learner().name().to_owned(),
            member.columns.len().to_string(),
            rate(member.auc),
            rate(member.auc_without),
            format!("{weight:+.4}"),
        ]);
    }
    let n_features = fit.detector.features.len().to_string();
    grid.push(vec!["(all)".into(), String::new(), n_features, rate(stack.auc), String::new(), String::new()]);
    grid
}

/// What a regression makes of each feature.
fn weight_grid(fit: &Fit) -> Grid {
    let detector = &fit.detector;
    let (title, scorer) = fit_title(fit);
    let mut grid = Grid::new(title, &["feature", "mean", "sd", "coefficient", "odds ratio per sd"]);
    let Some(regression) = detector.regression() else { return grid };
    for (feature, coefficient) in detector.features.iter().zip(&regression.coefficients) {
        grid.push(vec![
            short(&feature.name, scorer).to_owned(),
            number(feature.mean),
            number(feature.scale),
            format!("{coefficient:+.4}"),
            number(coefficient.exp()),
        ]);
    }
    grid.push(vec!["(intercept)".into(), String::new(), String::new(), format!("{:+.4}", regression.intercept)]);
    grid
}

fn fit_summary(fit: &Fit) -> String {
    let Fit { detector, out_of_fold, .. } = fit;
    let training = &detector.training;
    let left_out = match fit.n_unlabelled + fit.n_incomplete {
        0 => String::new(),
        _ => format!("; left out: {} without label, {} without a feature", fit.n_unlabelled, fit.n_incomplete),
    };
    let learner = match detector.model() {
        Model::Logistic(Regression { converged, l2, .. }) => {
            format!("converged         {} (L2 {l2})", if *converged { "yes" } else { "no" })
        }
        model => format!("learner           {}", describe::learner(model.learner())),
    };
    let mut text = format!(
        "rows              {}, {} hallucinated, {} groups{left_out}\n\
         {learner}\n\
         AUC in sample     {} (on its own training rows: flattering)\n\
         AUC out of fold   {} ({} folds, groups whole)\n\
         accuracy          {} out of fold; always answering the larger class: {}\n\
         threshold         {:.4} (most accurate on the out-of-fold predictions)\n",
        training.n_rows,
        training.n_positive,
        training.n_groups,
        rate(fit.auc_in_sample),
        with_interval(out_of_fold.auc, out_of_fold.interval),
        training.n_folds,
        rate(out_of_fold.accuracy),
        rate(out_of_fold.majority),
        detector.threshold,
    );
    text.push_str(&verdict_summary(fit));
    for note in note_lines(&fit.notes) {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// What calibration and verdicts are worth out of fold.
fn verdict_summary(fit: &Fit) -> String {
    let mut text = String::new();
    if let Some(c) = fit.calibrated {
        let _ = writeln!(
            text,
            "calibration       Brier score {:.4} (always the base rate: {:.4}), calibration error {:.3}, out of fold",
            c.brier, c.brier_base_rate, c.ece_equal_mass
        );
    }
    if let Some(decision) = &fit.detector.decision {
        let o = fit.operation;
        let of = |right: usize, n: usize| match n {
            0 => "none".to_owned(),
            n => format!("{n} of {}, {:.0}% of them rightly", o.n, 100.0 * right as f64 / n as f64),
        };
        let _ = writeln!(
            text,
            "verdicts          {}, {} ({})\n\
             out of fold       unsupported: {}; supported: {}; abstains on {}",
            match decision.unsupported_from {
                never if never > 1.0 => "none unsupported".to_owned(),
                from => format!("unsupported from {from:.3}"),
            },
            match decision.supported_below {
                never if never <= 0.0 => "none supported".to_owned(),
                below => format!("supported below {below:.3}"),
            },
            decision.rule,
            of(o.n_unsupported_right, o.n_unsupported),
            of(o.n_supported_right, o.n_supported),
            o.n - o.n_unsupported - o.n_supported,
        );
    }
    text
}
