//! Folds drawn many times, and what each family of features adds.

use super::kind::{Analysis, Kind};
use crate::families::catalogue::CATALOGUE;
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, NamedSet, ablation_sets, repeat_folds};

/// How often folds are drawn where families are left out and no number is given.
pub const ABLATION_REPEATS: usize = 10;

pub(super) const KIND: Kind = Kind { key: "repeats", what: "repeats", unasked: |_, _| None };

/// Means over folds drawn many times; its result is a [`Repeats`](veridiff_detector::Repeats). It is made only when asked for.
#[derive(Debug, Clone)]
pub struct Repeat {
    /// The sets of features; changes are against the first.
    pub sets: Vec<NamedSet>,
    /// How often the folds are drawn, at least once, with seeds from that of the evaluation on.
    pub n_repeats: usize,
}

impl Repeat {
    /// Repeats of all features together; with `ablate`, of each family left out and each alone too; then of `sets`.
    pub fn new(rows: &LabelledRows, ablate: bool, sets: Vec<NamedSet>, n_repeats: usize) -> Self {
        let mut all = if ablate {
            ablation_sets(&rows.feature_names, &CATALOGUE)
        } else {
            vec![NamedSet { name: "all".to_owned(), columns: (0..rows.feature_names.len()).collect() }]
        };
        all.extend(sets);
        Repeat { sets: all, n_repeats }
    }
}

impl Analysis for Repeat {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        let repeats = repeat_folds(rows, &self.sets, self.n_repeats, evaluation.settings)?;
        evaluation.analyses.put(KIND.key, repeats);
        Ok(())
    }
}
