//! Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): every split is the best of some thresholds drawn at random, every tree
//! grows on all rows, and their mean is taken.
//!
//! They are grown by the crate `smartcore`, whose trees are read from what it serialises.

use ndarray::{ArrayView2, Axis};
use serde::Deserialize;
use smartcore::{
    ensemble::extra_trees_regressor::{ExtraTreesRegressor, ExtraTreesRegressorParameters},
    error::Failed,
    linalg::basic::matrix::DenseMatrix,
};

use crate::{
    DetectorError,
    learners::logistic::logit,
    learners::trees::{Tree, Trees},
};

/// Trees whose mean is taken.
const TREES: usize = 300;
/// Least rows in a leaf.
const LEAF_ROWS: usize = 3;
/// Share of the features of which a split draws one threshold each.
const FEATURES_SHARE: f64 = 0.3;
/// But of so many at least, where there are as many: one that is constant among a node's rows cannot split them.
const LEAST_FEATURES: usize = 3;
/// So many rows of the whole table's mix are counted in every leaf, so that one with a single label has finite log-odds.
const PRIOR_ROWS: f64 = 1.0;

/// What `smartcore` says of a fitted forest, in so far as it matters here.
#[derive(Deserialize)]
struct Grown {
    forest_regressor: GrownForest,
}

#[derive(Deserialize)]
struct GrownForest {
    trees: Vec<GrownTree>,
}

#[derive(Deserialize)]
struct GrownTree {
    nodes: Vec<GrownNode>,
}

/// A row goes to the true child if its value is not above the split's.
#[derive(Deserialize)]
struct GrownNode {
    split_feature: usize,
    split_value: Option<f64>,
    true_child: Option<usize>,
    false_child: Option<usize>,
}

/// Grows trees on rows `[n, F]` and their labels (true = positive), both of which occur. On labels of 0 and 1 the crate's squared
/// error is the Gini impurity. The mean is of the leaves' log-odds, so that what a feature adds can be told.
///
/// # Errors
/// [`DetectorError::Trees`] with what the crate says, or when a feature spans more than a float holds.
pub(crate) fn grow(features: ArrayView2<f64>, labels: &[bool], seed: u64) -> Result<Trees, DetectorError> {
    let forest = fit(features, labels, seed)?;
    let gain = forest.compute_feature_importances().map_err(said)?;
    let share = labels.iter().filter(|positive| **positive).count() as f64 / labels.len() as f64;
    let base = logit(share);
    let mut trees = structure(&forest)?;
    for tree in &mut trees {
        for (node, leaf) in leaves(tree, features, labels).into_iter().enumerate() {
            if tree.feature[node].is_none() {
                let share = (leaf.positive as f64 + PRIOR_ROWS * share) / (leaf.rows as f64 + PRIOR_ROWS);
                tree.value[node] = (logit(share) - base) / TREES as f64;
            }
        }
    }
    Ok(Trees { base, gain, trees })
}

type Forest = ExtraTreesRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

fn fit(features: ArrayView2<f64>, labels: &[bool], seed: u64) -> Result<Forest, DetectorError> {
    let (n, n_features) = features.dim();
    for column in features.axis_iter(Axis(1)) {
        let (least, most) = column.iter().fold((f64::MAX, f64::MIN), |(least, most), &x| (least.min(x), most.max(x)));
        // the crate draws from this range
        if !(most - least).is_finite() {
            return Err(DetectorError::Trees(format!("a feature has values from {least:e} to {most:e}")));
        }
    }
    let by_column: Vec<f64> = features.axis_iter(Axis(1)).flatten().copied().collect();
    let matrix = DenseMatrix::new(n, n_features, by_column, true).map_err(said)?;
    let targets: Vec<f64> = labels.iter().map(|&positive| f64::from(u8::from(positive))).collect();
    let drawn = (n_features as f64 * FEATURES_SHARE).ceil() as usize;
    let parameters = ExtraTreesRegressorParameters::default()
        .with_n_trees(TREES)
        .with_min_samples_leaf(LEAF_ROWS)
        .with_m(drawn.max(LEAST_FEATURES.min(n_features)))
        // it numbers the trees from its seed
        .with_seed(seed.wrapping_mul(TREES as u64));
    Forest::fit(&matrix, &targets, parameters).map_err(said)
}

fn said(error: Failed) -> DetectorError {
    DetectorError::Trees(error.to_string())
}

