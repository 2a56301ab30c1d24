//! The figures of a report as a page.

use std::collections::BTreeSet;

use veridiff_report::{
    Grid, NamedTable,
    pages::{Book, Tile},
};

use super::{
    figures::{Report, Run},
    paper,
};
use crate::checklist::tables::{record, with_interval};
use crate::resample::Estimate;

fn percent(value: Option<f64>) -> String {
    with_interval(Estimate::exact(value))
}

/// What a run is called in a table.
fn who(run: &Run) -> [String; 3] {
    [run.generator.clone(), run.decider.clone(), run.gap.to_string()]
}

/// The page of a report, with notes on what was read.
pub fn book(report: &Report, notes: Vec<String>) -> Book {
    let own = match report.own.is_empty() {
        true => String::new(),
        false => {
            format!(" Comments of {} are out of scope.", report.own.iter().cloned().collect::<Vec<_>>().join(", "))
        }
    };
    let best = report
        .runs
        .iter()
        .filter(|run| run.overall.f1.value.is_some())
        .max_by(|a, b| a.overall.f1.value.partial_cmp(&b.overall.f1.value).expect("numbers"));
    let tile = |value: Estimate, what: &str, beside: String| Tile {
        value: percent(value.value),
        what: what.to_owned(),
        beside,
    };
    let tiles = best.map_or_else(Vec::new, |run| {
        let whose = format!("{}, by {} at {} lines", run.generator, run.decider, run.gap);
        vec![
            tile(run.overall.recall, "of the references are found", whose),
            tile(
                run.overall.precision_floor,
                "of the comments are known to be right",
                "as if all that nobody judged were wrong".into(),
            ),
            tile(
                run.overall.precision_ceiling,
                "are not known to be wrong",
                "as if all that nobody judged were right".into(),
            ),
        ]
    });
    let mut tables = vec![main_table(report), status_table(report)];
    tables.extend(recall_tables(report));
    tables.extend(stratum_tables(report));
    tables.push(confusion_table(report));
    if !report.differences.is_empty() {
        tables.push(difference_table(report));
    }
    if !report.agreement.is_empty() {
        tables.push(agreement_table(report));
    }
    if report.runs.iter().any(|run| !run.upstream.is_empty()) {
        tables.push(upstream_table(report));
        tables.push(paper_table());
    }
    Book {
        stem: "bench".into(),
        title: "Which comments find what reviewers found".into(),
        about: format!(
            "{} pull requests with {} accepted and {} rejected comments.{own}",
            report.n_prs, report.n_valid, report.n_rejected
        ),
        tiles,
        findings: report.runs.iter().map(finding).collect(),
        tables,
        legend: LEGEND.to_owned(),
        notes: notes.into_iter().chain(undecided(report)).collect(),
        record: record(report),
    }
}

const LEGEND: &str = "\
floor: comments paired with an accepted reference, of all: as if everything that nobody judged were wrong.
ceiling: all but those that say what experts rejected: as if everything that nobody judged were right.
known: of the comments on which experts ruled. false: that say what experts rejected, of all.
recall: accepted references that are paired. F1: of floor and recall; sums first, ratios after.
line: the same by place alone, with a pairing of its own. gap: lines that a pair may be apart; 0 is overlap.
Each reference is paired once, so that as many pairs as can be are made; the order of files plays no part.
";

fn finding(run: &Run) -> String {
    let f = &run.overall;
    format!(
        "{} (by {}, gap {}) finds {} of {} references; of its {} comments {} are known to be right, {} known to be wrong, and {} nobody \
         has judged.",
        run.generator,
        run.decider,
        run.gap,
        f.counts.valid,
        f.counts.references,
        f.counts.predictions,
        f.counts.valid,
        f.counts.rejected,
        f.counts.unlisted
    )
}

fn undecided(report: &Report) -> impl Iterator<Item = String> + '_ {
    report.runs.iter().filter(|run| run.undecided > 0).map(|run| {
        let bounds = run.if_undecided_same.map_or_else(String::new, |(recall, precision)| {
            format!(
                ": were all of them the same, recall would be {} and precision {}",
                percent(Some(recall)),
                percent(Some(precision))
            )
        });
        format!(
            "warning: {} by {} at gap {}: {} pairs are undecided{bounds}",
            run.generator, run.decider, run.gap, run.undecided
        )
    })
}

