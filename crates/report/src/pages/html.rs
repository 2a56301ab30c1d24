//! The report as one HTML page: no script, no network, every name escaped.

use base64::{Engine, engine::general_purpose::STANDARD};
use minijinja::{Environment, value::Serde};
use serde::Serialize;

use crate::{
    describe,
    fonts::{BOLD, REGULAR},
    format::note_lines,
    grid::{Grid, clean},
    pictures::{MissingPicture, Section},
    predictors::metrics,
    table::NamedTable,
    views,
};
use veridiff_detector::{Evaluation, Figure, PredictorEvaluation, PredictorKind};

/// A number at the top of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tile {
    /// The number as it is written.
    pub value: String,
    /// What it is a number of.
    pub what: String,
    /// What one has to know to read it: its interval, or what chance gives.
    pub beside: String,
}

#[derive(Debug, Serialize)]
struct PagePicture<'a> {
    name: &'a str,
    title: &'a str,
    caption: &'a str,
    /// How wide it is, in CSS pixels.
    width: f64,
    svg: &'a str,
}

#[derive(Debug, Serialize)]
struct PageSection<'a> {
    title: &'a str,
    figures: Vec<PagePicture<'a>>,
}

#[derive(Debug, Serialize)]
struct PageTable<'a> {
    name: &'a str,
    grid: &'a Grid,
}

/// What the template is filled in with.
#[derive(Debug, Default, Serialize)]
pub(super) struct Page<'a> {
    title: String,
    about: String,
    /// The name of the files that hold all tables, without extension.
    stem: &'a str,
    version: &'static str,
    font_regular: String,
    font_bold: String,
    css: &'static str,
    tiles: Vec<Tile>,
    findings: Vec<String>,
    warnings: Vec<String>,
    sections: Vec<PageSection<'a>>,
    tables: Vec<PageTable<'a>>,
    notes: Vec<String>,
    legend: Vec<String>,
    left_out: Vec<PageLeftOut<'a>>,
    /// Whether the folder has pictures, and the file that lists them for LaTeX.
    has_figures: bool,
}

impl<'a> Page<'a> {
    /// A page about tables, with notes of which some are warnings, and nothing else yet.
    pub(super) fn new(title: &str, about: &str, stem: &'a str, tables: &'a [NamedTable], notes: &[String]) -> Self {
        let (warnings, notes) = note_lines(notes).partition(|note| note.starts_with("warning:"));
        Page {
            title: clean(title),
            about: clean(about),
            stem,
            version: env!("CARGO_PKG_VERSION"),
            font_regular: STANDARD.encode(REGULAR),
            font_bold: STANDARD.encode(BOLD),
            css: include_str!("page.css"),
            tables: tables.iter().map(|table| PageTable { name: &table.name, grid: &table.grid }).collect(),
            warnings,
            notes,
            ..Page::default()
        }
    }

    /// The page with numbers at its top, what they say in sentences, and how the tables are read.
    pub(super) fn with(self, tiles: Vec<Tile>, findings: Vec<String>, legend: &str) -> Self {
        Page { tiles, findings, legend: legend.lines().map(str::to_owned).collect(), ..self }
    }

    /// The page as HTML.
    ///
    /// # Errors
    /// The template engine's, which would be a fault of the template.
    pub(super) fn render(&self) -> Result<String, minijinja::Error> {
        let mut environment = Environment::new();
        // the name's ending turns escaping on
        environment.add_template("page.html", include_str!("page.html"))?;
        environment.get_template("page.html")?.render(Serde(self))
    }
}

#[derive(Debug, Serialize)]
struct PageLeftOut<'a> {
    title: &'a str,
    why: &'a str,
}

/// The page. `source` is what the user calls the table.
///
/// # Errors
/// The template engine's, which would be a fault of the template.
pub(super) fn html(
    evaluation: &Evaluation,
    source: &str,
    sections: &[Section],
    missing: &[MissingPicture],
    tables: &[NamedTable],
) -> Result<String, minijinja::Error> {
    let title = format!("Hallucination detection on {source}");
    let about = format!(
        "{} {} {}",
        describe::sample(evaluation),
        describe::procedure(evaluation),
        describe::intervals(evaluation)
    );
    let page = Page {
        sections: sections.iter().map(page_section).collect(),
        left_out: missing.iter().map(|picture| PageLeftOut { title: &picture.title, why: &picture.why }).collect(),
        has_figures: true,
        ..Page::new(&title, &about, "eval", tables, &evaluation.notes)
    };
    page.with(tiles(evaluation), findings(evaluation), &views::legend(evaluation)).render()
}

fn page_section(section: &Section) -> PageSection<'_> {
    let figures = section.pictures.iter().map(|picture| PagePicture {
        name: &picture.name,
        title: &picture.title,
        caption: &picture.caption,
        width: picture.width,
        svg: &picture.svg,
    });
    PageSection { title: section.title, figures: figures.collect() }
}

