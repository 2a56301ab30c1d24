//! The change that a pull request makes, and where in it each comment stands.

use serde::{Deserialize, Serialize};
use veridiff_git::{GitError, Repository};
use veridiff_text::diff::{Diff, LineKind};

use super::dataset::{Comment, CommentSide, PullRequest};

/// How far from a hunk a comment may stand to be near it.
const NEAR: u64 = 10;

/// What there is of a pull request in its repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preparation {
    /// `prepared` or `unavailable`.
    pub status: String,
    /// Why there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The commit that the change starts from.
    #[serde(default)]
    pub base: String,
    /// How that was found: `merge-base`, or `fork-verified`.
    #[serde(default)]
    pub base_method: String,
    /// The commit under review.
    #[serde(default)]
    pub head: String,
    /// Which that is: `target`, or `pr-head` where that one is gone.
    #[serde(default)]
    pub head_used: String,
    /// Lines that the change adds and removes.
    #[serde(default)]
    pub changed_lines: usize,
    /// How many hunks it has.
    #[serde(default)]
    pub n_hunks: usize,
    /// Where title and description come from: `given`, `commits`, or `none`.
    #[serde(default)]
    pub title_source: String,
}

/// A hunk of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Pull request, path and first new line.
    pub hunk: String,
    /// Its pull request.
    pub pr: String,
    /// The file after the change; of a file that was removed, before it.
    pub path: String,
    /// The file before the change.
    pub old_path: String,
    /// First old line, from 1.
    pub old_start: u64,
    /// Old lines.
    pub old_len: u64,
    /// First new line, from 1.
    pub new_start: u64,
    /// New lines.
    pub new_len: u64,
    /// Its header and its lines.
    pub text: String,
    /// The same below the headers of its file: a diff by itself.
    pub diff: String,
}

impl Hunk {
    /// Its lines on a side, the first and the last; none where it has none there.
    pub fn lines(&self, side: CommentSide) -> Option<(u64, u64)> {
        let (start, len) = match side {
            CommentSide::Left => (self.old_start, self.old_len),
            CommentSide::Right => (self.new_start, self.new_len),
        };
        (len > 0).then(|| (start, start + len - 1))
    }

    /// Its file on a side.
    pub fn path_on(&self, side: CommentSide) -> &str {
        if side == CommentSide::Left { &self.old_path } else { &self.path }
    }
}

/// A change taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedChange {
    /// Its hunks in order.
    pub hunks: Vec<Hunk>,
    /// Files that it touches, those without hunks too; whether git calls them binary.
    pub files: Vec<(String, bool)>,
    /// Lines that it adds and removes.
    pub changed_lines: usize,
}

impl ParsedChange {
    /// The change of a diff in git's format.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(pr: &str, text: &str) -> Result<ParsedChange, String> {
        if text.trim().is_empty() {
            return Ok(ParsedChange::default());
        }
        let diff = Diff::parse(text).map_err(|error| error.to_string())?;
        let mut change = ParsedChange {
            changed_lines: diff.lines().iter().filter(|line| line.kind.is_changed()).count(),
            ..ParsedChange::default()
        };
        let header = |i: usize| diff.lines()[i].kind == LineKind::Header;
        let is_binary = |file: usize| {
            (0..diff.lines().len()).any(|i| {
                header(i) && diff.lines()[i].file == Some(file) && diff.line_text(i).starts_with("Binary files ")
            })
        };
        change.files = diff.files().iter().enumerate().map(|(i, name)| (name.clone(), is_binary(i))).collect();
        // a file of which only the mode has changed is named in the first line of its header alone
        for name in (0..diff.lines().len()).filter(|i| header(*i)).filter_map(|i| same_name(diff.line_text(i))) {
            if !change.files.iter().any(|(known, _)| known == name) {
                change.files.push((name.to_owned(), false));
            }
        }
        for (index, hunk) in diff.hunks().iter().enumerate() {
            let Some(head) = hunk.header else { continue };
            let path = hunk.file.and_then(|file| diff.files().get(file)).cloned().unwrap_or_default();
            let before =
                (0..head).rev().take_while(|i| !diff.line_text(*i).starts_with("diff --git ")).filter(|i| header(*i));
            let old_path = before
                .filter_map(|i| {
                    let line = diff.line_text(i);
                    line.strip_prefix("rename from ").or_else(|| line.strip_prefix("--- a/"))
                })
                .last()
                .map_or_else(|| path.clone(), |old| old.trim_end_matches(['\t', '\r']).to_owned());
            let Some([old_start, old_len, new_start, new_len]) = ranges(diff.line_text(head)) else { continue };
            let end = diff.lines()[hunk.lines.end - 1].span.end;
            let text = diff.text()[diff.lines()[head].span.start..end].to_owned();
            change.hunks.push(Hunk {
                hunk: format!("{pr}:{path}:{new_start}"),
                pr: pr.to_owned(),
                path,
                old_path,
                old_start,
                old_len,
                new_start,
                new_len,
                text,
                diff: diff.select(|other, _| other == index).text,
            });
        }
        Ok(change)
    }
}

