//! What a single line shows of itself: how far it is indented, whether it opens a list item, a fence or a heading, whether it is a
//! rule or a trailer.

/// Columns of blanks before the first other character; a tab goes to the next multiple of four.
pub(super) fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            '\t' => columns += 4 - columns % 4,
            _ if c.is_whitespace() => columns += 1,
            _ => break,
        }
    }
    columns
}

/// A list marker with the blanks behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// Bytes of the marker and the blanks.
    pub len: usize,
    /// Its number, if it has one.
    pub number: Option<u32>,
}

/// The list marker at the start of a line without indent: `- `, `* `, `+ `, `• `, `1. `, `2) `, `(3) `, and the box of a task.
pub(super) fn marker(line: &str) -> Option<Marker> {
    let first = line.chars().next()?;
    let (bare, number) = if matches!(first, '-' | '*' | '+' | '•' | '‣' | '–' | '—' | '·') {
        (first.len_utf8(), None)
    } else {
        let open = usize::from(first == '(');
        let digits = line[open..].bytes().take_while(u8::is_ascii_digit).count();
        let end = open + digits;
        let closes = line[end..].starts_with(')') || (open == 0 && line[end..].starts_with('.'));
        if !(1..=3).contains(&digits) || !closes {
            return None;
        }
        (end + 1, line[open..end].parse().ok())
    };
    let rest = &line[bare..];
    let blanks = rest.len() - rest.trim_start().len();
    if blanks == 0 && !rest.is_empty() {
        return None;
    }
    let mut len = bare + blanks;
    for task in ["[ ] ", "[x] ", "[X] "] {
        if line[len..].starts_with(task) {
            len += task.len();
            break;
        }
    }
    Some(Marker { len, number })
}

/// The character and the length of the fence that a line without indent opens; what stands behind it is at most a language.
pub(super) fn fence(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = line.chars().take_while(|&c| c == mark).count();
    let info = &line[len..];
    (len >= 3 && (mark == '~' || !info.contains('`'))).then_some((mark, len))
}

/// Whether a line closes a fence.
pub(super) fn closes(line: &str, (mark, len): (char, usize)) -> bool {
    let line = line.trim();
    line.chars().all(|c| c == mark) && line.len() >= len
}

/// Where a fence opens behind words on the same line: three backticks, at most a language behind them, no other backticks.
pub(super) fn fence_behind_words(line: &str) -> Option<usize> {
    let at = line.find("```").filter(|&at| at > 0)?;
    let info = line[at..].trim_start_matches('`');
    (info.len() < 24 && !info.contains('`') && info.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '+'))
        .then_some(at)
}

/// How many bytes of `#` and blanks open a heading.
pub(super) fn heading(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|&b| b == b'#').count();
    let rest = &line[level..];
    let blanks = rest.len() - rest.trim_start().len();
    ((1..=6).contains(&level) && (blanks > 0 || rest.is_empty())).then_some(level + blanks)
}

/// Whether a line only draws: a horizontal rule, the underline of a heading, the rule of a table.
pub(super) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let draws = |c: char| matches!(c, '-' | '=' | '*' | '_' | '~' | '|' | ':' | '+' | '#' | '─' | '━' | '═');
    line.chars().all(|c| draws(c) || c.is_whitespace()) && line.chars().filter(|c| !c.is_whitespace()).nth(2).is_some()
}

/// Keys of trailers that need not stand at the end.
const TRAILERS: &[&str] = &[
    "acked-by",
    "approved-by",
    "bug",
    "cc",
    "change-id",
    "closes",
    "co-authored-by",
    "co-developed-by",
    "differential-revision",
    "fixes",
    "git-svn-id",
    "gerrit",
    "helped-by",
    "implements",
    "issue",
    "link",
    "pr-url",
    "pr-close",
    "ref",
    "refs",
    "relates",
    "related",
    "reported-by",
    "resolves",
    "review-url",
    "reviewed-by",
    "reviewed-on",
    "see",
    "see also",
    "signed-off-by",
    "suggested-by",
    "tested-by",
    "thanks-to",
];

/// Whether a line is a trailer of git: a key such as `Signed-off-by` and a value. Keys that are words of prose too (`Fixes`,
/// `See`) need a reference or a link behind them.
pub(super) fn is_trailer(line: &str) -> bool {
    let line = line.trim();
    let lower: String = line.chars().take(40).flat_map(char::to_lowercase).collect();
    if lower.starts_with("(cherry picked from commit") {
        return true;
    }
    let Some((key, _)) = lower.split_once(':') else { return false };
    let value = line.split_once(':').map_or("", |(_, value)| value).trim();
    let key = key.trim();
    if !TRAILERS.contains(&key) && (key.contains(' ') || !key.ends_with("-by")) {
        return false;
    }
    let first = value.split_whitespace().next().unwrap_or("");
    let refers = first.starts_with('#') || first.contains("://") || first.contains(|c: char| c.is_ascii_digit());
    key.contains('-') || (key == "cc" && value.contains('@')) || (!value.is_empty() && refers)
}

/// Whether a line has the shape of a trailer, which counts where all lines of the last paragraph have it: `Key-word: value`.
pub(super) fn looks_like_trailer(line: &str) -> bool {
    let Some((key, value)) = line.trim().split_once(':') else { return is_trailer(line) };
    let is_key = key.contains('-')
        && key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_trailer(line) || (is_key && value.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_need_a_blank_behind_them() {
        assert_eq!(marker("- a"), Some(Marker { len: 2, number: None }));
        assert_eq!(marker("12)  a"), Some(Marker { len: 5, number: Some(12) }));
        assert_eq!(marker("(1) a"), Some(Marker { len: 4, number: Some(1) }));
        assert_eq!(marker("- [x] done"), Some(Marker { len: 6, number: None }));
        for none in ["-Wall", "*bold*", "2015. a", "1.5 s", "(a) b", "", "3.5"] {
            assert_eq!(marker(none), None, "{none}");
        }
    }

    #[test]
    fn fences_rules_and_headings() {
        assert_eq!(fence("```python"), Some(('`', 3)));
        assert_eq!(fence("```a``` is code in a line"), None);
        assert!(closes("````", ('`', 3)) && !closes("``", ('`', 3)));
        assert_eq!(fence_behind_words("Such as: ```js"), Some(9));
        assert_eq!(fence_behind_words("Such as: ```js``` here"), None);
        assert!(is_rule("|---|:-:|") && is_rule("* * *") && !is_rule("--") && !is_rule("- a"));
        assert_eq!((heading("## A"), heading("#12"), heading("#!")), (Some(3), None, None));
    }

    #[test]
    fn trailers_have_a_key_of_their_own_or_a_reference() {
        for line in ["Signed-off-by: A <a@b.c>", "Fixes: #12", "Closes: https://x.y/1", "PR-URL: https://x.y/1"] {
            assert!(is_trailer(line), "{line}");
        }
        for line in ["Fixes: the race in get", "Note: x", "Bug: the lock is held", "a"] {
            assert!(!is_trailer(line), "{line}");
        }
        assert!(looks_like_trailer("Release-Notes: none") && !looks_like_trailer("Note: none"));
    }
}
