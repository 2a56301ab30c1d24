//! Two metrics together (the paper's figure 9): points, or squares where there are too many rows for points, with the
//! distribution of each at its side.

use super::{
    axis::{Frame, UNDER_FRAME, widest_tick},
    canvas::{Canvas, PLAIN, Stroke},
    colour_bar,
    picture::{missing, picture},
    subtitle,
    theme::{Diverging, HALLUCINATED, NEUTRAL, Tone},
    type_setting::fitted,
};
use crate::{
    describe,
    names::is_one_measure,
    pictures::{MissingPicture, Picture},
};
use veridiff_detector::{DiagonalSide, Evaluation, JointDistribution};

/// Side of the square that rows are drawn in, and height of the distributions beside it.
const SIDE: f64 = 310.0;
const BESIDE: f64 = 48.0;
const GAP: f64 = 8.0;
/// More rows than this are drawn as squares.
const MOST_POINTS: usize = 1500;

/// The range of edges with a little room at both ends.
fn range(edges: &[f64]) -> (f64, f64) {
    let (low, high) = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(1.0));
    let room = 0.03 * (high - low);
    (low - room, high + room)
}

/// Draws the rows between the distributions of both metrics.
pub fn draw(joint: &JointDistribution) -> Canvas {
    let binned = joint.points.len() > MOST_POINTS;
    let (x_range, y_range) = (range(&joint.x_edges), range(&joint.y_edges));
    let scales = Frame::new(x_range, y_range, [0.0, 0.0, SIDE, SIDE]);
    let left = 30.0 + widest_tick(&scales.y, 5);
    let top = BESIDE + GAP;
    let frame = Frame::new(x_range, y_range, [left, top, SIDE, SIDE]);
    let under = if binned { 26.0 + colour_bar::HEIGHT } else { 26.0 };
    let meaning = "share hallucinated; area: rows";
    let width = (left + SIDE + GAP + BESIDE).max(if binned { left + colour_bar::width(meaning) } else { 0.0 });
    let mut canvas = Canvas::new(width, top + SIDE + UNDER_FRAME + under);
    frame.draw(&mut canvas, &fitted(&joint.x, 12.0, SIDE), &fitted(&joint.y, 12.0, SIDE));
    if is_one_measure(&joint.x, &joint.y) {
        let (low, high) = (x_range.0.max(y_range.0), x_range.1.min(y_range.1));
        if low < high {
            let diagonal = Stroke { tone: Tone::Rule, width: 1.0, dashes: "3 3" };
            canvas.line(frame.at(low, low), frame.at(high, high), diagonal);
        }
    }
    let y = top + SIDE + UNDER_FRAME + 12.0;
    // the two classes' lines in the distributions at the sides
    let (circle_x, second_x) = (left + 8.0, left + 150.0);
    if binned {
        let base = draw_squares(&mut canvas, joint, frame);
        canvas.line((circle_x - 8.0, y), (circle_x + 8.0, y), Stroke::new(NEUTRAL, 1.6));
        canvas.line((second_x - 8.0, y), (second_x + 8.0, y), Stroke::new(HALLUCINATED, 1.6));
        let number = |value: f64| format!("{:.0}%", 100.0 * value);
        colour_bar::draw(&mut canvas, base, (0.0, 1.0), (left, y + 22.0), number, meaning);
    } else {
        for &(x, y, positive) in &joint.points {
            draw_point(&mut canvas, frame.at(x, y), positive);
        }
        draw_point(&mut canvas, (circle_x, y), false);
        draw_point(&mut canvas, (second_x, y), true);
    }
    canvas.text_at_middle(circle_x + 12.0, y, "not hallucinated", PLAIN.small());
    canvas.text_at_middle(second_x + 12.0, y, "hallucinated", PLAIN.small());
    draw_sides(&mut canvas, joint, frame);
    canvas
}

/// Hollow for rows without a hallucination, filled for the others: told apart in grey, too.
fn draw_point(canvas: &mut Canvas, at: (f64, f64), positive: bool) {
    if positive {
        canvas.circle(at, 2.8, HALLUCINATED, 0.75, None);
    } else {
        canvas.circle(at, 2.6, Tone::Paper, 0.0, Some(Stroke::new(NEUTRAL, 1.1)));
    }
}

