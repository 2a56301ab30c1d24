//! `veridiff eval --judges`: what the judges of a table are worth, as tables.

use anyhow::Context;

use crate::cli::{
    args::{
        judges::replies_of,
        rows::{FigureArgs, RowArgs},
    },
    terminal::{note, print},
};
use veridiff_judge::{
    evaluation::{JudgeEvaluation, JudgesEvaluation, evaluate_judges},
    figures::{JudgeFigures, ReactionFigures},
    store::Store,
};
use veridiff_report::{Grid, TableFormat, part, rate, records_csv, with_interval};

/// Prints the tables of a table's judges, with the seconds of the file of replies, where it lies beside the table.
pub fn run(rows: &RowArgs, figures: &FigureArgs, format: TableFormat) -> anyhow::Result<()> {
    let path = replies_of(&rows.input);
    let replies = path.exists().then(|| Store::read(&path)).transpose().unwrap_or_else(|error| {
        note(&format!("no seconds: {error}"));
        None
    });
    let evaluation =
        evaluate_judges(&rows.table()?, replies.as_ref(), figures.settings()).with_context(|| rows.place())?;
    let grids = [
        verdicts(&evaluation),
        both_classes(&evaluation),
        ranking(&evaluation),
        readings(&evaluation),
        reactions(&evaluation),
        pairs(&evaluation),
    ];
    let shown =
        |of: fn(&Grid) -> String| grids.iter().filter(|grid| !grid.is_empty()).map(of).collect::<Vec<_>>().join("\n");
    print(&match format {
        TableFormat::Text => shown(Grid::to_text),
        TableFormat::Md => shown(Grid::to_markdown),
        TableFormat::Latex => shown(Grid::to_latex),
        TableFormat::Csv => records_csv(evaluation.judges.iter().map(serde_json::to_value).collect::<Result<_, _>>()?),
        TableFormat::Json => format!("{}\n", serde_json::to_string_pretty(&evaluation)?),
    })
}

/// Judge and strategy.
fn name(judge: &JudgeEvaluation) -> String {
    format!("{} {}", judge.judge, judge.strategy)
}

/// The paper's table of the class that is looked for, with what it leaves out.
fn verdicts(evaluation: &JudgesEvaluation) -> Grid {
    let heads = ["judge", "n", "judged", "precision", "recall", "F1", "kappa", "MCC", "false alarms", "accuracy"];
    let mut grid = Grid::new("Verdicts beside labels: the hallucinated ones", &heads);
    let mut push = |name: String, figures: &JudgeFigures, judge: Option<&JudgeEvaluation>| {
        let counts = figures.counts;
        let n = counts.true_positive + counts.false_positive + counts.false_negative + counts.true_negative;
        let drawn = judge.and_then(|judge| judge.intervals);
        let wilson = |interval| judge.and(interval);
        grid.push(vec![
            name,
            n.to_string(),
            rate(figures.judged_share),
            with_interval(
                figures.positive.precision,
                drawn.and_then(|of| of.precision).or(wilson(figures.precision_interval)),
            ),
            with_interval(figures.positive.recall, drawn.and_then(|of| of.recall).or(wilson(figures.recall_interval))),
            with_interval(figures.positive.f1, drawn.and_then(|of| of.f1)),
            with_interval(figures.kappa, drawn.and_then(|of| of.kappa)),
            with_interval(figures.mcc, drawn.and_then(|of| of.mcc)),
            rate(figures.false_alarm_rate),
            rate(figures.accuracy),
        ]);
    };
    for judge in evaluation.judges.iter().filter(|_| evaluation.n_labelled > 0) {
        push(name(judge), &judge.figures, Some(judge));
        if judge.figures.counts.n_unjudged > 0 {
            push(format!("{}, unjudged pass", name(judge)), &judge.if_unjudged_pass, None);
        }
        if let Some(tuned) = &judge.tuned {
            push(format!("{}, best cut of the folds", name(judge)), tuned, None);
        }
    }
    if evaluation.n_labelled > 0 {
        push("always flag".to_owned(), &evaluation.always, None);
        push("never flag".to_owned(), &evaluation.never, None);
    }
    grid
}

