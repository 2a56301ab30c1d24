//! The figures of a study as a page.

use veridiff_report::{
    Grid, NamedTable,
    pages::{Book, Tile},
};

use super::{
    audit::{Audit, Statement},
    figures::{Difference, Figures, Report},
};
use crate::resample::Estimate;

/// A share in percent.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}", 100.0 * value + 0.0))
}

/// A share in percent with its interval.
pub(crate) fn with_interval(estimate: Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", percent(estimate.value), percent(Some(low)), percent(Some(high)))
        }
        _ => percent(estimate.value),
    }
}

/// What a table's row is in JSON.
pub(crate) fn record(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("figures and names have a JSON form")
}

/// The page of a report. `source` is what the user calls the verdicts.
pub fn book(report: &Report, source: &str, audit: Option<&Audit>) -> Book {
    let own = || report.generators.iter().filter(|figures| !figures.is_baseline);
    let best = own()
        .filter(|f| f.reward.value.is_some())
        .max_by(|a, b| a.reward.value.partial_cmp(&b.reward.value).expect("numbers"));
    let tile = |value: Estimate, what: &str, beside: &str| Tile {
        value: percent(value.value),
        what: what.to_owned(),
        beside: beside.to_owned(),
    };
    let tiles = best.map_or_else(Vec::new, |best| {
        vec![
            tile(best.reward, "strict reward of the best generator", &best.generator),
            tile(best.coverage, "of the items are asked for", "with a quote that stands in the review"),
            tile(best.precision, "of the decided claims are supported", &format!("{} claims", best.n_claims)),
            tile(best.silence, "of clean changes are left alone", "silence where nothing is wrong"),
        ]
    });
    let languages: Vec<&String> =
        report.generators.first().map_or_else(Vec::new, |f| f.clc_by_language.keys().collect());
    let mut tables = vec![main_table(report), detail_table(report), published_table(report, &languages)];
    if own().any(|figures| figures.bleu1.mean.is_some()) {
        tables.push(likeness_table(report));
    }
    if !report.differences.is_empty() {
        tables.push(difference_table(&report.differences));
    }
    Book {
        stem: "checklist".into(),
        title: format!("What reviews cover: {source}"),
        about: format!(
            "{} changes with something to raise and {} without, judged by {}.",
            report.n_buggy, report.n_clean, report.judge
        ),
        tiles,
        findings: own().map(finding).collect(),
        tables,
        legend: legend(report),
        notes: notes(report, audit),
        record: record(report),
    }
}

/// What a generator's figures say.
fn finding(figures: &Figures) -> String {
    let skill = figures.skill.get("reward").copied().flatten();
    let above = match skill {
        Some(skill) if skill <= 0.0 => " No better than the best of three that know nothing of the change.".to_owned(),
        Some(skill) => {
            format!(" That is {:.0}% of what lies between the best such generator and all there is.", 100.0 * skill)
        }
        None => String::new(),
    };
    format!(
        "{} asks for {}% of the items, {}% of its decided claims are supported, and it is silent on {}% of the clean changes; its \
         reviews are paid {} of 100.{above}",
        figures.generator,
        percent(figures.coverage.value),
        percent(figures.precision.value),
        percent(figures.silence.value),
        percent(figures.reward.value)
    )
}

fn main_table(report: &Report) -> NamedTable {
    let heads = ["generator", "reviews", "coverage", "precision", "f1", "silence", "J", "reward", "skill", "CLC"];
    let mut grid = Grid::new("What reviews cover and what they make up, in percent [95%]", &heads);
    for f in &report.generators {
        grid.push(vec![
            f.generator.clone(),
            f.n.to_string(),
            with_interval(f.coverage),
            with_interval(f.precision),
            with_interval(f.f1),
            with_interval(f.silence),
            with_interval(f.j),
            with_interval(f.reward),
            percent(f.skill.get("reward").copied().flatten()),
            with_interval(f.clc),
        ]);
    }
    NamedTable::new("figures", grid, report.generators.iter().map(record).collect())
}