/// A square for each bin with rows: its area says how many, its colour which share is hallucinated. Gives the scale.
fn draw_squares(canvas: &mut Canvas, joint: &JointDistribution, frame: Frame) -> Diverging {
    let total = |counts: &[Vec<usize>]| counts.iter().flatten().sum::<usize>();
    let (negatives, positives) = (total(&joint.negatives), total(&joint.positives));
    let base = positives as f64 / (negatives + positives).max(1) as f64;
    // colours end at the farther of 0 and 1, so that the share of all rows is neither blue nor orange
    let scale = Diverging { centre: base, reach: base.max(1.0 - base) };
    let bins = || (0..joint.negatives.len()).flat_map(|i| (0..joint.negatives[i].len()).map(move |j| (i, j)));
    let most = bins().map(|(i, j)| joint.negatives[i][j] + joint.positives[i][j]).max().unwrap_or(1).max(1) as f64;
    for (i, j) in bins() {
        let n = joint.negatives[i][j] + joint.positives[i][j];
        if n == 0 {
            continue;
        }
        let share = joint.positives[i][j] as f64 / n as f64;
        let (x0, y0) = frame.at(joint.x_edges[i], joint.y_edges[j]);
        let (x1, y1) = frame.at(joint.x_edges[i + 1], joint.y_edges[j + 1]);
        let part = (n as f64 / most).sqrt().max(0.12);
        let (width, height) = ((x1 - x0 - 1.0) * part, (y0 - y1 - 1.0) * part);
        let area = [(x0 + x1 - width) / 2.0, (y0 + y1 - height) / 2.0, width, height];
        let hint = format!("{}, {:.0}% hallucinated", describe::counted(n, "row", "rows"), 100.0 * share);
        canvas.rectangle(area, Tone::Fixed(scale.colour(share)), &hint);
        canvas.frame(area, Stroke::new(Tone::Rule, 0.5));
    }
    scale
}

/// Above and to the right, the distribution of each class over the bins: shares of the class, as steps.
fn draw_sides(canvas: &mut Canvas, joint: &JointDistribution, frame: Frame) {
    let along_x = |counts: &[Vec<usize>]| counts.iter().map(|column| column.iter().sum()).collect::<Vec<usize>>();
    let along_y = |counts: &[Vec<usize>]| {
        (0..joint.y_edges.len() - 1).map(|j| counts.iter().map(|column| column[j]).sum()).collect::<Vec<usize>>()
    };
    let shares = |counts: Vec<usize>| {
        let n = counts.iter().sum::<usize>().max(1) as f64;
        counts.into_iter().map(|count| count as f64 / n).collect::<Vec<f64>>()
    };
    let (origin_x, origin_y) = (frame.at(range(&joint.x_edges).1, 0.0).0 + GAP, BESIDE);
    for axis in [0, 1] {
        let edges = if axis == 0 { &joint.x_edges } else { &joint.y_edges };
        let of = |counts: &[Vec<usize>]| shares(if axis == 0 { along_x(counts) } else { along_y(counts) });
        let classes = [of(&joint.negatives), of(&joint.positives)];
        let most = classes.iter().flatten().copied().fold(1e-9, f64::max);
        for (shares, tone) in classes.iter().zip([NEUTRAL, HALLUCINATED]) {
            let mut points = Vec::with_capacity(2 * shares.len() + 2);
            let mut push = |edge: f64, share: f64| {
                let height = share / most * (BESIDE - 4.0);
                points.push(match axis {
                    0 => (frame.x.at(edge), origin_y - height),
                    _ => (origin_x + height, frame.y.at(edge)),
                });
            };
            push(edges[0], 0.0);
            for (bin, share) in shares.iter().enumerate() {
                push(edges[bin], *share);
                push(edges[bin + 1], *share);
            }
            push(edges[edges.len() - 1], 0.0);
            canvas.path(&points, Stroke::new(tone, 1.6));
        }
    }
}

/// The joint distribution of the two metrics of the evaluation.
pub fn distribution(evaluation: &Evaluation) -> Result<Picture, MissingPicture> {
    let title = "Two metrics together";
    let Some(joint) = evaluation.analyses.get::<JointDistribution>() else {
        return Err(missing(title, "it needs two metrics"));
    };
    let correlation = joint.correlation.map_or_else(
        || "one of them does not vary".to_owned(),
        |correlation| {
            let p = match correlation.p {
                Some(p) if p < 1e-4 => ", p < 0.0001".to_owned(),
                Some(p) => format!(", p = {p:.4}"),
                None => String::new(),
            };
            format!("r = {:+.2}{p}", correlation.r).replace('-', "−")
        },
    );
    let side = |DiagonalSide { n, n_positive }: DiagonalSide| match n {
        0 => "0 rows".to_owned(),
        n => format!(
            "{}, {:.0}% hallucinated",
            describe::counted(n, "row", "rows"),
            100.0 * n_positive as f64 / n as f64
        ),
    };
    let diagonal = if is_one_measure(&joint.x, &joint.y) {
        format!(" Above the diagonal {}; below it {}.", side(joint.above_diagonal), side(joint.below_diagonal))
    } else {
        " They have no unit in common, so there is no diagonal.".to_owned()
    };
    let drawn = if joint.points.len() > MOST_POINTS {
        "squares are bins, their area the number of rows, their colour the share that is hallucinated (the middle \
         colour is the share of all rows)"
    } else {
        "each row is a point, filled if hallucinated"
    };
    let caption = format!(
        "Joint distribution of {} and {}: {drawn}. At the sides the distribution of each class. Pearson's correlation: \
         {correlation}.{diagonal} {} Nothing is trained.",
        joint.x,
        joint.y,
        describe::sample(evaluation),
    );
    let subtitle = format!("{}; {correlation}", subtitle::short_sample(evaluation));
    Ok(picture("joint", title, &subtitle, caption, draw(joint)))
}
