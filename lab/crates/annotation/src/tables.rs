//! Agreement and prevalence in every format of [`TableFormat`].

use serde::Serialize;

use crate::{Disagreement, Level, LevelAgreement, PairAgreement, Share, TaskPrevalence};
use veridiff_report::{CsvText, Grid, Name, Number, TableFormat, json, note_lines};
use veridiff_text::printable::printable;

/// The grids of a page in a format that has grids, then its legend and notes.
fn page(grids: &[Grid], legend: &str, notes: &[String], format: TableFormat) -> String {
    let grids = grids.iter().filter(|grid| !grid.is_empty());
    let lines: Vec<String> = legend.lines().map(str::to_owned).chain(note_lines(notes)).collect();
    let (tables, before) = match format {
        TableFormat::Md => (grids.map(Grid::to_markdown).collect::<Vec<_>>(), "- "),
        TableFormat::Latex => (grids.map(Grid::to_latex).collect(), "% "),
        _ => (grids.map(Grid::to_text).collect(), ""),
    };
    let mut page = tables.join("\n");
    if format != TableFormat::Latex {
        page.push('\n');
    }
    lines.iter().for_each(|line| page.push_str(&format!("{before}{line}\n")));
    page
}

/// How far annotators agree. CSV has one line for each pair, level and round and no place for notes.
pub fn agreement_page(pairs: &[PairAgreement], notes: &[String], format: TableFormat) -> String {
    match format {
        TableFormat::Json => {
            #[derive(Serialize)]
            struct Page<'a> {
                pairs: &'a [PairAgreement],
                notes: &'a [String],
            }
            json(&Page { pairs, notes })
        }
        TableFormat::Csv => agreement_csv(pairs),
        _ => {
            let grids: Vec<Grid> = pairs.iter().flat_map(agreement_grids).collect();
            let legend = "Cohen's kappa, unweighted, with its large-sample 95% interval; label: hallucinated, not, or unsure; \
                          type: nine outcomes.\n\
                          by chance: the agreement of two who use the classes as often and know nothing of each other.\n";
            page(&grids, legend, notes, format)
        }
    }
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}%", 100.0 * value))
}

fn round_name(round: Option<u32>) -> String {
    round.map_or_else(|| "all".to_owned(), |round| round.to_string())
}

fn agreement_grids(pair: &PairAgreement) -> Vec<Grid> {
    let heads = ["level", "round", "n", "agree", "by chance", "kappa [95%]", "SE"];
    let mut grid = Grid::new(format!("Agreement of {} and {}", pair.first, pair.second), &heads);
    let levels = || Level::ALL.into_iter().flat_map(|level| pair.levels.iter().filter(move |l| l.level == level));
    for level in levels() {
        let kappa = level.kappa;
        grid.push(vec![
            level.level.name().to_owned(),
            round_name(level.round),
            kappa.n.to_string(),
            share(kappa.observed),
            share(kappa.expected),
            match (kappa.kappa, kappa.interval) {
                (Some(value), Some(interval)) => format!("{value:.3} [{:.2}, {:.2}]", interval.low, interval.high),
                _ => "-".to_owned(),
            },
            kappa.standard_error.map_or_else(|| "-".to_owned(), |error| format!("{error:.3}")),
        ]);
    }
    let mut grids = vec![grid];
    // the last of each level is about all rounds
    let last = |level: Level| pair.levels.iter().rev().find(|l| l.level == level && l.kappa.n > 0);
    grids.extend(Level::ALL.into_iter().filter_map(last).map(|level| contingency_grid(pair, level)));
    grids.push(disagreement_grid(pair));
    grids
}

/// Rows of the first annotator by columns of the second; classes that neither used are left out.
fn contingency_grid(pair: &PairAgreement, level: &LevelAgreement) -> Grid {
    let used: Vec<usize> = (0..level.classes.len())
        .filter(|&class| {
            level.table.iter().enumerate().any(|(i, row)| row[class] > 0 || (i == class && row.iter().any(|n| *n > 0)))
        })
        .collect();
    let mut heads = vec![format!("{} \\ {}", pair.first, pair.second)];
    heads.extend(used.iter().map(|&class| level.classes[class].replace(' ', "\n")));
    heads.push("all".to_owned());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let title = format!("By {}: rows {}, columns {}", level.level.name(), pair.first, pair.second);
    let mut grid = Grid::new(title, &heads);
    for &i in &used {
        let counts = used.iter().map(|&j| level.table[i][j]).chain([level.table[i].iter().sum()]);
        grid.push([level.classes[i].to_owned()].into_iter().chain(counts.map(|n| n.to_string())).collect());
    }
    let sums = used.iter().map(|&j| level.table.iter().map(|row| row[j]).sum::<usize>()).chain([level.kappa.n]);
    grid.push(["all".to_owned()].into_iter().chain(sums.map(|n| n.to_string())).collect());
    grid
}

