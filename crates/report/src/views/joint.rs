//! Two features together.

use super::view::View;
#[cfg(feature = "figures")]
use crate::figures::{Chapter, joint};
use crate::{
    grid::{Grid, p_value, part},
    names::is_one_measure,
    table::{NamedTable, record},
};
use veridiff_detector::{Correlation, DiagonalSide, Evaluation, JointDistribution};

pub(super) const VIEW: View = View {
    analysis: Some("joint"),
    printed: Some(9),
    tables,
    #[cfg(feature = "figures")]
    pictures: Some((Chapter::SameRows, |evaluation, _| vec![joint::distribution(evaluation)])),
    ..View::EMPTY
};

fn tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let Some(joint) = evaluation.analyses.get::<JointDistribution>() else { return Vec::new() };
    let sides = joint_sides(joint).into_iter().map(|(name, side)| {
        let mut value = record(&side);
        value["side"] = name.into();
        value
    });
    vec![NamedTable::new("joint", joint_grid(joint), sides.collect())]
}

/// What a joint distribution counts: the rows above and below the diagonal where there is one, else all rows.
fn joint_sides(joint: &JointDistribution) -> Vec<(&'static str, DiagonalSide)> {
    if is_one_measure(&joint.x, &joint.y) {
        return vec![("above", joint.above_diagonal), ("below", joint.below_diagonal)];
    }
    let n_positive = joint.points.iter().filter(|(_, _, positive)| *positive).count();
    vec![("all", DiagonalSide { n: joint.points.len(), n_positive })]
}

fn joint_grid(joint: &JointDistribution) -> Grid {
    let correlation = joint.correlation.map_or_else(
        || "one does not vary".to_owned(),
        |Correlation { r, p, .. }| format!("r {r:+.3}, p {}", p_value(p)),
    );
    let title = format!("{} (x) and {} (y): {correlation}; the distribution is in the JSON", joint.x, joint.y);
    let mut grid = Grid::new(title, &["side of the diagonal", "rows", "halluc."]);
    for (side, DiagonalSide { n, n_positive }) in joint_sides(joint) {
        let name = match side {
            "all" => "no unit in common, no diagonal".to_owned(),
            side => format!("y {side} x"),
        };
        grid.push(vec![name, n.to_string(), part(n_positive, n)]);
    }
    grid
}
