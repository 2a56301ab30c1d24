//! What was said of a change, about the change undone. Both halves have the same words; what differs is the diff.

use veridiff_text::diff::Diff;

use super::{About, Balance, Kind, Road, Scene, Twin};
use crate::case::CommitCase;
use crate::truth::Fact;
use crate::verbs::{denied, verb_of};
use crate::words::{has_word, words};

/// Twins about the diff that `git revert` would give.
pub struct Undone;

/// Verbs that say in which direction a change goes; what is changed or moved is changed or moved back as well, and of what is fixed the
/// diff seldom shows which way is the right one.
const DIRECTED: [&str; 64] = [
    "accept",
    "activate",
    "add",
    "allow",
    "append",
    "assert",
    "avoid",
    "cache",
    "catch",
    "create",
    "deactivate",
    "decrease",
    "default",
    "delete",
    "deprecate",
    "detect",
    "disable",
    "disallow",
    "discard",
    "display",
    "drop",
    "emit",
    "enable",
    "enforce",
    "ensure",
    "escape",
    "exclude",
    "export",
    "expose",
    "flush",
    "forbid",
    "force",
    "guard",
    "handle",
    "hide",
    "ignore",
    "implement",
    "include",
    "increase",
    "insert",
    "install",
    "introduce",
    "limit",
    "lower",
    "omit",
    "permit",
    "prevent",
    "propagate",
    "protect",
    "provide",
    "raise",
    "reduce",
    "reject",
    "remove",
    "require",
    "respect",
    "restrict",
    "show",
    "skip",
    "strip",
    "support",
    "suppress",
    "throw",
    "use",
];

/// Whether a statement is false of its change undone.
pub(super) fn is_directed(body: &str) -> bool {
    let verb = denied(body).map(|(_, verb)| verb).or_else(|| {
        let first = words(body).into_iter().next()?;
        verb_of(&body[first]).map(|(verb, _)| verb)
    });
    verb.is_some_and(|verb| DIRECTED.contains(&verb))
        && !has_word(body, &["formatting", "indentation", "whitespace", "spelling", "grammar"])
}

impl Road for Undone {
    fn name(&self) -> &'static str {
        "undone"
    }

    fn kind(&self) -> Kind {
        Kind::Operation
    }

    fn balance(&self) -> Balance {
        Balance::Exact
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        if !is_directed(scene.body()) || crate::undone(scene.change.diff).is_none() {
            return Vec::new();
        }
        let text = scene.statement.text.clone();
        let edit = Some(signs(scene.change.diff));
        vec![Twin { road: self.name().to_owned(), text, about: About::Undone, edit, fact: Fact::Open }]
    }
}

/// Whether a change grows or shrinks, and what it does undone: as many of each, or the sign alone would tell.
pub(super) fn signs(diff: &Diff) -> (String, String) {
    let name = |sign: i64| match sign {
        1 => "grows",
        -1 => "shrinks",
        _ => "as long",
    };
    let sign = CommitCase::net_lines(diff).signum();
    (name(sign).to_owned(), name(-sign).to_owned())
}
