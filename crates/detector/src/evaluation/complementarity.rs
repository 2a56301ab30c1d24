//! Whether features flag the same rows: overlap of the rows that each ranks highest, and two features together.

use serde::Serialize;

use crate::{Correlation, Direction, LabelledRows, pearson, roc_auc};
use veridiff_table::catalogue::Catalogue;

/// A feature whose highest-ranked rows are compared with those of others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverlapMetric {
    /// The feature's column in the table.
    pub feature: String,
    /// Which end of it is the top: the one that is more often hallucinated, over all rows.
    pub direction: Direction,
    /// Rows in its top; more than the share asked for where rows are equal at the cut.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
}

/// Rows that are in the top of exactly these features.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Region {
    /// Positions among the metrics, ascending.
    pub metrics: Vec<usize>,
    /// Number of rows counted.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
}

/// The counts of a Venn diagram of the rows that each feature ranks highest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overlap {
    /// Share of the rows that are a feature's top, 0 to 1.
    pub share: f64,
    /// How many rows there are in all.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// The features that are compared, as their columns are named.
    pub metrics: Vec<OverlapMetric>,
    /// Every combination of them: one alone first, all together last.
    pub regions: Vec<Region>,
    /// Rows in the top of at least one.
    pub n_union: usize,
    /// Hallucinated ones among them.
    pub n_union_positive: usize,
}

/// How far the tops of features (columns of `rows`, at most 8) are the same rows: the paper's figure 4, with a share of
/// one quarter and three features.
///
/// The top of a feature is the `share` of rows, rounded down but at least one, with its highest values, or lowest where
/// low values are more often hallucinated; rows equal to the last of them belong to it too.
///
/// # Panics
/// If there are more than 8 columns, or no rows.
pub fn top_overlap(rows: &LabelledRows, columns: &[usize], share: f64) -> Overlap {
    assert!(columns.len() <= 8 && !rows.is_empty(), "at most 8 columns and at least one row");
    let n_top = ((share * rows.len() as f64).floor() as usize).clamp(1, rows.len());
    // bit m of a row: it is in the top of metric m
    let mut member = vec![0usize; rows.len()];
    let metrics = columns
        .iter()
        .enumerate()
        .map(|(m, &column)| {
            let (values, direction) = oriented(rows, column);
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let cut = sorted[n_top - 1];
            let top: Vec<usize> = (0..rows.len()).filter(|&row| values[row] >= cut).collect();
            top.iter().for_each(|&row| member[row] |= 1 << m);
            let n_positive = top.iter().filter(|&&row| rows.labels[row]).count();
            OverlapMetric { feature: rows.feature_names[column].clone(), direction, n: top.len(), n_positive }
        })
        .collect();
    let count = |keep: &dyn Fn(usize) -> bool| {
        let kept = (0..rows.len()).filter(|&row| keep(member[row]));
        kept.fold((0, 0), |(n, positive), row| (n + 1, positive + usize::from(rows.labels[row])))
    };
    let mut combinations: Vec<usize> = (1..1 << columns.len()).collect();
    combinations.sort_by_key(|combination: &usize| combination.count_ones());
    let regions = combinations.into_iter().map(|combination| {
        let (n, n_positive) = count(&|member| member == combination);
        Region { metrics: (0..columns.len()).filter(|m| combination >> m & 1 == 1).collect(), n, n_positive }
    });
    let (n_union, n_union_positive) = count(&|member| member > 0);
    Overlap {
        share,
        n: rows.len(),
        n_positive: rows.n_positive(),
        metrics,
        regions: regions.collect(),
        n_union,
        n_union_positive,
    }
}

/// The features to look at together if none are named, best first: up to `count`, by their AUC over all rows, first the
/// best of each family as the paper takes them, then the best of the rest.
pub fn best_features(rows: &LabelledRows, catalogue: &Catalogue, count: usize) -> Vec<usize> {
    let auc = |column: usize| roc_auc(&oriented(rows, column).0, &rows.labels).unwrap_or(0.5);
    let mut ranked: Vec<(usize, f64)> = (0..rows.feature_names.len()).map(|column| (column, auc(column))).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let mut families = Vec::new();
    let (first, rest): (Vec<usize>, Vec<usize>) = ranked.iter().map(|(column, _)| *column).partition(|&column| {
        let family = catalogue.family_of(&rows.feature_names[column]).map(|family| family.name);
        let new = !families.contains(&family);
        families.push(family);
        new
    });
    first.into_iter().chain(rest).take(count).collect()
}

