//! Statements that say nothing of a change: titles, references to elsewhere, what a program writes of itself.

use super::{
    super::{
        blocks::BlockKind,
        lexicon::{is_around_reference, is_title},
        segments::Item,
        tokens::Token,
    },
    Role, is_concrete,
};
use crate::sample::Task;

fn word<'a>(items: &[&'a Item], i: usize) -> &'a str {
    items.get(i).map_or("", |item| item.word())
}

/// Whether a statement is what git writes itself: `Merge branch 'a'`, `This reverts commit 1a2b3c4d`.
pub(super) fn is_of_git(items: &[&Item]) -> bool {
    match word(items, 0) {
        "merge" => matches!(
            word(items, 1),
            "branch" | "branches" | "pull" | "remote-tracking" | "tag" | "pr" | "commit" | "commits"
        ),
        "this" => word(items, 1) == "reverts" && matches!(word(items, 2), "commit" | "commits"),
        _ => false,
    }
}

/// Whether a statement only points elsewhere: `Fixes #12`, `See https://…`.
pub(super) fn refers_only(items: &[&Item]) -> bool {
    let refers = items.iter().any(|item| **item == Item::Reference);
    refers && items.iter().all(|item| **item == Item::Reference || is_around_reference(item.word()))
}

/// Whether a program signs with it: `Generated with [A](https://…)`.
pub(super) fn is_signature(items: &[&Item]) -> bool {
    matches!(word(items, 0), "generated" | "created" | "written" | "posted" | "reviewed")
        && matches!(word(items, 1), "with" | "by" | "using")
        && items.last().is_some_and(|item| **item == Item::Reference)
}

/// Whether a statement is a title: a heading or a line in bold without a verb, a few words before a colon, a short cell of a
/// table, the summary of what is folded away.
pub(super) fn is_title_of(
    text: &str,
    tokens: &[Token],
    block: BlockKind,
    task: Task,
    items: &[&Item],
    roles: &[Role],
) -> bool {
    let last = &text[tokens[tokens.len() - 1].span.clone()];
    let bold = tokens.len() > 4
        && tokens[0].is('*')
        && tokens[1].is('*')
        && text[..tokens[tokens.len() - 1].span.end].ends_with("**");
    let announces = ends_with(tokens, ':');
    let all = |fits: &[Role]| roles.iter().all(|role| fits.contains(role));
    if items.len() <= 4 && items.iter().all(|item| is_title(item.word())) {
        let alone = items.len() == 1 && task == Task::Review;
        return block == BlockKind::Heading
            || ((block != BlockKind::Prose || bold || announces || alone)
                && all(&[Role::Fills, Role::Names, Role::Judges]));
    }
    let introduces = announces && matches!(word(items, 0), "here" | "here's" | "below") && items.len() <= 12;
    let vague = !items.iter().any(|item| is_concrete(item));
    let most = match block {
        BlockKind::Heading => 6,
        BlockKind::Row => 2,
        _ if bold || last == "</summary>" => 6,
        _ if announces && vague => 12,
        _ if announces => 4,
        _ => 0,
    };
    introduces || (items.len() <= most && all(&[Role::Fills, Role::Names, Role::Judges, Role::Attends]))
}

/// Whether the last sign before any emphasis is this one.
fn ends_with(tokens: &[Token], sign: char) -> bool {
    tokens.iter().rev().find(|token| !token.is('*') && !token.is('_')).is_some_and(|token| token.is(sign))
}
