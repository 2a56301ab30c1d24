//! The complete report as a folder: the page, its figures, its tables.

use std::{
    fmt::Write as _,
    io,
    path::{Component, Path, PathBuf},
};

#[cfg(feature = "figures")]
use rayon::prelude::*;

use super::{evaluation::evaluation_page, html};
#[cfg(feature = "figures")]
use crate::figures::png;
use crate::{
    format::TableFormat,
    grid::latex_escaped,
    pictures::{MissingPicture, Section},
    table::NamedTable,
    views,
};
use veridiff_detector::{Evaluation, LabelledRows};
use veridiff_table::files;

/// The file of a report that lists the others, by a name that nobody else gives a file.
const LISTED: &str = ".veridiff-report";

/// The folders of a report.
const FOLDERS: [&str; 2] = ["figures", "tables"];

/// What the other files of a report are called, without the endings.
const PAGES: [&str; 3] = ["index", "eval", "figures"];

/// A file of a report, before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// The file's path below the folder of the report.
    pub path: PathBuf,
    /// The file's whole content, as it will be written.
    pub bytes: Vec<u8>,
}

/// What can go wrong when a report is made or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A picture cannot be turned to pixels.
    #[cfg(feature = "figures")]
    #[error("cannot draw the figure `{name}`")]
    Png {
        /// The name of the picture's files.
        name: String,
        /// Which step of the drawing failed.
        source: png::PngError,
    },
    /// The template of the page cannot be filled in.
    #[error("cannot make the page of the report")]
    Page(#[source] Box<minijinja::Error>),
    /// The folder, or one in it, cannot be made.
    #[error("cannot make the folder `{path}`")]
    Folder {
        /// The folder that was to be made.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// A file of the report cannot be written.
    #[error("cannot write `{path}`")]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
}

impl ReportError {
    /// What the reader can do next, if we know; printed after the error as `hint: …`.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReportError::Folder { source, .. } | ReportError::Write { source, .. } => Some(match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "you may not write there: give another folder, such as `--out report`".to_owned()
                }
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    "a file stands where a folder is needed: move it, or give another folder".to_owned()
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "the disk is full: make room, or give a folder on another disk".to_owned()
                }
                _ => "check the path that the report goes to, or give another folder".to_owned(),
            }),
            _ => Some("this is a fault of the program; the tables alone do not need it: leave `--out` away".to_owned()),
        }
    }
}

/// Every file of the report of an evaluation of `rows`. `source` is what the user calls the table.
///
/// | path | what |
/// |---|---|
/// | `index.html` | the page: findings, figures with captions, tables, notes |
/// | `figures/NAME.svg`, `.png` | each figure; PNG at 300 pixels an inch; with the feature `figures` only |
/// | `tables/NAME.md`, `.csv`, `.tex`, `.json` | each table; rounded in the first and third, in full in the others |
/// | `eval.md`, `.csv`, `.tex`, `.json` | all tables; the JSON is the whole evaluation |
/// | `figures.tex` | the figures with their captions for LaTeX |
/// | `.veridiff-report` | the paths of all these files, by which the next report in this folder takes away what it does not write |
///
/// # Errors
/// `ReportError::Png` and [`ReportError::Page`], which would be faults of this crate.
pub fn report_files(
    evaluation: &Evaluation,
    rows: &LabelledRows,
    source: &str,
) -> Result<Vec<ReportFile>, ReportError> {
    let (sections, missing) = pictures(evaluation, rows);
    let tables = views::tables(evaluation);
    let page = html::html(evaluation, source, &sections, &missing, &tables)
        .map_err(|error| ReportError::Page(Box::new(error)))?;
    let file = |path: String, bytes: Vec<u8>| ReportFile { path: path.into(), bytes };
    let mut files = vec![file("index.html".into(), page.into_bytes())];
    for (format, ending) in
        [(TableFormat::Md, "md"), (TableFormat::Csv, "csv"), (TableFormat::Latex, "tex"), (TableFormat::Json, "json")]
    {
        files.push(file(format!("eval.{ending}"), evaluation_page(evaluation, format).into_bytes()));
    }
    files.push(file("figures.tex".into(), figures_tex(&sections).into_bytes()));
    files.extend(tables.iter().flat_map(table_files));
    files.extend(picture_files(&sections)?);
    let mut paths: Vec<String> = files.iter().map(|file| format!("{}\n", file.path.display())).collect();
    paths.sort_unstable();
    files.push(file(LISTED.into(), paths.concat().into_bytes()));
    Ok(files)
}

