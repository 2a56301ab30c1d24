//! What is shown of an evaluation, as one list.
//!
//! A view is one file of this folder: the tables of one subject, the pictures drawn of it, what it adds to the legend and to
//! the sentences at the top of the page. [`VIEWS`] lists them all, so that what is printed, what is in the folder and what is
//! on the page cannot differ: each walks this list.

mod coefficients;
mod columns;
mod combination;
mod comparison;
mod generators;
mod joint;
mod metrics;
mod mistakes;
mod overlap;
mod quality;
mod repeats;
mod stepwise;
mod transfer;
mod view;

use view::View;

use crate::table::NamedTable;
#[cfg(feature = "figures")]
use crate::{
    figures::Chapter,
    pictures::{MissingPicture, Section},
};
use veridiff_detector::Evaluation;
#[cfg(feature = "figures")]
use veridiff_detector::LabelledRows;

/// Every view, in the order in which a report has them.
const VIEWS: [&View; 15] = [
    &combination::VIEW,
    &metrics::VIEW,
    &quality::VIEW,
    &generators::VIEW,
    &mistakes::VIEW,
    &comparison::VIEW,
    &coefficients::LEADING,
    &coefficients::VIEW,
    &stepwise::CHOICE,
    &stepwise::VIEW,
    &columns::VIEW,
    &overlap::VIEW,
    &joint::VIEW,
    &repeats::VIEW,
    &transfer::VIEW,
];

/// The tables of some views, as far as the evaluation has figures for them.
fn tables_of(views: &[&View], evaluation: &Evaluation) -> Vec<NamedTable> {
    let is_made = |view: &&&View| view.analysis.is_none_or(|key| evaluation.analyses.keys().any(|made| made == key));
    let tables = views.iter().filter(is_made).flat_map(|view| (view.tables)(evaluation));
    tables.filter(|table| !table.grid.is_empty()).collect()
}

/// Every table of a report, in its order. No two have the same name.
pub(crate) fn tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let mut tables = tables_of(&VIEWS, evaluation);
    let mut names = Vec::new();
    for table in &mut tables {
        distinguish(&mut table.name, &mut names);
    }
    tables
}

/// The tables that are printed, in the order to read them in a terminal.
pub(crate) fn printed_tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let mut views: Vec<&View> = VIEWS.into_iter().filter(|view| view.printed.is_some()).collect();
    views.sort_by_key(|view| view.printed);
    tables_of(&views, evaluation)
}

/// What the heads of all tables mean, and how figures were made.
pub(crate) fn legend(evaluation: &Evaluation) -> String {
    VIEWS.iter().map(|view| (view.legend)(evaluation)).collect()
}

/// What the views say at the top of the page.
pub(crate) fn findings(evaluation: &Evaluation) -> impl Iterator<Item = String> {
    VIEWS.iter().filter_map(|view| (view.finding)(evaluation))
}

/// Every picture that the evaluation has data for, by section, and those that it has none for. `rows` are the rows evaluated.
#[cfg(feature = "figures")]
pub(crate) fn pictures(evaluation: &Evaluation, rows: &LabelledRows) -> (Vec<Section>, Vec<MissingPicture>) {
    let (mut sections, mut missing, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for chapter in Chapter::ALL {
        let of_chapter = VIEWS.iter().filter_map(|view| view.pictures.as_ref()).filter(|(own, _)| *own == chapter);
        let mut pictures = Vec::new();
        for drawn in of_chapter.flat_map(|(_, draw)| draw(evaluation, rows)) {
            match drawn {
                Ok(mut picture) => {
                    distinguish(&mut picture.name, &mut names);
                    pictures.push(picture);
                }
                Err(without) => missing.push(without),
            }
        }
        if !pictures.is_empty() {
            sections.push(Section { title: chapter.title(), pictures });
        }
    }
    (sections, missing)
}

/// Gives a name that was given before a number: two columns may differ only in what a file's name cannot hold.
fn distinguish(name: &mut String, names: &mut Vec<String>) {
    let twins = names.iter().filter(|earlier| *earlier == name).count();
    names.push(name.clone());
    if twins > 0 {
        *name += &format!("-{}", twins + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_core::analysis::KINDS;

    #[test]
    fn every_analysis_is_shown_and_printed() {
        for kind in KINDS {
            let mut views = VIEWS.iter().filter(|view| view.analysis == Some(kind.key));
            assert!(views.any(|view| view.printed.is_some()), "no view of `{}` is printed", kind.key);
        }
        let known = |key: &str| KINDS.iter().any(|kind| kind.key == key);
        assert!(VIEWS.iter().filter_map(|view| view.analysis).all(known), "a view is of an analysis that there is not");
        let mut places: Vec<u8> = VIEWS.iter().filter_map(|view| view.printed).collect();
        places.sort_unstable();
        assert_eq!(places, (0..places.len() as u8).collect::<Vec<_>>(), "each place is taken once");
    }
}
