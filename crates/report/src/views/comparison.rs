//! Sets of features against each other.

use super::view::View;
use crate::{
    describe,
    grid::{Grid, interval_text, p_value, rate, signed, with_interval},
    table::{NamedTable, records},
};
use veridiff_detector::{Comparison, Evaluation, Figure, Learner};

pub(super) const VIEW: View =
    View { analysis: Some("comparison"), printed: Some(4), tables, finding: reference_finding, ..View::EMPTY };

fn tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let Some(comparison) = evaluation.analyses.get::<Comparison>() else { return Vec::new() };
    let sets = set_grid(comparison, evaluation.settings.learner);
    vec![
        NamedTable::new("sets", sets, records(&comparison.sets)),
        NamedTable::new("set-pairs", pair_grid(comparison), records(&comparison.pairs)),
    ]
}

fn set_grid(comparison: &Comparison, learner: Learner) -> Grid {
    let heads = ["set", "features", "AUC [95%]", "within [95%]", "acc.", "major.", "in sample\nAUC", "in sample\nacc."];
    let title = format!("Sets of features: {} out of fold, and in sample (flattering)", describe::learner(learner));
    let mut grid = Grid::new(title, &heads);
    for set in &comparison.sets {
        let (figure, within) = (&set.overall, &set.within_generators);
        grid.push(vec![
            set.name.clone(),
            set.features.len().to_string(),
            with_interval(figure.auc, figure.interval),
            with_interval(within.auc, within.interval),
            rate(figure.accuracy),
            rate(figure.majority),
            rate(figure.in_sample.and_then(|in_sample| in_sample.auc)),
            rate(figure.in_sample.and_then(|in_sample| in_sample.accuracy)),
        ]);
    }
    grid
}

fn pair_grid(comparison: &Comparison) -> Grid {
    let heads = ["pair", "AUC difference", "DeLong [95%]", "bootstrap [95%]", "z", "p", "p (Holm)"];
    let mut grid = Grid::new("Pairs of sets: the same rows and folds, DeLong's paired test with groups", &heads);
    for pair in &comparison.pairs {
        grid.push(vec![
            format!("{} - {}", pair.first, pair.second),
            signed(pair.difference),
            interval_text(pair.interval),
            interval_text(pair.bootstrap_interval),
            pair.z.map_or_else(|| "-".to_owned(), |z| format!("{z:+.2}")),
            p_value(pair.p),
            p_value(pair.p_holm),
        ]);
    }
    grid
}

/// Metrics that need a reference text against those that do not.
fn reference_finding(evaluation: &Evaluation) -> Option<String> {
    let comparison = evaluation.analyses.get::<Comparison>()?;
    let set = |name: &str| comparison.sets.iter().find(|set| set.name == name);
    let (based, free) = (set("reference-based")?, set("reference-free")?);
    let pair = comparison
        .pairs
        .iter()
        .find(|pair| [pair.first.as_str(), pair.second.as_str()].iter().all(|name| name.starts_with("reference-")));
    let p = pair.and_then(|pair| pair.p).map_or_else(String::new, |p| match p {
        p if p < 0.001 => "; p < 0.001 of no difference".to_owned(),
        p => format!("; p = {p:.3} of no difference"),
    });
    let text = |figure: &Figure| describe::auc(figure.auc, figure.interval, "unknown");
    Some(format!(
        "Metrics that need a reference text reach {}, those that need none {}{p}.",
        text(&based.overall),
        text(&free.overall)
    ))
}
