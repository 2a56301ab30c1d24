//! Both sides of every file of a diff, as texts whose lines know where they stand in the diff.

use std::ops::Range;

use veridiff_text::diff::{Diff, Line, LineKind};

use crate::language::Language;

/// One side of a file: what a diff shows of it, or all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// The code, without markers and carriage returns.
    pub text: String,
    /// For each line of the text its index in [`Diff::lines`]; `None` for a line that no hunk shows, as the blank one between hunks.
    pub lines: Vec<Option<usize>>,
    /// For each line of the text whether the other side lacks it.
    pub changed: Vec<bool>,
    /// The bytes of the text that hang together: a hunk each, or all of it.
    pub pieces: Vec<Range<usize>>,
}

/// A file before and after a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChange {
    /// Its name before; `None` if it is new, or if the diff names no files.
    pub old_name: Option<String>,
    /// Its name after; `None` if it is deleted, or if the diff names no files.
    pub new_name: Option<String>,
    /// Its language, if it is one with a grammar.
    pub language: Option<Language>,
    /// What is shown of it before the change.
    pub old: Side,
    /// What is shown of it after the change.
    pub new: Side,
    /// Whether the sides are whole files.
    pub whole: bool,
}

impl FileChange {
    /// The files of a diff in their order, those without lines in hunks left out. `hint` names the language of lines without a file's name;
    /// without it the lines have to tell.
    pub fn of_diff(diff: &Diff, hint: Option<&str>) -> Vec<FileChange> {
        let lines = diff.lines();
        let mut files = Vec::new();
        let mut start = 0;
        while start < lines.len() {
            let file = lines[start].file;
            let end = start + lines[start..].iter().take_while(|line| line.file == file).count();
            // lines before the first file's name, such as a mail's, have no hunk
            if lines[start..end].iter().any(|line| line.kind != LineKind::Header) {
                files.push(read_file(diff, start..end, hint));
            }
            start = end;
        }
        files
    }

    /// The same file with all of its lines, where they are known. A side whose text contradicts the diff's line numbers stays as it is.
    pub fn with_whole(self, old_text: &str, new_text: &str, diff: &Diff) -> FileChange {
        let old = whole(&self.old, old_text, diff, |line| line.old);
        let new = whole(&self.new, new_text, diff, |line| line.new);
        match (old, new) {
            (Some(old), Some(new)) => FileChange { old, new, whole: true, ..self },
            _ => self,
        }
    }

    /// The name that the file goes by: the new one, or the old one of a deleted file.
    pub fn name(&self) -> Option<&str> {
        self.new_name.as_deref().or(self.old_name.as_deref())
    }

    /// Whether the change adds the file.
    pub fn is_added(&self) -> bool {
        self.old_name.is_none() && self.new_name.is_some()
    }

    /// Whether the change deletes the file.
    pub fn is_deleted(&self) -> bool {
        self.old_name.is_some() && self.new_name.is_none()
    }

    /// Whether the change gives the file another name.
    pub fn is_renamed(&self) -> bool {
        matches!((&self.old_name, &self.new_name), (Some(old), Some(new)) if old != new)
    }
}

/// The file that some lines of a diff are about.
fn read_file(diff: &Diff, range: Range<usize>, hint: Option<&str>) -> FileChange {
    let mut file = FileChange::default();
    let index = diff.lines()[range.start].file;
    if let Some(name) = index.and_then(|index| diff.files().get(index)).filter(|name| !name.is_empty()) {
        file.old_name = Some(name.clone());
        file.new_name = Some(name.clone());
    }
    let mut in_hunk = false;
    for at in range {
        let line = &diff.lines()[at];
        let text = diff.line_text(at).trim_end_matches('\r');
        match line.kind {
            LineKind::Header => {
                // `\ No newline at end of file` does not end a hunk
                if !text.starts_with('\\') {
                    in_hunk = false;
                    read_header(text, &mut file);
                }
            }
            kind => {
                if !in_hunk {
                    file.old.open_piece();
                    file.new.open_piece();
                    in_hunk = true;
                }
                let changed = kind.is_changed();
                let marked = changed || text.starts_with(' ');
                let code = if marked { text.get(1..).unwrap_or("") } else { text };
                if kind != LineKind::Added {
                    file.old.push(code, at, changed);
                }
                if kind != LineKind::Removed {
                    file.new.push(code, at, changed);
                }
            }
        }
    }
    let by_name = file.name().map(Language::of_file);
    file.language = by_name.unwrap_or_else(|| {
        let by_hint = hint.and_then(Language::of_name);
        by_hint.or_else(|| {
            if hint.is_some() { None } else { Language::of_lines(file.new.text.lines().chain(file.old.text.lines())) }
        })
    });
    file
}

/// What a line outside hunks says of the file's names.
fn read_header(text: &str, file: &mut FileChange) {
    let name = |name: &str| {
        let name = name.split('\t').next().unwrap_or(name);
        let name = name.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(name);
        let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
        (name != "/dev/null").then(|| bare.to_owned())
    };
    if text.starts_with("new file mode") {
        file.old_name = None;
    } else if text.starts_with("deleted file mode") {
        file.new_name = None;
    } else if let Some(old) = text.strip_prefix("rename from ").or_else(|| text.strip_prefix("copy from ")) {
        file.old_name = Some(old.trim_matches('"').to_owned());
    } else if let Some(new) = text.strip_prefix("rename to ").or_else(|| text.strip_prefix("copy to ")) {
        file.new_name = Some(new.trim_matches('"').to_owned());
    } else if let Some(old) = text.strip_prefix("--- ") {
        file.old_name = name(old);
    } else if let Some(new) = text.strip_prefix("+++ ") {
        file.new_name = name(new);
    }
}

