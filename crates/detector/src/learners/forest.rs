//! Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): every split is the best of some thresholds drawn at random, every tree
//! grows on all rows, and their mean is taken.

use ndarray::{ArrayView2, Axis};
use rand::{Rng, SeedableRng, seq::index};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::{
    DetectorError, LearnSettings,
    learners::{
        Learn, TrainingRows,
        logistic::logit,
        trees::{Tree, Trees},
    },
};

/// How far a forest grows.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Trees whose mean is taken.
    pub trees: usize,
    /// Least rows in a leaf.
    pub leaf_rows: usize,
    /// Most splits above a leaf.
    pub max_depth: usize,
}

/// A forest that stands alone.
const ALONE: Growth = Growth { trees: 300, leaf_rows: 3, max_depth: usize::MAX };
/// Share of the features of which a split draws one threshold each.
const FEATURES_SHARE: f64 = 0.3;
/// But of so many at least, where there are as many: one that is constant among a node's rows cannot split them.
const MIN_FEATURES: usize = 3;
/// So many rows of the whole table's mix are counted in every leaf, so that one with a single label has finite log-odds.
const PRIOR_ROWS: f64 = 1.0;

/// Grows extremely randomised trees.
pub struct RandomisedTrees;

impl Learn for RandomisedTrees {
    type Model = Trees;

    const TITLE: &'static str = "extremely randomised trees";

    fn fit(rows: &TrainingRows, settings: LearnSettings) -> Result<Trees, DetectorError> {
        grow(rows.features.view(), &rows.labels, ALONE, settings.seed)
    }
}

/// Grows trees on rows `[n, F]` and their labels (true = positive), both of which occur. The mean is of the leaves' log-odds, so that
/// what a feature adds can be told.
///
/// # Errors
/// [`DetectorError::Trees`] when a feature spans more than a float holds: thresholds are drawn from its range.
pub fn grow(features: ArrayView2<f64>, labels: &[bool], growth: Growth, seed: u64) -> Result<Trees, DetectorError> {
    for column in features.axis_iter(Axis(1)) {
        let (least, most) = range(column.iter().copied());
        if !(most - least).is_finite() {
            return Err(DetectorError::Trees(format!("a feature has values from {least:e} to {most:e}")));
        }
    }
    let n_features = features.ncols();
    let drawn = (n_features as f64 * FEATURES_SHARE).ceil() as usize;
    let share = labels.iter().filter(|positive| **positive).count() as f64 / labels.len() as f64;
    let grower =
        Grower { features: features.view(), labels, growth, drawn: drawn.max(MIN_FEATURES.min(n_features)), share };
    let n_trees = growth.trees as u64;
    let first_seed = seed.wrapping_mul(n_trees);
    let grown: Vec<(Tree, Vec<f64>)> =
        (0..n_trees).into_par_iter().map(|i| grower.tree(first_seed.wrapping_add(i))).collect();
    let (trees, gains): (Vec<Tree>, Vec<Vec<f64>>) = grown.into_iter().unzip();
    let mut gain = vec![0.0; n_features];
    for of_tree in gains {
        add(&mut gain, &shares(of_tree));
    }
    Ok(Trees { base: logit(share), gain: shares(gain), trees })
}

/// The least and the greatest value.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)))
}

fn add(sum: &mut [f64], more: &[f64]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Values that are not negative divided by their sum, if that is not zero.
fn shares(values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    if sum > 0.0 { values.iter().map(|value| value / sum).collect() } else { values }
}

/// Rows, how many of them are positive.
#[derive(Debug, Clone, Copy)]
struct Count {
    rows: usize,
    positive: usize,
}

impl Count {
    /// Rows · p², p the share of positives. What a split adds to the sum of these it takes away from that of rows · p · (1 − p), Gini's
    /// impurity, since the positives stay as many.
    fn purity(self) -> f64 {
        (self.positive * self.positive) as f64 / self.rows as f64
    }
}

/// A threshold on a feature, and what it takes away of the impurity.
struct Split {
    feature: usize,
    threshold: f64,
    gain: f64,
}

struct Grower<'a> {
    features: ArrayView2<'a, f64>,
    labels: &'a [bool],
    growth: Growth,
    /// Features of which a split draws a threshold each.
    drawn: usize,
    /// Share of positive rows.
    share: f64,
}

