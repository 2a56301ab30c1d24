//! Figures as tables: aligned text for a terminal, Markdown, LaTeX, CSV and JSON.
//!
//! Text, Markdown and LaTeX are for reading and round; CSV (one line per predictor and set of rows) and JSON hold every
//! figure in full. Names from the input are stripped of control characters before they reach a terminal.

use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, TableComponent};
use serde::Serialize;

use super::{figures::describe, statistics};
use veridiff_detector::{
    Direction, Evaluation, Figure, Fit, Interval, Learner, MeanFigure, Model, PredictorEvaluation, PredictorKind,
    Regression, Trees,
};
use veridiff_text::{named, printable::printable};

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned columns for a terminal.
    Text,
    /// Markdown.
    Md,
    /// One line per predictor and set of rows.
    Csv,
    /// LaTeX `tabular` with booktabs rules.
    Latex,
    /// Everything, as one JSON object.
    Json,
}

named!(Format, "format", "text" => Text, "md" => Md, "csv" => Csv, "latex" => Latex, "json" => Json);

/// A table of text: a title, column heads and rows of equal width. The first column is aligned left, the others right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grid {
    title: String,
    /// What is before a line feed is what neighbours have in common; it stands above the rest where the format allows.
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table.
    pub fn new(title: impl Into<String>, heads: &[&str]) -> Self {
        Self { title: title.into(), heads: heads.iter().map(|head| head.to_string()).collect(), rows: Vec::new() }
    }

    /// Appends a row; it is cut or filled up with blanks to the width of the heads.
    pub fn push(&mut self, row: Vec<String>) {
        let mut row: Vec<String> = row.iter().map(|cell| printable(cell)).collect();
        row.resize(self.heads.len(), String::new());
        self.rows.push(row);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The title, then aligned columns under ruled heads; no trailing blanks.
    pub fn to_text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_style(TableComponent::HeaderLines, '─').set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_header(self.text_heads()).add_rows(&self.rows);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 1));
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let body: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        format!("{}\n{body}", printable(&self.title))
    }

    /// The heads with what neighbours have in common above the first of them only.
    fn text_heads(&self) -> Vec<String> {
        let common = |head: &str| head.split_once('\n').map(|(common, _)| common.to_owned());
        let same = |i: usize| i > 0 && common(&self.heads[i]).is_some_and(|c| common(&self.heads[i - 1]) == Some(c));
        let short = |(i, head): (usize, &String)| match head.split_once('\n') {
            Some((_, rest)) if same(i) => format!("\n{rest}"),
            _ => head.clone(),
        };
        self.heads.iter().enumerate().map(short).collect()
    }

    /// A Markdown table under its title in bold.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| c.replace('\n', " ").replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: String = (0..self.heads.len()).map(|i| if i == 0 { "---|" } else { "---:|" }).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("**{}**\n\n{}|{rule}\n{rows}", printable(&self.title), line(&self.heads))
    }

    /// A LaTeX `table` that needs the packages `booktabs` and `graphicx`, which makes it smaller if it is wider than the
    /// text. pdfLaTeX does; names in other scripts than Latin need XeLaTeX or LuaLaTeX, and a font that has them.
    pub fn to_latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex_escaped(&cell.replace('\n', " "))).collect();
            // a bracket behind the end of a line would be its argument
            let guard = if cells.first().is_some_and(|cell| cell.starts_with(['[', '*'])) { "{}" } else { "" };
            format!("{guard}{} \\\\\n", cells.join(" & "))
        };
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let columns = format!("l{}", "r".repeat(self.heads.len().saturating_sub(1)));
        format!(
            "% needs booktabs and graphicx\n\\begin{{table}}\n\\caption{{{}}}\n\
             \\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n\
             \\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}%\n}}\n\
             \\end{{table}}\n",
            latex_escaped(&printable(&self.title)),
            line(&self.heads)
        )
    }
}

pub(super) fn latex_escaped(text: &str) -> String {
    let mut out = String::new();
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let starts_number = || matches!(before, None | Some(' ' | '[' | '('));
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '±' => out.push_str("$\\pm$"),
            'χ' => out.push_str("$\\chi$"),
            '²' => out.push_str("$^2$"),
            '−' => out.push_str("$-$"),
            '-' if starts_number() && rest.peek().is_some_and(char::is_ascii_digit) => out.push_str("$-$"),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

pub(super) fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

pub(super) fn with_interval(value: Option<f64>, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { low, high }) => format!("{} [{low:.2}, {high:.2}]", rate(value)),
        None => rate(value),
    }
}