fn best_single(evaluation: &Evaluation) -> Option<&PredictorEvaluation> {
    metrics(evaluation)
        .filter(|p| p.overall.auc.is_some())
        .max_by(|a, b| a.overall.auc.partial_cmp(&b.overall.auc).expect("AUCs"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{:.0}%", 100.0 * value))
}

fn tiles(evaluation: &Evaluation) -> Vec<Tile> {
    let Some(whole) = evaluation.predictors.last() else { return Vec::new() };
    let interval = |figure: &Figure| {
        figure.interval.map_or_else(String::new, |i| format!("95% interval {:.2} to {:.2}; ", i.low, i.high))
    };
    let auc = |figure: &Figure| figure.auc.map_or_else(|| "–".to_owned(), |auc| format!("{auc:.2}"));
    let (what, beside) = match whole.kind {
        PredictorKind::Detector => ("ROC-AUC of the detector", "0.50 is chance"),
        _ => ("ROC-AUC of all metrics together", "out of fold; 0.50 is chance"),
    };
    let mut tiles =
        vec![Tile { value: auc(&whole.overall), what: what.to_owned(), beside: interval(&whole.overall) + beside }];
    if let Some(best) = best_single(evaluation) {
        tiles.push(Tile {
            value: auc(&best.overall),
            what: "ROC-AUC of the best single metric".to_owned(),
            beside: clean(&format!("{}{}", interval(&best.overall), best.name)),
        });
    }
    tiles.push(Tile {
        value: percent(whole.overall.accuracy),
        what: "of verdicts are right".to_owned(),
        beside: format!("always the larger class: {}", percent(whole.overall.majority)),
    });
    tiles.push(Tile {
        value: describe::count(evaluation.n),
        what: "rows".to_owned(),
        beside: format!(
            "{} hallucinated; {}",
            describe::count(evaluation.n_positive),
            describe::counted(evaluation.n_groups, "group (diff)", "groups (diffs)")
        ),
    });
    tiles
}

/// What the figures say, in sentences.
fn findings(evaluation: &Evaluation) -> Vec<String> {
    let Some(whole) = evaluation.predictors.last() else { return Vec::new() };
    let n_features = metrics(evaluation).count();
    let who = match whole.kind {
        PredictorKind::Detector => format!("The detector {} tells", whole.name),
        _ => format!("Together, {} tell", describe::counted(n_features, "metric", "metrics")),
    };
    let overall = &whole.overall;
    let in_sample = overall
        .in_sample
        .and_then(|in_sample| in_sample.auc)
        .map_or_else(String::new, |auc| format!(", and {auc:.2} on the rows trained on, which flatters"));
    let verdict = match overall.interval {
        Some(interval) if interval.low <= 0.5 => " The interval includes 0.5, so chance explains it as well.",
        _ => "",
    };
    let how = if whole.kind == PredictorKind::Detector { "" } else { " out of fold" };
    let mut findings = vec![format!(
        "{who} hallucinated texts from the others with a ROC-AUC of {}{how}{in_sample}.{verdict}",
        describe::auc(overall.auc, overall.interval, "unknown")
    )];
    if let Some(best) = best_single(evaluation) {
        findings.push(format!(
            "The best single metric is {} with {}; it was chosen after looking at all {n_features}, so it flatters.",
            best.name,
            describe::auc(best.overall.auc, best.overall.interval, "unknown")
        ));
    }
    let within = &whole.within_generators;
    if within.n_generators > 1 {
        let new = whole.leave_one_generator_out.as_ref().map_or_else(String::new, |left_out| {
            format!(
                " On texts of a generator that was left out of training: {}.",
                describe::auc(left_out.pooled.auc, left_out.pooled.interval, "unknown")
            )
        });
        findings.push(format!(
            "Within one generator's texts, where knowing who wrote does not help, the mean AUC of {} is {}.{new}",
            describe::counted(within.n_generators, "generator", "generators"),
            describe::auc(within.auc, within.interval, "unknown")
        ));
    }
    findings.extend(views::findings(evaluation));
    if let (Some(accuracy), Some(majority)) = (overall.accuracy, overall.majority) {
        let comparison = match accuracy.total_cmp(&majority) {
            std::cmp::Ordering::Greater => "more than",
            std::cmp::Ordering::Equal => "exactly",
            std::cmp::Ordering::Less => "fewer than",
        };
        findings.push(format!(
            "Verdicts are right for {:.1}% of the rows, {comparison} the {:.1}% of always answering the larger class.",
            100.0 * accuracy,
            100.0 * majority
        ));
    }
    findings.iter().map(|finding| clean(finding)).collect()
}