/// A table in each of its formats.
pub(super) fn table_files(table: &NamedTable) -> impl Iterator<Item = ReportFile> {
    let texts = [
        ("md", table.grid.to_markdown()),
        ("csv", table.to_csv()),
        ("tex", table.grid.to_latex()),
        ("json", table.to_json()),
    ];
    let file = |(ending, text): (&str, String)| ReportFile {
        path: format!("tables/{}.{ending}", table.name).into(),
        bytes: text.into_bytes(),
    };
    texts.map(file).into_iter()
}

/// The pictures of the evaluation, and those there is no data for.
#[cfg(feature = "figures")]
fn pictures(evaluation: &Evaluation, rows: &LabelledRows) -> (Vec<Section>, Vec<MissingPicture>) {
    views::pictures(evaluation, rows)
}

/// No pictures: this build draws none.
#[cfg(not(feature = "figures"))]
fn pictures(_: &Evaluation, _: &LabelledRows) -> (Vec<Section>, Vec<MissingPicture>) {
    (Vec::new(), Vec::new())
}

/// Each picture as SVG and PNG.
#[cfg(feature = "figures")]
fn picture_files(sections: &[Section]) -> Result<Vec<ReportFile>, ReportError> {
    let pictures: Vec<_> = sections.iter().flat_map(|section| &section.pictures).collect();
    let drawn = pictures
        .par_iter()
        .map(|picture| {
            let pixels =
                png::render(&picture.svg).map_err(|source| ReportError::Png { name: picture.name.clone(), source })?;
            let file =
                |ending: &str, bytes| ReportFile { path: format!("figures/{}.{ending}", picture.name).into(), bytes };
            Ok([file("svg", picture.svg.clone().into_bytes()), file("png", pixels)])
        })
        .collect::<Result<Vec<_>, ReportError>>()?;
    Ok(drawn.into_iter().flatten().collect())
}

/// No files: this build draws no pictures.
#[cfg(not(feature = "figures"))]
fn picture_files(_: &[Section]) -> Result<Vec<ReportFile>, ReportError> {
    Ok(Vec::new())
}

/// The figures in LaTeX's `figure` environments.
fn figures_tex(sections: &[Section]) -> String {
    let mut text = String::from("% needs graphicx\n");
    for picture in sections.iter().flat_map(|section| &section.pictures) {
        // a picture of less than five inches does not need the whole width
        let share = if picture.width < 480.0 { "0.65" } else { "" };
        let _ = write!(
            text,
            "\\begin{{figure}}\n\\centering\n\
             \\includegraphics[width={share}\\linewidth,height=0.75\\textheight,keepaspectratio]{{figures/{}.png}}\n\
             \\caption{{{}}}\n\\label{{fig:{}}}\n\\end{{figure}}\n\n",
            picture.name,
            latex_escaped(&picture.caption),
            picture.name
        );
    }
    text
}

/// Writes the files into a folder, which is made where it is missing. Each takes its place in one step, over a file of
/// the same name; the page comes last, so that it never shows figures that are not there yet. What an earlier report has left there
/// and this one does not write is taken away; files that are no report's stay.
///
/// # Errors
/// [`ReportError::Folder`] and [`ReportError::Write`].
pub fn write_report(folder: &Path, files: &[ReportFile]) -> Result<(), ReportError> {
    let stale = stale(folder, files);
    let (pages, others): (Vec<&ReportFile>, Vec<&ReportFile>) =
        files.iter().partition(|file| file.path.extension().is_some_and(|ending| ending == "html"));
    for file in others.into_iter().chain(pages) {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|source| ReportError::Folder { path: parent.to_owned(), source })?;
        files::write(&path, &file.bytes).map_err(|source| ReportError::Write { path: path.clone(), source })?;
    }
    for path in stale {
        // one that is gone already is as it should be, and one that cannot be taken away does no harm to the report
        let _removed = std::fs::remove_file(path);
    }
    Ok(())
}

/// The files that an earlier report says it has written into a folder, and that are not among `files`.
fn stale(folder: &Path, files: &[ReportFile]) -> Vec<PathBuf> {
    let listed = std::fs::read_to_string(folder.join(LISTED)).unwrap_or_default();
    // whatever the list says, only what a report writes is taken away
    let is_of_report = |path: &PathBuf| match path.components().collect::<Vec<_>>()[..] {
        [Component::Normal(_)] => path.file_stem().is_some_and(|stem| PAGES.iter().any(|page| stem == *page)),
        [Component::Normal(folder), Component::Normal(_)] => FOLDERS.iter().any(|known| folder == *known),
        _ => false,
    };
    let paths = listed.lines().map(PathBuf::from).filter(is_of_report);
    let stale = paths.filter(|path| files.iter().all(|file| file.path != *path));
    stale.map(|path| folder.join(path)).collect()
}