/// The name in `diff --git a/NAME b/NAME`, where both are the same.
fn same_name(header: &str) -> Option<&str> {
    let names = header.strip_prefix("diff --git a/")?;
    let half = names.len().checked_sub(" b/".len())? / 2;
    let (old, new) = (names.get(..half)?, names.get(half..)?.strip_prefix(" b/")?);
    (old == new).then_some(old)
}

/// The four numbers of `@@ -1,2 +3,4 @@`.
fn ranges(header: &str) -> Option<[u64; 4]> {
    let (old, rest) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |range: &str| {
        let (start, len) = range.split_once(',').unwrap_or((range, "1"));
        Some((start.parse().ok()?, len.parse().ok()?))
    };
    let ((a, b), (c, d)) = (pair(old)?, pair(new)?);
    Some([a, b, c, d])
}

/// Where a comment stands in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// Within one hunk.
    Contained,
    /// Over several hunks.
    Spans,
    /// Partly within one.
    Overlaps,
    /// So many lines away from one, at most ten.
    Near(u64),
    /// Farther away.
    Outside,
    /// The file is touched, and has no hunk on this side.
    NoHunk,
    /// The change does not touch the file.
    NoPath,
    /// The file is no text.
    Binary,
}

/// A comment's place, with the hunks that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The comment.
    pub comment: String,
    /// Where it stands.
    pub anchor: Anchor,
    /// Whether a line that it is on is added or removed.
    pub touches_change: bool,
    /// The hunks that it is about, or the nearest.
    pub hunks: Vec<String>,
    /// Their text.
    pub text: String,
}

/// Where a comment stands.
pub fn place(change: &ParsedChange, comment: &Comment) -> Place {
    let side = comment.side;
    let range = (comment.from_line, comment.to_line);
    let is_file = |hunk: &&Hunk| hunk.path_on(side) == comment.path || hunk.path == comment.path;
    let here: Vec<(&Hunk, (u64, u64))> =
        change.hunks.iter().filter(is_file).filter_map(|hunk| Some((hunk, hunk.lines(side)?))).collect();
    let touching: Vec<&(&Hunk, (u64, u64))> =
        here.iter().filter(|(_, lines)| range.0 <= lines.1 && lines.0 <= range.1).collect();
    let nearest = here.iter().min_by_key(|(_, lines)| super::location::distance(range, *lines));
    let file = change.files.iter().find(|(path, _)| *path == comment.path);
    let (anchor, about): (Anchor, Vec<&Hunk>) = match (touching.as_slice(), nearest) {
        ([(hunk, lines)], _) if lines.0 <= range.0 && range.1 <= lines.1 => (Anchor::Contained, vec![*hunk]),
        ([(hunk, _)], _) => (Anchor::Overlaps, vec![*hunk]),
        ([], Some((hunk, lines))) => match super::location::distance(range, *lines) {
            n @ 0..=NEAR => (Anchor::Near(n), vec![*hunk]),
            _ => (Anchor::Outside, Vec::new()),
        },
        ([], None) => match file {
            Some((_, true)) => (Anchor::Binary, Vec::new()),
            Some((_, false)) => (Anchor::NoHunk, Vec::new()),
            None => (Anchor::NoPath, Vec::new()),
        },
        (several, _) => (Anchor::Spans, several.iter().map(|(hunk, _)| *hunk).collect()),
    };
    let touches_change = touching.iter().any(|(hunk, _)| touches(hunk, side, range));
    Place {
        comment: comment.id.clone(),
        anchor,
        touches_change,
        hunks: about.iter().map(|hunk| hunk.hunk.clone()).collect(),
        text: about.iter().map(|hunk| hunk.text.as_str()).collect::<Vec<_>>().join("\n"),
    }
}