/// The splits of all trees; their leaves have no value yet.
fn structure(forest: &Forest) -> Result<Vec<Tree>, DetectorError> {
    let unreadable = |error: serde_json::Error| DetectorError::Trees(error.to_string());
    let text = serde_json::to_vec(forest).map_err(unreadable)?;
    let grown: Grown = serde_json::from_slice(&text).map_err(unreadable)?;
    Ok(grown.forest_regressor.trees.iter().map(take).collect())
}

fn take(grown: &GrownTree) -> Tree {
    let mut tree = Tree::default();
    for node in &grown.nodes {
        let split = node.split_value.zip(node.true_child.zip(node.false_child));
        tree.feature.push(split.map(|_| node.split_feature));
        let (left, right) = split.map_or((0, 0), |(_, children)| children);
        // ours go left below the threshold, theirs up to it
        tree.threshold.push(split.map_or(0.0, |(value, _)| value.next_up()));
        tree.left.push(left);
        tree.right.push(right);
        tree.value.push(0.0);
    }
    tree
}

/// What ended in a leaf.
#[derive(Debug, Clone, Copy, Default)]
struct Leaf {
    rows: usize,
    positive: usize,
}

/// Of each node the rows that end there.
fn leaves(tree: &Tree, features: ArrayView2<f64>, labels: &[bool]) -> Vec<Leaf> {
    let mut leaves = vec![Leaf::default(); tree.feature.len()];
    for (row, &positive) in features.axis_iter(Axis(0)).zip(labels) {
        let leaf = &mut leaves[tree.leaf(|feature| row[feature])];
        leaf.rows += 1;
        leaf.positive += usize::from(positive);
    }
    leaves
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::learners::trees::tests::banded;

    #[test]
    fn trees_find_what_no_plane_separates_in_rows_that_they_have_not_seen() {
        let (x, labels) = banded(600, 1);
        let trees = grow(x.view(), &labels, 0).unwrap();
        let (unseen, wanted) = banded(600, 2);
        let right =
            unseen.outer_iter().zip(&wanted).filter(|(row, label)| (trees.predict(&row.to_vec()) > 0.5) == **label);
        // a plane finds half
        assert!(right.count() > 450);
        assert!((trees.gain.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(trees.gain[1..].iter().all(|gain| *gain < trees.gain[0]), "{:?}", trees.gain);
        assert_eq!((trees.fault("forest", 10), trees.trees.len()), (None, TREES));
    }

    #[test]
    fn the_seed_fixes_the_result_and_the_file_keeps_it() {
        let (x, labels) = banded(100, 1);
        let trees = grow(x.view(), &labels, 7).unwrap();
        assert_eq!(trees, grow(x.view(), &labels, 7).unwrap());
        assert_ne!(trees, grow(x.view(), &labels, 8).unwrap());
        let text = serde_json::to_string(&trees).unwrap();
        assert_eq!(serde_json::from_str::<Trees>(&text).unwrap(), trees);
    }

    #[test]
    fn our_leaves_are_the_crates() {
        let (mut x, labels) = banded(200, 3);
        // few values, so that many lie on a threshold's side only by its being closed there
        x.mapv_inplace(|value| (value * 4.0).round());
        let forest = fit(x.view(), &labels, 5).unwrap();
        let trees = structure(&forest).unwrap();
        let of_trees: Vec<Vec<Leaf>> = trees.iter().map(|tree| leaves(tree, x.view(), &labels)).collect();
        let matrix = DenseMatrix::new(200, 10, x.t().iter().copied().collect(), true).unwrap();
        for (row, theirs) in x.outer_iter().zip(forest.predict(&matrix).unwrap()) {
            let shares = trees.iter().zip(&of_trees).map(|(tree, leaves)| {
                let leaf = leaves[tree.leaf(|feature| row[feature])];
                assert!(leaf.rows >= LEAF_ROWS);
                leaf.positive as f64 / leaf.rows as f64
            });
            let ours = shares.sum::<f64>() / TREES as f64;
            assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        }
    }

    #[test]
    fn a_range_that_no_float_holds_is_an_error() {
        let mut x = Array2::zeros((20, 2));
        (x[[0, 1]], x[[1, 1]]) = (-f64::MAX, f64::MAX);
        let labels: Vec<bool> = (0..20).map(|row| row % 2 == 0).collect();
        let error = grow(x.view(), &labels, 0).unwrap_err().to_string();
        assert!(error.contains("from -1.7976931348623157e308"), "{error}");
    }
}
