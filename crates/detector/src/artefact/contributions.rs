//! What each feature adds to a verdict, against a row with the training means.

use crate::{Detector, Tree, Trees};

impl Detector {
    /// Log-odds, before calibration, of a row with the training mean of every feature.
    pub fn log_odds_at_means(&self) -> f64 {
        match self.trees() {
            None => self.intercept,
            Some(trees) => trees.log_odds(&self.means()),
        }
    }

    /// What each feature adds to the log-odds of a row, in the detector's order; with [`Detector::log_odds_at_means`] they sum to
    /// the row's log-odds before calibration. A regression's are coefficient · (value − mean) / scale. Those of trees are Shapley
    /// values against the row of training means (Sundararajan and Najmi 2020, "baseline Shapley"), computed exactly.
    ///
    /// # Panics
    /// If there is not one value per feature.
    pub fn contributions(&self, values: &[f64]) -> Vec<f64> {
        assert_eq!(values.len(), self.features.len(), "one value per feature");
        match self.trees() {
            None => self.features.iter().zip(values).map(|(feature, &value)| feature.contribution(value)).collect(),
            Some(trees) => trees.shapley_values(values, &self.means()),
        }
    }

    fn means(&self) -> Vec<f64> {
        self.features.iter().map(|feature| feature.mean).collect()
    }
}

impl Trees {
    /// Shapley values of the game in which a coalition of features has the row's values and the others the baseline's.
    fn shapley_values(&self, row: &[f64], baseline: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; row.len()];
        self.trees.iter().for_each(|tree| add_shapley_values(tree, row, baseline, &mut values));
        values
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
mod tests {
    use ndarray::Array2;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::learners::boosted;

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
        let trees = boosted::grow(x.view(), &labels, 0).unwrap();
        let baseline = vec![0.5; 5];
        for row in x.outer_iter().take(10) {
            let row = row.to_vec();
            let (got, want) = (trees.shapley_values(&row, &baseline), over_all_orders(&trees, &row, &baseline));
            let off = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{got:?}, expected {want:?}");
            assert!(want[0].abs() > 1e-3, "the row tells nothing: {want:?}");
            let total = trees.log_odds(&row) - trees.log_odds(&baseline);
            assert!((got.iter().sum::<f64>() - total).abs() < 1e-12);
        }
    }
}
