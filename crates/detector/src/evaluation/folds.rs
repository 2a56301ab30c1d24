//! Cross-validation folds that never split a group.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::DetectorError;

/// Which group each row belongs to: rows that share evidence (the same diff) and must stay on one side of any split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// For every row, the position of its group in `names`.
    pub of_row: Vec<usize>,
    /// The groups' names, sorted, each once.
    pub names: Vec<String>,
}

impl Groups {
    /// Numbers the groups of rows by name.
    pub fn new(name_of_row: Vec<String>) -> Self {
        let mut names = name_of_row.clone();
        names.sort_unstable();
        names.dedup();
        let of_row = name_of_row.iter().map(|name| names.partition_point(|n| n < name)).collect();
        Self { of_row, names }
    }

    /// The groups of some of the rows, numbered as here.
    pub(crate) fn of_rows(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().map(|&row| self.of_row[row]).collect()
    }
}

/// For every row the fold, `0..n_folds`, in which it is tested.
///
/// Groups stay whole. They are taken largest first (equals in an order drawn from `seed`, whatever the order of the
/// rows), each put where its classes are scarcest, so that folds are alike in size and in the share of positives as far
/// as whole groups allow. No fold is empty.
///
/// # Errors
/// [`DetectorError::TooFewGroups`] when there are fewer groups than folds, or fewer than two folds are asked for.
///
/// # Panics
/// If `labels` and `groups` differ in length.
pub fn grouped_folds(labels: &[bool], groups: &Groups, n_folds: usize, seed: u64) -> Result<Vec<usize>, DetectorError> {
    assert_eq!(labels.len(), groups.of_row.len(), "one group per row");
    let n_groups = groups.names.len();
    if n_folds < 2 || n_groups < n_folds {
        return Err(DetectorError::TooFewGroups { n_groups, n_folds });
    }
    let mut counts = vec![[0usize; 2]; n_groups]; // rows of each class
    for (&group, &positive) in groups.of_row.iter().zip(labels) {
        counts[group][usize::from(positive)] += 1;
    }
    let totals = counts.iter().fold([0; 2], |[n, p], c| [n + c[0], p + c[1]]);
    let mut order: Vec<usize> = (0..n_groups).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order.sort_by_key(|&group| std::cmp::Reverse(counts[group].iter().sum::<usize>()));

    let mut filled = vec![[0usize; 2]; n_folds];
    let mut fold_of_group = vec![0; n_groups];
    for group in order {
        // Growth of the sum over folds and classes of (share of the class)^2, up to a constant.
        let growth = |fold: &[usize; 2]| -> f64 {
            (0..2)
                .filter(|&class| totals[class] > 0)
                .map(|class| (fold[class] * counts[group][class]) as f64 / (totals[class] as f64).powi(2))
                .sum()
        };
        let fold = (0..n_folds)
            .min_by(|&a, &b| {
                let rows = |fold: usize| filled[fold].iter().sum::<usize>();
                growth(&filled[a]).total_cmp(&growth(&filled[b])).then(rows(a).cmp(&rows(b)))
            })
            .unwrap_or(0);
        fold_of_group[group] = fold;
        for class in 0..2 {
            filled[fold][class] += counts[group][class];
        }
    }
    Ok(groups.of_row.iter().map(|&group| fold_of_group[group]).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows() -> impl Strategy<Value = (Vec<(u8, bool)>, usize, u64)> {
        (proptest::collection::vec((0u8..20, any::<bool>()), 1..120), 2usize..7, any::<u64>())
    }

    proptest! {
        #[test]
        fn folds_keep_groups_whole_and_are_not_empty((rows, n_folds, seed) in rows()) {
            let labels: Vec<bool> = rows.iter().map(|r| r.1).collect();
            let groups = Groups::new(rows.iter().map(|r| format!("g{}", r.0)).collect());
            match grouped_folds(&labels, &groups, n_folds, seed) {
                Err(DetectorError::TooFewGroups { .. }) => prop_assert!(groups.names.len() < n_folds),
                Err(other) => prop_assert!(false, "unexpected error {other}"),
                Ok(folds) => {
                    prop_assert!(groups.names.len() >= n_folds);
                    for (i, a) in groups.of_row.iter().enumerate() {
                        for (j, b) in groups.of_row.iter().enumerate() {
                            prop_assert!(a != b || folds[i] == folds[j], "group {a} is split");
                        }
                    }
                    for fold in 0..n_folds {
                        prop_assert!(folds.contains(&fold), "fold {fold} is empty");
                    }
                    // the order of the rows must not matter
                    let mut reversed: Vec<_> = rows.clone();
                    reversed.reverse();
                    let labels: Vec<bool> = reversed.iter().map(|r| r.1).collect();
                    let groups = Groups::new(reversed.iter().map(|r| format!("g{}", r.0)).collect());
                    let mut again = grouped_folds(&labels, &groups, n_folds, seed).unwrap();
                    again.reverse();
                    prop_assert_eq!(again, folds);
                }
            }
        }
    }

    #[test]
    fn folds_are_balanced_in_size_and_label_rate() {
        // 60 groups of 10 rows, every third group has 6 positives, the others 1
        let labels: Vec<bool> = (0..600).map(|i| i % 10 < if (i / 10) % 3 == 0 { 6 } else { 1 }).collect();
        let groups = Groups::new((0..600).map(|i| format!("{:02}", i / 10)).collect());
        let folds = grouped_folds(&labels, &groups, 5, 1).unwrap();
        for fold in 0..5 {
            let size = folds.iter().filter(|&&f| f == fold).count();
            let positives = folds.iter().zip(&labels).filter(|(f, l)| **f == fold && **l).count();
            // perfect is 120 rows and 32 positives; one group of either kind may be out of place
            assert!((110..=130).contains(&size), "fold {fold} has {size} rows");
            assert!((27..=37).contains(&positives), "fold {fold} has {positives} positives");
        }
        assert_ne!(folds, grouped_folds(&labels, &groups, 5, 2).unwrap(), "the seed matters");
        assert_eq!(folds, grouped_folds(&labels, &groups, 5, 1).unwrap(), "and fixes the result");
    }
}
