//! The rows that the combination, or the detector, has most wrong.

use super::view::View;
use crate::{
    columns::elided,
    grid::Grid,
    table::{NamedTable, records},
};
use veridiff_detector::{Mistake, PredictorKind};

pub(super) const VIEW: View = View {
    tables: |evaluation| {
        let Some(whole) = evaluation.predictors.last() else { return Vec::new() };
        let Some(mistakes) = &whole.mistakes else { return Vec::new() };
        let how = if whole.kind == PredictorKind::Detector { "by the detector" } else { "out of fold" };
        let table = |name: &str, what: &str, rows: &[Mistake]| {
            let title = format!("{what} {how}; p is the probability of being hallucinated");
            NamedTable::new(name, mistakes_grid(title, rows), records(rows))
        };
        vec![
            table("misses", "The worst misses: hallucinated, and least suspected,", &mistakes.misses),
            table(
                "false-alarms",
                "The worst false alarms: not hallucinated, and most suspected,",
                &mistakes.false_alarms,
            ),
        ]
    },
    ..View::EMPTY
};

/// Columns of a text that a table shows; the records have all of it.
const TEXT: usize = 160;

fn mistakes_grid(title: String, rows: &[Mistake]) -> Grid {
    let has_text = rows.iter().any(|row| row.text.is_some());
    let title = if has_text { title } else { format!("{title} (--texts SAMPLES.jsonl adds what they say)") };
    let mut heads = vec!["id", "generator", "p"];
    heads.extend(has_text.then_some("text"));
    let mut grid = Grid::new(title, &heads);
    for Mistake { id, generator, probability, text } in rows {
        let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
        let mut row = vec![named(id), named(generator), format!("{probability:.2}")];
        if has_text {
            let text = text.as_deref().unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
            row.push(elided(&text, TEXT));
        }
        grid.push(row);
    }
    grid
}