fn main_table(report: &Report) -> NamedTable {
    let heads = [
        "generator",
        "decider",
        "gap",
        "comments",
        "precision\nfloor",
        "precision\nceiling",
        "precision\nknown",
        "recall",
        "F1",
        "false",
        "line\nP",
        "line\nR",
        "line\nF1",
    ];
    let mut grid = Grid::new("Comments beside references, in percent [95%]", &heads);
    for run in &report.runs {
        let f = &run.overall;
        let cells = [f.precision_floor, f.precision_ceiling, f.precision_known, f.recall, f.f1, f.known_false]
            .map(with_interval);
        let line = [f.line_precision, f.line_recall, f.line_f1].map(|estimate| percent(estimate.value));
        let comments = [f.counts.predictions.to_string()];
        grid.push(who(run).into_iter().chain(comments).chain(cells).chain(line).collect());
    }
    let slim = |run: &Run| {
        let mut value = record(run);
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|key, _| !["strata", "recall_of", "upstream"].contains(&key.as_str()));
        }
        value
    };
    NamedTable::new("figures", grid, report.runs.iter().map(slim).collect())
}

fn status_table(report: &Report) -> NamedTable {
    let heads = [
        "generator",
        "decider",
        "gap",
        "valid",
        "duplicate",
        "rejected",
        "unlisted",
        "neutral",
        "references",
        "macro\nP",
        "macro\nR",
        "F-beta",
    ];
    let mut grid = Grid::new("What became of the comments", &heads);
    let mut records = Vec::new();
    for run in &report.runs {
        let c = run.overall.counts;
        let counts = [c.valid, c.duplicate, c.rejected, c.unlisted, c.neutral, c.references].map(|n| n.to_string());
        let rest = [run.macro_precision, run.macro_recall, run.overall.f_beta].map(percent);
        grid.push(who(run).into_iter().chain(counts).chain(rest).collect());
        let mut value = record(&c);
        value["generator"] = run.generator.clone().into();
        value["decider"] = run.decider.clone().into();
        value["gap"] = run.gap.into();
        records.push(value);
    }
    NamedTable::new("status", grid, records)
}

/// Recall by context, category and source: a table each, runs as columns.
fn recall_tables(report: &Report) -> Vec<NamedTable> {
    let kinds: BTreeSet<&str> = report.runs.iter().flat_map(|run| run.recall_of.iter().map(|of| of.by)).collect();
    let table = |by: &str| {
        let named: Vec<String> = report.runs.iter().map(|run| who(run).join("\n")).collect();
        let heads: Vec<&str> = [by, "references"].into_iter().chain(named.iter().map(String::as_str)).collect();
        let mut grid = Grid::new(format!("Recall by {by} of the reference, in percent [95%]"), &heads);
        let mut records = Vec::new();
        let values: Vec<(&str, usize)> = report.runs.first().map_or_else(Vec::new, |run| {
            run.recall_of.iter().filter(|of| of.by == by).map(|of| (of.value.as_str(), of.references)).collect()
        });
        for (value, n) in values {
            let of = |run: &Run| {
                let of = run.recall_of.iter().find(|of| of.by == by && of.value == value)?;
                let more = of.precision_floor.map_or_else(String::new, |floor| {
                    let n = of.comments.unwrap_or_default();
                    format!("; P {} of {n}, F1 {}", percent(floor.value), percent(of.f1))
                });
                Some(format!("{}{more}", with_interval(of.recall)))
            };
            let cells = report.runs.iter().map(|run| of(run).unwrap_or_else(|| "-".into()));
            grid.push([value.to_owned(), n.to_string()].into_iter().chain(cells).collect());
        }
        for run in &report.runs {
            for of in run.recall_of.iter().filter(|of| of.by == by) {
                let mut value = record(of);
                value["generator"] = run.generator.clone().into();
                value["decider"] = run.decider.clone().into();
                value["gap"] = run.gap.into();
                records.push(value);
            }
        }
        NamedTable::new(format!("recall_by_{by}"), grid, records)
    };
    kinds.into_iter().map(table).collect()
}

/// Figures by language, domain and size; repositories are in the JSON alone.
fn stratum_tables(report: &Report) -> Vec<NamedTable> {
    let kinds: BTreeSet<&str> =
        report.runs.iter().flat_map(|run| run.strata.iter().map(|stratum| stratum.by)).collect();
    let table = |by: &str| {
        let heads = [
            by,
            "generator",
            "decider",
            "gap",
            "pull requests",
            "valid",
            "comments",
            "floor",
            "ceiling",
            "recall",
            "F1",
        ];
        let mut grid = Grid::new(format!("By {by}, in percent"), &heads);
        let mut records = Vec::new();
        for run in &report.runs {
            for stratum in run.strata.iter().filter(|stratum| stratum.by == by) {
                let f = &stratum.figures;
                let cells =
                    [f.precision_floor, f.precision_ceiling, f.recall, f.f1].map(|estimate| percent(estimate.value));
                let counts = [stratum.n_prs, f.counts.valid, f.counts.predictions].map(|n| n.to_string());
                grid.push([stratum.value.clone()].into_iter().chain(who(run)).chain(counts).chain(cells).collect());
                let mut value = record(stratum);
                value["generator"] = run.generator.clone().into();
                value["decider"] = run.decider.clone().into();
                value["gap"] = run.gap.into();
                records.push(value);
            }
        }
        NamedTable::new(format!("by_{by}"), grid, records)
    };
    kinds.into_iter().filter(|by| *by != "repository").map(table).collect()
}

