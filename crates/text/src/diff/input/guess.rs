//! What an input is that is no diff, and whether lines without any header can be one.

use super::{
    error::Instead,
    lines::{Envelope, Lines, pattern},
};

/// Whether there is a line that only a diff with headers has.
pub(super) fn has_headers(lines: &Lines) -> bool {
    (0..lines.len()).any(|at| lines.is_hunk(at) || lines.is_git_header(at) || lines.is_whole_change(at))
}

/// What lines without headers are, if they are no bare hunk.
pub(super) fn of_bare_lines(lines: &Lines) -> Option<Instead> {
    let written = Written::new(lines);
    let instead = plainly(lines);
    if instead.is_some() {
        return instead;
    }
    let n_changed = written.count(|line| line.starts_with(['+', '-']));
    let n_unmarked = written.count(|line| !line.starts_with(['+', '-', ' ', '\t', '\\']));
    if n_changed > 0 && 2 * n_unmarked <= written.len() && !is_list(lines, n_unmarked) {
        return None;
    }
    Some(of_other_lines(lines))
}

/// What an input with the headers of a diff is that shows no change.
pub(super) fn of_changeless(lines: &Lines, has_files: bool) -> Instead {
    let written = Written::new(lines);
    let is_of_words = |line: &str| line == "~" || pattern!(r"\[-.+-\]|\{\+.+\+\}").is_match(line);
    if written.count(is_of_words) > 0 {
        Instead::WordDiff
    } else if written.count(|line| line.starts_with("@@")) > 0 {
        Instead::Context
    } else if has_files {
        Instead::Headers
    } else {
        of_other_lines(lines)
    }
}

/// Whether a mail stands before the first hunk whose body is not written as it is meant.
pub(super) fn is_encoded_mail(lines: &Lines) -> bool {
    let mut first = (0..lines.len()).skip_while(|&at| lines.is_blank(at));
    let is_mail = first.next().is_some_and(|at| {
        lines.envelope(at) == Some(Envelope::Mail) || pattern!(r"^[A-Z][\w-]*: ").is_match(lines.at(at))
    });
    let fields = (0..lines.len()).skip_while(|&at| lines.is_blank(at)).take_while(|&at| !lines.is_blank(at));
    let encoding = pattern!(r"(?i)^Content-Transfer-Encoding:\s*(?:base64|quoted-printable)");
    is_mail && fields.into_iter().any(|at| encoding.is_match(lines.at(at)))
}

/// The lines that are not blank.
struct Written<'l>(Vec<&'l str>);

impl<'l> Written<'l> {
    fn new(lines: &Lines<'l>) -> Self {
        Written((0..lines.len()).filter(|&at| !lines.is_blank(at)).map(|at| lines.at(at)).collect())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn count(&self, holds: impl Fn(&str) -> bool) -> usize {
        self.0.iter().filter(|line| holds(line)).count()
    }

    fn has(&self, pattern: &regex::Regex) -> bool {
        self.0.iter().any(|line| pattern.is_match(line))
    }

    fn most(&self, holds: impl Fn(&str) -> bool) -> bool {
        2 * self.count(holds) > self.len()
    }
}

/// What the lines are, where their form leaves no doubt, whatever they begin with.
fn plainly(lines: &Lines) -> Option<Instead> {
    let written = Written::new(lines);
    let first = written.0.first().copied().unwrap_or_default();
    let is_conflict = || {
        written.has(pattern!(r"^<{7}(?: |$)"))
            && written.has(pattern!(r"^={7}$"))
            && written.has(pattern!(r"^>{7}(?: |$)"))
    };
    let is_context_diff =
        || written.has(pattern!(r"^\*{15}")) && written.has(pattern!(r"^(?:\*\*\*|---) \d+(?:,\d+)? (?:\*{4}|-{4})$"));
    let is_normal_diff =
        || written.has(pattern!(r"^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$")) && written.has(pattern!(r"^[<>] "));
    if 2 * written.count(|line| pattern!(r"^[-dlbcps](?:[-r][-w][-xsStT]){3}[.+@]? +\d+ ").is_match(line))
        >= written.len()
    {
        Some(Instead::Listing)
    } else if written.count(super::lines::is_summary) == written.len() {
        Some(Instead::Summary)
    } else if is_conflict() {
        Some(Instead::Conflict)
    } else if is_context_diff() || is_normal_diff() {
        Some(Instead::OtherFormat)
    } else if is_json(first) {
        Some(Instead::Json)
    } else if pattern!(r"^(?:On branch |HEAD detached at |Changes not staged for commit:)").is_match(first) {
        Some(Instead::Status)
    } else {
        None
    }
}

/// Whether a first line opens JSON: a value of its own, or a bracket with the first key behind it or on the next line.
fn is_json(first: &str) -> bool {
    let first = first.trim();
    let opens = || pattern!(r#"^(?:\{\s*(?:"[^"]*"\s*:.*)?|\[\s*\{?\s*(?:"[^"]*"\s*:.*)?)$"#).is_match(first);
    first.starts_with(['{', '[']) && (serde_json::from_str::<serde_json::Value>(first).is_ok() || opens())
}

/// Whether what begins with a marker are the points of a list in a text: all with the same one, a blank and a word, below
/// a line that introduces them.
fn is_list(lines: &Lines, n_unmarked: usize) -> bool {
    let points = || (0..lines.len()).map(|at| lines.at(at)).filter(|line| line.starts_with(['+', '-']));
    let first = points().next().unwrap_or_default();
    let is_point = |line: &str| line.get(..1) == first.get(..1) && pattern!(r#"^[-+] [\w`"'*\[(]"#).is_match(line);
    n_unmarked > 0 && points().all(is_point)
}

/// What lines are that are no diff, by their looks.
fn of_other_lines(lines: &Lines) -> Instead {
    let written = Written::new(lines);
    let behind = (0..lines.len()).find_map(|at| {
        let found = pattern!(r"^([|*/\\>_ \t]+)diff --git ").captures(lines.at(at))?;
        found.get(1).map(|prefix| prefix.as_str().to_owned())
    });
    if let Some(prefix) = behind {
        return Instead::Behind(prefix);
    }
    if written.most(super::lines::is_summary)
        || written.count(|line| pattern!(r"^ \d+ files? changed, \d+").is_match(line)) > 0
    {
        Instead::Summary
    } else if (0..lines.len()).any(|at| lines.envelope(at).is_some()) {
        Instead::Messages
    } else if written
        .most(|line| pattern!(r"^(?:[AMDRTCUX]\d*\t.+|[\w.@+-]+(?:/[\w.@+ -]+)*[/.][\w.-]+)$").is_match(line))
    {
        Instead::Names
    } else if 3 * written.count(is_code) >= written.len() && written.len() > 1 {
        Instead::Code
    } else if !written.most(|line| !line.starts_with([' ', '\t'])) {
        Instead::Context
    } else {
        Instead::Prose
    }
}

/// Whether a line ends or begins as lines of programs do.
fn is_code(line: &str) -> bool {
    pattern!(
        r"(?:[;{}]|\)|\):|=>|,)\s*$|^\s*(?:def |class |import |from \w+ import|fn |pub |use |func |package |#include|const |let |var |public |private |return\b|@\w+$)"
    )
    .is_match(line)
}
