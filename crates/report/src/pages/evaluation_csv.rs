//! Every figure of an evaluation as CSV, one predictor on one set of rows a line.

use serde::Serialize;

use crate::csv::{CsvText, Name, Number};
use veridiff_detector::{Direction, Evaluation, Figure, MeanFigure, PredictorEvaluation, PredictorKind};

/// A line; its fields are the columns. What a set of rows does not have is empty.
#[derive(Serialize)]
struct Line<'a> {
    predictor: Name<'a>,
    kind: PredictorKind,
    scope: Name<'a>,
    generator: Name<'a>,
    n: Option<usize>,
    n_positive: Option<usize>,
    n_groups: Option<usize>,
    n_generators: Option<usize>,
    auc: Number,
    auc_low: Number,
    auc_high: Number,
    accuracy: Number,
    majority: Number,
    direction: Option<Direction>,
    raw_auc: Number,
    value: Name<'a>,
    auc_in_sample: Number,
    accuracy_in_sample: Number,
    standard_error: Number,
    delong_low: Number,
    delong_high: Number,
    average_precision: Number,
    n_flagged: Option<usize>,
    n_true_positive: Option<usize>,
    r: Number,
    r_p: Number,
    brier: Number,
    ece_equal_width: Number,
    ece_equal_mass: Number,
}

impl<'a> Line<'a> {
    /// A line about some rows, `scope`, without figures.
    fn blank(predictor: &'a PredictorEvaluation, scope: &'a str) -> Self {
        let none = Number(None);
        Line {
            predictor: Name(&predictor.name),
            kind: predictor.kind,
            scope: Name(scope),
            generator: Name(""),
            n: None,
            n_positive: None,
            n_groups: None,
            n_generators: None,
            auc: none,
            auc_low: none,
            auc_high: none,
            accuracy: none,
            majority: none,
            direction: predictor.direction,
            raw_auc: Number(predictor.raw_auc),
            value: Name(""),
            auc_in_sample: none,
            accuracy_in_sample: none,
            standard_error: none,
            delong_low: none,
            delong_high: none,
            average_precision: none,
            n_flagged: None,
            n_true_positive: None,
            r: none,
            r_p: none,
            brier: none,
            ece_equal_width: none,
            ece_equal_mass: none,
        }
    }

    /// The figures of some rows.
    fn figure(predictor: &'a PredictorEvaluation, scope: &'a str, figure: &Figure) -> Self {
        let delong = figure.delong.and_then(|delong| delong.interval);
        let calibration = figure.calibration;
        Line {
            n: Some(figure.n),
            n_positive: Some(figure.n_positive),
            n_groups: Some(figure.n_groups),
            auc: Number(figure.auc),
            auc_low: Number(figure.interval.map(|interval| interval.low)),
            auc_high: Number(figure.interval.map(|interval| interval.high)),
            accuracy: Number(figure.accuracy),
            majority: Number(figure.majority),
            auc_in_sample: Number(figure.in_sample.and_then(|in_sample| in_sample.auc)),
            accuracy_in_sample: Number(figure.in_sample.and_then(|in_sample| in_sample.accuracy)),
            standard_error: Number(figure.delong.map(|delong| delong.standard_error)),
            delong_low: Number(delong.map(|interval| interval.low)),
            delong_high: Number(delong.map(|interval| interval.high)),
            average_precision: Number(figure.average_precision),
            n_flagged: Some(figure.n_flagged),
            n_true_positive: Some(figure.n_true_positive),
            r: Number(figure.correlation.map(|correlation| correlation.r)),
            r_p: Number(figure.correlation.and_then(|correlation| correlation.p)),
            brier: Number(calibration.map(|calibration| calibration.brier)),
            ece_equal_width: Number(calibration.map(|calibration| calibration.ece_equal_width)),
            ece_equal_mass: Number(calibration.map(|calibration| calibration.ece_equal_mass)),
            ..Line::blank(predictor, scope)
        }
    }

    /// The mean over generators.
    fn mean(predictor: &'a PredictorEvaluation, scope: &'a str, mean: &MeanFigure) -> Self {
        Line {
            n_generators: Some(mean.n_generators),
            auc: Number(mean.auc),
            auc_low: Number(mean.interval.map(|interval| interval.low)),
            auc_high: Number(mean.interval.map(|interval| interval.high)),
            ..Line::blank(predictor, scope)
        }
    }
}

/// Every figure of the evaluation itself, without those of further analyses.
pub(super) fn evaluation_csv(evaluation: &Evaluation) -> String {
    let mut csv = CsvText::new();
    for predictor in &evaluation.predictors {
        csv.push_fields(&Line::figure(predictor, "all", &predictor.overall));
        for of in &predictor.per_generator {
            let line = Line::figure(predictor, "generator", &of.figure);
            csv.push_fields(&Line { generator: Name(&of.generator), ..line });
        }
        if let Some(left_out) = &predictor.leave_one_generator_out {
            csv.push_fields(&Line::figure(predictor, "left_out_all", &left_out.pooled));
            for of in &left_out.per_generator {
                let line = Line::figure(predictor, "left_out_generator", &of.figure);
                csv.push_fields(&Line { generator: Name(&of.generator), ..line });
            }
        }
        for column in &predictor.by {
            let scope = format!("by {}", column.column);
            for of in &column.values {
                let line = Line::figure(predictor, &scope, &of.figure);
                csv.push_fields(&Line { value: Name(of.value.as_deref().unwrap_or("")), ..line });
            }
        }
        csv.push_fields(&Line::mean(predictor, "mean_within_generators", &predictor.within_generators));
        if let Some(left_out) = &predictor.leave_one_generator_out {
            let scope = "left_out_mean_within_generators";
            csv.push_fields(&Line::mean(predictor, scope, &left_out.within_generators));
        }
    }
    csv.finish()
}
