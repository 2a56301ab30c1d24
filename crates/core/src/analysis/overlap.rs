//! How far the rows that features rank highest are the same.

use super::kind::{Analysis, Kind};
use crate::families::catalogue::CATALOGUE;
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, best_features, top_overlap};

/// The share of the rows that counts as ranked highest, as the paper has it.
pub const TOP_SHARE: f64 = 0.25;

/// How many features' tops are compared where none are named, as the paper has them.
const N_FEATURES: usize = 3;

/// The most features whose tops can be compared: every combination of them has a count.
pub const MAX_OVERLAP_FEATURES: usize = 8;

pub(super) const KIND: Kind = Kind {
    key: "overlap",
    what: "overlap of tops",
    unasked: |_, rows| Tops::unasked(rows, TOP_SHARE).map(|tops| Box::new(tops) as Box<dyn Analysis>),
};

/// The columns of the features whose tops are compared where none are named: the best three, first the best of each family;
/// fewer where there are fewer.
pub fn overlap_columns(rows: &LabelledRows) -> Vec<usize> {
    best_features(rows, &CATALOGUE, N_FEATURES)
}

/// Compares the rows that features rank highest; its result is an [`Overlap`](veridiff_detector::Overlap).
#[derive(Debug, Clone)]
pub struct Tops {
    /// The features' columns among the rows' features, at most [`MAX_OVERLAP_FEATURES`].
    pub columns: Vec<usize>,
    /// The share of the rows that is a top, above 0 and at most 1.
    pub share: f64,
}

impl Tops {
    /// What a report compares unasked: the tops of the best three features; none where there are fewer.
    pub fn unasked(rows: &LabelledRows, share: f64) -> Option<Self> {
        let columns = overlap_columns(rows);
        (columns.len() == N_FEATURES).then_some(Tops { columns, share })
    }
}

impl Analysis for Tops {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        evaluation.analyses.put(KIND.key, top_overlap(rows, &self.columns, self.share));
        Ok(())
    }
}