fn confusion_table(report: &Report) -> NamedTable {
    let heads = ["generator", "decider", "gap", "near, same", "near, other", "near none"];
    let mut grid = Grid::new("Place and meaning of the comments", &heads);
    let mut records = Vec::new();
    for run in &report.runs {
        let counts = run.place_and_meaning.map(|n| n.to_string());
        grid.push(who(run).into_iter().chain(counts).collect());
        let [same, other, none] = run.place_and_meaning;
        records.push(serde_json::json!({ "generator": run.generator, "decider": run.decider, "gap": run.gap, "near_same": same, "near_other": other, "near_none": none }));
    }
    NamedTable::new("place_and_meaning", grid, records)
}

fn difference_table(report: &Report) -> NamedTable {
    let heads = ["first less second", "decider", "gap", "recall", "floor", "F1", "false"];
    let mut grid = Grid::new("Differences by the same draws, in percentage points [95%]", &heads);
    for d in &report.differences {
        let cells = [d.recall, d.precision_floor, d.f1, d.known_false].map(with_interval);
        let who = [format!("{} - {}", d.first, d.second), d.decider.clone(), d.gap.to_string()];
        grid.push(who.into_iter().chain(cells).collect());
    }
    NamedTable::new("differences", grid, report.differences.iter().map(record).collect())
}

fn agreement_table(report: &Report) -> NamedTable {
    let heads = ["deciders", "both yes", "yes, no", "no, yes", "both no", "kappa"];
    let mut grid = Grid::new("Deciders on the same pairs", &heads);
    for a in &report.agreement {
        let counts = a.table.iter().flatten().map(ToString::to_string);
        let kappa = a.kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{kappa:.3}"));
        grid.push([format!("{}, {}", a.first, a.second)].into_iter().chain(counts).chain([kappa]).collect());
    }
    NamedTable::new("agreement", grid, report.agreement.iter().map(record).collect())
}

fn upstream_table(report: &Report) -> NamedTable {
    let heads = ["generator", "decider", "evaluator", "comments", "references", "meaning", "line", "P", "R", "noise"];
    let mut grid = Grid::new("What the published evaluators make of it, faults included, in percent", &heads);
    let mut records = Vec::new();
    for run in &report.runs {
        for up in &run.upstream {
            let counts = [up.predictions, up.references, up.meaning, up.line].map(|n| n.to_string());
            let shares = [up.precision, up.recall, up.noise].map(percent);
            let who = [run.generator.clone(), run.decider.clone(), up.version.name().to_owned()];
            grid.push(who.into_iter().chain(counts).chain(shares).collect());
            let mut value = record(up);
            value["generator"] = run.generator.clone().into();
            value["decider"] = run.decider.clone().into();
            records.push(value);
        }
    }
    NamedTable::new("upstream", grid, records)
}

/// The published rows, each under its true name.
fn paper_table() -> NamedTable {
    let heads = [
        "method",
        "model",
        "printed as",
        "line\nR",
        "line\nP",
        "line\nF1",
        "meaning\nR",
        "meaning\nP",
        "meaning\nF1",
        "recall\nDiff",
        "recall\nFile",
        "recall\nRepo",
    ];
    let mut grid = Grid::new("Published in arXiv 2601.19494, in percent: not computed here", &heads);
    let rows = paper::rows();
    for row in &rows {
        let figures = [
            row.line.recall,
            row.line.precision,
            row.line.f1,
            row.meaning.recall,
            row.meaning.precision,
            row.meaning.f1,
            row.by_context.diff,
            row.by_context.file,
            row.by_context.repo,
        ];
        let names = [row.method.clone(), row.model.clone(), row.printed.clone().unwrap_or_default()];
        grid.push(names.into_iter().chain(figures.map(|figure| format!("{figure:.2}"))).collect());
    }
    NamedTable::new("published", grid, rows.iter().map(record).collect())
}
