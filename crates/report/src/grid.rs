//! A table of text, and how its numbers and names are written.

use comfy_table::{CellAlignment, ContentArrangement, TableComponent};
use serde::Serialize;

use veridiff_detector::Interval;
use veridiff_text::printable::printable;

/// A table of text: a title, column heads and rows of equal width. The first column is aligned left, the others right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grid {
    title: String,
    /// What is before a line feed is what neighbours have in common; it stands above the rest where the format allows.
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A table without rows under these heads.
    pub fn new(title: impl Into<String>, heads: &[&str]) -> Self {
        Self { title: title.into(), heads: heads.iter().map(|head| head.to_string()).collect(), rows: Vec::new() }
    }

    /// Appends a row; it is cut or filled up with blanks to the width of the heads.
    pub fn push(&mut self, row: Vec<String>) {
        let mut row: Vec<String> = row.iter().map(|cell| printable(cell)).collect();
        row.resize(self.heads.len(), String::new());
        self.rows.push(row);
    }

    /// Whether there is nothing but the heads of the columns.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The title, then aligned columns under ruled heads; no trailing blanks.
    pub fn to_text(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_style(TableComponent::HeaderLines, '─').set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_header(self.text_heads()).add_rows(&self.rows);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 1));
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let body: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        format!("{}\n{body}", printable(&self.title))
    }

    /// The heads with what neighbours have in common above the first of them only.
    fn text_heads(&self) -> Vec<String> {
        let common = |head: &str| head.split_once('\n').map(|(common, _)| common.to_owned());
        let same = |i: usize| i > 0 && common(&self.heads[i]).is_some_and(|c| common(&self.heads[i - 1]) == Some(c));
        let short = |(i, head): (usize, &String)| match head.split_once('\n') {
            Some((_, rest)) if same(i) => format!("\n{rest}"),
            _ => head.clone(),
        };
        self.heads.iter().enumerate().map(short).collect()
    }

    /// A Markdown table under its title in bold.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| c.replace('\n', " ").replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: String = (0..self.heads.len()).map(|i| if i == 0 { "---|" } else { "---:|" }).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("**{}**\n\n{}|{rule}\n{rows}", printable(&self.title), line(&self.heads))
    }

    /// A LaTeX `table` that needs the packages `booktabs` and `graphicx`, which makes it smaller if it is wider than the
    /// text. pdfLaTeX does; names in other scripts than Latin need XeLaTeX or LuaLaTeX, and a font that has them.
    pub fn to_latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex_escaped(&cell.replace('\n', " "))).collect();
            // a bracket behind the end of a line would be its argument
            let guard = if cells.first().is_some_and(|cell| cell.starts_with(['[', '*'])) { "{}" } else { "" };
            format!("{guard}{} \\\\\n", cells.join(" & "))
        };
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        let columns = format!("l{}", "r".repeat(self.heads.len().saturating_sub(1)));
        format!(
            "% needs booktabs and graphicx\n\\begin{{table}}\n\\caption{{{}}}\n\
             \\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n\
             \\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}%\n}}\n\
             \\end{{table}}\n",
            latex_escaped(&printable(&self.title)),
            line(&self.heads)
        )
    }
}

/// Text as LaTeX sets it: its special characters, and the signs that figures are written with, as commands.
pub(crate) fn latex_escaped(text: &str) -> String {
    let mut out = String::new();
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let starts_number = || matches!(before, None | Some(' ' | '[' | '('));
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '±' => out.push_str("$\\pm$"),
            'χ' => out.push_str("$\\chi$"),
            '²' => out.push_str("$^2$"),
            '−' => out.push_str("$-$"),
            '-' if starts_number() && rest.peek().is_some_and(char::is_ascii_digit) => out.push_str("$-$"),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// Text that may stand in XML: control characters and those that turn the direction of writing are escaped as text, and
/// the code points that XML forbids are replaced.
pub(crate) fn clean(text: &str) -> String {
    printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// A rate, 0 to 1, with three decimals; `-` where there is none.
pub fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// A rate with its 95% interval, which has two decimals.
pub fn with_interval(value: Option<f64>, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { low, high }) => format!("{} [{low:.2}, {high:.2}]", rate(value)),
        None => rate(value),
    }
}

