//! AUCs with their intervals, one line a predictor.

use super::{
    axis::Frame,
    canvas::{Canvas, PLAIN, Stroke},
    picture::{missing, picture},
    subtitle,
    theme::{BODY, HALLUCINATED, NEUTRAL, SMALL, Tone},
    type_setting::{Weight, fitted_names, width},
};
use crate::{
    describe,
    names::{common_scorer, short},
    pictures::{MissingPicture, Picture},
    predictors::metrics,
};
use veridiff_detector::{Comparison, Evaluation, Figure, Interval, Learner, PredictorKind, StepwiseEvaluation};

/// One line of the picture: a predictor and its AUC.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalLine {
    /// What the line is called.
    pub name: String,
    /// Whether it is drawn as the strong one.
    pub strong: bool,
    /// Its AUC, 0 to 1.
    pub auc: f64,
    /// The interval around the AUC.
    pub interval: Option<Interval>,
    /// The AUC on the rows trained on, where something was.
    pub in_sample: Option<f64>,
}

const ROW_HEIGHT: f64 = 20.0;
const PLOT_WIDTH: f64 = 300.0;

/// Draws the lines from the top.
pub fn draw(lines: &[IntervalLine]) -> Canvas {
    let names = fitted_names(lines.iter().map(|line| line.name.as_str()), BODY, 250.0);
    let name_width = names.iter().map(|name| width(name, BODY, Weight::Bold)).fold(0.0, f64::max);
    let texts: Vec<String> = lines.iter().map(|line| describe::auc(Some(line.auc), line.interval, "")).collect();
    let text_width = texts.iter().map(|text| width(text, SMALL, Weight::Bold)).fold(0.0, f64::max);
    let ends = lines.iter().flat_map(|line| {
        let (low, high) = line.interval.map_or((line.auc, line.auc), |interval| (interval.low, interval.high));
        [Some(line.auc), Some(low), Some(high), line.in_sample].into_iter().flatten()
    });
    // chance is always in the picture, with a twentieth to both sides
    let (low, high) = ends.fold((0.45, 0.55), |(low, high), end| (f64::min(low, end), f64::max(high, end)));
    let range = (((low - 0.01) * 20.0).floor() / 20.0, ((high + 0.01) * 20.0).ceil() / 20.0);
    let (left, top, height) = (name_width + 10.0, 4.0, lines.len() as f64 * ROW_HEIGHT);
    let n_legend = 1.0 + f64::from(u8::from(lines.iter().any(|line| line.in_sample.is_some())));
    let mut canvas = Canvas::new(left + PLOT_WIDTH + 12.0 + text_width, top + height + 42.0 + 18.0 * n_legend);
    let frame = Frame::new(range, (0.0, 1.0), [left, top, PLOT_WIDTH, height]);
    for (value, text) in frame.x.ticks(5) {
        canvas.line((frame.x.at(value), top), (frame.x.at(value), top + height), Stroke::new(Tone::Grid, 1.0));
        canvas.text(frame.x.at(value), top + height + 15.0, &text, PLAIN.small().middle());
    }
    let chance = Stroke { tone: Tone::Muted, width: 1.0, dashes: "3 3" };
    canvas.line((frame.x.at(0.5), top), (frame.x.at(0.5), top + height), chance);
    canvas.line((left, top + height), (left + PLOT_WIDTH, top + height), Stroke::new(Tone::Rule, 1.0));
    canvas.text(left + PLOT_WIDTH / 2.0, top + height + 32.0, "ROC-AUC", PLAIN.middle());
    for (i, line) in lines.iter().enumerate() {
        let y = top + (i as f64 + 0.5) * ROW_HEIGHT;
        let tone = if line.strong { HALLUCINATED } else { NEUTRAL };
        let style = if line.strong { PLAIN.bold() } else { PLAIN };
        canvas.label(name_width, y, &names[i], &line.name, style.end());
        if let Some(Interval { low, high }) = line.interval {
            canvas.line((frame.x.at(low), y), (frame.x.at(high), y), Stroke::new(tone, 2.0));
        }
        if let Some(in_sample) = line.in_sample {
            canvas.circle((frame.x.at(in_sample), y), 3.5, Tone::Paper, 1.0, Some(Stroke::new(tone, 1.2)));
        }
        canvas.circle((frame.x.at(line.auc), y), 4.0, tone, 1.0, Some(Stroke::new(Tone::Paper, 1.0)));
        canvas.text_at_middle(
            left + PLOT_WIDTH + 12.0,
            y,
            &texts[i],
            if line.strong { PLAIN.small().bold() } else { PLAIN.small() },
        );
    }
    let mut y = top + height + 50.0;
    canvas.circle((left + 6.0, y), 4.0, NEUTRAL, 1.0, None);
    canvas.text_at_middle(left + 18.0, y, "out of fold; the dashed line is chance", PLAIN.small().tone(Tone::Muted));
    if n_legend > 1.0 {
        y += 18.0;
        canvas.circle((left + 6.0, y), 3.5, Tone::Paper, 1.0, Some(Stroke::new(HALLUCINATED, 1.2)));
        canvas.text_at_middle(left + 18.0, y, "in sample: flattering", PLAIN.small().tone(Tone::Muted));
    }
    canvas
}