/// A number of any magnitude in few characters.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        x if x != 0.0 && !(1e-3..1e6).contains(&x) => format!("{value:.3e}"),
        // an empty sum is -0, which says nothing
        _ => format!("{:.4}", value + 0.0),
    }
}

fn sign(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::Higher) => "+",
        Some(Direction::Lower) => "−",
        Some(Direction::Mixed) => "±",
        None => "",
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("figures and names always serialise");
    text.push('\n');
    text
}

/// The scorer that all these feature names end in, if it is one.
pub(super) fn common_scorer<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut scorers = names.map(|name| name.split_once('@').map(|(_, scorer)| scorer));
    let first = scorers.next()??;
    scorers.all(|scorer| scorer == Some(first)).then_some(first)
}

/// A feature's name without the scorer that the title names.
pub(super) fn short<'a>(name: &'a str, scorer: Option<&str>) -> &'a str {
    scorer.and_then(|scorer| name.strip_suffix(scorer)?.strip_suffix('@')).unwrap_or(name)
}

/// An evaluation as a whole page in the given format. CSV has no place for the notes: print them elsewhere.
pub fn evaluation_page(evaluation: &Evaluation, format: Format) -> String {
    let mut grids = vec![predictor_grid(evaluation), generator_grid(evaluation)];
    grids.extend(statistics::grids(evaluation));
    let grids = grids.iter().filter(|grid| !grid.is_empty());
    match format {
        Format::Json => json(evaluation),
        Format::Csv => evaluation_csv(evaluation),
        Format::Text => {
            let mut page = grids.map(Grid::to_text).collect::<Vec<_>>().join("\n");
            page.push('\n');
            for line in whole_legend(evaluation).lines().map(str::to_owned).chain(note_lines(&evaluation.notes)) {
                let _ = writeln!(page, "{line}");
            }
            page
        }
        Format::Md => {
            let mut page = grids.map(Grid::to_markdown).collect::<Vec<_>>().join("\n");
            let _ = write!(page, "\n{}", whole_legend(evaluation));
            for note in note_lines(&evaluation.notes) {
                let _ = write!(page, "\n- {note}");
            }
            page.push('\n');
            page
        }
        Format::Latex => {
            let mut page = grids.map(Grid::to_latex).collect::<Vec<_>>().join("\n");
            for line in whole_legend(evaluation).lines().map(str::to_owned).chain(note_lines(&evaluation.notes)) {
                let _ = writeln!(page, "% {line}");
            }
            page
        }
    }
}

/// The notes, one a line (not wrapped); a note that is not a warning says that it is a note.
pub fn note_lines(notes: &[String]) -> impl Iterator<Item = String> {
    notes.iter().map(|note| {
        let note = printable(note);
        if note.starts_with("warning:") { note } else { format!("note: {note}") }
    })
}

/// What the heads of all tables mean, and how figures were made.
pub(super) fn whole_legend(evaluation: &Evaluation) -> String {
    legend(evaluation) + &statistics::legend(evaluation)
}

