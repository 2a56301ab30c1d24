//! Trees as plain arrays, whoever grew them: all that predicting needs, and the same in a file.

use serde::{Deserialize, Serialize};

use crate::Predict;

/// A sum of trees in log-odds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trees {
    /// The log-odds of a row before any tree has added to them.
    pub base: f64,
    /// Of each feature the share of the loss, or of the leaves' impurity, that splits on it took away, 0 to 1.
    pub gain: Vec<f64>,
    /// The trees, whose values are added up.
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

impl Predict for Trees {
    fn log_odds(&self, row: &[f64]) -> f64 {
        self.base + self.trees.iter().map(|tree| tree.value_of(row)).sum::<f64>()
    }

    /// Shapley values of the game in which a coalition of features has the row's values and the others the baseline's (Sundararajan
    /// and Najmi 2020, "baseline Shapley"), computed exactly.
    fn contributions(&self, row: &[f64], baseline: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; row.len()];
        self.trees.iter().for_each(|tree| add_shapley_values(tree, row, baseline, &mut values));
        values
    }

    fn fault(&self, n_features: usize) -> Option<String> {
        if self.gain.len() != n_features {
            return Some(format!("`gain` has {} entries, expected {n_features}", self.gain.len()));
        }
        if !self.base.is_finite() || !self.gain.iter().all(|gain| gain.is_finite()) {
            return Some("a number of the trees is not finite".to_owned());
        }
        let mut faults = self.trees.iter().enumerate();
        faults.find_map(|(i, tree)| tree.fault(n_features).map(|what| format!("`trees[{i}]`: {what}")))
    }

    fn trees(&self) -> Option<&Trees> {
        Some(self)
    }
}

/// Adds one tree's. A leaf is worth its value to every coalition that holds the features whose row values lead there (`of_row`) and
/// none of those whose baseline values do (`of_baseline`); the Shapley values of so simple a game are known in closed form, and a
/// tree is the sum of its leaves' games (Lundberg et al. 2020, interventional TreeSHAP).
fn add_shapley_values(tree: &Tree, row: &[f64], baseline: &[f64], values: &mut [f64]) {
    let mut open = vec![(0, Vec::new(), Vec::new())];
    while let Some((node, of_row, of_baseline)) = open.pop() {
        let Some(feature) = tree.feature[node] else {
            let each = |n: usize| tree.value[node] / (n as f64 * binomial(of_row.len() + of_baseline.len(), n));
            of_row.iter().for_each(|&feature: &usize| values[feature] += each(of_row.len()));
            of_baseline.iter().for_each(|&feature: &usize| values[feature] -= each(of_baseline.len()));
            continue;
        };
        let (by_row, by_baseline) = (tree.next(node, row[feature]), tree.next(node, baseline[feature]));
        if by_row == by_baseline || of_row.contains(&feature) {
            open.push((by_row, of_row, of_baseline));
        } else if of_baseline.contains(&feature) {
            open.push((by_baseline, of_row, of_baseline));
        } else {
            let with = |features: &[usize]| [features, &[feature]].concat();
            open.push((by_row, with(&of_row), of_baseline.clone()));
            open.push((by_baseline, of_row, with(&of_baseline)));
        }
    }
}

/// n over k.
fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product()
}

#[cfg(test)]
pub(crate) mod tests {
    use ndarray::Array2;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{LearnSettings, Learner, Model, TrainingRows};

    /// Rows of ten features of noise; the label is whether the first lies in a band, which no plane separates.
    pub(crate) fn banded(n: usize, seed: u64) -> (Array2<f64>, Vec<bool>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let x = Array2::from_shape_simple_fn((n, 10), || rng.random::<f64>());
        let labels = x.outer_iter().map(|row| (row[0] - 0.5).abs() < 0.25).collect();
        (x, labels)
    }

    #[test]
    fn damaged_trees_are_named_and_nan_is_not_a_value() {
        let leaf = Tree { feature: vec![None], threshold: vec![0.0], left: vec![0], right: vec![0], value: vec![1.0] };
        let of = |tree: Tree| Trees { base: 0.0, gain: vec![0.0; 2], trees: vec![tree] };
        assert_eq!(of(leaf.clone()).fault(2), None);
        assert!(Model::Forest(of(leaf.clone())).predict(&[f64::NAN, 0.0]).is_nan());
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
            assert!(of(bad).fault(2).is_some_and(|what| what.contains("trees[0]")));
        }
        assert!(of(Tree { value: vec![f64::NAN], ..leaf }).fault(2).is_some());
    }

    /// The definition: the mean, over all orders in which features join, of what each one changes when it joins.
    fn over_all_orders(trees: &Trees, row: &[f64], baseline: &[f64]) -> Vec<f64> {
        fn orders(n: usize) -> Vec<Vec<usize>> {
            if n == 0 {
                return vec![Vec::new()];
            }
            let longer = |order: Vec<usize>| (0..n).map(move |at| [&order[..at], &[n - 1], &order[at..]].concat());
            orders(n - 1).into_iter().flat_map(longer).collect()
        }
        let all = orders(row.len());
        let mut values = vec![0.0; row.len()];
        for order in &all {
            let mut mixed = baseline.to_vec();
            let mut before = trees.log_odds(&mixed);
            for &feature in order {
                mixed[feature] = row[feature];
                let after = trees.log_odds(&mixed);
                values[feature] += (after - before) / all.len() as f64;
                before = after;
            }
        }
        values
    }

    #[test]
    fn contributions_of_trees_are_shapley_values() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let x = Array2::from_shape_simple_fn((400, 5), || rng.random::<f64>());
        // interactions, so that the order in which features join matters
        let labels: Vec<bool> =
            x.outer_iter().map(|row| (row[0] - 0.5) * (row[1] - 0.5) + 0.2 * row[2] > 0.1).collect();
        let model =
            Learner::Boosted.fit(&TrainingRows::plain(x.clone(), &labels), LearnSettings { l2: 1.0, seed: 0 }).unwrap();
        let trees = model.trees().unwrap();
        let baseline = vec![0.5; 5];
        for row in x.outer_iter().take(10) {
            let row = row.to_vec();
            let (got, want) = (trees.contributions(&row, &baseline), over_all_orders(trees, &row, &baseline));
            let off = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{got:?}, expected {want:?}");
            assert!(want[0].abs() > 1e-3, "the row tells nothing: {want:?}");
            let total = trees.log_odds(&row) - trees.log_odds(&baseline);
            assert!((got.iter().sum::<f64>() - total).abs() < 1e-12);
        }
    }
}
