//! The best pairing of predictions with references, one to one.

use std::collections::BTreeMap;

use pathfinding::{kuhn_munkres::kuhn_munkres, matrix::Matrix};

/// An edge: a prediction, a reference, how sure it is that they say the same (0 to 1), and how far they are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The prediction.
    pub prediction: usize,
    /// The reference.
    pub comment: usize,
    /// 0 to 1.
    pub score: f64,
    /// In lines.
    pub distance: u64,
}

/// One pair more is worth more than any scores, a score more than any distances, a distance more than any place in the list. Each part
/// of a weight leaves room for the sum of four thousand pairs' parts below it.
fn weight(edge: &Edge) -> i128 {
    let pair = 1i128 << 84;
    let score = ((edge.score.clamp(0.0, 1.0) * 1e6).round() as i128) << 50;
    let nearness = ((1i128 << 10) - i128::from(edge.distance.min(1 << 10))) << 28;
    let first = (1i128 << 16) - (edge.prediction.min(0x7fff) + edge.comment.min(0x7fff)) as i128;
    pair + score + nearness + first
}

/// The pairs of the best pairing: as many as there can be, then with the highest scores in all, then the least distances. Numbers of
/// predictions and references decide what is left equal, so they must not depend on the order of a file.
pub fn assign(edges: &[Edge]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for part in parts(edges) {
        match part.as_slice() {
            [only] => pairs.push((only.prediction, only.comment)),
            part => pairs.extend(of_part(part)),
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Edges that hang together, directly or through others.
fn parts(edges: &[Edge]) -> Vec<Vec<Edge>> {
    // union of predictions through the references that they share
    let mut parent: BTreeMap<usize, usize> = edges.iter().map(|edge| (edge.prediction, edge.prediction)).collect();
    fn root(parent: &mut BTreeMap<usize, usize>, mut at: usize) -> usize {
        while parent[&at] != at {
            let above = parent[&parent[&at]];
            parent.insert(at, above);
            at = above;
        }
        at
    }
    let mut by_comment: BTreeMap<usize, usize> = BTreeMap::new();
    for edge in edges {
        if let Some(&other) = by_comment.get(&edge.comment) {
            let (a, b) = (root(&mut parent, edge.prediction), root(&mut parent, other));
            parent.insert(a.max(b), a.min(b));
        } else {
            by_comment.insert(edge.comment, edge.prediction);
        }
    }
    let mut parts: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
    for edge in edges {
        let root = root(&mut parent, edge.prediction);
        parts.entry(root).or_default().push(*edge);
    }
    parts.into_values().collect()
}

fn of_part(edges: &[Edge]) -> Vec<(usize, usize)> {
    let places = |of: &dyn Fn(&Edge) -> usize| -> Vec<usize> {
        let mut all: Vec<usize> = edges.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (rows, columns) = (places(&|edge| edge.prediction), places(&|edge| edge.comment));
    // the matrix must not have more rows than columns
    let is_turned = rows.len() > columns.len();
    let (n, m) = if is_turned { (columns.len(), rows.len()) } else { (rows.len(), columns.len()) };
    let mut weights = Matrix::new(n, m, 0i128);
    for edge in edges {
        let (Ok(row), Ok(column)) = (rows.binary_search(&edge.prediction), columns.binary_search(&edge.comment)) else {
            continue;
        };
        let at = if is_turned { (column, row) } else { (row, column) };
        weights[at] = weights[at].max(weight(edge));
    }
    let (_, chosen) = kuhn_munkres(&weights);
    let pair = |(i, j): (usize, usize)| match (weights[(i, j)] > 0, is_turned) {
        (false, _) => None,
        (true, false) => Some((rows[i], columns[j])),
        (true, true) => Some((rows[j], columns[i])),
    };
    chosen.into_iter().enumerate().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The best pairing by trying all.
    fn slow(edges: &[Edge], used: (u32, u32), from: usize) -> i128 {
        (from..edges.len())
            .filter(|&i| used.0 & (1 << edges[i].prediction) == 0 && used.1 & (1 << edges[i].comment) == 0)
            .map(|i| {
                let used = (used.0 | 1 << edges[i].prediction, used.1 | 1 << edges[i].comment);
                weight(&edges[i]) + slow(edges, used, i + 1)
            })
            .max()
            .unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_pairing_is_better(list in proptest::collection::btree_map((0usize..5, 0usize..6), (0u8..3, 0u64..3), 0..14)) {
            let edges: Vec<Edge> = list
                .into_iter()
                .map(|((prediction, comment), (score, distance))| Edge { prediction, comment, score: f64::from(score) / 2.0, distance })
                .collect();
            let pairs = assign(&edges);
            let of = |pair: &(usize, usize)| edges.iter().find(|e| (e.prediction, e.comment) == *pair).map(weight);
            let total: i128 = pairs.iter().map(|pair| of(pair).unwrap()).sum();
            prop_assert_eq!(total, slow(&edges, (0, 0), 0));
            let distinct = |of: fn(&(usize, usize)) -> usize| pairs.iter().map(of).collect::<std::collections::BTreeSet<_>>().len();
            prop_assert_eq!((distinct(|p| p.0), distinct(|p| p.1)), (pairs.len(), pairs.len()));
            let mut other = edges.clone();
            other.reverse();
            prop_assert_eq!(assign(&other), pairs);
        }
    }
}
