//! Boosted and extremely randomised trees, and the mean of their log-odds: two ways to err on few rows, of which neither is the better.

use crate::{
    DetectorError, LearnSettings,
    learners::{
        Learn, TrainingRows, boosted,
        forest::{self, Growth},
        trees::Trees,
    },
};

/// The forest is smaller than one that stands alone: with a third of the trees, none of them deep, the mean orders rows as well, and a
/// detector's file stays below a megabyte.
const FOREST: Growth = Growth { trees: 100, leaf_rows: 5, max_depth: 8 };

/// Grows both kinds.
pub struct MixedTrees;

impl Learn for MixedTrees {
    type Model = Trees;

    const TITLE: &'static str = "boosted and randomised trees";

    fn fit(rows: &TrainingRows, settings: LearnSettings) -> Result<Trees, DetectorError> {
        let (features, labels, seed) = (rows.features.view(), &rows.labels, settings.seed);
        Ok(mean(boosted::grow(features, labels, seed)?, forest::grow(features, labels, FOREST, seed)?))
    }
}

/// The mean of what two sums of trees say.
fn mean(a: Trees, b: Trees) -> Trees {
    let halved = |mut tree: super::trees::Tree| {
        tree.value.iter_mut().for_each(|value| *value /= 2.0);
        tree
    };
    let gain: Vec<f64> = a.gain.iter().zip(&b.gain).map(|(a, b)| a + b).collect();
    // of few rows boosted trees may make no split, and none has gained by then
    let all = gain.iter().sum::<f64>();
    Trees {
        base: f64::midpoint(a.base, b.base),
        gain: gain.iter().map(|gain| if all > 0.0 { gain / all } else { 0.0 }).collect(),
        trees: a.trees.into_iter().chain(b.trees).map(halved).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Predict, learners::trees::tests::banded};

    #[test]
    fn it_says_the_mean_of_what_both_say() {
        let (x, labels) = banded(300, 1);
        let rows = TrainingRows::plain(x.clone(), &labels);
        let settings = LearnSettings { l2: 1.0, seed: 3 };
        let both = MixedTrees::fit(&rows, settings).unwrap();
        let boosted = boosted::grow(x.view(), &labels, 3).unwrap();
        let forest = forest::grow(x.view(), &labels, FOREST, 3).unwrap();
        for row in x.outer_iter().map(|row| row.to_vec()) {
            let mean = f64::midpoint(boosted.log_odds(&row), forest.log_odds(&row));
            assert!((both.log_odds(&row) - mean).abs() < 1e-9);
        }
        assert!((both.gain.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(both.fault(x.ncols()), None);
    }

    #[test]
    fn shares_of_the_gain_add_up_where_one_kind_alone_splits() {
        let (x, labels) = banded(20, 1);
        let both =
            MixedTrees::fit(&TrainingRows::plain(x.clone(), &labels), LearnSettings { l2: 1.0, seed: 0 }).unwrap();
        assert_eq!(boosted::grow(x.view(), &labels, 0).unwrap().gain.iter().sum::<f64>(), 0.0);
        assert!((both.gain.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_tree_of_its_forest_is_deep() {
        let (x, labels) = banded(600, 1);
        let forest = forest::grow(x.view(), &labels, FOREST, 0).unwrap();
        let depth = |tree: &super::super::trees::Tree| {
            let mut of = vec![0; tree.feature.len()];
            for node in (0..of.len()).filter(|&node| tree.feature[node].is_some()) {
                of[tree.left[node]] = of[node] + 1;
                of[tree.right[node]] = of[node] + 1;
            }
            of.into_iter().max()
        };
        assert_eq!(forest.trees.iter().filter_map(depth).max(), Some(FOREST.max_depth));
    }
}
