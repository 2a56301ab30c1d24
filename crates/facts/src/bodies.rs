//! Functions that a change shows from their first line to their last: of these alone it can be said what they lack.

use veridiff_text::diff::{Diff, LineKind};

use crate::blocks::{Blocks, SideLine, function_name};

/// A function that one side of a change shows whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Its lines, its head among them, by index in [`Diff::lines`], in order.
    pub lines: Vec<usize>,
}

impl Body {
    /// Whether a line is one of it.
    pub fn has(&self, line: usize) -> bool {
        self.lines.binary_search(&line).is_ok()
    }
}

/// The whole functions of a side, in order.
pub fn bodies(diff: &Diff, side: &Blocks<'_>) -> Vec<Body> {
    let of = |(at, line): (usize, &SideLine<'_>)| {
        let name = function_name(line.code)?;
        let lines = whole(diff, &side.lines[at..])?;
        Some(Body { name, lines })
    };
    side.lines.iter().enumerate().filter_map(of).collect()
}

/// The lines of the function that the first of some lines opens; none where it may go on in what the change does not show.
fn whole(diff: &Diff, lines: &[SideLine<'_>]) -> Option<Vec<usize>> {
    let (head, rest) = lines.split_first()?;
    let is_one_hunk = |a: usize, b: usize| diff.lines()[a..=b].iter().all(|line| line.kind != LineKind::Header);
    let mut found = vec![head.line];
    if head.code.contains('{') && head.code.ends_with(['}', ';']) {
        return Some(found);
    }
    for line in rest {
        if !is_one_hunk(head.line, line.line) {
            break;
        }
        // what goes on from the head, and what stands at the margin in any block
        let is_inside = line.indent > head.indent
            || line.code.starts_with([')', '{', ']', '#'])
            || line.code.starts_with("->")
            || line.code.starts_with("where ");
        if !is_inside {
            if line.indent == head.indent && (line.code.starts_with('}') || line.code == "end") {
                found.push(line.line);
            }
            return Some(found);
        }
        found.push(line.line);
    }
    // git shows lines behind the last changed one wherever the file has any
    let last = *found.last()?;
    let is_end = diff.lines().get(last + 1).is_none_or(|next| next.kind == LineKind::Header);
    (is_end && found.iter().all(|&line| diff.lines()[line].kind == LineKind::Added)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(String, usize)> {
        let diff = Diff::parse(text).unwrap();
        let all = bodies(&diff, &Blocks::new_side(&diff));
        all.into_iter().map(|body| (body.name, body.lines.len())).collect()
    }

    #[test]
    fn only_what_is_seen_to_end_is_whole() {
        let python =
            "@@ @@\n def a(x):\n+    if x:\n+        b()\n     return 1\n \n def c(\n     x,\n ):\n     return x\n";
        assert_eq!(shown(python), [("a".to_owned(), 4)]);
        let go = "@@ @@\n+func a(x int) {\n+\tb()\n+}\n+\n+func c() {\n+\td()\n \te()\n";
        assert_eq!(shown(go), [("a".to_owned(), 3)]);
        let end = "@@ @@\n+def a\n+  b\n+end\n@@ @@\n+def c():\n+    d()\n";
        assert_eq!(shown(end), [("a".to_owned(), 3), ("c".to_owned(), 2)]);
    }
}
