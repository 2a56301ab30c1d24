//! ROC curves, and how far predicted probabilities can be taken at their word.

use super::{
    axis::{Frame, Scale, UNDER_FRAME, widest_tick},
    canvas::{Canvas, PLAIN, Stroke},
    picture::{missing, picture},
    subtitle,
    theme::{HALLUCINATED, NEUTRAL, SMALL, Tone},
    type_setting::{Weight, fitted, width},
};
use crate::{
    describe,
    names::{common_scorer, short},
    pictures::{MissingPicture, Picture},
    predictors::best_metrics,
};
use veridiff_detector::{
    CalibrationBin, CalibrationFigure, Direction, Evaluation, Interval, LabelledRows, PredictorEvaluation,
    PredictorKind, RocPoint, proportion_interval, roc_curve,
};

/// Side of the square that curves are drawn in.
const SIDE: f64 = 300.0;

/// A curve with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// What stands behind the name.
    pub figure: String,
    /// From (0, 0) to (1, 1).
    pub points: Vec<RocPoint>,
}

/// Dashes by which series are told apart without colour.
const DASHES: [&str; 5] = ["", "6 2.5", "2 2", "8 2.5 2 2.5", "10 4"];

/// Draws ROC curves; the first is the strong one.
pub fn draw_roc(curves: &[Curve]) -> Canvas {
    let left = 48.0;
    let line = 18.0;
    let names: Vec<String> = curves.iter().map(|curve| fitted(&curve.name, SMALL, 220.0)).collect();
    let name_width = names.iter().map(|name| width(name, SMALL, Weight::Bold)).fold(0.0, f64::max);
    let figure_width = curves.iter().map(|curve| width(&curve.figure, SMALL, Weight::Bold)).fold(0.0, f64::max);
    let legend_x = 4.0;
    let figure_x = legend_x + 34.0 + name_width + 12.0;
    let mut canvas = Canvas::new(
        (left + SIDE + 8.0).max(figure_x + figure_width),
        SIDE + UNDER_FRAME + 8.0 + line * (curves.len() + 1) as f64,
    );
    let frame = Frame::new((0.0, 1.0), (0.0, 1.0), [left, 4.0, SIDE, SIDE]);
    frame.draw(&mut canvas, "False positive rate", "True positive rate");
    let chance = Stroke { tone: Tone::Rule, width: 1.0, dashes: "3 3" };
    canvas.line(frame.at(0.0, 0.0), frame.at(1.0, 1.0), chance);
    let stroke = |i: usize| match i {
        0 => Stroke::new(HALLUCINATED, 2.4),
        // the second series is the first curve's
        i => Stroke { tone: Tone::Series([0, 2, 3, 4][(i - 1) % 4]), width: 1.6, dashes: DASHES[i % DASHES.len()] },
    };
    for (i, curve) in curves.iter().enumerate().rev() {
        let points: Vec<(f64, f64)> =
            curve.points.iter().map(|point| frame.at(point.false_positive_rate, point.true_positive_rate)).collect();
        canvas.path(&points, stroke(i));
    }
    let mut y = 4.0 + SIDE + UNDER_FRAME + 12.0;
    for (i, curve) in curves.iter().enumerate() {
        canvas.line((legend_x, y), (legend_x + 26.0, y), stroke(i));
        let style = if i == 0 { PLAIN.small().bold() } else { PLAIN.small() };
        canvas.label(legend_x + 34.0, y, &names[i], &curve.name, style);
        canvas.text_at_middle(figure_x, y, &curve.figure, style);
        y += line;
    }
    canvas.line((legend_x, y), (legend_x + 26.0, y), chance);
    canvas.text_at_middle(legend_x + 34.0, y, "chance", PLAIN.small().tone(Tone::Muted));
    canvas.text_at_middle(figure_x, y, "0.50", PLAIN.small().tone(Tone::Muted));
    canvas
}