impl Side {
    /// The index in [`Diff::lines`] of a line of the text, if a hunk shows it.
    pub fn diff_line(&self, line: usize) -> Option<usize> {
        self.lines.get(line).copied().flatten()
    }

    /// Whether the other side lacks a line of the text.
    pub fn is_changed(&self, line: usize) -> bool {
        self.changed.get(line).copied().unwrap_or(false)
    }

    fn open_piece(&mut self) {
        if !self.lines.is_empty() {
            self.text.push('\n');
            self.lines.push(None);
            self.changed.push(false);
        }
        self.pieces.push(self.text.len()..self.text.len());
    }

    fn push(&mut self, code: &str, at: usize, changed: bool) {
        self.text.push_str(code);
        self.text.push('\n');
        self.lines.push(Some(at));
        self.changed.push(changed);
        if let Some(piece) = self.pieces.last_mut() {
            piece.end = self.text.len();
        }
    }
}

/// A side with all lines of its file; `None` where a line of the diff is another one there.
fn whole(side: &Side, text: &str, diff: &Diff, number: impl Fn(&Line) -> Option<usize>) -> Option<Side> {
    let mut clean = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        clean.push_str(line.trim_end_matches('\r'));
        clean.push('\n');
    }
    let count = clean.lines().count();
    let texts: Vec<&str> = clean.lines().collect();
    let mut lines = vec![None; count];
    let mut changed = vec![false; count];
    for ((shown, at), &is_changed) in side.text.lines().zip(&side.lines).zip(&side.changed) {
        let Some(at) = *at else { continue };
        let place = number(diff.lines().get(at)?)?.checked_sub(1)?;
        if *texts.get(place)? != shown {
            return None;
        }
        lines[place] = Some(at);
        changed[place] = is_changed;
    }
    let pieces = std::iter::once(0..clean.len()).collect();
    Some(Side { text: clean, lines, changed, pieces })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n--- a/old.py\n\
+++ b/new.py\n@@ -1,2 +1,2 @@\n a\r\n-b\n+c\n@@ -9 +9,2 @@\n x\n+y\n\\ No newline at end of file\n\
diff --git a/n.go b/n.go\nnew file mode 100644\n--- /dev/null\n+++ b/n.go\n@@ -0,0 +1 @@\n+package n\n\
diff --git a/d.rs b/d.rs\ndeleted file mode 100644\n--- a/d.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-fn d() {}\n\
diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n";

    #[test]
    fn sides_have_their_lines_and_names() {
        let diff = Diff::parse(DIFF).unwrap();
        let files = FileChange::of_diff(&diff, None);
        assert_eq!(files.len(), 3);
        let first = &files[0];
        assert_eq!((first.old.text.as_str(), first.new.text.as_str()), ("a\nb\n\nx\n", "a\nc\n\nx\ny\n"));
        assert_eq!(first.old.lines, [Some(7), Some(8), None, Some(11)]);
        assert_eq!(first.new.lines, [Some(7), Some(9), None, Some(11), Some(12)]);
        assert_eq!(first.new.changed, [false, true, false, false, true]);
        assert_eq!(first.new.pieces, [0..4, 5..9]);
        assert_eq!((first.language, first.is_renamed()), (Some(Language::Python), true));
        assert_eq!((files[1].language, files[1].is_added(), files[1].is_renamed()), (Some(Language::Go), true, false));
        assert_eq!((files[2].name(), files[2].is_deleted()), (Some("d.rs"), true));
    }

    #[test]
    fn a_bare_hunks_language_is_the_hints_or_told_by_its_lines() {
        let diff = Diff::parse("@@ -1,2 +1,2 @@\n def f(self):\n-    return self.a\n+    return self.b\n").unwrap();
        let language = |hint| FileChange::of_diff(&diff, hint)[0].language;
        assert_eq!(language(None), Some(Language::Python));
        assert_eq!(language(Some("ruby")), Some(Language::Ruby));
        assert_eq!(language(Some("kotlin")), None);
        assert_eq!(FileChange::of_diff(&diff, None)[0].name(), None);
    }

    #[test]
    fn whole_files_know_which_lines_the_diff_shows() {
        let diff = Diff::parse("--- a/x.py\n+++ b/x.py\n@@ -2,2 +2,2 @@\n b\n-c\n+d\n").unwrap();
        let file = FileChange::of_diff(&diff, None).remove(0);
        let whole = file.clone().with_whole("a\r\nb\nc\n", "a\nb\nd\ne", &diff);
        assert!(whole.whole);
        assert_eq!(whole.old.lines, [None, Some(3), Some(4)]);
        assert_eq!(whole.new.lines, [None, Some(3), Some(5), None]);
        assert_eq!(whole.new.changed, [false, false, true, false]);
        assert_eq!(whole.old.text, "a\nb\nc\n");
        assert_eq!(file.clone().with_whole("other", "a\nb\nd\n", &diff), file, "not the files of this diff");
    }
}
