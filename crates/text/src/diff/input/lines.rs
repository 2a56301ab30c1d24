//! The lines of an input, and what can be told of one by its first characters and its neighbours.

use std::ops::Range;

/// A text by lines.
pub(super) struct Lines<'t> {
    text: &'t str,
    /// The first byte of each line, and the length of the text.
    bounds: Vec<usize>,
}

/// What stands around a commit's change and tells that a message begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Envelope {
    /// `git show` and `git log`: the message is indented by four blanks.
    Commit,
    /// `git show` of an annotated tag, before its commit.
    Tag,
    /// A mail, as `git format-patch` writes it.
    Mail,
    /// A Mercurial export.
    Mercurial,
}

/// A regular expression that is compiled once.
macro_rules! pattern {
    ($expression:literal) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($expression).expect("a valid expression"));
        &*PATTERN
    }};
}
pub(super) use pattern;

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut bounds = vec![0];
        bounds.extend(text.split_inclusive('\n').scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        }));
        Lines { text, bounds }
    }

    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// A line without its end; nothing past the last one.
    pub(super) fn at(&self, index: usize) -> &'t str {
        if index >= self.len() {
            return "";
        }
        self.span(index..index + 1).trim_end_matches(['\r', '\n'])
    }

    /// Lines as they stand, with their ends; the range is within the text.
    pub(super) fn span(&self, lines: Range<usize>) -> &'t str {
        &self.text[self.bounds[lines.start]..self.bounds[lines.end]]
    }

    fn starts(&self, index: usize, prefix: &str) -> bool {
        self.at(index).starts_with(prefix)
    }

    pub(super) fn is_blank(&self, index: usize) -> bool {
        index < self.len() && self.at(index).trim().is_empty()
    }

    /// `diff --git`, or one of the two forms of a merge.
    pub(super) fn is_git_header(&self, index: usize) -> bool {
        ["diff --git ", "diff --cc ", "diff --combined "].iter().any(|prefix| self.starts(index, prefix))
    }

    /// `--- a` above `+++ b`.
    pub(super) fn is_name_pair(&self, index: usize) -> bool {
        self.starts(index, "--- ") && self.starts(index + 1, "+++ ")
    }

    /// Whether a file begins here, by a line that no message holds by chance.
    pub(super) fn is_file_start(&self, index: usize) -> bool {
        match self.at(index).as_bytes().first() {
            Some(b'd') => {
                let plain = || self.starts(index, "diff -") && self.is_name_pair(index + 1);
                self.is_git_header(index) || plain()
            }
            Some(b'-') => self.is_name_pair(index),
            Some(b'I') => self.starts(index, "Index: ") && self.starts(index + 1, "====="),
            Some(b'B' | b'S' | b'*') => self.is_whole_change(index),
            _ => false,
        }
    }

    /// One line that is all that is said of a file: a binary one, a submodule, one not merged.
    pub(super) fn is_whole_change(&self, index: usize) -> bool {
        pattern!(
            r"^(?:Binary files .+ and .+ differ|\* Unmerged path .+|Submodule .+ (?:[0-9a-f]{7,}\.{2,3}[0-9a-f]{7,}.*|contains (?:modified|untracked) content))$"
        )
        .is_match(self.at(index))
    }

    /// A line that only stands between the first line of a file and its hunks.
    pub(super) fn is_file_header(&self, index: usize) -> bool {
        const PREFIXES: [&str; 16] = [
            "index ",
            "--- ",
            "+++ ",
            "old mode ",
            "new mode ",
            "mode ",
            "new file mode ",
            "deleted file mode ",
            "similarity index ",
            "dissimilarity index ",
            "rename ",
            "copy ",
            "diff ",
            "====",
            "  > ",
            "  < ",
        ];
        PREFIXES.iter().any(|prefix| self.starts(index, prefix))
    }

    pub(super) fn is_hunk(&self, index: usize) -> bool {
        self.starts(index, "@@")
    }

    /// A hunk header with numbers, which prose does not hold by chance.
    pub(super) fn is_numbered_hunk(&self, index: usize) -> bool {
        self.is_hunk(index) && pattern!(r"^@@+ -\d").is_match(self.at(index))
    }

    /// `-- `, above what closes a mail. Only where a hunk has all its lines this cannot be one of them.
    pub(super) fn is_signature(&self, index: usize) -> bool {
        self.at(index) == "-- "
    }

    /// `-- ` above the version of git that made the mail.
    pub(super) fn is_git_signature(&self, index: usize) -> bool {
        self.is_signature(index) && pattern!(r"^\d+(?:\.\w+)+").is_match(self.at(index + 1))
    }

    /// What begins here around a commit, if something does.
    pub(super) fn envelope(&self, index: usize) -> Option<Envelope> {
        let line = self.at(index);
        let next_is = |prefixes: &[&str]| prefixes.iter().any(|prefix| self.starts(index + 1, prefix));
        match line.as_bytes().first()? {
            b'c' if pattern!(r"^commit [0-9a-f]{7,64}(?:$| )").is_match(line) => {
                next_is(&["Author:", "Merge:", "tree ", "Reflog:", "parent ", "author "]).then_some(Envelope::Commit)
            }
            b't' if line.starts_with("tag ") && next_is(&["Tagger:"]) => Some(Envelope::Tag),
            b'F' if pattern!(r"^From [0-9a-f]{40,64} ").is_match(line) => Some(Envelope::Mail),
            b'F' if line.starts_with("From ") && pattern!(r"^[A-Z][\w-]*: ").is_match(self.at(index + 1)) => {
                Some(Envelope::Mail)
            }
            b'#' if line.starts_with("# HG changeset patch") => Some(Envelope::Mercurial),
            _ => None,
        }
    }

    /// A line of `--stat`, `--summary`, `--raw` or `--numstat`.
    pub(super) fn is_summary(&self, index: usize) -> bool {
        is_summary(self.at(index))
    }
}

/// A line of `--stat`, `--summary`, `--raw` or `--numstat`.
pub(super) fn is_summary(line: &str) -> bool {
    pattern!(
        r"^(?: .+ \| +(?:\d+(?: [-+]*)?|Bin(?: .*)?|Unmerged) *| \d+ files? changed.*| (?:create|delete) mode \d{6} .+| (?:rename|copy) .+ \(\d+%\)| mode change \d{6} => .+| rewrite .+ \(\d+%\)|:+\d{6} [\d ]*[0-9a-f. ]+ [A-Z]+\d*\t.+|(?:\d+|-)\t(?:\d+|-)\t.+)$"
    )
    .is_match(line)
}