/// Whether a changed line of a hunk lies in a range of its side.
fn touches(hunk: &Hunk, side: CommentSide, range: (u64, u64)) -> bool {
    let (mut at, mark) = match side {
        CommentSide::Left => (hunk.old_start, '-'),
        CommentSide::Right => (hunk.new_start, '+'),
    };
    let other = if mark == '-' { '+' } else { '-' };
    for line in hunk.text.lines().skip(1).filter(|line| !line.starts_with([other, '\\'])) {
        if line.starts_with(mark) && (range.0..=range.1).contains(&at) {
            return true;
        }
        at += 1;
    }
    false
}

/// The change of a pull request, from the merge base to the commit under review. With `fallback`, a commit that is gone is replaced:
/// the one under review by the head of the pull request, the other by the fork from the default branch, if the change then has just as
/// many lines as the dataset says.
pub fn change_of(repository: &Repository, pr: &PullRequest, fallback: bool) -> (Preparation, ParsedChange) {
    let unavailable = |reason: String| {
        (
            Preparation { status: "unavailable".into(), reason: Some(reason), ..Preparation::default() },
            ParsedChange::default(),
        )
    };
    let number = pr.pr.rsplit_once('#').map_or("", |(_, number)| number);
    let pull = format!("refs/pull/{number}/head");
    let (head, head_used) = match () {
        () if repository.has(&pr.target) => (pr.target.clone(), "target"),
        () if fallback && repository.has(&pull) => (pull, "pr-head"),
        () => return unavailable(format!("the commit under review, {}, is not there", pr.target)),
    };
    let (source, base_method) = match () {
        () if repository.has(&pr.source) => (pr.source.clone(), "merge-base"),
        () if fallback => ("HEAD".to_owned(), "fork-verified"),
        () => return unavailable(format!("the commit that it starts from, {}, is not there", pr.source)),
    };
    let found = || -> Result<Option<(String, ParsedChange)>, GitError> {
        let Some(base) = repository.merge_base(&source, &head)? else { return Ok(None) };
        let diff = repository.diff_between(&base, &head)?;
        match ParsedChange::parse(&pr.pr, &String::from_utf8_lossy(&diff)) {
            Ok(change) => Ok(Some((base, change))),
            Err(_) => Ok(None),
        }
    };
    match found() {
        Err(error) => unavailable(veridiff_text::chain::one_line(&error)),
        Ok(None) => unavailable("the two commits have no history in common".into()),
        Ok(Some((_, change)))
            if base_method == "fork-verified" && change.changed_lines != pr.recorded_changed_lines =>
        {
            unavailable(format!(
                "the change from the default branch has {} lines, and {} are recorded",
                change.changed_lines, pr.recorded_changed_lines
            ))
        }
        Ok(Some((base, change))) => {
            let preparation = Preparation {
                status: "prepared".into(),
                reason: None,
                base,
                base_method: base_method.into(),
                head,
                head_used: head_used.into(),
                changed_lines: change.changed_lines,
                n_hunks: change.hunks.len(),
                title_source: "none".into(),
            };
            (preparation, change)
        }
    }
}
