//! A change undone.

use veridiff_text::diff::{Diff, LineKind};

/// The diff that `git revert` would make of a change: what was added is removed, what was removed is added.
///
/// A run of changed lines shows removed ones first, as git does. `None` for what has no plain counterpart: copies, binary files.
pub fn undone(diff: &Diff) -> Option<String> {
    let mut out = String::with_capacity(diff.text().len());
    let mut added: Vec<&str> = Vec::new();
    let mut header: Vec<&str> = Vec::new();
    // what was removed is added behind the run; `\ No newline` goes with the line above it
    let mut behind = String::new();
    let flush = |out: &mut String, added: &mut Vec<&str>, behind: &mut String| {
        for line in added.drain(..) {
            push(out, if line.starts_with('\\') { "" } else { "-" }, line);
        }
        out.push_str(behind);
        behind.clear();
    };
    let mut last = LineKind::Header;
    for (index, line) in diff.lines().iter().enumerate() {
        let text = diff.line_text(index);
        let code = text.get(1..).unwrap_or("");
        match line.kind {
            LineKind::Added => added.push(code),
            LineKind::Removed => push(&mut behind, "+", code),
            LineKind::Header if text.starts_with('\\') => match last {
                LineKind::Added => added.push(text),
                LineKind::Removed => push(&mut behind, "", text),
                _ => push(&mut out, "", text),
            },
            LineKind::Context => {
                flush(&mut out, &mut added, &mut behind);
                push(&mut out, "", text);
            }
            LineKind::Header => {
                flush(&mut out, &mut added, &mut behind);
                if text.starts_with("@@") {
                    write_header(&mut out, &mut header)?;
                    push(&mut out, "", &swapped_hunk(text)?);
                } else {
                    if text.starts_with("diff --git ") {
                        write_header(&mut out, &mut header)?;
                    }
                    header.push(text);
                }
            }
        }
        if !(line.kind == LineKind::Header && text.starts_with('\\')) {
            last = line.kind;
        }
    }
    flush(&mut out, &mut added, &mut behind);
    write_header(&mut out, &mut header)?;
    Some(out)
}

fn push(out: &mut String, sign: &str, line: &str) {
    out.push_str(sign);
    out.push_str(line);
    out.push('\n');
}

/// A file's header with its sides swapped.
fn write_header(out: &mut String, header: &mut Vec<&str>) -> Option<()> {
    let find = |start: &str| header.iter().find_map(|line| line.strip_prefix(start));
    let side = |name: &str, to: &str| match name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")) {
        Some(bare) => format!("{to}{bare}"),
        None => name.to_owned(),
    };
    let (old, new) = (find("--- "), find("+++ "));
    for line in header.iter() {
        let swapped = if line.starts_with("copy ") || line.starts_with("Binary ") {
            return None;
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            match names.split_once(" b/").filter(|(old, _)| old.starts_with("a/") && !names.contains('"')) {
                Some((old, new)) => format!("diff --git a/{new} b/{}", &old[2..]),
                None => return None,
            }
        } else if let Some(mode) = line.strip_prefix("new file mode ") {
            format!("deleted file mode {mode}")
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            format!("new file mode {mode}")
        } else if line.starts_with("rename from ") {
            format!("rename from {}", find("rename to ")?)
        } else if line.starts_with("rename to ") {
            format!("rename to {}", find("rename from ")?)
        } else if line.starts_with("old mode ") {
            format!("old mode {}", find("new mode ")?)
        } else if line.starts_with("new mode ") {
            format!("new mode {}", find("old mode ")?)
        } else if let Some(index) = line.strip_prefix("index ") {
            let (hashes, mode) = index.split_once(' ').map_or((index, String::new()), |(h, m)| (h, format!(" {m}")));
            let (old, new) = hashes.split_once("..")?;
            format!("index {new}..{old}{mode}")
        } else if line.starts_with("--- ") {
            format!("--- {}", side(new?, "a/"))
        } else if line.starts_with("+++ ") {
            format!("+++ {}", side(old?, "b/"))
        } else {
            (*line).to_owned()
        };
        push(out, "", &swapped);
    }
    header.clear();
    Some(())
}

/// `@@ -1,2 +1,3 @@ code` with its ranges swapped.
fn swapped_hunk(line: &str) -> Option<String> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, section) = rest.split_once(" @@")?;
    Some(format!("@@ -{new} +{old} @@{section}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/n.go b/n.go\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/n.go\n\
@@ -0,0 +1 @@\n+package n\n\\ No newline at end of file\ndiff --git a/x.py b/y.py\nsimilarity index 90%\nrename from x.py\n\
rename to y.py\nindex 1..2 100644\n--- a/x.py\n+++ b/y.py\n@@ -1,3 +1,4 @@ def f():\n a\n-b\n+c\n+d\n e\n";

    #[test]
    fn undone_twice_is_as_it_was() {
        let once = undone(&Diff::parse(DIFF).unwrap()).unwrap();
        assert!(
            once.contains("deleted file mode 100644\nindex 1111111..0000000\n--- a/n.go\n+++ /dev/null\n"),
            "{once}"
        );
        assert!(once.contains("@@ -1,4 +1,3 @@ def f():\n a\n-c\n-d\n+b\n e\n"), "{once}");
        assert!(once.contains("-package n\n\\ No newline at end of file\n"), "{once}");
        assert_eq!(undone(&Diff::parse(&once).unwrap()).unwrap(), DIFF);
    }

    #[test]
    fn binary_files_have_no_counterpart() {
        let diff = "diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n";
        assert_eq!(undone(&Diff::parse(diff).unwrap()), None);
    }
}
