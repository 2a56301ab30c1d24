//! Which comments lie near each other: same pull request, same file, same side, and lines that overlap or nearly do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    dataset::{Comment, CommentSide},
    predictions::Prediction,
};

/// A prediction and a reference near it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Near {
    /// The prediction's place in the list.
    pub prediction: usize,
    /// The reference's place in the list.
    pub comment: usize,
    /// Lines between them; 0 where they overlap.
    pub distance: u64,
}

/// How far two ranges are apart: 0 where they overlap, 1 where one follows the other.
pub fn distance(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.0.saturating_sub(b.1).max(b.0.saturating_sub(a.1))
}

/// All pairs that are at most `gap` lines apart, those of a prediction together. A prediction without lines has none. With
/// `either_side` the side plays no part, as for lines that both files have.
pub fn near(predictions: &[Prediction], comments: &[Comment], gap: u64, either_side: bool) -> Vec<Near> {
    type Key<'a> = (&'a str, &'a str, Option<CommentSide>);
    let mut by_file: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
    let side = |side: CommentSide| (!either_side).then_some(side);
    for (i, comment) in comments.iter().enumerate() {
        by_file.entry((&comment.pr, &comment.path, side(comment.side))).or_default().push(i);
    }
    let mut found = Vec::new();
    for (i, prediction) in predictions.iter().enumerate() {
        let Some(lines) = prediction.lines else { continue };
        let here = by_file.get(&(prediction.pr.as_str(), prediction.path.as_str(), side(prediction.side)));
        for &j in here.into_iter().flatten() {
            let distance = distance(lines, (comments[j].from_line, comments[j].to_line));
            if distance <= gap {
                found.push(Near { prediction: i, comment: j, distance });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_apart() {
        for (a, b, want) in
            [((1, 3), (3, 9), 0), ((1, 3), (4, 9), 1), ((4, 9), (1, 3), 1), ((5, 5), (1, 9), 0), ((9, 9), (1, 2), 7)]
        {
            assert_eq!(distance(a, b), want, "{a:?} {b:?}");
        }
    }
}
