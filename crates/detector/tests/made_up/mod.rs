//! Rows made up for what a detector must find in them: for the tests of the crate, and for those of the verbs that use it.

use ndarray::Array2;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use veridiff_detector::{Groups, LabelledRows};

/// 40 groups of 6 rows, one by each of 3 generators twice; `signal` shifts the first feature of hallucinated rows up
/// and the second down; the third is noise; `style` makes generator g hallucinate at a rate of its own and show it in
/// the third feature.
pub fn rows(signal: f64, style: bool, seed: u64) -> LabelledRows {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (n_groups, per_group) = (40, 6);
    let n = n_groups * per_group;
    let mut labels = Vec::new();
    let mut features = Array2::zeros((n, 3));
    for row in 0..n {
        let generator = row % 3;
        let rate = if style { [0.1, 0.5, 0.9][generator] } else { 0.4 };
        let label = rng.random_bool(rate);
        let mut noise = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0; // nearly normal, variance 1
        let shift = if label { signal } else { 0.0 };
        features[[row, 0]] = noise() + shift;
        features[[row, 1]] = 0.01 * (noise() - shift);
        features[[row, 2]] = noise() + if style { 4.0 * generator as f64 } else { 0.0 };
        labels.push(label);
    }
    let groups = Groups::new((0..n).map(|row| format!("g{:02}", row / per_group)).collect());
    LabelledRows {
        generators: (0..n).map(|row| Some(["a", "b", "c"][row % 3].to_owned())).collect(),
        ..LabelledRows::new(["up@m", "down@m", "other@m"].map(String::from).to_vec(), features, labels, groups)
    }
}
