//! Linear axes: from values to pixels, with ticks at round numbers.

use super::{
    canvas::{Canvas, PLAIN, Stroke},
    theme::{SMALL, Tone},
    type_setting::{Weight, width},
};

/// A linear scale from values to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    values: (f64, f64),
    pixels: (f64, f64),
}

impl Scale {
    /// The values at the two ends, and where these are. Equal or unusable values are spread by half to both sides.
    pub fn new(values: (f64, f64), pixels: (f64, f64)) -> Self {
        let usable = values.0.is_finite() && values.1.is_finite() && values.0 < values.1;
        let middle = if values.0.is_finite() { values.0 } else { 0.0 };
        Self { values: if usable { values } else { (middle - 0.5, middle + 0.5) }, pixels }
    }

    /// The pixel at which a value stands.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value - self.values.0) / (self.values.1 - self.values.0);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// About `n` round numbers between the ends, and the text of each.
    pub fn ticks(&self, n: usize) -> Vec<(f64, String)> {
        let (low, high) = self.values;
        let rough = (high - low) / n.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let first = (low / step - 1e-6).ceil();
        let ticks = (0..=2 * n + 2).map(|i| (first + i as f64) * step).take_while(|tick| *tick <= high + 1e-6 * step);
        ticks.map(|tick| (tick, tick_text(tick, step))).collect()
    }
}

fn tick_text(value: f64, step: f64) -> String {
    if value.abs() < 1e-9 * step {
        return "0".to_owned();
    }
    let text = if value.abs() >= 1e6 || step < 1e-4 {
        // as many digits as tell the step
        let digits = (value.abs().log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{value:.digits$e}")
    } else {
        format!("{value:.decimals$}", decimals = (-step.log10().floor()).max(0.0) as usize)
    };
    text.replace('-', "−")
}

/// How wide the widest text of a vertical axis is.
pub fn widest_tick(scale: &Scale, n: usize) -> f64 {
    scale.ticks(n).iter().map(|(_, text)| width(text, SMALL, Weight::Regular)).fold(0.0, f64::max)
}

/// A rectangle with axes at its left and lower sides.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The scale across; its pixels rise with the values.
    pub x: Scale,
    /// The scale upwards; its pixels fall as the values rise.
    pub y: Scale,
    /// About how many ticks each axis has.
    pub n_ticks: usize,
}

impl Frame {
    /// A frame of values in an area.
    pub fn new(x: (f64, f64), y: (f64, f64), [left, top, width, height]: [f64; 4]) -> Self {
        Self { x: Scale::new(x, (left, left + width)), y: Scale::new(y, (top + height, top)), n_ticks: 5 }
    }

    /// The pixels at which a pair of values stands.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    /// The grid, the axes with their numbers, and what they mean: `y_title` is set upright above the axis.
    pub fn draw(&self, canvas: &mut Canvas, x_title: &str, y_title: &str) {
        let ((left, right), (bottom, top)) = (self.x.pixels, self.y.pixels);
        let grid = Stroke::new(Tone::Grid, 1.0);
        for (value, text) in self.x.ticks(self.n_ticks) {
            let x = self.x.at(value);
            canvas.line((x, top), (x, bottom), grid);
            if !x_title.is_empty() {
                canvas.text(x, bottom + 15.0, &text, PLAIN.small().middle());
            }
        }
        for (value, text) in self.y.ticks(self.n_ticks) {
            let y = self.y.at(value);
            canvas.line((left, y), (right, y), grid);
            canvas.text_at_middle(left - 6.0, y, &text, PLAIN.small().end());
        }
        canvas.line((left, bottom), (right, bottom), Stroke::new(Tone::Rule, 1.0));
        canvas.line((left, top), (left, bottom), Stroke::new(Tone::Rule, 1.0));
        canvas.text((left + right) / 2.0, bottom + 32.0, x_title, PLAIN.middle());
        if !y_title.is_empty() {
            let x = left - 12.0 - widest_tick(&self.y, self.n_ticks);
            canvas.text(x, (top + bottom) / 2.0, y_title, PLAIN.middle().turned(-90.0));
        }
    }
}

/// Height that a frame needs under its area for the numbers and title of its horizontal axis.
pub const UNDER_FRAME: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64) -> Vec<String> {
        Scale::new((low, high), (0.0, 100.0)).ticks(5).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(texts(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-3.2, 4.1), ["−2", "0", "2", "4"]);
        assert_eq!(texts(0.0, 12_000_000.0).last().unwrap(), "1.0e7");
        assert_eq!(texts(1e-7, 2e-7).len(), 6);
        let big = Scale::new((1e300, 1.1e300), (0.0, 1.0)).ticks(5);
        assert!(!big.is_empty() && big.len() <= 12);
    }

    #[test]
    fn no_range_is_too_small() {
        for (low, high) in [(2.0, 2.0), (f64::NAN, 1.0), (3.0, f64::INFINITY)] {
            let scale = Scale::new((low, high), (0.0, 100.0));
            assert!(scale.at(2.0).is_finite() && !scale.ticks(5).is_empty(), "{low} to {high}");
        }
        assert_eq!(Scale::new((2.0, 2.0), (0.0, 100.0)).at(2.0), 50.0);
    }
}
