//! The pictures of a report as data, whoever drew them.

/// A finished picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    /// The name of its files, without extension.
    pub name: String,
    /// What the picture shows, as its heading says it.
    pub title: String,
    /// What it shows in full: rows, procedure, intervals, settings.
    pub caption: String,
    /// The picture itself, as SVG.
    pub svg: String,
    /// How wide it is, in CSS pixels.
    pub width: f64,
}

/// A picture that there is no data for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingPicture {
    /// What it would have shown.
    pub title: String,
    /// Why there is no picture, in words.
    pub why: String,
}

/// Pictures that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    /// The heading that stands above the pictures.
    pub title: &'static str,
    /// The pictures, in the order to look at them.
    pub pictures: Vec<Picture>,
}
