//! The diff of a merge against several parents, read as the change against the first one.
//!
//! Each line of such a hunk begins with one column a parent. A `-` in any of them: the line is not in the result. Without one, the
//! line is in the result, and a `+` says that the column's parent lacks it. So the first column decides, but for a line that only
//! another parent had, which is neither in the first one nor in the result.

use super::{body::Miscount, lines::Lines};
use crate::diff::Counts;

/// A hunk of a merge as one of two files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reduced {
    /// The first line that is not in it any more.
    pub(super) end: usize,
    /// The hunk with its header; nothing if the first parent has all of it.
    pub(super) text: String,
    pub(super) miscounted: Option<Miscount>,
}

/// Where `@@@ -1,2 -3,4 +5,6 @@@` begins and how long it is, in each parent and in the result.
struct Header<'t> {
    /// The number of lines in each parent, then in the result.
    lengths: Vec<usize>,
    first_start: &'t str,
    result_start: &'t str,
    section: &'t str,
}

impl<'t> Header<'t> {
    fn read(line: &'t str) -> Option<Header<'t>> {
        let fence = line.len() - line.trim_start_matches('@').len();
        let (ranges, section) = line[fence..].split_once(&line[..fence])?;
        let ranges: Vec<&str> = ranges.split_whitespace().collect();
        let (result, parents) = ranges.split_last()?;
        if fence < 3 || parents.len() != fence - 1 || parents.iter().any(|range| !range.starts_with('-')) {
            return None;
        }
        let split = |range: &'t str| {
            // behind the sign, of which the result's is looked at below
            let range = range.get(1..)?;
            let (start, length) = range.split_once(',').unwrap_or((range, "1"));
            start.parse::<usize>().ok()?;
            Some((start, length.parse::<usize>().ok()?))
        };
        let parts: Vec<_> = parents.iter().chain([result]).map(|range| split(range)).collect::<Option<_>>()?;
        let (result_start, first_start) = (parts.last().filter(|_| result.starts_with('+'))?.0, parts.first()?.0);
        Some(Header { lengths: parts.iter().map(|(_, length)| *length).collect(), first_start, result_start, section })
    }

    fn n_parents(&self) -> usize {
        self.lengths.len() - 1
    }
}

/// The hunk at line `at`, if that is the header of a merge's hunk.
pub(super) fn reduced(lines: &Lines, at: usize) -> Option<Reduced> {
    let header = Header::read(lines.at(at))?;
    let n = header.n_parents();
    let mut left = header.lengths.clone();
    let mut is_miscounted = false;
    let (mut body, mut found) = (String::new(), Counts { old: 0, new: 0 });
    let (mut is_changed, mut was_kept) = (false, false);
    let mut end = at + 1;
    while end < lines.len() {
        let line = lines.at(end);
        if line.starts_with('\\') {
            if was_kept {
                body.push_str(lines.span(end..end + 1));
            }
            end += 1;
            continue;
        }
        let Some(columns) = columns(line, n).filter(|_| !lines.is_file_start(end)) else { break };
        let all_read = left.iter().all(|&left| left == 0);
        if all_read && (line.trim().is_empty() || lines.is_signature(end)) {
            break;
        }
        let is_lost = columns.contains(&b'-');
        for (parent, left) in left.iter_mut().enumerate() {
            let is_there = match columns.get(parent) {
                Some(b'-') => true,
                Some(b'+') => false,
                // a parent's column, or that of the result
                _ => !is_lost,
            };
            is_miscounted |= is_there && *left == 0;
            *left = left.saturating_sub(usize::from(is_there));
        }
        let marker = match columns[0] {
            b'+' => Some('+'),
            b'-' => Some('-'),
            _ => (!is_lost).then_some(' '),
        };
        was_kept = marker.is_some();
        if let Some(marker) = marker {
            let whole = lines.span(end..end + 1);
            body.push(marker);
            body.push_str(whole.get(n..).filter(|_| line.len() >= n).unwrap_or("\n"));
            found.old += usize::from(marker != '+');
            found.new += usize::from(marker != '-');
            is_changed |= marker != ' ';
        }
        end += 1;
    }
    is_miscounted |= left.iter().any(|&left| left > 0);
    let promised = Counts { old: header.lengths[0], new: header.lengths[n] };
    let Header { first_start, result_start, section, .. } = header;
    let ranges = format!("@@ -{first_start},{} +{result_start},{} @@{section}\n", found.old, found.new);
    Some(Reduced {
        end,
        text: if is_changed { ranges + &body } else { String::new() },
        miscounted: (is_miscounted && promised != found).then_some(Miscount { promised, found }),
    })
}

