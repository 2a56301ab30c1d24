//! SVG to pixels, with the bundled fonts and nothing of the system's.

use std::sync::{Arc, LazyLock};

use resvg::{
    tiny_skia::{Color, Pixmap, Transform},
    usvg::{Options, Tree, fontdb::Database},
};

use crate::fonts::{BOLD, REGULAR};

/// Pixels per inch.
const RESOLUTION: f32 = 300.0;
/// CSS pixels per inch.
const CSS: f32 = 96.0;
/// The longest side of a picture, in pixels: 60 generators fit at full resolution.
const LONGEST: f32 = 12_000.0;

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    fonts.set_sans_serif_family("Arimo");
    Arc::new(fonts)
});

/// Why a picture could not be turned to pixels.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The picture is no SVG that can be read.
    #[error("the picture is no valid SVG")]
    Svg(#[source] resvg::usvg::Error),
    /// It has no area, or there is no memory for it.
    #[error("no picture of {width} by {height} pixels can be made")]
    Size {
        /// The width that it would have, in pixels.
        width: u32,
        /// The height that it would have, in pixels.
        height: u32,
    },
    /// The pixels cannot be written as PNG.
    #[error("the picture could not be written as PNG: {what}")]
    Encode {
        /// The encoder's own words.
        what: String,
    },
}

/// The picture at 300 pixels an inch, as PNG; less if a side would be longer than 12,000 pixels. Fonts of the system
/// play no part: letters that the bundled font lacks become boxes.
///
/// # Errors
/// [`PngError`]; only if `svg` is not of this crate.
pub fn render(svg: &str) -> Result<Vec<u8>, PngError> {
    let options = Options { fontdb: FONTS.clone(), font_family: "Arimo".to_owned(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(PngError::Svg)?;
    let size = tree.size();
    let scale = (RESOLUTION / CSS).min(LONGEST / size.width().max(size.height()));
    let (width, height) = ((size.width() * scale).ceil() as u32, (size.height() * scale).ceil() as u32);
    let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
    // the ground may end within the last pixel
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encode { what: error.to_string() })
}
