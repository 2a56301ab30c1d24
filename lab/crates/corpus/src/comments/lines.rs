//! Which lines of a hunk are comments and nothing else.

use veridiff_text::diff::Diff;
use veridiff_text::language;

/// For each line of one side of a hunk whether it is one of a comment or docstring.
pub(super) fn is_comment(diff: &Diff, side: &[usize], path: &str) -> Vec<bool> {
    let lines: Vec<&str> = side.iter().map(|&at| diff.line_text(at).get(1..).unwrap_or("").trim()).collect();
    match language::of_file(path) {
        Some("python") => docstrings(&lines),
        Some("ruby" | "shell") => lines.iter().map(|line| is_hash(line)).collect(),
        Some("php") => blocks(&lines).into_iter().zip(&lines).map(|(is, line)| is || is_hash(line)).collect(),
        Some("markdown") | None => vec![false; lines.len()],
        Some(_) => blocks(&lines),
    }
}

/// `#` before words; `#!`, `#[` and `#include` are code.
fn is_hash(line: &str) -> bool {
    line == "#" || line.starts_with("# ")
}

/// Lines behind `//`, and those between `/*` and `*/`.
fn blocks(lines: &[&str]) -> Vec<bool> {
    let mut is_open = false;
    let of_line = |line: &&str| {
        let opens = line.starts_with("/*");
        let is_starred = line.starts_with("* ") || *line == "*" || line.starts_with("*/");
        let is = opens || is_starred || is_open || line.starts_with("//");
        let closes = line.contains("*/");
        is_open = (is_open || opens) && !closes;
        // code behind the end of a comment
        is && (!closes || line.ends_with("*/"))
    };
    lines.iter().map(of_line).collect()
}

/// How a line of Python stands to docstrings.
#[derive(Clone, Copy, PartialEq)]
enum Quote {
    None,
    Whole,
    Opens,
    Closes,
    /// Three quotes alone, which do either.
    Alone,
    /// A string that is a value.
    Value,
}

fn quote(line: &str) -> Quote {
    let bare = line.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']);
    let mark = if line.contains("\"\"\"") { "\"\"\"" } else { "'''" };
    let (n, begins) = (line.matches(mark).count(), bare.starts_with(mark));
    match (n, begins) {
        (0, _) => Quote::None,
        (1, true) if bare == mark => Quote::Alone,
        (1, true) => Quote::Opens,
        (2, true) if line.ends_with(mark) => Quote::Whole,
        (1, false) if line.ends_with(mark) && !line.trim_end_matches(mark).trim_end().ends_with(['=', '(', ',']) => {
            Quote::Closes
        }
        (1, _) => Quote::Value,
        _ => Quote::None,
    }
}

/// Lines behind `#`, and those of docstrings.
fn docstrings(lines: &[&str]) -> Vec<bool> {
    let first = lines.iter().position(|line| quote(line) != Quote::None);
    // a hunk that begins within a docstring shows its end first
    let opens_head = |at: usize| {
        at == 0 || lines[..at].iter().rev().find(|line| !line.is_empty()).is_none_or(|line| line.ends_with(':'))
    };
    let mut is_open = first.is_some_and(|at| match quote(lines[at]) {
        Quote::Closes => true,
        Quote::Alone => !opens_head(at),
        _ => false,
    });
    let mut is_value = false;
    let mut found = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let is = match quote(line) {
            _ if is_value => {
                is_value = quote(line) == Quote::None;
                false
            }
            Quote::None => is_open || is_hash(line),
            Quote::Whole => {
                is_open = false;
                true
            }
            Quote::Opens => {
                is_open = true;
                true
            }
            Quote::Closes => {
                is_open = false;
                true
            }
            Quote::Alone => {
                is_open = !is_open && opens_head(at);
                true
            }
            Quote::Value => {
                is_value = true;
                false
            }
        };
        found.push(is);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(path: &str, code: &str) -> String {
        let hunk: String = code.lines().map(|line| format!(" {line}\n")).collect();
        let diff = Diff::parse(&hunk).unwrap();
        let lines = is_comment(&diff, &(0..diff.lines().len()).collect::<Vec<_>>(), path);
        lines.into_iter().map(|is| if is { '#' } else { '.' }).collect()
    }

    #[test]
    fn comments_by_language() {
        assert_eq!(marked("x.go", "// A\nfunc A() {\n  b() // c\n}"), "#...");
        assert_eq!(marked("X.java", "/**\n * A\n */\nint a;\n/* one */ int b;\n*p = 1;"), "###...");
        assert_eq!(marked("x.c", "/* A\n   goes on */\nint a;"), "##.");
        assert_eq!(marked("x.rb", "# A\n#!b\ndef c"), "#..");
        assert_eq!(marked("x.txt", "# A"), ".");
    }

    #[test]
    fn docstrings_by_their_quotes() {
        assert_eq!(marked("x.py", "def f():\n    \"\"\"A.\n\n    B.\n    \"\"\"\n    c\n    # d"), ".####.#");
        assert_eq!(marked("x.py", "def f():\n    \"\"\"A.\"\"\"\n    c"), ".#.");
        assert_eq!(marked("x.py", "    cut off\n    \"\"\"\n    c"), "##.");
        assert_eq!(marked("x.py", "    cut off.\"\"\"\n    c"), "#.");
        assert_eq!(marked("x.py", "a = \"\"\"\nb\n\"\"\"\nc"), "....");
    }
}