/// The columns of a line, if it can be one of such a hunk: an editor may have taken blanks off the end of a short one.
fn columns(line: &str, n: usize) -> Option<Vec<u8>> {
    let mut columns = line.as_bytes()[..line.len().min(n)].to_vec();
    columns.resize(n, b' ');
    let is_marked = columns.iter().all(|column| matches!(column, b' ' | b'+' | b'-'));
    // a line is lost or new, never both
    (is_marked && !(columns.contains(&b'+') && columns.contains(&b'-'))).then_some(columns)
}

/// A line above the hunks of a merge's file, as it stands for two files.
pub(super) fn header_line(line: &str) -> String {
    if let Some(name) = line.strip_prefix("diff --cc ").or_else(|| line.strip_prefix("diff --combined ")) {
        return match name.strip_prefix('"') {
            Some(quoted) => format!("diff --git \"a/{quoted} \"b/{quoted}"),
            None => format!("diff --git a/{name} b/{name}"),
        };
    }
    let first = |list: &str| list.split(',').next().unwrap_or_default().to_owned();
    let of_two = || {
        if let Some(ids) = line.strip_prefix("index ") {
            let (parents, result) = ids.split_once("..")?;
            return Some(format!("index {}..{result}", first(parents)));
        }
        if let Some(modes) = line.strip_prefix("mode ") {
            let (parents, result) = modes.split_once("..")?;
            return Some(format!("old mode {}\nnew mode {result}", first(parents)));
        }
        line.strip_prefix("deleted file mode ").map(|modes| format!("deleted file mode {}", first(modes)))
    };
    of_two().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_decides() {
        let merge = "@@@ -1,4 -1,4 +1,4 @@@ def f():\n  both\n -only the second had it\n- only the first had it\n--both had it\n\
                     + new to the first\n +new to the second\n++new to both\n\\ No newline at end of file\nend\n";
        let reduced = reduced(&Lines::new(merge), 0).unwrap();
        assert_eq!(
            reduced.text,
            "@@ -1,4 +1,4 @@ def f():\n both\n-only the first had it\n-both had it\n+new to the first\n new to the second\n\
             +new to both\n\\ No newline at end of file\n"
        );
        assert_eq!(reduced.end, 9);
        assert_eq!(reduced.miscounted, None);
    }

    #[test]
    fn what_the_first_parent_has_is_no_change() {
        let merge = "@@@ -1,1 -1,0 +1,1 @@@\n +x\n";
        assert_eq!(reduced(&Lines::new(merge), 0).unwrap().text, "");
        assert_eq!(reduced(&Lines::new("@@@ merged @@@\n++x\n"), 0), None);
        assert_eq!(reduced(&Lines::new("@@@ -1 -é +1 @@@\n++x\n"), 0), None);
        assert_eq!(reduced(&Lines::new("@@@ -1 -1 é1 @@@\n++x\n"), 0), None);
    }

    #[test]
    fn headers_name_two_files() {
        assert_eq!(header_line("diff --cc a b"), "diff --git a/a b b/a b");
        assert_eq!(header_line("diff --combined \"\\303\""), "diff --git \"a/\\303\" \"b/\\303\"");
        assert_eq!(header_line("index 1,2..3"), "index 1..3");
        assert_eq!(header_line("mode 100644,100644..100755"), "old mode 100644\nnew mode 100755");
        assert_eq!(header_line("deleted file mode 100644,100644"), "deleted file mode 100644");
        assert_eq!(header_line("--- a/x"), "--- a/x");
    }
}
