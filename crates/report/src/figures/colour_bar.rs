//! The key to a diverging scale.

use super::{
    canvas::{Canvas, PLAIN, Stroke},
    theme::{Diverging, Tone},
};

const WIDTH: f64 = 160.0;
const THICKNESS: f64 = 10.0;

/// How high the bar and its numbers are.
pub const HEIGHT: f64 = 32.0;

/// Numbers whose middles are nearer than this would touch.
const LEAST_DISTANCE: f64 = 40.0;

/// Draws the bar of the values from `ends.0` to `ends.1`, which may be fewer than the scale has, from its top left
/// corner, with the numbers of its ends and its centre, and what it means to its right.
///
/// It is made of rectangles: a gradient would need an id, and a page holds several pictures.
pub fn draw(
    canvas: &mut Canvas,
    scale: Diverging,
    ends: (f64, f64),
    (x, y): (f64, f64),
    number: impl Fn(f64) -> String,
    meaning: &str,
) {
    let place = |value: f64| (value - ends.0) / (ends.1 - ends.0);
    let parts = 40;
    let part = WIDTH / f64::from(parts);
    for i in 0..parts {
        let value = ends.0 + (ends.1 - ends.0) * (f64::from(i) + 0.5) / f64::from(parts);
        // half a pixel more, so that no seam shows
        let area = [x + f64::from(i) * part, y, part + 0.5, THICKNESS];
        canvas.rectangle(area, Tone::Fixed(scale.colour(value)), "");
    }
    canvas.frame([x, y, WIDTH, THICKNESS], Stroke::new(Tone::Rule, 0.75));
    // the centre's number is the one that must not be missing
    let apart = |end: f64| (place(end) - place(scale.centre)).abs() * WIDTH >= LEAST_DISTANCE;
    let numbers = [(ends.0, apart(ends.0)), (scale.centre, true), (ends.1, apart(ends.1))];
    for (value, _) in numbers.into_iter().filter(|(_, fits)| *fits) {
        let text = number(value).replace('-', "−");
        canvas.text(x + place(value) * WIDTH, y + THICKNESS + 13.0, &text, PLAIN.small().middle().tone(Tone::Muted));
    }
    canvas.text_at_middle(x + WIDTH + 22.0, y + THICKNESS / 2.0, meaning, PLAIN.small().tone(Tone::Muted));
}

/// How wide the bar is with `meaning` beside it.
pub fn width(meaning: &str) -> f64 {
    use super::{theme::SMALL, type_setting};
    WIDTH + 22.0 + type_setting::width(meaning, SMALL, type_setting::Weight::Regular)
}