impl Grower<'_> {
    /// A tree, and what the splits on each feature took away of the impurity.
    fn tree(&self, seed: u64) -> (Tree, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut rows: Vec<usize> = (0..self.labels.len()).collect();
        let (mut tree, mut gain) = (Tree::default(), vec![0.0; self.features.ncols()]);
        let mut open = vec![(push_leaf(&mut tree, 0.0), 0..rows.len(), 0)];
        while let Some((node, span, depth)) = open.pop() {
            let of_node = &mut rows[span.clone()];
            let split = if depth < self.growth.max_depth { self.best_split(of_node, &mut rng) } else { None };
            let Some(Split { feature, threshold, gain: gained }) = split else {
                tree.value[node] = self.leaf_value(self.count(of_node));
                continue;
            };
            gain[feature] += gained;
            let n_left = partition(of_node, |row| self.features[[row, feature]] < threshold);
            let (left, right) = (push_leaf(&mut tree, 0.0), push_leaf(&mut tree, 0.0));
            (tree.feature[node], tree.threshold[node]) = (Some(feature), threshold);
            (tree.left[node], tree.right[node]) = (left, right);
            open.push((right, span.start + n_left..span.end, depth + 1));
            open.push((left, span.start..span.start + n_left, depth + 1));
        }
        (tree, gain)
    }

    fn count(&self, rows: &[usize]) -> Count {
        Count { rows: rows.len(), positive: rows.iter().filter(|row| self.labels[**row]).count() }
    }

    /// What a leaf adds to the log-odds of the mean.
    fn leaf_value(&self, leaf: Count) -> f64 {
        let share = (leaf.positive as f64 + PRIOR_ROWS * self.share) / (leaf.rows as f64 + PRIOR_ROWS);
        (logit(share) - logit(self.share)) / self.growth.trees as f64
    }

    /// The best of thresholds drawn at random, one for each of the features drawn; none where rows of one label are alone, or where no
    /// threshold leaves enough rows on both sides.
    fn best_split(&self, rows: &[usize], rng: &mut ChaCha8Rng) -> Option<Split> {
        let all = self.count(rows);
        if all.rows < 2 * self.growth.leaf_rows || all.positive == 0 || all.positive == all.rows {
            return None;
        }
        let mut best: Option<Split> = None;
        for feature in index::sample(rng, self.features.ncols(), self.drawn) {
            let values = || rows.iter().map(|&row| self.features[[row, feature]]);
            let (least, most) = range(values());
            if least == most {
                continue;
            }
            // above the least and up to the greatest, so that neither side is empty
            let threshold = most - rng.random::<f64>() * (most - least);
            let mut left = Count { rows: 0, positive: 0 };
            for (value, &row) in values().zip(rows) {
                let is_left = usize::from(value < threshold);
                left.rows += is_left;
                left.positive += is_left * usize::from(self.labels[row]);
            }
            let right = Count { rows: all.rows - left.rows, positive: all.positive - left.positive };
            if left.rows < self.growth.leaf_rows || right.rows < self.growth.leaf_rows {
                continue;
            }
            let gain = left.purity() + right.purity() - all.purity();
            if best.as_ref().is_none_or(|best| gain > best.gain) {
                best = Some(Split { feature, threshold, gain });
            }
        }
        best
    }
}

fn push_leaf(tree: &mut Tree, value: f64) -> usize {
    tree.feature.push(None);
    tree.threshold.push(0.0);
    tree.left.push(0);
    tree.right.push(0);
    tree.value.push(value);
    tree.feature.len() - 1
}

