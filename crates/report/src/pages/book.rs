//! Tables of any kind as a page: printed in every format, or as a folder, in the style of an evaluation's.

use std::fmt::Write;

use serde_json::Value;

use super::{
    folder::{ReportError, ReportFile, table_files},
    html::{Page, Tile},
};
use crate::{
    format::{TableFormat, json, note_lines},
    grid::{Grid, clean},
    table::NamedTable,
};

/// Tables that belong together, and what is said of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Book {
    /// The name of the files that hold all tables, without extension.
    pub stem: String,
    /// What the page is called.
    pub title: String,
    /// What was measured on what, in sentences.
    pub about: String,
    /// The numbers that a reader sees first.
    pub tiles: Vec<Tile>,
    /// What the figures say, in sentences.
    pub findings: Vec<String>,
    /// The tables, the one that matters most first.
    pub tables: Vec<NamedTable>,
    /// How the tables are read, a line each.
    pub legend: String,
    /// What a reader has to know beside the tables; some begin with `warning:`.
    pub notes: Vec<String>,
    /// Everything in full.
    pub record: Value,
}

impl Book {
    /// All tables in one format. CSV is the first table in full, and has no place for notes.
    pub fn page(&self, format: TableFormat) -> String {
        let grids = || self.tables.iter().map(|table| &table.grid).filter(|grid| !grid.is_empty());
        let lines = || self.legend.lines().map(str::to_owned).chain(note_lines(&self.notes));
        let mut page = match format {
            TableFormat::Json => return json(&self.record),
            TableFormat::Csv => return self.tables.first().map_or_else(String::new, NamedTable::to_csv),
            TableFormat::Text => grids().map(Grid::to_text).collect::<Vec<_>>().join("\n"),
            TableFormat::Md => grids().map(Grid::to_markdown).collect::<Vec<_>>().join("\n"),
            TableFormat::Latex => grids().map(Grid::to_latex).collect::<Vec<_>>().join("\n"),
        };
        let before = match format {
            TableFormat::Md => "- ",
            TableFormat::Latex => "% ",
            _ => "",
        };
        page.push('\n');
        for line in lines() {
            let _ = writeln!(page, "{before}{line}");
        }
        page
    }

    /// Every file of the folder: the page `index.html`, all tables in four formats, and each alone under `tables/`.
    ///
    /// # Errors
    /// [`ReportError::Page`], which would be a fault of this crate.
    pub fn files(&self) -> Result<Vec<ReportFile>, ReportError> {
        let findings = self.findings.iter().map(|finding| clean(finding)).collect();
        let page = Page::new(&self.title, &self.about, &self.stem, &self.tables, &self.notes)
            .with(self.tiles.clone(), findings, &self.legend)
            .render()
            .map_err(|error| ReportError::Page(Box::new(error)))?;
        let mut files = vec![ReportFile { path: "index.html".into(), bytes: page.into_bytes() }];
        for (format, ending) in [
            (TableFormat::Md, "md"),
            (TableFormat::Csv, "csv"),
            (TableFormat::Latex, "tex"),
            (TableFormat::Json, "json"),
        ] {
            let path = format!("{}.{ending}", self.stem).into();
            files.push(ReportFile { path, bytes: self.page(format).into_bytes() });
        }
        files.extend(self.tables.iter().flat_map(table_files));
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn book() -> Book {
        let mut grid = Grid::new("Figures", &["who", "share"]);
        grid.push(vec!["<b>a</b>".into(), "0.5".into()]);
        Book {
            stem: "bench".into(),
            title: "Two bots".into(),
            about: "On three changes.".into(),
            tiles: vec![Tile { value: "0.50".into(), what: "share".into(), beside: "one half".into() }],
            findings: vec!["a is <half>.".into()],
            tables: vec![NamedTable::new("shares", grid, vec![json!({ "who": "<b>a</b>", "share": 0.5 })])],
            legend: "share: of all.\n".into(),
            notes: vec!["warning: few rows".into(), "one was left out".into()],
            record: json!({ "share": 0.5 }),
        }
    }

    #[test]
    fn a_folder_has_the_page_and_every_table_in_every_format() {
        let files = book().files().unwrap();
        let paths: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        let endings = ["md", "csv", "tex", "json"];
        let want = ["index.html".to_owned()]
            .into_iter()
            .chain(endings.map(|ending| format!("bench.{ending}")))
            .chain(endings.map(|ending| format!("tables/shares.{ending}")));
        assert_eq!(paths, want.collect::<Vec<_>>());
        let page = String::from_utf8(files[0].bytes.clone()).unwrap();
        assert!(page.contains("&lt;b&gt;a") && !page.contains("<b>a"), "what others wrote is escaped");
        assert!(page.contains("bench.json") && !page.contains("figures.tex"), "it names the files that there are");
        assert!(page.contains("warning: few rows") && page.contains("note: one was left out"));
    }

    #[test]
    fn formats_for_reading_have_the_notes() {
        for (format, has) in [
            (TableFormat::Text, "\nshare: of all.\nwarning: few rows\n"),
            (TableFormat::Md, "\n- share: of all.\n- warning: few rows\n"),
            (TableFormat::Latex, "\n% share: of all.\n% warning: few rows\n"),
            (TableFormat::Csv, "who,share\n<b>a</b>,0.5\n"),
            (TableFormat::Json, "{\n  \"share\": 0.5\n}\n"),
        ] {
            assert!(book().page(format).contains(has), "{format}: {}", book().page(format));
        }
    }
}