fn detail_table(report: &Report) -> NamedTable {
    let heads = [
        "generator",
        "mentioned",
        "soft",
        "claims",
        "precision low",
        "high",
        "leak",
        "empty",
        "words",
        "flip",
        "failed",
        "missing",
    ];
    let mut grid = Grid::new("Behind those figures", &heads);
    for f in &report.generators {
        let (low, high) = f.precision_bounds.unzip();
        grid.push(vec![
            f.generator.clone(),
            percent(f.mentioned.value),
            percent(f.coverage_soft.value),
            f.n_claims.to_string(),
            percent(low),
            percent(high),
            percent(f.leak.value),
            percent(f.empty.value),
            f.words.map_or_else(|| "-".into(), |words| format!("{words:.0}")),
            percent(f.flip),
            f.n_failed.to_string(),
            f.n_missing.to_string(),
        ]);
    }
    NamedTable::new("details", grid, report.generators.iter().map(record).collect())
}

fn published_table(report: &Report, languages: &[&String]) -> NamedTable {
    let heads: Vec<&str> = ["generator"]
        .into_iter()
        .chain(languages.iter().map(|l| l.as_str()))
        .chain(["mean", "uncut", "skill"])
        .collect();
    let title = format!(
        "CLC as published, in percent: weight {} of buggy cases, whose share is {:.3}",
        report.lambda, report.buggy_share
    );
    let mut grid = Grid::new(title, &heads);
    for f in &report.generators {
        let by = languages.iter().map(|language| percent(f.clc_by_language[*language]));
        let rest = [percent(f.clc.value), percent(f.clc_raw), percent(f.skill.get("clc").copied().flatten())];
        grid.push([f.generator.clone()].into_iter().chain(by).chain(rest).collect());
    }
    NamedTable::new("published", grid, report.generators.iter().map(record).collect())
}

fn likeness_table(report: &Report) -> NamedTable {
    let heads = ["generator", "BLEU-1", "buggy", "corpus", "ROUGE-L", "buggy"];
    let mut grid = Grid::new("Likeness to the reference's words (sacrebleu order 1; rouge-score), in percent", &heads);
    for f in &report.generators {
        grid.push(vec![
            f.generator.clone(),
            percent(f.bleu1.mean),
            percent(f.bleu1.buggy),
            percent(f.bleu1.corpus),
            percent(f.rouge_l.mean),
            percent(f.rouge_l.buggy),
        ]);
    }
    NamedTable::new("likeness", grid, report.generators.iter().map(record).collect())
}

fn difference_table(differences: &[Difference]) -> NamedTable {
    let heads = ["first less second", "cases", "coverage", "f1", "J", "reward", "CLC"];
    let mut grid = Grid::new("Differences on the cases of both, in percentage points [95%]", &heads);
    for d in differences {
        let cells = ["coverage", "f1", "j", "reward", "clc"].map(|name| with_interval(d.by[name]));
        grid.push([format!("{} - {}", d.first, d.second), d.n.to_string()].into_iter().chain(cells).collect());
    }
    NamedTable::new("differences", grid, differences.iter().map(record).collect())
}

fn legend(report: &Report) -> String {
    let share = format!("{:.3}", report.buggy_share);
    format!(
        "coverage: items that the review asks for, with a quote that stands in it; of changes with something to raise.\n\
         precision: supported claims of those that the code shown decides; what raises an item is supported.\n\
         f1: of both, change by change. silence: clean changes of which the review claims nothing; a blank one is not silent.\n\
         J: coverage and silence less 100; who is always silent has 0. skill: above the best of the three in brackets, of what is left.\n\
         reward: what is asked for less half an item for each unsupported claim, times the factor of length; clean: silence alone.\n\
         CLC: the published score. Its weight of {} says how much buggy changes count, whose share here is {share}.\n",
        report.lambda
    )
}