/// The means of both classes, one of which the paper may have printed.
fn both_classes(evaluation: &JudgesEvaluation) -> Grid {
    let heads = [
        "judge",
        "macro\nprecision",
        "macro\nrecall",
        "macro\nF1",
        "weighted\nprecision",
        "weighted\nrecall",
        "weighted\nF1",
        "balanced accuracy",
    ];
    let mut grid = Grid::new("Both classes", &heads);
    let mut push = |name: String, figures: &JudgeFigures| {
        let (both, weighted) = (figures.macro_mean, figures.weighted);
        let cells = [
            both.precision,
            both.recall,
            both.f1,
            weighted.precision,
            weighted.recall,
            weighted.f1,
            figures.balanced_accuracy,
        ];
        grid.push([name].into_iter().chain(cells.map(rate)).collect());
    };
    if evaluation.n_labelled > 0 {
        evaluation.judges.iter().for_each(|judge| push(name(judge), &judge.figures));
        push("always flag".to_owned(), &evaluation.always);
        push("never flag".to_owned(), &evaluation.never);
    }
    grid
}

/// How well scores order rows.
fn ranking(evaluation: &JudgesEvaluation) -> Grid {
    let heads = ["judge", "AUC", "within generators"];
    let mut grid = Grid::new("Scores as they stand: how well they order rows, higher taken as hallucinated", &heads);
    for judge in &evaluation.judges {
        let Some(ranking) = &judge.ranking else { continue };
        let within = &ranking.within_generators;
        grid.push(vec![
            name(judge),
            with_interval(ranking.auc, ranking.interval),
            with_interval(within.auc, within.interval),
        ]);
    }
    grid
}

/// How answers were read, and what they took.
fn readings(evaluation: &JudgesEvaluation) -> Grid {
    let heads = [
        "judge",
        "rows",
        "mass",
        "readings agree",
        "tokens\nin",
        "tokens\nout",
        "tokens\nreasoning",
        "cost",
        "seconds",
    ];
    let mut grid = Grid::new("Answers: how they were read, and means a row of what the judge took", &heads);
    for judge in &evaluation.judges {
        let n: usize = judge.statuses.values().sum();
        let statuses: Vec<String> =
            judge.statuses.iter().map(|(status, of)| format!("{} {status}", part(*of, n))).collect();
        let mean = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        grid.push(vec![
            name(judge),
            statuses.join(", "),
            rate(judge.mass),
            rate(judge.agrees),
            mean(judge.spent.input),
            mean(judge.spent.output),
            mean(judge.spent.reasoning),
            judge.spent.cost.map_or_else(|| "-".to_owned(), |cost| format!("{cost:.5}")),
            judge.spent.seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2}")),
        ]);
    }
    grid
}

/// The paper's table of comments that readers reacted to.
fn reactions(evaluation: &JudgesEvaluation) -> Grid {
    let heads = ["judge", "n", "consistency", "coverage", "harmonic mean", "arithmetic mean", "lift", "phi"];
    let mut grid = Grid::new("Comments with a reaction: what passes, and what was liked", &heads);
    let mut push = |name: String, figures: &ReactionFigures| {
        let cells =
            [figures.consistency, figures.coverage, figures.harmonic, figures.arithmetic, figures.lift, figures.phi];
        grid.push([name, figures.n.to_string()].into_iter().chain(cells.map(rate)).collect());
    };
    for judge in &evaluation.judges {
        if let Some(figures) = &judge.reactions {
            push(name(judge), figures);
        }
    }
    if let Some(never) = &evaluation.reactions_if_never {
        push("never flag".to_owned(), never);
    }
    grid
}

/// Judges beside each other.
fn pairs(evaluation: &JudgesEvaluation) -> Grid {
    let mut grid = Grid::new(
        "Beside each other",
        &["judges", "n", "kappa of scores (quadratic)", "Spearman", "decided otherwise"],
    );
    for pair in &evaluation.pairs {
        grid.push(vec![
            format!("{}, {}", pair.first, pair.second),
            pair.n.to_string(),
            rate(pair.kappa),
            rate(pair.spearman),
            rate(pair.flip_rate),
        ]);
    }
    grid
}
