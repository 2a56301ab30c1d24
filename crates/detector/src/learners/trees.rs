//! Trees as plain arrays, whoever grew them: all that predicting needs, and the same in a file.

use serde::{Deserialize, Serialize};

use crate::sigmoid;

/// A sum of trees in log-odds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trees {
    /// Log-odds before any tree.
    pub base: f64,
    /// Of each feature the share of the loss, or of the leaves' impurity, that splits on it took away, 0 to 1.
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
        self.value[self.leaf(|feature| row[feature])]
    }

    /// The node in which a row of finite values ends.
    pub(crate) fn leaf(&self, value: impl Fn(usize) -> f64) -> usize {
        let mut node = 0;
        while let Some(feature) = self.feature[node] {
            node = self.next(node, value(feature));
        }
        node
    }

    /// Where a value of the feature that a node splits on leads.
    pub(crate) fn next(&self, node: usize, value: f64) -> usize {
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

impl Trees {
    /// Log-odds of a row of finite values.
    pub fn log_odds(&self, row: &[f64]) -> f64 {
        self.base + self.trees.iter().map(|tree| tree.value_of(row)).sum::<f64>()
    }

    /// The probability, 0 to 1, that a row with these feature values is positive; NaN if one of them is NaN.
    pub fn predict(&self, row: &[f64]) -> f64 {
        if row.iter().any(|value| value.is_nan()) { f64::NAN } else { sigmoid(self.log_odds(row)) }
    }

    /// What is wrong with what a file has under `key`, if anything.
    pub(crate) fn fault(&self, key: &str, n_features: usize) -> Option<String> {
        if self.gain.len() != n_features {
            return Some(format!("`{key}.gain` has {} entries, expected {n_features}", self.gain.len()));
        }
        if !self.base.is_finite() || !self.gain.iter().all(|gain| gain.is_finite()) {
            return Some(format!("a number of `{key}` is not finite"));
        }
        let mut faults = self.trees.iter().enumerate();
        faults.find_map(|(i, tree)| tree.fault(n_features).map(|what| format!("`{key}.trees[{i}]`: {what}")))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use ndarray::Array2;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Rows of ten features of noise; the label is whether the first lies in a band, which no plane separates.
    pub fn banded(n: usize, seed: u64) -> (Array2<f64>, Vec<bool>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let x = Array2::from_shape_simple_fn((n, 10), || rng.random::<f64>());
        let labels = x.outer_iter().map(|row| (row[0] - 0.5).abs() < 0.25).collect();
        (x, labels)
    }

    #[test]
    fn damaged_trees_are_named_and_nan_is_not_a_value() {
        let leaf = Tree { feature: vec![None], threshold: vec![0.0], left: vec![0], right: vec![0], value: vec![1.0] };
        let of = |tree: Tree| Trees { base: 0.0, gain: vec![0.0; 2], trees: vec![tree] };
        assert_eq!(of(leaf.clone()).fault("forest", 2), None);
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
            assert!(of(bad).fault("forest", 2).is_some_and(|what| what.contains("forest.trees[0]")));
        }
        assert!(of(Tree { value: vec![f64::NAN], ..leaf }).fault("forest", 2).is_some());
    }
}