/// The two features to draw together if none are named: one measure under two scorers, the pair whose AUCs over all
/// rows have the greatest sum, as the paper takes the logits of two models; where there is no such pair, the first two
/// of [`best_features`]. `None` with fewer than two features.
pub fn best_pair(rows: &LabelledRows, catalogue: &Catalogue) -> Option<[usize; 2]> {
    let measure = |column: usize| rows.feature_names[column].split_once('@').map(|(measure, _)| measure);
    let ranked = best_features(rows, catalogue, rows.feature_names.len());
    let auc = |column: usize| roc_auc(&oriented(rows, column).0, &rows.labels).unwrap_or(0.5);
    let aucs: Vec<f64> = (0..rows.feature_names.len()).map(auc).collect();
    let pairs = (0..aucs.len()).flat_map(|a| (a + 1..aucs.len()).map(move |b| [a, b]));
    let alike = pairs.filter(|[a, b]| measure(*a).is_some() && measure(*a) == measure(*b));
    let sum = |[a, b]: &[usize; 2]| aucs[*a] + aucs[*b];
    // of equal sums the first pair
    let best = alike.reduce(|best, pair| if sum(&pair) > sum(&best) { pair } else { best });
    best.or_else(|| ranked.get(..2).map(|two| [two[0], two[1]]))
}

/// A column's values, turned so that higher is more often hallucinated over all rows.
fn oriented(rows: &LabelledRows, column: usize) -> (Vec<f64>, Direction) {
    let values = rows.features.column(column).to_vec();
    match roc_auc(&values, &rows.labels) {
        Some(auc) if auc < 0.5 => (values.iter().map(|value| -value).collect(), Direction::Lower),
        _ => (values, Direction::Higher),
    }
}

/// Rows on one side of the diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DiagonalSide {
    /// Number of rows counted.
    pub n: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
}

/// Two features together: the paper's figure 9.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointDistribution {
    /// The feature on the horizontal axis.
    pub x: String,
    /// The feature on the vertical axis.
    pub y: String,
    /// Pearson's correlation of the two; null when either does not vary.
    pub correlation: Option<Correlation>,
    /// Rows with y above x, which means something if both have one unit.
    pub above_diagonal: DiagonalSide,
    /// Rows with y below x; those on the diagonal are on neither side.
    pub below_diagonal: DiagonalSide,
    /// Edges of the bins across, rising; each but the last holds its lower edge, the last both.
    pub x_edges: Vec<f64>,
    /// Edges of the bins upwards.
    pub y_edges: Vec<f64>,
    /// Rows that are not hallucinated, `[x bin][y bin]`.
    pub negatives: Vec<Vec<usize>>,
    /// Hallucinated rows, `[x bin][y bin]`.
    pub positives: Vec<Vec<usize>>,
    /// Every row: x, y, and whether it is hallucinated.
    pub points: Vec<(f64, f64, bool)>,
}

/// The joint distribution of two features (columns of `rows`) in `n_bins` by `n_bins` bins between the least and the
/// greatest value of each; as numpy's `histogram2d`.
///
/// # Panics
/// If there are no rows or no bins.
pub fn joint_distribution(rows: &LabelledRows, [x, y]: [usize; 2], n_bins: usize) -> JointDistribution {
    assert!(!rows.is_empty() && n_bins > 0, "at least one row and one bin");
    let columns = [x, y].map(|column| rows.features.column(column).to_vec());
    let [x_edges, y_edges] = [0, 1].map(|axis| edges(&columns[axis], n_bins));
    let mut counts = [0, 1].map(|_| vec![vec![0usize; n_bins]; n_bins]);
    let mut sides = [DiagonalSide { n: 0, n_positive: 0 }; 2];
    for (row, &label) in rows.labels.iter().enumerate() {
        let (x, y) = (columns[0][row], columns[1][row]);
        counts[usize::from(label)][bin(&x_edges, x)][bin(&y_edges, y)] += 1;
        if x != y {
            let side = &mut sides[usize::from(y < x)];
            side.n += 1;
            side.n_positive += usize::from(label);
        }
    }
    let [negatives, positives] = counts;
    let [above_diagonal, below_diagonal] = sides;
    let points = (0..rows.len()).map(|row| (columns[0][row], columns[1][row], rows.labels[row])).collect();
    JointDistribution {
        x: rows.feature_names[x].clone(),
        y: rows.feature_names[y].clone(),
        correlation: pearson(&columns[0], &columns[1]),
        above_diagonal,
        below_diagonal,
        x_edges,
        y_edges,
        negatives,
        positives,
        points,
    }
}

/// `n_bins + 1` edges from the least to the greatest value; half a unit to both sides where all values are equal.
fn edges(values: &[f64], n_bins: usize) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if least == greatest { (least - 0.5, greatest + 0.5) } else { (least, greatest) };
    let share = |i: usize| i as f64 / n_bins as f64;
    (0..=n_bins).map(|i| if i == n_bins { high } else { low + share(i) * (high - low) }).collect()
}

