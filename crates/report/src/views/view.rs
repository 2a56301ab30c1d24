//! What a view is.

use crate::table::NamedTable;
#[cfg(feature = "figures")]
use crate::{
    figures::Chapter,
    pictures::{MissingPicture, Picture},
};
use veridiff_detector::Evaluation;
#[cfg(feature = "figures")]
use veridiff_detector::LabelledRows;

/// Draws pictures, or says why there is none.
#[cfg(feature = "figures")]
pub(super) type Draw = fn(&Evaluation, &LabelledRows) -> Vec<Result<Picture, MissingPicture>>;

/// How one subject of an evaluation is shown.
pub(super) struct View {
    /// The key of the analysis that it shows; none for figures that every evaluation has.
    pub analysis: Option<&'static str>,
    /// Its place among the tables that are printed; none for a table that is in the folder only.
    pub printed: Option<u8>,
    /// Its tables; none where the evaluation has no figures for them.
    pub tables: fn(&Evaluation) -> Vec<NamedTable>,
    /// Lines that say what the heads of its tables mean, and how its figures were made.
    pub legend: fn(&Evaluation) -> String,
    /// A sentence at the top of the page.
    pub finding: fn(&Evaluation) -> Option<String>,
    /// Its pictures, and where they stand.
    #[cfg(feature = "figures")]
    pub pictures: Option<(Chapter, Draw)>,
}

impl View {
    /// A view that shows nothing: what the others are made from.
    pub const EMPTY: View = View {
        analysis: None,
        printed: None,
        tables: |_| Vec::new(),
        legend: |_| String::new(),
        finding: |_| None,
        #[cfg(feature = "figures")]
        pictures: None,
    };
}
