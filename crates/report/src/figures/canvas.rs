//! A picture under construction: shapes and text in pixels, from the top left corner of its content.

use svg::{
    Document, Node,
    node::element::{Circle, Description, Group, Line, Path, Rectangle, Text, Title},
};

use super::{
    theme::{BODY, Colour, FONT_FAMILY, Painted, SMALL, TITLE, Tone},
    type_setting::{Weight, wrapped},
};
use crate::grid::clean;

/// Between the content and the edge of the picture.
const MARGIN: f64 = 14.0;

/// Which point of a text its x names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    size: f64,
    weight: Weight,
    anchor: Anchor,
    tone: Tone,
    turn: f64,
}

/// Ordinary text: 12 pixels, from the left, in ink.
pub const PLAIN: Style =
    Style { size: BODY, weight: Weight::Regular, anchor: Anchor::Start, tone: Tone::Ink, turn: 0.0 };

impl Style {
    /// The same at the smallest size.
    pub const fn small(self) -> Self {
        Self { size: SMALL, ..self }
    }

    /// The same in bold letters.
    pub const fn bold(self) -> Self {
        Self { weight: Weight::Bold, ..self }
    }

    /// The same with its middle at its x.
    pub const fn middle(self) -> Self {
        Self { anchor: Anchor::Middle, ..self }
    }

    /// The same to the left of its x.
    pub const fn end(self) -> Self {
        Self { anchor: Anchor::End, ..self }
    }

    /// The same in another tone.
    pub const fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    /// Turned by so many degrees, clockwise.
    pub const fn turned(self, degrees: f64) -> Self {
        Self { turn: degrees, ..self }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Stroke {
    /// The tone of the line.
    pub tone: Tone,
    /// The width of the line, in pixels.
    pub width: f64,
    /// SVG's dash array; empty for an unbroken line.
    pub dashes: &'static str,
}

impl Stroke {
    /// A line without gaps.
    pub const fn new(tone: Tone, width: f64) -> Self {
        Self { tone, width, dashes: "" }
    }
}

/// The content of a picture, without its title.
#[derive(Debug, Clone)]
pub struct Canvas {
    width: f64,
    height: f64,
    content: Group,
}

/// Two decimals are a fiftieth of a printed pixel.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0 + 0.0
}

fn painted<N: Node>(mut node: N, tone: Tone, how: Painted) -> N {
    node.assign(if how == Painted::Area { "fill" } else { "stroke" }, tone.colour().to_string());
    if let Some(class) = tone.class(how) {
        node.assign("class", class);
    }
    node
}

fn stroked<N: Node>(node: N, stroke: Stroke) -> N {
    let mut node = painted(node, stroke.tone, Painted::Line);
    node.assign("stroke-width", rounded(stroke.width));
    if !stroke.dashes.is_empty() {
        node.assign("stroke-dasharray", stroke.dashes);
    }
    node
}

fn text_node(x: f64, y: f64, text: &str, style: Style) -> Text {
    let mut node = Text::new(clean(text)).set("x", rounded(x)).set("y", rounded(y)).set("font-size", style.size);
    if style.weight == Weight::Bold {
        node = node.set("font-weight", 700);
    }
    match style.anchor {
        Anchor::Start => {}
        Anchor::Middle => node = node.set("text-anchor", "middle"),
        Anchor::End => node = node.set("text-anchor", "end"),
    }
    if style.turn != 0.0 {
        node = node.set("transform", format!("rotate({} {} {})", style.turn, rounded(x), rounded(y)));
    }
    painted(node, style.tone, Painted::Area)
}

impl Canvas {
    /// An empty one. What is drawn outside is cut off at the picture's edge.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, content: Group::new() }
    }

    /// How wide the content is.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// How wide the finished picture is.
    pub fn outer_width(&self) -> f64 {
        (self.width.max(300.0) + 2.0 * MARGIN).ceil()
    }

    /// A rectangle. A pointer over it shows `hint`, if there is one.
    pub fn rectangle(&mut self, [x, y, width, height]: [f64; 4], tone: Tone, hint: &str) {
        let shape = Rectangle::new()
            .set("x", rounded(x))
            .set("y", rounded(y))
            .set("width", rounded(width.max(0.0)))
            .set("height", rounded(height.max(0.0)));
        let mut shape = painted(shape, tone, Painted::Area);
        if !hint.is_empty() {
            shape.append(Title::new(clean(hint)));
        }
        self.content.append(shape);
    }