fn bin(edges: &[f64], value: f64) -> usize {
    let inner = &edges[1..edges.len() - 1];
    inner.partition_point(|edge| *edge <= value)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::Groups;
    use crate::toy;

    fn rows(columns: &[&[f64]], labels: &[u8]) -> LabelledRows {
        let n = labels.len();
        LabelledRows::new(
            (0..columns.len()).map(|j| format!("f{j}")).collect(),
            Array2::from_shape_fn((n, columns.len()), |(i, j)| columns[j][i]),
            labels.iter().map(|label| *label == 1).collect(),
            Groups::new((0..n).map(|i| i.to_string()).collect()),
        )
    }

    #[test]
    fn tops_are_counted_by_region() {
        let labels = [1, 1, 1, 0, 0, 0, 0, 0];
        // the top quarter, two rows: 0 and 1; the lowest of the second: 1 and 2; the third has three equal at the cut
        let rows = rows(
            &[
                &[9.0, 8.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
                &[5.0, 0.0, 1.0, 9.0, 8.0, 7.0, 6.0, 4.0],
                &[3.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0],
            ],
            &labels,
        );
        let got = top_overlap(&rows, &[0, 1, 2], 0.25);
        let directions: Vec<Direction> = got.metrics.iter().map(|metric| metric.direction).collect();
        assert_eq!(directions, [Direction::Higher, Direction::Lower, Direction::Higher]);
        assert_eq!(got.metrics.iter().map(|m| (m.n, m.n_positive)).collect::<Vec<_>>(), [(2, 2), (2, 2), (3, 2)]);
        let regions: Vec<(Vec<usize>, usize, usize)> =
            got.regions.iter().map(|r| (r.metrics.clone(), r.n, r.n_positive)).collect();
        let want = [
            (vec![0], 0, 0),
            (vec![1], 1, 1),
            (vec![2], 1, 0),
            (vec![0, 1], 0, 0),
            (vec![0, 2], 1, 1),
            (vec![1, 2], 0, 0),
            (vec![0, 1, 2], 1, 1),
        ];
        assert_eq!(regions, want);
        assert_eq!((got.n_union, got.n_union_positive), (4, 3));
    }

    #[test]
    fn each_family_sends_its_best() {
        let up = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let nearly = [1.0, 2.0, 4.0, 3.0, 5.0, 6.0];
        let down = [6.0, 5.0, 4.0, 1.0, 2.0, 3.0];
        let noise = [2.0, 1.0, 4.0, 3.0, 2.0, 1.0];
        let mut rows = rows(&[&nearly, &up, &down, &noise], &[0, 0, 0, 1, 1, 1]);
        rows.feature_names = ["logprob@m", "entropy@m", "logit@m", "attr_source@m"].map(String::from).to_vec();
        assert_eq!(best_features(&rows, &toy::catalogue(), 3), [1, 3, 2]);
        assert_eq!(best_features(&rows, &toy::catalogue(), 9).len(), 4);
        assert_eq!(best_pair(&rows, &toy::catalogue()), Some([1, 3]), "no measure has two scorers");
        rows.feature_names[2] = "logprob@n".into();
        assert_eq!(best_pair(&rows, &toy::catalogue()), Some([0, 2]));
        rows.feature_names[3] = "entropy@n".into();
        assert_eq!(best_pair(&rows, &toy::catalogue()), Some([0, 2]), "the better of two such pairs");
    }

    #[test]
    fn pairs_are_binned_and_told_apart_by_the_diagonal() {
        let rows = rows(&[&[0.0, 1.0, 2.0, 4.0], &[0.0, 3.0, 1.0, 2.0]], &[0, 1, 1, 1]);
        let got = joint_distribution(&rows, [0, 1], 2);
        assert_eq!((got.x_edges, got.y_edges), (vec![0.0, 2.0, 4.0], vec![0.0, 1.5, 3.0]));
        assert_eq!(got.negatives, [[1, 0], [0, 0]]);
        assert_eq!(got.positives, [[0, 1], [1, 1]], "an edge belongs to the bin above it, the last to the last");
        assert_eq!(got.above_diagonal, DiagonalSide { n: 1, n_positive: 1 });
        assert_eq!(got.below_diagonal, DiagonalSide { n: 2, n_positive: 2 });
        assert_eq!(got.points[1], (1.0, 3.0, true));
        let constant = self::rows(&[&[5.0; 3], &[1.0, 2.0, 3.0]], &[0, 1, 1]);
        let got = joint_distribution(&constant, [0, 1], 4);
        assert_eq!((got.x_edges[0], got.x_edges[4], got.correlation), (4.5, 5.5, None));
    }
}
