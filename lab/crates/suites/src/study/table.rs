//! A table and the ways to write it.

use std::fmt::Write as _;

use serde::Serialize;

/// A table: a title, heads, and rows of cells. It is no `Grid` of a report, whose Markdown and LaTeX look otherwise: what is written here
/// is read by what others have made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// A name for its file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(name: &str, title: &str, heads: &[&str]) -> Table {
        Table {
            name: name.into(),
            title: title.into(),
            heads: heads.iter().map(|head| (*head).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let cell = |text: &String| text.replace('|', "\\|").replace('\n', " ");
        let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(cell).collect::<Vec<_>>().join(" | "));
        let rule = format!("|{}\n", "---|".repeat(self.heads.len()));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("### {}\n\n{}{rule}{rows}\n", self.title, line(&self.heads))
    }

    /// As comma-separated values.
    pub fn csv(&self) -> String {
        let cell = |text: &String| {
            if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.clone() }
        };
        let line = |cells: &Vec<String>| format!("{}\n", cells.iter().map(cell).collect::<Vec<_>>().join(","));
        std::iter::once(&self.heads).chain(&self.rows).map(line).collect()
    }

    /// As a `tabular` of LaTeX.
    pub fn latex(&self) -> String {
        let cell = |text: &String| {
            text.chars().fold(String::new(), |mut out, c| {
                match c {
                    '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
                    '\\' => out.push_str("\\textbackslash{}"),
                    '~' | '^' => {
                        let _ = write!(out, "\\{c}{{}}");
                    }
                    c => out.push(c),
                }
                out
            })
        };
        let line = |cells: &Vec<String>| format!("{} \\\\\n", cells.iter().map(cell).collect::<Vec<_>>().join(" & "));
        let rows: String = self.rows.iter().map(line).collect();
        format!(
            "% {}\n\\begin{{tabular}}{{{}}}\n{}\\hline\n{rows}\\end{{tabular}}\n",
            self.title,
            "l".repeat(self.heads.len()),
            line(&self.heads)
        )
    }
}
