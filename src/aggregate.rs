//! Attribution by where it flows from: the whole source, its changed and unchanged tokens, and the text itself.

use crate::attribution::Matrix;

/// The core paper's attribution scores of one sample (Eq. 3-6): means over the T targets of the largest entry in a set of
/// positions. The largest entry of an empty set counts as zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Aggregates {
    /// SourceAttr: over all prompt positions.
    pub source: f64,
    /// TargetAttr: over earlier response tokens, an encoder-decoder's start token not among them; the first target has none
    /// and counts as zero.
    pub target: f64,
    /// ChangedAttr: over tokens on added or removed lines.
    pub changed: f64,
    /// UnchangedAttr: over all other prompt positions.
    pub unchanged: f64,
    /// SourceAttr over the diff's tokens only.
    pub source_diff: f64,
    /// UnchangedAttr over the diff's tokens only.
    pub unchanged_diff: f64,
}

/// Aggregates `matrix`; `changed` and `in_diff` say of each of the N prompt tokens whether it is in a changed line and whether
/// it belongs to the diff.
pub fn aggregate(matrix: &Matrix, changed: &[bool], in_diff: &[bool]) -> Aggregates {
    let n = matrix.n_prompt;
    let mut sums = Aggregates::default();
    for column in &matrix.columns {
        let (source, earlier) = column.split_at(n);
        let largest = |keep: &dyn Fn(usize) -> bool| {
            let kept = source.iter().enumerate().filter(|&(i, _)| keep(i)).map(|(_, &v)| v);
            kept.reduce(f64::max).unwrap_or(0.0)
        };
        sums.source += largest(&|_| true);
        sums.changed += largest(&|i| changed[i]);
        sums.unchanged += largest(&|i| !changed[i]);
        sums.source_diff += largest(&|i| in_diff[i]);
        sums.unchanged_diff += largest(&|i| in_diff[i] && !changed[i]);
        sums.target += earlier.iter().copied().reduce(f64::max).unwrap_or(0.0);
    }
    let t = matrix.columns.len().max(1) as f64;
    Aggregates {
        source: sums.source / t,
        target: sums.target / t,
        changed: sums.changed / t,
        unchanged: sums.unchanged / t,
        source_diff: sums.source_diff / t,
        unchanged_diff: sums.unchanged_diff / t,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let matrix =
            Matrix { n_prompt: 3, columns: vec![vec![0.1, 0.6, 0.3], vec![0.5, 0.1, 0.2, 0.2]], start: Vec::new() };
        let got = aggregate(&matrix, &[false, true, false], &[false, true, true]);
        let want = Aggregates {
            source: (0.6 + 0.5) / 2.0,
            target: (0.0 + 0.2) / 2.0,
            changed: (0.6 + 0.1) / 2.0,
            unchanged: (0.3 + 0.5) / 2.0,
            source_diff: (0.6 + 0.2) / 2.0,
            unchanged_diff: (0.3 + 0.2) / 2.0,
        };
        assert_eq!(got, want);
    }

    #[test]
    fn signed_entries_of_one_sign_keep_their_largest() {
        let matrix = Matrix { n_prompt: 2, columns: vec![vec![-0.4, -0.1]], start: Vec::new() };
        let got = aggregate(&matrix, &[true, false], &[true, true]);
        assert_eq!((got.source, got.changed, got.unchanged, got.target), (-0.1, -0.4, -0.1, 0.0));
    }
}
