//! Colours and type of every picture.
//!
//! Ink, rules and series carry a class beside their colour: on its own a picture is dark on white, for print, and a
//! page that holds it may recolour it for a dark screen. Cells of heat maps carry none: their colour is the datum.

/// Families to try, first the one that is measured and drawn in PNG; the next have its widths.
pub const FONT_FAMILY: &str = "Arimo, Arial, 'Liberation Sans', Helvetica, sans-serif";

/// Size of a picture's title, in CSS pixels (1/96 inch).
pub const TITLE: f64 = 14.0;
/// Size of most text.
pub const BODY: f64 = 12.0;
/// Size of the smallest text: 8.25 points.
pub const SMALL: f64 = 11.0;

/// What something is drawn with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tone {
    /// Text, and lines as strong as text.
    Ink,
    /// Text beside the main text.
    Muted,
    /// Axes and frames.
    Rule,
    /// Lines behind the data.
    Grid,
    /// The ground; also what parts neighbours of one colour.
    Paper,
    /// A cell without a value.
    Blank,
    /// One of the categories, by [`SERIES`].
    Series(usize),
    /// A colour that means a value and must not change.
    Fixed(Colour),
}

/// An sRGB colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Categories that people tell apart whatever their colour vision: the set of Okabe and Ito (2008), without its black
/// and yellow, which vanish on black and white paper.
pub const SERIES: [Colour; 6] = [
    Colour(0x00, 0x72, 0xb2), // blue
    Colour(0xd5, 0x5e, 0x00), // vermilion
    Colour(0x00, 0x9e, 0x73), // green
    Colour(0xcc, 0x79, 0xa7), // purple
    Colour(0xe6, 0x9f, 0x00), // orange
    Colour(0x56, 0xb4, 0xe9), // sky
];

/// The series of rows without hallucinations, and of anything neutral.
pub const NEUTRAL: Tone = Tone::Series(0);
/// The series of hallucinated rows.
pub const HALLUCINATED: Tone = Tone::Series(1);

impl Tone {
    /// The colour on white.
    pub fn colour(self) -> Colour {
        match self {
            Tone::Ink => Colour(0x1a, 0x1a, 0x1a),
            Tone::Muted => Colour(0x59, 0x59, 0x59),
            Tone::Rule => Colour(0x8a, 0x8a, 0x8a),
            Tone::Grid => Colour(0xdd, 0xdd, 0xdd),
            Tone::Paper => Colour(0xff, 0xff, 0xff),
            Tone::Blank => Colour(0xec, 0xec, 0xec),
            Tone::Series(i) => SERIES[i % SERIES.len()],
            Tone::Fixed(colour) => colour,
        }
    }

    /// The class that a page recolours it by; none where it must not.
    pub fn class(self, painted: Painted) -> Option<String> {
        let name = match self {
            Tone::Ink => "ink".to_owned(),
            Tone::Muted => "muted".to_owned(),
            Tone::Rule => "rule".to_owned(),
            Tone::Grid => "grid".to_owned(),
            Tone::Paper => "paper".to_owned(),
            Tone::Blank => "blank".to_owned(),
            Tone::Series(i) => format!("series-{}", i % SERIES.len()),
            Tone::Fixed(_) => return None,
        };
        Some(match painted {
            Painted::Area => format!("fill-{name}"),
            Painted::Line => format!("line-{name}"),
        })
    }
}

/// Whether a tone fills an area or draws a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Painted {
    /// Its area, by SVG's `fill`.
    Area,
    /// Its outline, by SVG's `stroke`.
    Line,
}

impl std::fmt::Display for Colour {
    /// The colour as SVG and CSS write it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

impl Colour {
    /// The ink, black or white, that is read best on this colour.
    pub fn contrasting_ink(self) -> Colour {
        // full black: with it one of the two always has a contrast of at least √21
        let dark = Colour(0, 0, 0);
        let white = Colour(255, 255, 255);
        if self.contrast(dark) >= self.contrast(white) { dark } else { white }
    }

