//! Gradient-boosted trees: several ensembles of small trees, and their mean. A seed draws the features that each tree is shown.
//!
//! They are grown by the crate `forust-ml`.

use forust_ml::{GradientBooster, Matrix};
use ndarray::{ArrayView2, Axis};

use crate::{
    DetectorError, LearnSettings,
    learners::{
        Learn, TrainingRows,
        logistic::logit,
        trees::{Tree, Trees},
    },
};

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

/// Grows several ensembles of boosted trees.
pub struct BoostedTrees;

impl Learn for BoostedTrees {
    type Model = Trees;

    const TITLE: &'static str = "boosted trees";

    fn fit(rows: &TrainingRows, settings: LearnSettings) -> Result<Trees, DetectorError> {
        grow(rows.features.view(), &rows.labels, settings.seed)
    }
}

/// Grows trees on rows `[n, F]` and their labels (true = positive), both of which occur.
///
/// # Errors
/// [`DetectorError::Trees`] with what the crate says.
pub fn grow(features: ArrayView2<f64>, labels: &[bool], seed: u64) -> Result<Trees, DetectorError> {
    let (n, n_features) = features.dim();
    let by_column: Vec<f64> = features.axis_iter(Axis(1)).flatten().copied().collect();
    let matrix = Matrix::new(&by_column, n, n_features);
    let targets: Vec<f64> = labels.iter().map(|&positive| f64::from(u8::from(positive))).collect();
    let share = targets.iter().sum::<f64>() / n as f64;
    let base = logit(share);

    let mut boosted = Trees { base, gain: vec![0.0; n_features], trees: Vec::new() };
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
            take(&mut boosted, tree);
        }
    }
    let total: f64 = boosted.gain.iter().sum();
    if total > 0.0 {
        boosted.gain.iter_mut().for_each(|gain| *gain /= total);
    }
    Ok(boosted)
}

/// Takes a tree over, its leaves divided by the number of ensembles.
fn take(boosted: &mut Trees, grown: &forust_ml::tree::Tree) {
    let mut tree = Tree::default();
    for node in &grown.nodes {
        let splits = !node.is_leaf;
        tree.feature.push(splits.then_some(node.split_feature));
        tree.threshold.push(if splits { node.split_value } else { 0.0 });
        tree.left.push(if splits { node.left_child } else { 0 });
        tree.right.push(if splits { node.right_child } else { 0 });
        tree.value.push(if splits { 0.0 } else { f64::from(node.weight_value) / ENSEMBLES as f64 });
        if splits {
            boosted.gain[node.split_feature] += f64::from(node.split_gain).max(0.0);
        }
    }
    boosted.trees.push(tree);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Predict;
    use crate::learners::trees::tests::banded;

    #[test]
    fn trees_find_what_no_plane_separates() {
        let (x, labels) = banded(600, 1);
        let boosted = grow(x.view(), &labels, 0).unwrap();
        let right =
            x.outer_iter().zip(&labels).filter(|(row, label)| (boosted.log_odds(&row.to_vec()) > 0.0) == **label);
        // a plane finds half
        assert!(right.count() > 480);
        assert!((boosted.gain.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(boosted.gain[1..].iter().all(|gain| *gain < boosted.gain[0]), "{:?}", boosted.gain);
        assert_eq!(boosted.fault(10), None);
    }

    #[test]
    fn the_seed_fixes_the_result_and_the_file_keeps_it() {
        let (x, labels) = banded(200, 1);
        let boosted = grow(x.view(), &labels, 7).unwrap();
        assert_eq!(boosted, grow(x.view(), &labels, 7).unwrap());
        assert_ne!(boosted, grow(x.view(), &labels, 8).unwrap());
        let text = serde_json::to_string(&boosted).unwrap();
        assert_eq!(serde_json::from_str::<Trees>(&text).unwrap(), boosted);
    }

    #[test]
    fn our_sum_of_trees_is_the_crates() {
        let (x, labels) = banded(300, 1);
        let by_column: Vec<f64> = x.axis_iter(Axis(1)).flatten().copied().collect();
        let targets: Vec<f64> = labels.iter().map(|&l| f64::from(u8::from(l))).collect();
        let matrix = Matrix::new(&by_column, x.nrows(), 10);
        let mut booster = GradientBooster::default().set_iterations(20).set_max_depth(4).set_parallel(false);
        booster.fit_unweighted(&matrix, &targets, None).unwrap();
        let mut own = Trees { base: booster.base_score, gain: vec![0.0; 10], trees: Vec::new() };
        booster.trees.iter().for_each(|tree| take(&mut own, tree));
        for (row, theirs) in x.outer_iter().zip(booster.predict(&matrix, false)) {
            let ours = own.base + ENSEMBLES as f64 * (own.log_odds(&row.to_vec()) - own.base);
            // theirs are sums of f32
            assert!((ours - theirs).abs() < 1e-4, "{ours} {theirs}");
        }
    }
}
