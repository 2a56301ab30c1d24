//! Attribution by where it flows from: the whole source, its changed and unchanged tokens, and the text itself.

use veridiff_engine::reading::attribution::Matrix;

use super::family::{Compute, Family, Feature, Needs, OF_ATTRIBUTION, SCORER};
use crate::{
    measurement::{FirstTarget, Measurement, StartRow, TargetRule},
    tokens::Segment,
};

const SHARE: &str = "share of a column, 0 to 1 (normalised); else the unit of the attributed function";

/// The family `attribution`: one forward pass and a vector-Jacobian product for every response token, about twice the forward
/// pass's operations for each token.
pub static FAMILY: Family = Family {
    name: "attribution",
    needs_reference: false,
    is_default: true,
    features: || FIELDS.map(|(name, meaning, _)| Feature::new(name, SHARE, meaning, SCORER, OF_ATTRIBUTION)).to_vec(),
    compute: Compute::Reading {
        needs: |_| Needs { gradients: true, ..Needs::default() },
        measure: |m| {
            let aggregates = Aggregates::of(m);
            FIELDS.iter().map(|(_, _, value)| aggregates.as_ref().and_then(value)).collect()
        },
    },
};

/// Name, meaning and value of every feature.
type AttributionField = (&'static str, &'static str, fn(&Aggregates) -> Option<f64>);

const FIELDS: [AttributionField; 6] = [
    ("attr_source", "mean over tokens of the largest attribution to any prompt position (SourceAttr, Eq. 3)", |a| {
        Some(a.source)
    }),
    ("attr_target", "mean of the largest attribution to an earlier token of the text (TargetAttr, Eq. 6)", |a| {
        a.target
    }),
    (
        "attr_changed",
        "mean of the largest attribution to a token on an added or removed line (ChangedAttr, Eq. 4)",
        |a| Some(a.changed),
    ),
    ("attr_unchanged", "mean of the largest attribution to any other prompt position (UnchangedAttr, Eq. 5)", |a| {
        Some(a.unchanged)
    }),
    ("attr_source_diff", "as attr_source, over the diff's tokens only", |a| Some(a.source_diff)),
    ("attr_unchanged_diff", "as attr_unchanged, over the diff's tokens only", |a| Some(a.unchanged_diff)),
];

impl Aggregates {
    /// Of what a scorer read, over the targets that count; `None` without attribution.
    pub fn of(m: &Measurement) -> Option<Self> {
        let matrix = m.matrix.as_ref()?.of_targets(&m.counted);
        let in_diff: Vec<bool> = m.encoding.segments.iter().map(|&segment| segment == Segment::Diff).collect();
        let of_all = aggregate(&matrix, &m.encoding.changed, &in_diff, m.target_rule);
        Some(Aggregates { target: of_all.target.filter(|_| !m.prompt_only), ..of_all })
    }
}

/// The core paper's attribution scores of one sample (Eq. 3-6): means over the T targets of the largest entry in a set of
/// positions. The largest entry of an empty set counts as zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Aggregates {
    /// SourceAttr: over all prompt positions.
    pub source: f64,
    /// TargetAttr: over earlier response tokens, by the [`TargetRule`]; `None` if no target counts.
    pub target: Option<f64>,
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
pub fn aggregate(matrix: &Matrix, changed: &[bool], in_diff: &[bool], rule: TargetRule) -> Aggregates {
    let n = matrix.n_prompt;
    let mut sums = Aggregates::default();
    let (mut target, mut n_with_target) = (0.0, 0_usize);
    for (t, column) in matrix.columns.iter().enumerate() {
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
        let start = matrix.start.get(t).filter(|_| rule.start_row == StartRow::Include);
        let of_text = earlier.iter().chain(start).copied().reduce(f64::max);
        target += of_text.unwrap_or(0.0);
        n_with_target += usize::from(of_text.is_some() || rule.first_target == FirstTarget::Zero);
    }
    let t = matrix.columns.len().max(1) as f64;
    Aggregates {
        source: sums.source / t,
        target: (n_with_target > 0).then(|| target / n_with_target as f64),
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
        let of = |matrix: &Matrix, rule| aggregate(matrix, &[false, true, false], &[false, true, true], rule);
        let got = of(&matrix, TargetRule::default());
        let want = Aggregates {
            source: (0.6 + 0.5) / 2.0,
            target: Some((0.0 + 0.2) / 2.0),
            changed: (0.6 + 0.1) / 2.0,
            unchanged: (0.3 + 0.5) / 2.0,
            source_diff: (0.6 + 0.2) / 2.0,
            unchanged_diff: (0.3 + 0.2) / 2.0,
        };
        assert_eq!(got, want);

        let skip = TargetRule { first_target: FirstTarget::Skip, ..TargetRule::default() };
        assert_eq!(of(&matrix, skip), Aggregates { target: Some(0.2), ..want });
        let one = Matrix { columns: matrix.columns[..1].to_vec(), ..matrix.clone() };
        assert_eq!((of(&one, skip).target, of(&one, TargetRule::default()).target), (None, Some(0.0)));
        // the decoder's start is an earlier token of every target, so that none is left out
        let with_start = Matrix { start: vec![0.5, 0.1], ..matrix };
        let include = TargetRule { start_row: StartRow::Include, ..skip };
        assert_eq!(of(&with_start, include), Aggregates { target: Some((0.5 + 0.2) / 2.0), ..want });
        assert_eq!(of(&with_start, TargetRule::default()), want);
    }

    #[test]
    fn signed_entries_of_one_sign_keep_their_largest() {
        let matrix = Matrix { n_prompt: 2, columns: vec![vec![-0.4, -0.1]], start: Vec::new() };
        let got = aggregate(&matrix, &[true, false], &[true, true], TargetRule::default());
        assert_eq!((got.source, got.changed, got.unchanged, got.target), (-0.1, -0.4, -0.1, Some(0.0)));
    }
}