fn legend(evaluation: &Evaluation) -> String {
    let detector = evaluation.predictors.iter().any(|p| p.kind == PredictorKind::Detector);
    let settings = &evaluation.settings;
    let intervals = format!("95% intervals from {} resamples of groups", settings.bootstrap.n_resamples);
    if detector {
        return format!("The detector as it is, its own threshold; {intervals}, seed {}.\n", settings.bootstrap.seed);
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

pub(super) fn predictor_grid(evaluation: &Evaluation) -> Grid {
    let features = evaluation.predictors.iter().filter(|p| p.kind == PredictorKind::Feature);
    let scorer = common_scorer(features.map(|p| p.name.as_str()));
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

/// The last predictor (the combination, or the detector) by generator.
pub(super) fn generator_grid(evaluation: &Evaluation) -> Grid {
    let Some(predictor) = evaluation.predictors.last() else { return Grid::new("", &[]) };
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

/// Every figure, one a line.
fn evaluation_csv(evaluation: &Evaluation) -> String {
    let mut csv = String::from(
        "predictor,kind,scope,generator,n,n_positive,n_groups,n_generators,auc,auc_low,auc_high,accuracy,majority,\
         direction,raw_auc,value,auc_in_sample,accuracy_in_sample,standard_error,delong_low,delong_high,\
         average_precision,n_flagged,n_true_positive,r,r_p,brier,ece_equal_width,ece_equal_mass\n",
    );
    for predictor in &evaluation.predictors {
        let mut figure = |scope: &str, [generator, value]: [&str; 2], figure: &Figure| {
            let counts = [figure.n, figure.n_positive, figure.n_groups].map(|count| count.to_string());
            let rates = [cell(figure.accuracy), cell(figure.majority)];
            let auc = (figure.auc, figure.interval);
            push_csv(&mut csv, predictor, [scope, generator], counts, "", auc, rates, more_cells(value, figure));
        };
        figure("all", ["", ""], &predictor.overall);
        predictor.per_generator.iter().for_each(|g| figure("generator", [&g.generator, ""], &g.figure));
        if let Some(left_out) = &predictor.leave_one_generator_out {
            figure("left_out_all", ["", ""], &left_out.pooled);
            left_out.per_generator.iter().for_each(|g| figure("left_out_generator", [&g.generator, ""], &g.figure));
        }
        for column in &predictor.by {
            let scope = format!("by {}", column.column);
            column.values.iter().for_each(|v| figure(&scope, ["", v.value.as_deref().unwrap_or("")], &v.figure));
        }
        let mut mean = |scope: &str, mean: &MeanFigure| {
            let (blank, n) = ([(); 3].map(|()| String::new()), mean.n_generators.to_string());
            let rates = [(); 2].map(|()| String::new());
            let more = [(); 14].map(|()| String::new());
            push_csv(&mut csv, predictor, [scope, ""], blank, &n, (mean.auc, mean.interval), rates, more);
        };
        mean("mean_within_generators", &predictor.within_generators);
        if let Some(left_out) = &predictor.leave_one_generator_out {
            mean("left_out_mean_within_generators", &left_out.within_generators);
        }
    }
    csv
}

/// The cells from `value` on.
fn more_cells(value: &str, figure: &Figure) -> [String; 14] {
    let interval = figure.delong.and_then(|delong| delong.interval);
    let calibration = figure.calibration;
    [
        value.to_owned(),
        cell(figure.in_sample.and_then(|in_sample| in_sample.auc)),
        cell(figure.in_sample.and_then(|in_sample| in_sample.accuracy)),
        cell(figure.delong.map(|delong| delong.standard_error)),
        cell(interval.map(|interval| interval.low)),
        cell(interval.map(|interval| interval.high)),
        cell(figure.average_precision),
        figure.n_flagged.to_string(),
        figure.n_true_positive.to_string(),
        cell(figure.correlation.map(|correlation| correlation.r)),
        cell(figure.correlation.and_then(|correlation| correlation.p)),
        cell(calibration.map(|calibration| calibration.brier)),
        cell(calibration.map(|calibration| calibration.ece_equal_width)),
        cell(calibration.map(|calibration| calibration.ece_equal_mass)),
    ]
}

#[expect(clippy::too_many_arguments, reason = "one argument for each run of cells")]
fn push_csv(
    csv: &mut String,
    predictor: &PredictorEvaluation,
    [scope, generator]: [&str; 2],
    counts: [String; 3],
    n_generators: &str,
    (auc, interval): (Option<f64>, Option<Interval>),
    rates: [String; 2],
    more: [String; 14],
) {
    let kind = match predictor.kind {
        PredictorKind::Feature => "feature",
        PredictorKind::Combination => "combination",
        PredictorKind::Detector => "detector",
    };
    let direction = match predictor.direction {
        Some(Direction::Higher) => "higher",
        Some(Direction::Lower) => "lower",
        Some(Direction::Mixed) => "mixed",
        None => "",
    };
    let mut cells = vec![predictor.name.clone(), kind.into(), scope.into(), generator.into()];
    cells.extend(counts);
    cells.extend([n_generators.into(), cell(auc), cell(interval.map(|i| i.low)), cell(interval.map(|i| i.high))]);
    cells.extend(rates);
    cells.extend([direction.into(), cell(predictor.raw_auc)]);
    cells.extend(more);
    let cells: Vec<String> = cells.iter().map(|cell| csv_quoted(cell)).collect();
    let _ = writeln!(csv, "{}", cells.join(","));
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// RFC 4180 quoting.
pub(super) fn csv_quoted(cell: &str) -> String {
    let cell = printable(cell);
    if cell.contains([',', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// A fitted detector: its coefficients, and how well it does in and out of sample.
pub fn fit_page(fit: &Fit, format: Format) -> String {
    let grid = match fit.detector.trees() {
        None => coefficient_grid(fit),
        Some(trees) => gain_grid(fit, trees),
    };
    match format {
        Format::Json => json(fit),
        Format::Md => format!("{}\n{}", grid.to_markdown(), fit_summary(fit)),
        Format::Latex => grid.to_latex(),
        Format::Csv => {
            if let Some(trees) = fit.detector.trees() {
                let rows = fit.detector.features.iter().zip(&trees.gain);
                let lines = rows.map(|(f, gain)| format!("{},{},{},{gain}\n", csv_quoted(&f.name), f.mean, f.scale));
                return String::from("feature,mean,scale,gain\n") + &lines.collect::<String>();
            }
            let mut csv = String::from("feature,mean,scale,coefficient,odds_ratio\n");
            for (f, coefficient) in fit.detector.features.iter().zip(&fit.detector.regression().coefficients) {
                let odds = coefficient.exp();
                let _ = writeln!(csv, "{},{},{},{coefficient},{odds}", csv_quoted(&f.name), f.mean, f.scale);
            }
            csv
        }
        Format::Text => format!("{}\n{}", grid.to_text(), fit_summary(fit)),
    }
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

fn coefficient_grid(fit: &Fit) -> Grid {
    let detector = &fit.detector;
    let (title, scorer) = fit_title(fit);
    let mut grid = Grid::new(title, &["feature", "mean", "sd", "coefficient", "odds ratio per sd"]);
    let regression = detector.regression();
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
            "verdicts          unsupported from {:.3}, supported below {:.3} ({})\n\
             out of fold       unsupported: {}; supported: {}; abstains on {}",
            decision.unsupported_from,
            decision.supported_below,
            decision.rule,
            of(o.n_unsupported_right, o.n_unsupported),
            of(o.n_supported_right, o.n_supported),
            o.n - o.n_unsupported - o.n_supported,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new("T_1", &["name", "AUC"]);
        grid.push(vec!["a_b|c".into(), "0.5".into()]);
        grid.push(vec!["x\u{1b}[31m\n".into()]);
        grid
    }

    #[test]
    fn text_is_aligned_and_holds_no_control_characters() {
        let text = grid().to_text();
        assert!(!text.contains('\u{1b}'), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "T_1");
        assert!(lines[3].starts_with("a_b|c ") && lines[3].ends_with(" 0.5"), "{text}");
        assert!(lines[4].contains("\\u{1b}[31m\\n"), "{text}");
    }

    #[test]
    fn markdown_and_latex_escape_what_they_must() {
        assert!(grid().to_markdown().contains("| a_b\\|c | 0.5 |\n"), "{}", grid().to_markdown());
        assert!(grid().to_latex().contains("a\\_b\\textbar{}c & 0.5 \\\\\n"), "{}", grid().to_latex());
        assert_eq!(latex_escaped("5% {x}\\"), "5\\% \\{x\\}\\textbackslash{}");
        assert_eq!(latex_escaped("<a-1> [-0.5, -2]"), "\\textless{}a-1\\textgreater{} [$-$0.5, $-$2]");
        let mut grid = Grid::new("", &["name"]);
        grid.push(vec!["[x]".into()]);
        assert!(grid.to_latex().contains("\n{}[x] \\\\\n"), "a bracket is no argument: {}", grid.to_latex());
    }

    #[test]
    fn heads_in_common_stand_once_in_text_and_everywhere_else_in_full() {
        let mut grid = Grid::new("", &["a", "in sample\nAUC", "in sample\nacc."]);
        grid.push(vec!["x".into(), "0.5".into(), "0.25".into()]);
        assert_eq!(grid.to_text().matches("in sample").count(), 1, "{}", grid.to_text());
        assert!(grid.to_markdown().contains("| a | in sample AUC | in sample acc. |"), "{}", grid.to_markdown());
        assert!(grid.to_latex().contains("a & in sample AUC & in sample acc. \\\\\n"), "{}", grid.to_latex());
    }

    #[test]
    fn csv_cells_are_quoted() {
        assert_eq!(csv_quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_quoted("plain"), "plain");
    }

    #[test]
    fn a_common_scorer_is_taken_out_of_the_names() {
        let names = ["logprob@m", "entropy@m"];
        assert_eq!(common_scorer(names.into_iter()), Some("m"));
        assert_eq!(common_scorer(["a@m", "a@n"].into_iter()), None);
        assert_eq!(common_scorer(["a@m", "bleu4"].into_iter()), None);
        assert_eq!(short("logprob@m", Some("m")), "logprob");
        assert_eq!(short("logprob@m", None), "logprob@m");
    }

    #[test]
    fn numbers_keep_four_figures_at_any_magnitude() {
        assert_eq!((number(0.0), number(-0.0)), ("0.0000".to_owned(), "0.0000".to_owned()));
        assert_eq!(number(-2.5), "-2.5000");
        assert_eq!(number(1.5e-7), "1.500e-7");
        assert_eq!(number(3.0e9), "3.000e9");
    }
}