/// The combination, or the detector, and beside it the best single metrics.
pub fn roc(evaluation: &Evaluation, rows: &LabelledRows) -> Result<Picture, MissingPicture> {
    let title = "ROC curves";
    let whole = evaluation.predictors.iter().find_map(|predictor| Some((predictor, predictor.curves.as_ref()?)));
    let Some((whole, curves)) = whole.filter(|(_, curves)| !curves.roc.is_empty()) else {
        return Err(missing(title, "no row has a prediction, or those that have one are of one class"));
    };
    let name = if whole.kind == PredictorKind::Detector { "detector" } else { "combination" };
    let figure = describe::auc(whole.overall.auc, whole.overall.interval, "–");
    let mut drawn = vec![Curve { name: name.to_owned(), figure, points: curves.roc.clone() }];
    let scorer = common_scorer(rows.feature_names.iter().map(String::as_str));
    drawn.extend(best_metrics(evaluation).into_iter().filter_map(|predictor| {
        let points = feature_curve(predictor, rows)?;
        let figure = describe::auc(predictor.overall.auc, predictor.overall.interval, "–");
        Some(Curve { name: short(&predictor.name, scorer).to_owned(), figure, points })
    }));
    let beside = match drawn.len() {
        1 => "No single metric is drawn beside it.".to_owned(),
        n => format!(
            "Beside it the best {} by AUC, first the best of each family; a metric whose direction the folds disagree \
             about is not among them.",
            describe::counted(n - 1, "single metric", "single metrics")
        ),
    };
    let caption = format!(
        "ROC curve of the {name}. {beside} In the legend the area under each curve. {} {} {}",
        describe::sample(evaluation),
        describe::procedure(evaluation),
        describe::intervals(evaluation),
    );
    let subtitle = subtitle::subtitle(evaluation, scorer);
    Ok(picture("roc", title, &subtitle, caption, draw_roc(&drawn)))
}

/// The curve of a feature as stored or mirrored: with one direction in all folds these are its scores out of fold.
fn feature_curve(predictor: &PredictorEvaluation, rows: &LabelledRows) -> Option<Vec<RocPoint>> {
    let sign = match predictor.direction? {
        Direction::Higher => 1.0,
        Direction::Lower => -1.0,
        Direction::Mixed => return None,
    };
    let column = rows.feature_names.iter().position(|name| *name == predictor.name)?;
    let scores: Vec<f64> = rows.features.column(column).iter().map(|value| sign * value).collect();
    Some(roc_curve(&scores, &rows.labels)).filter(|points| !points.is_empty())
}