/// A number of any magnitude in few characters.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        x if x != 0.0 && !(1e-3..1e6).contains(&x) => format!("{value:.3e}"),
        // an empty sum is -0, which says nothing
        _ => format!("{:.4}", value + 0.0),
    }
}

/// A p-value, 0 to 1, with four decimals, or its magnitude where it is small.
pub(crate) fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        // smaller ones have lost their digits, down to zero
        Some(p) if p < 1e-99 => "<1e-99".to_owned(),
        Some(p) if p < 1e-4 => format!("{p:.0e}"),
        Some(p) => format!("{p:.4}"),
    }
}

/// An interval with two decimals; `-` where there is none.
pub(crate) fn interval_text(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "-".to_owned(), |Interval { low, high }| format!("[{low:.2}, {high:.2}]"))
}

/// A difference or correlation with its sign and three decimals; `-` where there is none.
pub(crate) fn signed(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:+.3}"))
}

/// Part of a whole with its share in percent.
pub fn part(count: usize, whole: usize) -> String {
    if whole == 0 { count.to_string() } else { format!("{count} ({:.0}%)", 100.0 * count as f64 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new("T_1", &["name", "AUC"]);
        grid.push(vec!["a_b|c".into(), "0.5".into()]);
        grid.push(vec!["x\u{1b}[31m\n".into()]);
        grid
    }

    #[test]
    fn text_is_aligned_and_holds_no_control_characters() {
        let text = grid().to_text();
        assert!(!text.contains('\u{1b}'), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "T_1");
        assert!(lines[3].starts_with("a_b|c ") && lines[3].ends_with(" 0.5"), "{text}");
        assert!(lines[4].contains("\\u{1b}[31m\\n"), "{text}");
    }

    #[test]
    fn markdown_and_latex_escape_what_they_must() {
        assert!(grid().to_markdown().contains("| a_b\\|c | 0.5 |\n"), "{}", grid().to_markdown());
        assert!(grid().to_latex().contains("a\\_b\\textbar{}c & 0.5 \\\\\n"), "{}", grid().to_latex());
        assert_eq!(latex_escaped("5% {x}\\"), "5\\% \\{x\\}\\textbackslash{}");
        assert_eq!(latex_escaped("<a-1> [-0.5, -2]"), "\\textless{}a-1\\textgreater{} [$-$0.5, $-$2]");
        let mut grid = Grid::new("", &["name"]);
        grid.push(vec!["[x]".into()]);
        assert!(grid.to_latex().contains("\n{}[x] \\\\\n"), "a bracket is no argument: {}", grid.to_latex());
    }

    #[test]
    fn heads_in_common_stand_once_in_text_and_everywhere_else_in_full() {
        let mut grid = Grid::new("", &["a", "in sample\nAUC", "in sample\nacc."]);
        grid.push(vec!["x".into(), "0.5".into(), "0.25".into()]);
        assert_eq!(grid.to_text().matches("in sample").count(), 1, "{}", grid.to_text());
        assert!(grid.to_markdown().contains("| a | in sample AUC | in sample acc. |"), "{}", grid.to_markdown());
        assert!(grid.to_latex().contains("a & in sample AUC & in sample acc. \\\\\n"), "{}", grid.to_latex());
    }

    #[test]
    fn numbers_keep_four_figures_at_any_magnitude() {
        assert_eq!((number(0.0), number(-0.0)), ("0.0000".to_owned(), "0.0000".to_owned()));
        assert_eq!(number(-2.5), "-2.5000");
        assert_eq!(number(1.5e-7), "1.500e-7");
        assert_eq!(number(3.0e9), "3.000e9");
    }
}
