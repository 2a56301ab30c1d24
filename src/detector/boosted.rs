//! Gradient-boosted trees: several ensembles of small trees, and their mean. A seed draws the features that each tree is shown.
//!
//! They are grown by the crate `forust-ml` and kept as plain arrays, which are all that predicting needs.

use forust_ml::{GradientBooster, Matrix};
use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::{DetectorError, sigmoid};

/// Ensembles whose mean is taken: with few rows a single one depends on its seed.
const ENSEMBLES: u64 = 6;
/// Trees of an ensemble.
const TREES: usize = 120;
/// What each tree is multiplied by.
const LEARNING_RATE: f32 = 0.05;
/// Most splits above a leaf.
const MAX_DEPTH: usize = 3;
/// Share of the features that a tree may split on, where there are [`MANY_FEATURES`] or more; else all.
const FEATURES_SHARE: f64 = 0.3;
/// From so many features on a tree is shown a share of them.
const MANY_FEATURES: usize = 8;
/// Least sum of p (1 - p) in a leaf: about twenty rows of a balanced table.
const LEAF_WEIGHT: f32 = 5.0;
/// Penalty on a leaf's value squared.
const LEAF_L2: f32 = 5.0;

/// A sum of trees in log-odds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boosted {
    /// Log-odds before any tree.
    pub base: f64,
    /// Of each feature the share of the loss that splits on it took away, 0 to 1.
    pub gain: Vec<f64>,
    /// The trees.
    pub trees: Vec<Tree>,
}

/// A tree as arrays, one entry a node; the root is node 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The feature that a node splits on; null in a leaf.
    pub feature: Vec<Option<usize>>,
    /// Rows with a smaller value go left, the others right; 0 in a leaf.
    pub threshold: Vec<f64>,
    /// The node on the left, which comes behind this one; 0 in a leaf.
    pub left: Vec<usize>,
    /// The node on the right, which comes behind this one; 0 in a leaf.
    pub right: Vec<usize>,
    /// What a leaf adds to the log-odds; 0 elsewhere.
    pub value: Vec<f64>,
}

impl Tree {
    /// What the tree adds for a row of finite values.
    fn value_of(&self, row: &[f64]) -> f64 {
        let mut node = 0;
        while let Some(feature) = self.feature[node] {
            node = self.next(node, row[feature]);
        }
        self.value[node]
    }

    /// Where a value of the feature that a node splits on leads.
    pub(super) fn next(&self, node: usize, value: f64) -> usize {
        if value < self.threshold[node] { self.left[node] } else { self.right[node] }
    }

    /// What is wrong with it, if anything: only a tree without fault ends for every row.
    fn fault(&self, n_features: usize) -> Option<String> {
        let n = self.feature.len();
        let lengths = [self.threshold.len(), self.left.len(), self.right.len(), self.value.len()];
        if n == 0 || lengths != [n; 4] {
            return Some(format!("arrays of {n} and {lengths:?} nodes, expected as many of each and at least one"));
        }
        for node in 0..n {
            let (left, right) = (self.left[node], self.right[node]);
            match self.feature[node] {
                Some(feature) if feature >= n_features => {
                    return Some(format!("node {node} splits on feature {feature} of {n_features}"));
                }
                Some(_) if left <= node || right <= node || left >= n || right >= n => {
                    return Some(format!(
                        "node {node} leads to nodes {left} and {right}, expected {} to {}",
                        node + 1,
                        n - 1
                    ));
                }
                _ => {}
            }
            if !self.threshold[node].is_finite() || !self.value[node].is_finite() {
                return Some(format!("node {node} has a number that is not finite"));
            }
        }
        None
    }
}

impl Boosted {
    /// Grows trees on rows `[n, F]` and their labels (true = positive), both of which occur.
    ///
    /// # Errors
    /// [`DetectorError::Trees`] with what the crate says.
    pub(super) fn fit(features: ArrayView2<f64>, labels: &[bool], seed: u64) -> Result<Self, DetectorError> {
        let (n, n_features) = features.dim();
        let by_column: Vec<f64> = features.axis_iter(Axis(1)).flatten().copied().collect();
        let matrix = Matrix::new(&by_column, n, n_features);
        let targets: Vec<f64> = labels.iter().map(|&positive| f64::from(u8::from(positive))).collect();
        let share = targets.iter().sum::<f64>() / n as f64;
        let base = (share / (1.0 - share)).ln();

        let mut boosted = Boosted { base, gain: vec![0.0; n_features], trees: Vec::new() };
        for ensemble in 0..ENSEMBLES {
            let mut booster = GradientBooster::default()
                .set_iterations(TREES)
                .set_learning_rate(LEARNING_RATE)
                .set_max_depth(MAX_DEPTH)
                .set_colsample_bytree(if n_features < MANY_FEATURES { 1.0 } else { FEATURES_SHARE })
                .set_min_leaf_weight(LEAF_WEIGHT)
                .set_l2(LEAF_L2)
                .set_base_score(base)
                .set_initialize_base_score(false)
                .set_parallel(false)
                .set_seed(seed.wrapping_mul(ENSEMBLES).wrapping_add(ensemble));
            booster.fit_unweighted(&matrix, &targets, None).map_err(|error| DetectorError::Trees(error.to_string()))?;
            for tree in &booster.trees {
                boosted.take(tree);
            }
        }
        let total: f64 = boosted.gain.iter().sum();
        if total > 0.0 {
            boosted.gain.iter_mut().for_each(|gain| *gain /= total);
        }
        Ok(boosted)
    }

