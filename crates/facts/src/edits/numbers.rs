//! Numbers and constants of the text for others of the change.

use veridiff_text::diff::LineKind;

use super::{Edit, EditKind};
use crate::{
    change::Change,
    code::{TokenKind, tokens, value},
    mention::{Mention, MentionKind},
};

/// Constants with what else could stand there.
const OPPOSITE: [(&str, &str); 10] = [
    ("true", "false"),
    ("True", "False"),
    ("false", "true"),
    ("False", "True"),
    ("null", "undefined"),
    ("undefined", "null"),
    ("None", "False"),
    ("nil", "false"),
    ("NULL", "0"),
    ("nullptr", "0"),
];

/// Each number for others of the change, those of changed lines first, and each constant for its opposite.
pub fn edits(change: &Change<'_>, text: &str, mentions: &[Mention]) -> Vec<Edit> {
    let mut written: Vec<(bool, &str)> = Vec::new();
    for (index, line) in change.diff.lines().iter().enumerate().filter(|(_, line)| line.kind != LineKind::Header) {
        let code = change.code(index);
        for token in tokens(code).into_iter().filter(|token| token.kind == TokenKind::Number) {
            written.push((!line.kind.is_changed(), &code[token.span]));
        }
    }
    written.sort_by_key(|&(is_context, _)| is_context);
    let mut all = Vec::new();
    for mention in mentions {
        let edit = |with: &str| Edit::at(EditKind::Number, text, mention.span.clone(), with);
        match mention.kind {
            MentionKind::Number => {
                let is_other = |number: &&str| value(number) != mention.value();
                let mut others: Vec<&str> = written.iter().map(|&(_, number)| number).filter(is_other).collect();
                let mut seen = Vec::new();
                others.retain(|number| {
                    !seen.contains(number) && {
                        seen.push(*number);
                        true
                    }
                });
                all.extend(others.into_iter().take(super::MOST).map(edit));
            }
            MentionKind::Constant => {
                let opposite = OPPOSITE.iter().find(|(constant, _)| *constant == mention.code);
                all.extend(opposite.map(|(_, with)| edit(with)));
            }
            _ => {}
        }
    }
    all
}