/// Draws a reliability diagram: points of bins of equally many rows, and how many rows have which probability.
pub fn draw_calibration(mass: &[CalibrationBin], equal: &[CalibrationBin], base_rate: f64) -> Canvas {
    let histogram_height = 64.0;
    let strip_top = 4.0 + SIDE + 22.0;
    let bottom = strip_top + histogram_height;
    let most = equal.iter().map(|bin| bin.n).max().unwrap_or(1) as f64;
    let rows = Scale::new((0.0, most), (bottom, strip_top));
    let left = (30.0 + widest_tick(&rows, 2)).max(48.0);
    let frame = Frame::new((0.0, 1.0), (0.0, 1.0), [left, 4.0, SIDE, SIDE]);
    let mut canvas = Canvas::new(left + SIDE + 8.0, bottom + UNDER_FRAME + 44.0);
    frame.draw(&mut canvas, "", "Share hallucinated");
    canvas.line(frame.at(0.0, 0.0), frame.at(1.0, 1.0), Stroke { tone: Tone::Rule, width: 1.0, dashes: "3 3" });
    let (x, y) = frame.at(0.0, base_rate);
    canvas.line((x, y), (frame.x.at(1.0), y), Stroke { tone: Tone::Muted, width: 1.0, dashes: "1 3" });
    let line: Vec<(f64, f64)> = mass.iter().map(|bin| frame.at(bin.mean_probability, bin.positive_rate)).collect();
    canvas.path(&line, Stroke::new(HALLUCINATED, 1.2));
    for bin in mass {
        let (x, y) = frame.at(bin.mean_probability, bin.positive_rate);
        let positives = (bin.positive_rate * bin.n as f64).round() as usize;
        if let Some(Interval { low, high }) = proportion_interval(positives, bin.n) {
            canvas.line((x, frame.y.at(low)), (x, frame.y.at(high)), Stroke::new(HALLUCINATED, 1.2));
        }
        canvas.circle((x, y), 3.5, HALLUCINATED, 1.0, Some(Stroke::new(Tone::Paper, 1.0)));
    }
    for (value, text) in rows.ticks(2) {
        canvas.line((left, rows.at(value)), (left + SIDE, rows.at(value)), Stroke::new(Tone::Grid, 1.0));
        canvas.text_at_middle(left - 6.0, rows.at(value), &text, PLAIN.small().end());
    }
    for bin in equal {
        let (x, top) = (frame.x.at(bin.low), rows.at(bin.n as f64));
        let area = [x + 0.5, top, frame.x.at(bin.high) - x - 1.0, bottom - top];
        let hint = format!("{:.1} to {:.1}: {}", bin.low, bin.high, describe::counted(bin.n, "row", "rows"));
        canvas.rectangle(area, NEUTRAL, &hint);
    }
    canvas.line((left, bottom), (left + SIDE, bottom), Stroke::new(Tone::Rule, 1.0));
    for (value, text) in frame.x.ticks(5) {
        canvas.text(frame.x.at(value), bottom + 15.0, &text, PLAIN.small().middle());
    }
    canvas.text(left + SIDE / 2.0, bottom + 32.0, "Predicted probability", PLAIN.middle());
    let title_x = left - 12.0 - widest_tick(&rows, 2);
    canvas.text(title_x, (strip_top + bottom) / 2.0, "Rows", PLAIN.middle().turned(-90.0));
    let key = bottom + UNDER_FRAME + 12.0;
    for (row, dashes, tone, text) in [
        (0.0, "3 3", Tone::Rule, "true probabilities".to_owned()),
        (18.0, "1 3", Tone::Muted, format!("share of all rows: {base_rate:.2}")),
    ] {
        canvas.line((left, key + row), (left + 26.0, key + row), Stroke { tone, width: 1.0, dashes });
        canvas.text_at_middle(left + 34.0, key + row, &text, PLAIN.small().tone(Tone::Muted));
    }
    canvas
}

/// The calibration of the combination, or of the detector.
pub fn calibration(evaluation: &Evaluation) -> Result<Picture, MissingPicture> {
    let title = "Calibration";
    let whole = evaluation.predictors.iter().find_map(|predictor| Some((predictor, predictor.curves.as_ref()?)));
    let Some((whole, curves)) = whole.filter(|(_, curves)| !curves.calibration_equal_mass.is_empty()) else {
        return Err(missing(title, "no row has a predicted probability"));
    };
    let name = if whole.kind == PredictorKind::Detector { "detector" } else { "combination" };
    let base_rate = whole.overall.n_positive as f64 / whole.overall.n.max(1) as f64;
    let (mut subtitle, mut scores) = (subtitle::short_sample(evaluation), String::new());
    if let Some(CalibrationFigure { brier, brier_base_rate, ece_equal_width, ece_equal_mass }) =
        whole.overall.calibration
    {
        subtitle += &format!("; Brier {brier:.3} (base rate {brier_base_rate:.3}), ECE {ece_equal_mass:.3}");
        scores = format!(
            "Brier score {brier:.3} (answering the share of all rows: {brier_base_rate:.3}); expected calibration \
             error {ece_equal_mass:.3} in bins of equally many rows, {ece_equal_width:.3} in bins of equal width. "
        );
    }
    let caption = format!(
        "Calibration of the {name}: in each of up to ten bins of equally many rows, the share that is hallucinated \
         against the mean predicted probability; bars are 95% Wilson intervals, rows taken for independent; on the \
         diagonal probabilities are true. Below, how many rows have which probability. {scores}{} {}",
        describe::sample(evaluation),
        describe::procedure(evaluation),
    );
    let canvas = draw_calibration(&curves.calibration_equal_mass, &curves.calibration_equal_width, base_rate);
    Ok(picture("calibration", title, &subtitle, caption, canvas))
}