/// The page of an audit and of a survey.
pub fn audit_book(audit: Option<&Audit>, statements: &[Statement]) -> Book {
    let mut tables = Vec::new();
    if let Some(audit) = audit {
        let heads = ["judge", "items", "kappa", "sensitivity", "specificity", "coverage", "corrected"];
        let mut grid = Grid::new("A judge beside people, in percent [95%]", &heads);
        let kappa = audit.kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{kappa:.3}"));
        let shares = [audit.sensitivity, audit.specificity, audit.coverage, audit.corrected].map(with_interval);
        grid.push([audit.judge.clone(), audit.n.to_string(), kappa].into_iter().chain(shares).collect());
        tables.push(NamedTable::new("audit", grid, vec![record(audit)]));
        let mut grid = Grid::new("Items by what both find", &["judge", "people: not asked for", "people: asked for"]);
        for (name, row) in ["not asked for", "asked for"].into_iter().zip(audit.table) {
            grid.push([name.to_owned()].into_iter().chain(row.map(|n| n.to_string())).collect());
        }
        tables.push(NamedTable::new("counts", grid, vec![record(&audit.table)]));
    }
    if !statements.is_empty() {
        let mut grid = Grid::new("A survey", &["statement", "ratings", "mean", "ICC(2,k)"]);
        for one in statements {
            let icc = one.icc.map_or_else(|| "-".to_owned(), |icc| format!("{icc:.3}"));
            grid.push(vec![one.name.clone(), one.n.to_string(), format!("{:.2}", one.mean), icc]);
        }
        tables.push(NamedTable::new("survey", grid, statements.iter().map(record).collect()));
    }
    Book {
        stem: "audit".into(),
        title: "A judge beside people".into(),
        about: audit.map_or_else(
            || "What people find of checklists.".to_owned(),
            |audit| format!("{} on {} items that people have labelled.", audit.judge, audit.n),
        ),
        tiles: Vec::new(),
        findings: audit.map(audited).into_iter().collect(),
        tables,
        legend: AUDIT_LEGEND.to_owned(),
        notes: match audit {
            Some(audit) if audit.n_open > 0 => vec![format!("{} rows of the sheet have no label", audit.n_open)],
            _ => Vec::new(),
        },
        record: serde_json::json!({ "audit": audit, "survey": statements }),
    }
}

const AUDIT_LEGEND: &str = "\
sensitivity: of items that people find asked for, those that the judge does. specificity: of the others, those that it does not. Each
verdict counts as much as there is of it, however many of it were labelled.
corrected: the coverage that remains if the judge's errors are taken out; none where it knows nothing.
";

/// What an audit says of a judge.
fn audited(audit: &Audit) -> String {
    format!(
        "{} was compared with people on {} items: kappa {}, sensitivity {}, specificity {}; its coverage of {} is {} without its errors.",
        audit.judge,
        audit.n,
        audit.kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{kappa:.2}")),
        percent(audit.sensitivity.value),
        percent(audit.specificity.value),
        percent(audit.coverage.value),
        with_interval(audit.corrected)
    )
}

fn notes(report: &Report, audit: Option<&Audit>) -> Vec<String> {
    let mut notes = vec![match audit {
        Some(audit) => audited(audit),
        None => "warning: nobody has compared this judge with people: its verdicts are one opinion".to_owned(),
    }];
    if !report.weights.is_empty() {
        let named: Vec<String> = report.weights.iter().map(|(kind, weight)| format!("{kind} {weight}")).collect();
        notes.push(format!("items count by their kinds: {}; others as the checklists say", named.join(", ")));
    }
    for f in &report.generators {
        if f.n_failed > 0 {
            let bounds = f.reward_bounds.map_or_else(String::new, |(low, high)| {
                format!("; with them as 0 and as 1 the reward is {} to {}", percent(Some(low)), percent(Some(high)))
            });
            notes.push(format!(
                "warning: {}: {} questions have no answer and are in no figure{bounds}",
                f.generator, f.n_failed
            ));
        }
        if f.n_missing > 0 {
            notes.push(format!("warning: {}: {} cases have no review and are in no figure", f.generator, f.n_missing));
        }
        if !f.clc_without.is_empty() && f.clc.value.is_some() {
            notes.push(format!(
                "{}: CLC leaves out {}, where buggy or clean cases are missing",
                f.generator,
                f.clc_without.join(", ")
            ));
        }
    }
    notes
}
