//! Two features together.

use super::kind::{Analysis, Kind};
use crate::families::catalogue::CATALOGUE;
use veridiff_detector::{DetectorError, Evaluation, LabelledRows, best_pair, joint_distribution};

/// How many bins a joint distribution has along each axis.
const N_BINS: usize = 20;

pub(super) const KIND: Kind = Kind {
    key: "joint",
    what: "joint distribution",
    unasked: |_, rows| joint_columns(rows).map(|columns| Box::new(Joint { columns }) as Box<dyn Analysis>),
};

/// The columns of the two features that are shown together where none are named: the best measure that two scorers have, else
/// the best two features; none where there are fewer.
pub fn joint_columns(rows: &LabelledRows) -> Option<[usize; 2]> {
    best_pair(rows, &CATALOGUE)
}

/// The joint distribution of two features; its result is a [`JointDistribution`](veridiff_detector::JointDistribution) with 20
/// bins along each axis.
#[derive(Debug, Clone, Copy)]
pub struct Joint {
    /// Columns among the rows' features: the one across, then the one upwards.
    pub columns: [usize; 2],
}

impl Analysis for Joint {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn add_to(&self, evaluation: &mut Evaluation, rows: &LabelledRows) -> Result<(), DetectorError> {
        evaluation.analyses.put(KIND.key, joint_distribution(rows, self.columns, N_BINS));
        Ok(())
    }
}