    /// The outline of a rectangle.
    pub fn frame(&mut self, [x, y, width, height]: [f64; 4], stroke: Stroke) {
        self.path(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)], stroke);
    }

    /// A circle's area, `opacity` 0 to 1, with an optional outline.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: f64, tone: Tone, opacity: f64, outline: Option<Stroke>) {
        let at = |shape: Circle| shape.set("cx", rounded(x)).set("cy", rounded(y)).set("r", rounded(radius));
        let mut area = painted(at(Circle::new()), tone, Painted::Area);
        if opacity < 1.0 {
            area = area.set("fill-opacity", opacity);
        }
        self.content.append(area);
        if let Some(stroke) = outline {
            self.content.append(stroked(at(Circle::new()).set("fill", "none"), stroke));
        }
    }

    /// Draws a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        let shape = Line::new()
            .set("x1", rounded(from.0))
            .set("y1", rounded(from.1))
            .set("x2", rounded(to.0))
            .set("y2", rounded(to.1));
        self.content.append(stroked(shape, stroke));
    }

    /// A line through points. Points closer than half a pixel to the last one drawn are left out.
    pub fn path(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        let Some((&last, before)) = points.split_last() else { return };
        let mut kept: Vec<(f64, f64)> = Vec::new();
        for &(x, y) in before {
            if kept.last().is_none_or(|(px, py)| (px - x).abs() + (py - y).abs() >= 0.5) {
                kept.push((x, y));
            }
        }
        kept.push(last);
        let data: Vec<String> = kept
            .iter()
            .enumerate()
            .map(|(i, (x, y))| format!("{}{} {}", if i == 0 { 'M' } else { 'L' }, rounded(*x), rounded(*y)))
            .collect();
        let shape = Path::new().set("d", data.join("")).set("fill", "none").set("stroke-linejoin", "round");
        self.content.append(stroked(shape, stroke));
    }

    /// A line of text; `y` is its baseline.
    pub fn text(&mut self, x: f64, y: f64, text: &str, style: Style) {
        self.content.append(text_node(x, y, text, style));
    }

    /// A line of text whose capitals and digits have their middle at `y`.
    pub fn text_at_middle(&mut self, x: f64, y: f64, text: &str, style: Style) {
        self.text(x, y + 0.36 * style.size, text, style);
    }

    /// A text cut short, which a pointer shows in full.
    pub fn label(&mut self, x: f64, y: f64, shown: &str, full: &str, style: Style) {
        let mut node = text_node(x, y + 0.36 * style.size, shown, style);
        if clean(full) != shown {
            node.append(Title::new(clean(full)));
        }
        self.content.append(node);
    }

    /// The finished picture as SVG: the content under its title and, smaller, what else it should say of itself.
    pub fn finish(self, title: &str, subtitle: &str, description: &str) -> String {
        let text_width = self.outer_width() - 2.0 * MARGIN;
        let mut head = Group::new();
        let mut y = MARGIN;
        let lines = [(title, PLAIN.bold(), TITLE), (subtitle, PLAIN.small().tone(Tone::Muted), SMALL)];
        for (text, style, size) in lines {
            for line in wrapped(text, size, style.weight, text_width) {
                y += size;
                head.append(text_node(MARGIN, y, &line, Style { size, ..style }));
                y += 0.35 * size;
            }
        }
        let top = y + 10.0;
        let width = self.outer_width();
        let height = (top + self.height + MARGIN).ceil();
        let mut ground = Rectangle::new().set("width", width).set("height", height);
        ground = painted(ground, Tone::Paper, Painted::Area);
        Document::new()
            .set("width", width)
            .set("height", height)
            .set("viewBox", format!("0 0 {width} {height}"))
            .set("font-family", FONT_FAMILY)
            // letters as wide as they were measured, not rounded to the screen's pixels
            .set("text-rendering", "geometricPrecision")
            .set("role", "img")
            .set("aria-label", clean(title))
            .add(Title::new(clean(title)))
            .add(Description::new().add(svg::node::Text::new(clean(description))))
            .add(ground)
            .add(head)
            .add(self.content.set("transform", format!("translate({MARGIN} {})", rounded(top))))
            .to_string()
    }
}

/// The tone of text on a ground of this colour.
pub fn ink_on(colour: Colour) -> Tone {
    Tone::Fixed(colour.contrasting_ink())
}
