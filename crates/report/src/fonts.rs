//! The fonts that come with the program: Arimo, whose letters are as wide as Arial's.

/// The bundled fonts: Latin, Greek, Cyrillic and the signs that figures need (SIL Open Font License 1.1).
pub(crate) const REGULAR: &[u8] = include_bytes!("figures/fonts/Arimo-Regular.ttf");
/// The same, bold.
pub(crate) const BOLD: &[u8] = include_bytes!("figures/fonts/Arimo-Bold.ttf");
