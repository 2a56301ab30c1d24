//! The complete report as a folder: the page, its figures, its tables.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use super::{
    figures::{Section, figures, png},
    page,
    paper_tables::named_tables,
    tables::{Format, evaluation_page, latex_escaped},
};
use veridiff_detector::{Evaluation, LabelledRows};
use veridiff_table::files;

/// A file of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Its path in the folder.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// What can go wrong when a report is made or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A picture that cannot be turned to pixels.
    #[error("cannot draw the figure `{name}`")]
    Png {
        /// Its name.
        name: String,
        /// Why.
        source: png::PngError,
    },
    /// The page's template.
    #[error("cannot make the page of the report")]
    Page(#[source] Box<minijinja::Error>),
    /// A folder that cannot be made.
    #[error("cannot make the folder `{path}`")]
    Folder {
        /// It.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write `{path}`")]
    Write {
        /// It.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Every file of the report of an evaluation of `rows`. `source` is what the user calls the table.
///
/// | path | what |
/// |---|---|
/// | `index.html` | the page: findings, figures with captions, tables, notes |
/// | `figures/NAME.svg`, `.png` | each figure; PNG at 300 pixels an inch |
/// | `tables/NAME.md`, `.csv`, `.tex`, `.json` | each table; rounded in the first and third, in full in the others |
/// | `eval.md`, `.csv`, `.tex`, `.json` | all tables; the JSON is the whole evaluation |
/// | `figures.tex` | the figures with their captions for LaTeX |
///
/// # Errors
/// [`ReportError::Png`] and [`ReportError::Page`], which would be faults of this crate.
pub fn report_files(
    evaluation: &Evaluation,
    rows: &LabelledRows,
    source: &str,
) -> Result<Vec<ReportFile>, ReportError> {
    let (sections, left_out) = figures(evaluation, rows);
    let tables = named_tables(evaluation);
    let page = page::html(evaluation, source, &sections, &left_out, &tables)
        .map_err(|error| ReportError::Page(Box::new(error)))?;
    let file = |path: String, bytes: Vec<u8>| ReportFile { path: path.into(), bytes };
    let mut files = vec![file("index.html".into(), page.into_bytes())];
    for (format, ending) in [(Format::Md, "md"), (Format::Csv, "csv"), (Format::Latex, "tex"), (Format::Json, "json")] {
        files.push(file(format!("eval.{ending}"), evaluation_page(evaluation, format).into_bytes()));
    }
    files.push(file("figures.tex".into(), figures_tex(&sections).into_bytes()));
    for table in &tables {
        let texts = [
            ("md", table.grid.to_markdown()),
            ("csv", table.to_csv()),
            ("tex", table.grid.to_latex()),
            ("json", table.to_json()),
        ];
        files.extend(
            texts.into_iter().map(|(ending, text)| file(format!("tables/{}.{ending}", table.name), text.into_bytes())),
        );
    }
    let pictures: Vec<_> = sections.iter().flat_map(|section| &section.figures).collect();
    let drawn = pictures
        .par_iter()
        .map(|figure| {
            let pixels =
                png::render(&figure.svg).map_err(|source| ReportError::Png { name: figure.name.clone(), source })?;
            let path = |ending: &str| format!("figures/{}.{ending}", figure.name);
            Ok([file(path("svg"), figure.svg.clone().into_bytes()), file(path("png"), pixels)])
        })
        .collect::<Result<Vec<_>, ReportError>>()?;
    files.extend(drawn.into_iter().flatten());
    Ok(files)
}

/// The figures in LaTeX's `figure` environments.
fn figures_tex(sections: &[Section]) -> String {
    let mut text = String::from("% needs graphicx\n");
    for figure in sections.iter().flat_map(|section| &section.figures) {
        // a picture of less than five inches does not need the whole width
        let share = if figure.width < 480.0 { "0.65" } else { "" };
        let _ = write!(
            text,
            "\\begin{{figure}}\n\\centering\n\
             \\includegraphics[width={share}\\linewidth,height=0.75\\textheight,keepaspectratio]{{figures/{}.png}}\n\
             \\caption{{{}}}\n\\label{{fig:{}}}\n\\end{{figure}}\n\n",
            figure.name,
            latex_escaped(&figure.caption),
            figure.name
        );
    }
    text
}

/// Writes the files into a folder, which is made where it is missing. Each takes its place in one step, over a file of
/// the same name; the page comes last, so that it never shows figures that are not there yet.
///
/// # Errors
/// [`ReportError::Folder`] and [`ReportError::Write`].
pub fn write_report(folder: &Path, files: &[ReportFile]) -> Result<(), ReportError> {
    let (pages, others): (Vec<&ReportFile>, Vec<&ReportFile>) =
        files.iter().partition(|file| file.path.extension().is_some_and(|ending| ending == "html"));
    for file in others.into_iter().chain(pages) {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|source| ReportError::Folder { path: parent.to_owned(), source })?;
        files::write(&path, &file.bytes).map_err(|source| ReportError::Write { path: path.clone(), source })?;
    }
    Ok(())
}
