//! Labels before a statement: `fix(core):` of a conventional commit, `parser:` of a commit about a part, `[ABC-12]`, `nit:`.

use super::{
    lexicon::is_auxiliary,
    tokens::{Token, TokenKind},
};
use crate::sample::Task;

/// Types of conventional commits.
const TYPES: &[&str] = &[
    "bug",
    "bugfix",
    "build",
    "chore",
    "ci",
    "deps",
    "dev",
    "doc",
    "docs",
    "enhancement",
    "feat",
    "feature",
    "fix",
    "hotfix",
    "improvement",
    "internal",
    "maint",
    "merge",
    "minor",
    "misc",
    "perf",
    "refactor",
    "release",
    "revert",
    "style",
    "test",
    "tests",
    "typo",
    "types",
    "wip",
];

/// Labels of review comments.
const LABELS: &[&str] = &[
    "blocker",
    "blocking",
    "chore",
    "critical",
    "issue",
    "major",
    "minor",
    "nit",
    "nitpick",
    "nitpicks",
    "nits",
    "optional",
    "potential issue",
    "praise",
    "question",
    "suggestion",
    "thought",
    "todo",
    "typo",
    "warning",
];

/// Where a statement stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// First of its text.
    pub opens_text: bool,
    /// First of its paragraph or list item.
    pub opens_block: bool,
}

/// How many of a statement's tokens are its label; never all of them.
pub(super) fn prefix(text: &str, tokens: &[Token], task: Task, place: Place) -> usize {
    if !place.opens_block {
        return 0;
    }
    let mut end = 0;
    while let Some(behind) = tag(text, &tokens[end..]) {
        end += behind;
    }
    if let Some(behind) = label(text, &tokens[end..], task, place) {
        end += behind;
    }
    if end < tokens.len() { end } else { 0 }
}

/// A tag: `[ABC-12]`, `[core]`, `ABC-12:`, `#12:`.
fn tag(text: &str, tokens: &[Token]) -> Option<usize> {
    let first = tokens.first()?;
    if first.is('[') {
        let close = tokens.iter().take(8).position(|token| token.is(']'))?;
        let link = tokens.get(close + 1).is_some_and(|next| next.kind == TokenKind::Link);
        let words = &text[first.span.end..tokens[close].span.start];
        let subject = tokens.get(close + 1).is_some_and(|next| is_auxiliary(&text[next.span.clone()]));
        let fits = !link && !subject && !words.is_empty() && words.len() <= 40;
        return fits.then(|| close + 1 + usize::from(tokens.get(close + 1).is_some_and(|next| next.is(':'))));
    }
    let colon = tokens.get(1).is_some_and(|next| next.is(':'));
    (first.kind == TokenKind::Reference && colon && !text[first.span.clone()].starts_with('@')).then_some(2)
}

/// A label before a colon.
fn label(text: &str, tokens: &[Token], task: Task, place: Place) -> Option<usize> {
    let colon = tokens.iter().take(10).position(|token| token.is(':') && !token.inside)?;
    let (last, behind) = (tokens.get(colon.checked_sub(1)?)?, tokens.get(colon + 1)?);
    // `std::io`, `12:30` and `http:` are none
    let joined = behind.span.start == tokens[colon].span.end && !behind.is('*') && !last.is(')');
    if last.span.end != tokens[colon].span.start || joined {
        return None;
    }
    let whole = &text[tokens[0].span.start..tokens[colon].span.start];
    let bare: String = whole.trim_matches(['*', '_', '!', ' ']).to_lowercase();
    let kind = bare.split('(').next().unwrap_or("").trim();
    let is_label = match task {
        Task::Review => LABELS.contains(&kind),
        Task::Commit => TYPES.contains(&kind) || (place.opens_text && is_part(whole)),
    };
    is_label.then(|| {
        let emphasis = tokens[colon + 1..].iter().take(2).take_while(|token| token.is('*')).count();
        colon + 1 + emphasis
    })
}

/// Whether what stands before a colon names a part of a project: one path, or several between commas, without blanks else.
fn is_part(whole: &str) -> bool {
    let parts = whole.split(", ");
    whole.len() <= 40
        && parts.into_iter().all(|part| {
            let fits = |c: char| c.is_alphanumeric() || "_-./*+:{}()!,#@".contains(c);
            !part.is_empty() && part.chars().all(fits)
        })
}

#[cfg(test)]
mod tests {
    use super::{super::tokens::tokens, *};

    fn read(text: &str, task: Task) -> &str {
        let found = tokens(text, 0..text.len());
        match prefix(text, &found, task, Place { opens_text: true, opens_block: true }) {
            0 => "",
            n => &text[..found[n - 1].span.end],
        }
    }

    #[test]
    fn labels_of_commits() {
        for (text, label) in [
            ("fix(core)!: hold the lock", "fix(core)!:"),
            ("[ABC-12] fix: hold it", "[ABC-12] fix:"),
            ("ABC-12: hold it", "ABC-12:"),
            ("src/cache.rs: hold it", "src/cache.rs:"),
            ("parser, lexer: hold it", "parser, lexer:"),
            ("Two things: hold it", ""),
            ("std::io is held", ""),
            ("fix:", ""),
            ("fix(core):hold it", "fix(core):"),
            ("[docs](http://a.b) say it", ""),
            ("[SARIF] is a format", ""),
        ] {
            assert_eq!(read(text, Task::Commit), label, "{text}");
        }
    }

    #[test]
    fn labels_of_reviews() {
        for (text, label) in [
            ("nit: hold it", "nit:"),
            ("**Issue (blocking):** hold it", "**Issue (blocking):**"),
            ("[nitpick] hold it", "[nitpick]"),
            ("cache: hold it", ""),
        ] {
            assert_eq!(read(text, Task::Review), label, "{text}");
        }
    }
}
