//! Texts put beside a change they were not written for: surely unsupported, cheap to make, and unlike what people label. They help
//! to train and are never judged, so that no figure is about them.

use std::collections::BTreeSet;

use ndarray::{Array2, Axis, concatenate};

use crate::{LabelledRows, TrainingRows};

/// The column of a feature table that makes a row such a one: the id of the row whose text it has.
pub const MISMATCH_COLUMN: &str = "mismatch_of";

/// Rows of such texts, all of them hallucinated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mismatched {
    /// `[n, F]`, all finite; `[0, 0]` without any.
    pub features: Array2<f64>,
    /// For each the labelled row whose text it has.
    pub twin: Vec<usize>,
    /// For each the group of its change, if labelled rows have it.
    pub group: Vec<Option<usize>>,
    /// Further ones that take no part: without a label or a chosen feature, or without the row whose text they have.
    pub n_left_out: usize,
}

impl Mismatched {
    /// How many such texts can train.
    pub fn len(&self) -> usize {
        self.twin.len()
    }

    /// Whether no such text can train.
    pub fn is_empty(&self) -> bool {
        self.twin.is_empty()
    }

    /// What a reader of figures should know of them.
    pub(crate) fn note(&self) -> Option<String> {
        let left_out = match self.n_left_out {
            0 => String::new(),
            n => format!(
                "; {n} more take no part: no label or feature, or the row that `{MISMATCH_COLUMN}` names is not here"
            ),
        };
        (self.len() + self.n_left_out > 0).then(|| {
            let n = self.len();
            format!(
                "{n} texts beside a change they were not written for are only trained on: no figure is about them{left_out}"
            )
        })
    }
}

impl LabelledRows {
    /// These columns of these rows, to train on, and of the mismatched texts that may go with them: those
    /// whose own row is among them and whose change is not kept back with `test`.
    pub(crate) fn training(&self, columns: &[usize], train: &[usize], test: &[usize]) -> TrainingRows {
        let mut rows = TrainingRows {
            features: self.features.select(Axis(1), columns).select(Axis(0), train),
            labels: train.iter().map(|&row| self.labels[row]).collect(),
            groups: train.iter().map(|&row| [self.groups.of_row[row]; 2]).collect(),
            kinds: columns.iter().map(|&column| self.kinds[column].clone()).collect(),
        };
        if self.mismatched.is_empty() {
            return rows;
        }
        let trained: BTreeSet<usize> = train.iter().copied().collect();
        let groups = |rows: &[usize]| self.groups.of_rows(rows).into_iter().collect::<BTreeSet<usize>>();
        let kept_back = &groups(test) - &groups(train);
        let may_train = |&i: &usize| {
            trained.contains(&self.mismatched.twin[i])
                && self.mismatched.group[i].is_none_or(|group| !kept_back.contains(&group))
        };
        let chosen: Vec<usize> = (0..self.mismatched.len()).filter(may_train).collect();
        rows.labels.extend(chosen.iter().map(|_| true));
        rows.groups.extend(chosen.iter().map(|&i| {
            let (text, change) = (self.groups.of_row[self.mismatched.twin[i]], self.mismatched.group[i]);
            // a change that no labelled row has is a group that no number stands for
            [text, change.unwrap_or(usize::MAX)]
        }));
        let more = self.mismatched.features.select(Axis(1), columns).select(Axis(0), &chosen);
        rows.features = concatenate(Axis(0), &[rows.features.view(), more.view()])
            .expect("both have a column for each of `columns`");
        rows
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::Groups;

    #[test]
    fn a_mismatched_text_trains_only_where_neither_its_text_nor_its_change_is_judged() {
        let (names, features) = (vec!["a".into(), "b".into()], array![[0.0, 10.0], [1.0, 11.0], [2.0, 12.0]]);
        let groups = Groups::new(vec!["x".into(), "y".into(), "z".into()]);
        let rows = LabelledRows {
            // the text of x beside y, of y beside z, of z beside a change that nobody labelled
            mismatched: Mismatched {
                features: array![[3.0, 13.0], [4.0, 14.0], [5.0, 15.0]],
                twin: vec![0, 1, 2],
                group: vec![Some(1), Some(2), None],
                n_left_out: 0,
            },
            ..LabelledRows::new(names, features, vec![false, true, false], groups)
        };
        let training = rows.training(&[1], &[0, 1], &[2]);
        assert_eq!((training.features, training.labels), (array![[10.0], [11.0], [13.0]], vec![false, true, true]));
        assert_eq!(training.groups, [[0, 0], [1, 1], [0, 1]], "a text beside another change is of two groups");
        // judged on what it was trained on, nothing is kept back
        let training = rows.training(&[0], &[0, 1, 2], &[0, 1, 2]);
        assert_eq!(training.groups[5], [2, usize::MAX]);
        assert_eq!(training.features, array![[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]);
        assert_eq!(rows.training(&[0, 1], &[2], &[0, 1]).labels, [false, true]);
    }
}