    /// Contrast of two colours, 1 to 21 (WCAG 2.1).
    pub fn contrast(self, other: Colour) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Relative luminance, 0 to 1 (WCAG 2.1).
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    fn mixed(self, other: Colour, share: f64) -> Colour {
        let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
        Colour(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// Blue through near-white to orange: a value below, at or above a centre. Both arms darken evenly, so that the
/// distance from the centre survives any colour vision; which arm it is survives all but a grey print, for which cells
/// hold numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diverging {
    /// The value that is neither.
    pub centre: f64,
    /// The distance from it at which the colours end; above 0.
    pub reach: f64,
}

/// From the centre outwards, evenly spaced.
const BELOW: [Colour; 4] =
    [Colour(0xf7, 0xf7, 0xf7), Colour(0xb3, 0xcd, 0xe6), Colour(0x5e, 0x9b, 0xce), Colour(0x1b, 0x5a, 0x99)];
const ABOVE: [Colour; 4] =
    [Colour(0xf7, 0xf7, 0xf7), Colour(0xfb, 0xcf, 0xa4), Colour(0xee, 0x8e, 0x3f), Colour(0xa8, 0x4a, 0x04)];

impl Diverging {
    /// A scale around `centre` that holds all of `values`: its reach is a multiple of `step`, at least two.
    pub fn around(centre: f64, step: f64, values: impl Iterator<Item = f64>) -> Self {
        let farthest = values.map(|value| (value - centre).abs()).fold(0.0, f64::max);
        // a hair less, so that 0.15 / 0.05 is three steps
        let steps = (farthest / step - 1e-9).ceil().max(2.0);
        Self { centre, reach: steps * step }
    }

    /// The values at which the colours end.
    pub fn ends(&self) -> (f64, f64) {
        (self.centre - self.reach, self.centre + self.reach)
    }

    /// The colour that stands for a value.
    pub fn colour(&self, value: f64) -> Colour {
        let arm = if value < self.centre { BELOW } else { ABOVE };
        let place = ((value - self.centre).abs() / self.reach).clamp(0.0, 1.0) * (arm.len() - 1) as f64;
        let below = (place.floor() as usize).min(arm.len() - 2);
        arm[below].mixed(arm[below + 1], place - below as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_any_cell_are_legible() {
        let scale = Diverging { centre: 0.5, reach: 0.25 };
        for i in 0..=100 {
            let cell = scale.colour(0.25 + 0.5 * f64::from(i) / 100.0);
            // WCAG AA for text of normal size
            let contrast = cell.contrast(cell.contrasting_ink());
            assert!(contrast >= 4.5, "{cell} has {contrast:.2}");
        }
    }

    #[test]
    fn both_arms_darken_away_from_the_centre() {
        let scale = Diverging { centre: 0.0, reach: 1.0 };
        for sign in [-1.0, 1.0] {
            let luminance: Vec<f64> = (0..=20).map(|i| scale.colour(sign * f64::from(i) / 20.0).luminance()).collect();
            assert!(luminance.windows(2).all(|pair| pair[0] > pair[1]), "{luminance:?}");
        }
        assert_eq!(scale.colour(-9.0), scale.colour(-1.0), "values beyond the reach take the last colour");
    }

    #[test]
    fn a_scale_reaches_to_its_farthest_value() {
        let reach = |values: &[f64]| Diverging::around(0.5, 0.05, values.iter().copied()).reach;
        assert!((reach(&[0.5, 0.51]) - 0.1).abs() < 1e-12);
        assert!((reach(&[0.35, 0.51]) - 0.15).abs() < 1e-12);
        assert!((reach(&[0.99]) - 0.5).abs() < 1e-12);
        assert!((reach(&[]) - 0.1).abs() < 1e-12);
    }
}
