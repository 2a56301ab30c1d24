//! The key to a diverging scale.

use super::{
    canvas::{Canvas, PLAIN, Stroke},
    theme::{Diverging, Tone},
};

const WIDTH: f64 = 160.0;
const THICKNESS: f64 = 10.0;

/// How high the bar and its numbers are.
pub const HEIGHT: f64 = 32.0;

/// Draws the bar from its top left corner, with the numbers of its ends and its centre, and what it means to its right.
///
/// It is made of rectangles: a gradient would need an id, and a page holds several pictures.
pub fn draw(canvas: &mut Canvas, scale: Diverging, (x, y): (f64, f64), number: impl Fn(f64) -> String, meaning: &str) {
    let Diverging { centre, reach } = scale;
    let parts = 40;
    let part = WIDTH / f64::from(parts);
    for i in 0..parts {
        let value = centre - reach + 2.0 * reach * (f64::from(i) + 0.5) / f64::from(parts);
        // half a pixel more, so that no seam shows
        let area = [x + f64::from(i) * part, y, part + 0.5, THICKNESS];
        canvas.rectangle(area, Tone::Fixed(scale.colour(value)), "");
    }
    canvas.frame([x, y, WIDTH, THICKNESS], Stroke::new(Tone::Rule, 0.75));
    for (place, value) in [(0.0, centre - reach), (0.5, centre), (1.0, centre + reach)] {
        let text = number(value).replace('-', "−");
        canvas.text(x + place * WIDTH, y + THICKNESS + 13.0, &text, PLAIN.small().middle().tone(Tone::Muted));
    }
    canvas.text_at_middle(x + WIDTH + 22.0, y + THICKNESS / 2.0, meaning, PLAIN.small().tone(Tone::Muted));
}

/// How wide the bar is with `meaning` beside it.
pub fn width(meaning: &str) -> f64 {
    use super::{theme::SMALL, type_setting};
    WIDTH + 22.0 + type_setting::width(meaning, SMALL, type_setting::Weight::Regular)
}
