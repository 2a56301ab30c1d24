//! Whether metrics flag the same rows: circles for two or three (the paper's figure 4), bars over a matrix for more.

use super::{
    axis::Scale,
    canvas::{Canvas, PLAIN, Stroke},
    picture::{missing, picture},
    subtitle,
    theme::{BODY, SMALL, Tone},
    type_setting::{Weight, fitted, fitted_names, width},
};
use crate::{
    describe,
    names::{common_scorer, short},
    pictures::{MissingPicture, Picture},
};
use veridiff_detector::{Direction, Evaluation, Overlap, Region};

/// Radius of a circle, and how far the centres of two are apart.
const RADIUS: f64 = 96.0;
const DISTANCE: f64 = 104.0;
/// The widest a name may be.
const MOST_NAME: f64 = 205.0;
/// Most columns of a matrix.
const MOST_REGIONS: usize = 24;

/// Series of the circles: blue, orange and green mix to tones that are told apart.
const CIRCLES: [Tone; 3] = [Tone::Series(0), Tone::Series(4), Tone::Series(2)];

fn share(n_positive: usize, n: usize) -> String {
    if n == 0 { String::new() } else { format!("{:.0}%", 100.0 * n_positive as f64 / n as f64) }
}

/// Draws two or three circles of one size: they show which rows are shared, and numbers how many.
fn draw_circles(overlap: &Overlap) -> Canvas {
    let n = overlap.metrics.len();
    let third = DISTANCE / 3f64.sqrt();
    let middle = MOST_NAME + 10.0;
    let top = 40.0 + RADIUS;
    let centres: Vec<(f64, f64)> = match n {
        2 => vec![(-DISTANCE / 2.0, 0.0), (DISTANCE / 2.0, 0.0)],
        _ => vec![(-DISTANCE / 2.0, 0.0), (DISTANCE / 2.0, 0.0), (0.0, 1.5 * third)],
    };
    // the point that all circles share, from which the others lie outwards
    let heart = if n == 2 { (0.0, 0.0) } else { (0.0, third / 2.0) };
    let depth = centres.iter().map(|centre| centre.1).fold(0.0, f64::max) + RADIUS;
    let mut canvas = Canvas::new(2.0 * middle, top + depth + if n == 2 { 34.0 } else { 70.0 });
    let at = |(x, y): (f64, f64)| (middle + x, top + y);
    for (i, &centre) in centres.iter().enumerate() {
        canvas.circle(at(centre), RADIUS, CIRCLES[i], 0.22, Some(Stroke::new(CIRCLES[i], 2.0)));
    }
    for region in &overlap.regions {
        let outwards = |m: usize| (centres[m].0 - heart.0, centres[m].1 - heart.1);
        let sum = region.metrics.iter().map(|&m| outwards(m)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let length = (sum.0.powi(2) + sum.1.powi(2)).sqrt();
        // how far from the heart a region has room for text, by how many circles hold it
        let reach = match (n, region.metrics.len()) {
            (2, 1) => 98.0,
            (3, 1) => 102.0,
            (3, 2) => 68.0,
            _ => 0.0,
        };
        let place = if length < 1e-9 || reach == 0.0 {
            heart
        } else {
            (heart.0 + sum.0 / length * reach, heart.1 + sum.1 / length * reach)
        };
        let (x, y) = at(place);
        let tone = if region.n == 0 { Tone::Muted } else { Tone::Ink };
        canvas.text(x, y, &describe::count(region.n), PLAIN.bold().middle().tone(tone));
        canvas.text(x, y + 14.0, &share(region.n_positive, region.n), PLAIN.small().middle());
    }
    let places = [(middle - 8.0, 0.0), (middle + 8.0, 0.0), (middle, top + depth + 4.0)];
    for (i, (name, numbers)) in heads(overlap).into_iter().enumerate() {
        let (x, y) = places[i];
        let style = match i {
            0 => PLAIN.end(),
            1 => PLAIN,
            _ => PLAIN.middle(),
        };
        canvas.label(x, y + 8.0, &fitted(&name, BODY, MOST_NAME), &name, style.bold());
        canvas.text(x, y + 26.0, &numbers, style.small().tone(Tone::Muted));
    }
    canvas.text(middle, top + depth + if n == 2 { 26.0 } else { 62.0 }, &outside(overlap), PLAIN.small().middle());
    canvas
}

/// Each metric's name, and what its top is.
fn heads(overlap: &Overlap) -> Vec<(String, String)> {
    let scorer = common_scorer(overlap.metrics.iter().map(|metric| metric.feature.as_str()));
    let heads = overlap.metrics.iter().map(|metric| {
        let end = if metric.direction == Direction::Lower { "lowest" } else { "highest" };
        let numbers = format!(
            "{end} {:.0}%: {}, {} halluc.",
            100.0 * overlap.share,
            describe::count(metric.n),
            share(metric.n_positive, metric.n)
        );
        (short(&metric.feature, scorer).to_owned(), numbers)
    });
    heads.collect()
}

fn outside(overlap: &Overlap) -> String {
    let (n, positive) = (overlap.n - overlap.n_union, overlap.n_positive - overlap.n_union_positive);
    match n {
        0 => "no row is in none of them".to_owned(),
        n => format!("in none: {}, {} hallucinated", describe::counted(n, "row", "rows"), share(positive, n)),
    }
}

/// Draws, for any number of metrics, a bar for each combination of them with rows, and under it which they are.
fn draw_matrix(overlap: &Overlap) -> Canvas {
    let mut regions: Vec<&Region> = overlap.regions.iter().filter(|region| region.n > 0).collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.n));
    regions.truncate(MOST_REGIONS);
    let heads = heads(overlap);
    let names = fitted_names(heads.iter().map(|(name, _)| name.as_str()), BODY, MOST_NAME);
    let of = |texts: &[String], size: f64| texts.iter().map(|t| width(t, size, Weight::Regular)).fold(0.0, f64::max);
    let numbers: Vec<String> = heads.iter().map(|(_, numbers)| numbers.clone()).collect();
    let left = of(&names, BODY).max(of(&numbers, SMALL)) + 14.0;
    let (column, row, bars) = (34.0, 34.0, 150.0);
    let matrix_top = 34.0 + bars;
    let height = matrix_top + row * names.len() as f64 + 26.0;
    let mut canvas = Canvas::new(left + column * regions.len() as f64, height);
    let most = regions.first().map_or(1, |region| region.n) as f64;
    let scale = Scale::new((0.0, most), (28.0 + bars, 28.0));
    for (m, name) in names.iter().enumerate() {
        let y = matrix_top + (m as f64 + 0.5) * row;
        if m % 2 == 0 {
            canvas.rectangle([0.0, y - row / 2.0, canvas.width(), row], Tone::Blank, "");
        }
        canvas.label(left - 12.0, y - 7.0, name, &heads[m].0, PLAIN.end());
        canvas.text_at_middle(left - 12.0, y + 8.0, &numbers[m], PLAIN.small().end().tone(Tone::Muted));
    }
    for (i, region) in regions.iter().enumerate() {
        let x = left + (i as f64 + 0.5) * column;
        let top = scale.at(region.n as f64);
        canvas.rectangle([x - 11.0, top, 22.0, 28.0 + bars - top], Tone::Series(0), "");
        canvas.text(x, top - 15.0, &describe::count(region.n), PLAIN.small().bold().middle());
        canvas.text(x, top - 3.0, &share(region.n_positive, region.n), PLAIN.small().middle().tone(Tone::Muted));
        let y = |m: usize| matrix_top + (m as f64 + 0.5) * row;
        for m in 0..names.len() {
            let tone = if region.metrics.contains(&m) { Tone::Ink } else { Tone::Grid };
            canvas.circle((x, y(m)), 5.5, tone, 1.0, None);
        }
        if let (Some(&first), Some(&last)) = (region.metrics.first(), region.metrics.last()) {
            canvas.line((x, y(first)), (x, y(last)), Stroke::new(Tone::Ink, 2.0));
        }
    }
    canvas.line((left, 28.0 + bars), (canvas.width(), 28.0 + bars), Stroke::new(Tone::Rule, 1.0));
    canvas.text(0.0, height - 4.0, &outside(overlap), PLAIN.small());
    canvas
}