fn disagreement_grid(pair: &PairAgreement) -> Grid {
    let n_labels = pair.disagreements.iter().filter(|d| d.label_differs).count();
    let title = format!("{} disagreements, {n_labels} of them on the label", pair.disagreements.len());
    let noted = pair.disagreements.iter().any(|d| d.first_note.is_some() || d.second_note.is_some());
    let mut heads = vec!["id", "round", &pair.first, &pair.second];
    if noted {
        heads.push("notes");
    }
    let mut grid = Grid::new(title, &heads);
    for Disagreement { id, round, first, second, first_note, second_note, .. } in &pair.disagreements {
        let notes = [(&pair.first, first_note), (&pair.second, second_note)];
        let notes: Vec<String> =
            notes.iter().filter_map(|(name, note)| note.as_ref().map(|note| format!("{name}: {note}"))).collect();
        grid.push(vec![id.clone(), round.to_string(), first.to_string(), second.to_string(), notes.join("; ")]);
    }
    grid
}

fn agreement_csv(pairs: &[PairAgreement]) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        first: Name<'a>,
        second: Name<'a>,
        level: &'a str,
        round: Option<u32>,
        n: usize,
        observed: Number,
        expected: Number,
        kappa: Number,
        standard_error: Number,
        low: Number,
        high: Number,
    }
    let mut csv = CsvText::new();
    for pair in pairs {
        for level in &pair.levels {
            let kappa = level.kappa;
            csv.push_fields(&Line {
                first: Name(&pair.first),
                second: Name(&pair.second),
                level: level.level.name(),
                round: level.round,
                n: kappa.n,
                observed: Number(kappa.observed),
                expected: Number(kappa.expected),
                kappa: Number(kappa.kappa),
                standard_error: Number(kappa.standard_error),
                low: Number(kappa.interval.map(|interval| interval.low)),
                high: Number(kappa.interval.map(|interval| interval.high)),
            });
        }
    }
    csv.finish()
}

/// How often each outcome is, a table a task. CSV has one line for each task, generator and outcome and no place for notes.
pub fn prevalence_page(tasks: &[TaskPrevalence], notes: &[String], format: TableFormat) -> String {
    match format {
        TableFormat::Json => {
            #[derive(Serialize)]
            struct Page<'a> {
                tasks: &'a [TaskPrevalence],
                notes: &'a [String],
            }
            json(&Page { tasks, notes })
        }
        TableFormat::Csv => prevalence_csv(tasks),
        _ => {
            let grids: Vec<Grid> = tasks.iter().map(prevalence_grid).collect();
            let legend = "Percent of the annotated samples, with Wilson's 95% interval for independent samples; all: \
                          unweighted.\n";
            page(&grids, legend, notes, format)
        }
    }
}

fn percent(share: &Share) -> String {
    match (share.share, share.interval) {
        (Some(value), Some(interval)) => {
            format!("{:.1} [{:.1}, {:.1}]", 100.0 * value, 100.0 * interval.low, 100.0 * interval.high)
        }
        _ => "-".to_owned(),
    }
}

fn prevalence_grid(task: &TaskPrevalence) -> Grid {
    let columns: Vec<_> = task.generators.iter().chain([&task.all]).collect();
    let names: Vec<String> = columns.iter().map(|column| printable(column.generator.name())).collect();
    let heads: Vec<&str> = ["type"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let what = if task.task == "commit" { "Commit messages" } else { "Review comments" };
    let mut grid = Grid::new(format!("{what}: outcomes in percent [95%]"), &heads);
    let mut heading = "";
    for (place, first) in task.all.types.iter().enumerate() {
        // a heading of its own for every category that is not its only type's name
        let several = task.all.types.iter().filter(|other| other.category == first.category).count() > 1;
        if several && heading != first.category {
            heading = first.category;
            grid.push(vec![heading.to_owned()]);
        }
        let name = if several { format!("  {}", first.outcome) } else { first.outcome.to_string() };
        let cells = columns.iter().map(|column| percent(&column.types[place].share));
        grid.push([name].into_iter().chain(cells).collect());
    }
    let totals = columns.iter().map(|column| percent(&column.hallucination));
    grid.push(["total hallucination".to_owned()].into_iter().chain(totals).collect());
    grid.push(["n".to_owned()].into_iter().chain(columns.iter().map(|column| column.n.to_string())).collect());
    grid
}

fn prevalence_csv(tasks: &[TaskPrevalence]) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        task: &'a str,
        scope: &'a str,
        generator: Name<'a>,
        category: &'a str,
        r#type: &'a str,
        n: usize,
        n_all: usize,
        share: Number,
        low: Number,
        high: Number,
    }
    let mut csv = CsvText::new();
    for task in tasks {
        let columns = task.generators.iter().map(|g| ("generator", g.generator.name(), g));
        for (scope, name, column) in columns.chain([("all", "", &task.all)]) {
            let types = column.types.iter().map(|t| (t.category, t.outcome.name(), &t.share));
            for (category, outcome, share) in types.chain([("hallucination", "total", &column.hallucination)]) {
                csv.push_fields(&Line {
                    task: task.task,
                    scope,
                    generator: Name(name),
                    category,
                    r#type: outcome,
                    n: share.n,
                    n_all: column.n,
                    share: Number(share.share),
                    low: Number(share.interval.map(|interval| interval.low)),
                    high: Number(share.interval.map(|interval| interval.high)),
                });
            }
        }
    }
    csv.finish()
}