/// Every single metric, best first, under the sets of features that were compared, or the combination.
pub fn aucs(evaluation: &Evaluation) -> Result<Picture, MissingPicture> {
    let title = "ROC-AUC with 95% intervals";
    if describe::judges_detector(evaluation) {
        return Err(missing(title, "a fitted detector is judged here, not single metrics"));
    }
    let line = |name: String, strong: bool, figure: &Figure| {
        let in_sample = figure.in_sample.and_then(|in_sample| in_sample.auc).filter(|_| strong);
        Some(IntervalLine { name, strong, auc: figure.auc?, interval: figure.interval, in_sample })
    };
    let features = || metrics(evaluation);
    let stepwise = evaluation.analyses.get::<StepwiseEvaluation>();
    let scorer = common_scorer(features().map(|p| p.name.as_str()));
    let combination = evaluation.predictors.iter().filter(|p| p.kind == PredictorKind::Combination);
    let mut lines: Vec<IntervalLine> =
        combination.filter_map(|p| line(format!("combination of {}", features().count()), true, &p.overall)).collect();
    if let Some(stepwise) = stepwise {
        lines.extend(line("combination, stepwise".into(), true, &stepwise.overall));
    }
    let sets = evaluation.analyses.get::<Comparison>().into_iter().flat_map(|comparison| &comparison.sets);
    lines.extend(
        sets.filter(|set| set.features.len() > 1 && set.features.len() < features().count())
            .filter_map(|set| line(format!("{} ({})", set.name, set.features.len()), true, &set.overall)),
    );
    let mut single: Vec<IntervalLine> =
        features().filter_map(|p| line(short(&p.name, scorer).to_owned(), false, &p.overall)).collect();
    single.sort_by(|a, b| b.auc.total_cmp(&a.auc));
    lines.extend(single);
    if lines.is_empty() {
        return Err(missing(title, "no predictor has an AUC"));
    }
    let learner = evaluation.settings.learner;
    let stepwise = match (stepwise, learner) {
        (None, _) | (_, Learner::Logistic) => String::new(),
        (Some(_), _) => format!(" (stepwise: {})", describe::learner(Learner::Logistic)),
    };
    let caption = format!(
        "ROC-AUC over all rows: {}{stepwise} over sets of metrics (bold; in brackets how many metrics), with the figure \
         in sample beside the one out of fold, and every single metric. {} {} {} A metric is turned so that it points \
         to hallucinations on the training folds; if the folds disagree its AUC may be below 0.5.",
        describe::learner(learner),
        describe::sample(evaluation),
        describe::procedure(evaluation),
        describe::intervals(evaluation),
    );
    let subtitle = subtitle::subtitle(evaluation, scorer);
    Ok(picture("auc-intervals", title, &subtitle, caption, draw(&lines)))
}