/// Draws the overlap of two metrics or more.
pub fn draw(overlap: &Overlap) -> Canvas {
    if (2..=3).contains(&overlap.metrics.len()) { draw_circles(overlap) } else { draw_matrix(overlap) }
}

/// The rows that the best metrics rank highest.
pub fn top(evaluation: &Evaluation) -> Result<Picture, MissingPicture> {
    let title = "Overlap of the rows that metrics rank highest";
    let Some(overlap) = evaluation.analyses.get::<Overlap>() else {
        return Err(missing(title, "it needs three metrics, or two or more that `--overlap` names"));
    };
    if overlap.metrics.len() < 2 {
        return Err(missing(title, "`--overlap` names one metric; it needs two or more"));
    }
    let percent = 100.0 * overlap.share;
    let shape = match overlap.metrics.len() {
        2 | 3 => "Circles are not to scale.",
        _ => "Each column is one combination of metrics, marked by dots; combinations without rows are left out.",
    };
    let caption = format!(
        "Rows that each metric ranks in its top {percent:.0}%, at the end that is more often hallucinated over all \
         rows; rows equal to the last belong to it too. Numbers: rows in exactly these tops, and the share of them \
         that is hallucinated (of all rows {}). {shape} {} Nothing is trained.",
        share(overlap.n_positive, overlap.n),
        describe::sample(evaluation),
    );
    let subtitle = format!(
        "top {percent:.0}% of each; {}; percent: hallucinated ({} of all){}",
        subtitle::short_sample(evaluation),
        share(overlap.n_positive, overlap.n),
        subtitle::scorer(common_scorer(overlap.metrics.iter().map(|metric| metric.feature.as_str())))
    );
    Ok(picture("overlap", title, &subtitle, caption, draw(overlap)))
}