    /// Takes a tree over, its leaves divided by the number of ensembles.
    fn take(&mut self, grown: &forust_ml::tree::Tree) {
        let mut tree = Tree::default();
        for node in &grown.nodes {
            let splits = !node.is_leaf;
            tree.feature.push(splits.then_some(node.split_feature));
            tree.threshold.push(if splits { node.split_value } else { 0.0 });
            tree.left.push(if splits { node.left_child } else { 0 });
            tree.right.push(if splits { node.right_child } else { 0 });
            tree.value.push(if splits { 0.0 } else { f64::from(node.weight_value) / ENSEMBLES as f64 });
            if splits {
                self.gain[node.split_feature] += f64::from(node.split_gain).max(0.0);
            }
        }
        self.trees.push(tree);
    }

    /// Log-odds of a row of finite values.
    pub fn log_odds(&self, row: &[f64]) -> f64 {
        self.base + self.trees.iter().map(|tree| tree.value_of(row)).sum::<f64>()
    }

    /// The probability, 0 to 1, that a row with these feature values is positive; NaN if one of them is NaN.
    pub fn predict(&self, row: &[f64]) -> f64 {
        if row.iter().any(|value| value.is_nan()) { f64::NAN } else { sigmoid(self.log_odds(row)) }
    }

    /// What is wrong with the content of a file, if anything.
    pub(super) fn fault(&self, n_features: usize) -> Option<String> {
        if self.gain.len() != n_features {
            return Some(format!("`boosted.gain` has {} entries, expected {n_features}", self.gain.len()));
        }
        if !self.base.is_finite() || !self.gain.iter().all(|gain| gain.is_finite()) {
            return Some("a number of `boosted` is not finite".into());
        }
        let mut faults = self.trees.iter().enumerate();
        faults.find_map(|(i, tree)| tree.fault(n_features).map(|what| format!("`boosted.trees[{i}]`: {what}")))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Rows of ten features of noise; the label is whether the first lies in a band, which no plane separates.
    fn banded(n: usize) -> (Array2<f64>, Vec<bool>) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let x = Array2::from_shape_simple_fn((n, 10), || rng.random::<f64>());
        let labels = x.outer_iter().map(|row| (row[0] - 0.5).abs() < 0.25).collect();
        (x, labels)
    }

    #[test]
    fn trees_find_what_no_plane_separates() {
        let (x, labels) = banded(600);
        let boosted = Boosted::fit(x.view(), &labels, 0).unwrap();
        let right =
            x.outer_iter().zip(&labels).filter(|(row, label)| (boosted.predict(&row.to_vec()) > 0.5) == **label);
        // a plane finds half
        assert!(right.count() > 480);
        assert!((boosted.gain.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(boosted.gain[1..].iter().all(|gain| *gain < boosted.gain[0]), "{:?}", boosted.gain);
        assert_eq!(boosted.fault(10), None);
    }

    #[test]
    fn the_seed_fixes_the_result_and_the_file_keeps_it() {
        let (x, labels) = banded(200);
        let boosted = Boosted::fit(x.view(), &labels, 7).unwrap();
        assert_eq!(boosted, Boosted::fit(x.view(), &labels, 7).unwrap());
        assert_ne!(boosted, Boosted::fit(x.view(), &labels, 8).unwrap());
        let text = serde_json::to_string(&boosted).unwrap();
        assert_eq!(serde_json::from_str::<Boosted>(&text).unwrap(), boosted);
    }

    #[test]
    fn our_sum_of_trees_is_the_crates() {
        let (x, labels) = banded(300);
        let by_column: Vec<f64> = x.axis_iter(Axis(1)).flatten().copied().collect();
        let targets: Vec<f64> = labels.iter().map(|&l| f64::from(u8::from(l))).collect();
        let matrix = Matrix::new(&by_column, x.nrows(), 10);
        let mut booster = GradientBooster::default().set_iterations(20).set_max_depth(4).set_parallel(false);
        booster.fit_unweighted(&matrix, &targets, None).unwrap();
        let mut own = Boosted { base: booster.base_score, gain: vec![0.0; 10], trees: Vec::new() };
        booster.trees.iter().for_each(|tree| own.take(tree));
        for (row, theirs) in x.outer_iter().zip(booster.predict(&matrix, false)) {
            let ours = own.base + ENSEMBLES as f64 * (own.log_odds(&row.to_vec()) - own.base);
            // theirs are sums of f32
            assert!((ours - theirs).abs() < 1e-4, "{ours} {theirs}");
        }
    }

    #[test]
    fn damaged_trees_are_named_and_nan_is_not_a_value() {
        let leaf = Tree { feature: vec![None], threshold: vec![0.0], left: vec![0], right: vec![0], value: vec![1.0] };
        let of = |tree: Tree| Boosted { base: 0.0, gain: vec![0.0; 2], trees: vec![tree] };
        assert_eq!(of(leaf.clone()).fault(2), None);
        assert!(of(leaf.clone()).predict(&[f64::NAN, 0.0]).is_nan());
        let split = |feature, left, right| Tree {
            feature: vec![Some(feature), None, None],
            threshold: vec![0.5; 3],
            left: vec![left, 0, 0],
            right: vec![right, 0, 0],
            value: vec![0.0, 1.0, 2.0],
        };
        assert_eq!(of(split(1, 1, 2)).log_odds(&[9.0, 0.4]), 1.0);
        assert_eq!(of(split(1, 1, 2)).log_odds(&[0.0, 0.5]), 2.0);
        for bad in [split(2, 1, 2), split(0, 0, 2), split(0, 1, 3), Tree::default()] {
            assert!(of(bad).fault(2).is_some_and(|what| what.contains("boosted.trees[0]")));
        }
        assert!(of(Tree { value: vec![f64::NAN], ..leaf }).fault(2).is_some());
    }
}