/// Brings the rows that go left to the front, and counts them.
fn partition(rows: &mut [usize], goes_left: impl Fn(usize) -> bool) -> usize {
    let mut n_left = 0;
    for i in 0..rows.len() {
        if goes_left(rows[i]) {
            rows.swap(n_left, i);
            n_left += 1;
        }
    }
    n_left
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::Predict;
    use crate::learners::trees::tests::banded;

    #[test]
    fn trees_find_what_no_plane_separates_in_rows_that_they_have_not_seen() {
        let (x, labels) = banded(600, 1);
        let trees = grow(x.view(), &labels, ALONE, 0).unwrap();
        let (unseen, wanted) = banded(600, 2);
        let right =
            unseen.outer_iter().zip(&wanted).filter(|(row, label)| (trees.log_odds(&row.to_vec()) > 0.0) == **label);
        // a plane finds half
        assert!(right.count() > 450);
        assert!((trees.gain.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(trees.gain[1..].iter().all(|gain| *gain < trees.gain[0]), "{:?}", trees.gain);
        assert_eq!((trees.fault(10), trees.trees.len()), (None, ALONE.trees));
    }

    #[test]
    fn the_seed_fixes_the_result_and_the_file_keeps_it() {
        let (x, labels) = banded(100, 1);
        let trees = grow(x.view(), &labels, ALONE, 7).unwrap();
        assert_eq!(trees, grow(x.view(), &labels, ALONE, 7).unwrap());
        assert_ne!(trees, grow(x.view(), &labels, ALONE, 8).unwrap());
        let text = serde_json::to_string(&trees).unwrap();
        assert_eq!(serde_json::from_str::<Trees>(&text).unwrap(), trees);
    }

    #[test]
    fn leaves_hold_the_log_odds_of_the_rows_that_end_in_them() {
        let (mut x, labels) = banded(200, 3);
        // few values, so that many rows lie on a threshold's side together
        x.mapv_inplace(|value| (value * 4.0).round());
        let trees = grow(x.view(), &labels, ALONE, 5).unwrap();
        let share = labels.iter().filter(|label| **label).count() as f64 / 200.0;
        assert_eq!(trees.base, logit(share));
        let mut n_splits = 0;
        for tree in &trees.trees {
            let mut ended = vec![(0, 0); tree.feature.len()];
            for (row, label) in x.outer_iter().zip(&labels) {
                let leaf = &mut ended[tree.leaf(|feature| row[feature])];
                *leaf = (leaf.0 + 1, leaf.1 + usize::from(*label));
            }
            for (node, (rows, positive)) in ended.into_iter().enumerate() {
                if tree.feature[node].is_some() {
                    n_splits += 1;
                    assert_eq!((rows, tree.value[node]), (0, 0.0));
                    continue;
                }
                assert!(rows >= ALONE.leaf_rows);
                let want = logit((positive as f64 + share) / (rows as f64 + 1.0)) - trees.base;
                assert!((tree.value[node] * ALONE.trees as f64 - want).abs() < 1e-9, "{} {want}", tree.value[node]);
            }
        }
        assert!(n_splits > 10 * ALONE.trees, "{n_splits}");
    }

    #[test]
    fn one_feature_of_two_values_is_split_once() {
        // 20 rows at 0, of which 5 are positive, and 10 at 1, of which 8 are: no other split is there to be made
        let x = Array2::from_shape_fn((30, 1), |(row, _)| f64::from(u8::from(row >= 20)));
        let labels: Vec<bool> = (0..30).map(|row| !(5..22).contains(&row)).collect();
        let trees = grow(x.view(), &labels, ALONE, 1).unwrap();
        assert!(trees.trees.iter().all(|tree| tree.feature == [Some(0), None, None]));
        let prior = 13.0 / 30.0;
        assert!((trees.log_odds(&[0.0]) - logit((5.0 + prior) / 21.0)).abs() < 1e-9, "{}", trees.log_odds(&[0.0]));
        assert!((trees.log_odds(&[1.0]) - logit((8.0 + prior) / 11.0)).abs() < 1e-9, "{}", trees.log_odds(&[1.0]));
        assert_eq!(trees.gain, [1.0]);
    }

    #[test]
    fn a_range_that_no_float_holds_is_an_error() {
        let mut x = Array2::zeros((20, 2));
        (x[[0, 1]], x[[1, 1]]) = (-f64::MAX, f64::MAX);
        let labels: Vec<bool> = (0..20).map(|row| row % 2 == 0).collect();
        let error = grow(x.view(), &labels, ALONE, 0).unwrap_err().to_string();
        assert!(error.contains("from -1.7976931348623157e308"), "{error}");
    }
}
