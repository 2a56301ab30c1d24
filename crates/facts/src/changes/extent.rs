//! Whether a change touches code at all, or only comments, or only how it is laid out.

use crate::language::Language;
use crate::side::FileChange;
use crate::syntax::{Item, ItemKind, Syntax, TokenKind, tokens};

/// What a change of a file is limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Nothing is changed in what is shown.
    Nothing,
    /// Blanks and line breaks that mean nothing.
    Formatting,
    /// Comments and documentation strings, and blanks.
    Comments,
    /// Code.
    Code,
}

/// What the change of a file is limited to.
pub(super) fn extent(file: &FileChange, old: &Syntax, new: &Syntax) -> Extent {
    if file.old.text == file.new.text && !file.is_added() && !file.is_deleted() {
        return Extent::Nothing;
    }
    let old = Words::read(&file.old.text, old, file.language);
    let new = Words::read(&file.new.text, new, file.language);
    match (old.code == new.code, old.comments == new.comments) {
        (true, true) => Extent::Formatting,
        (true, false) => Extent::Comments,
        (false, _) => Extent::Code,
    }
}

/// A side's words.
struct Words<'t> {
    code: Vec<&'t str>,
    comments: Vec<String>,
}

impl<'t> Words<'t> {
    fn read(text: &'t str, syntax: &Syntax, language: Option<Language>) -> Words<'t> {
        let comments: Vec<&Item> = syntax.items.iter().filter(|item| item.kind == ItemKind::Comment).collect();
        // where line breaks and indentation mean something they are words as well
        let lines_count = matches!(language, Some(Language::Python) | None);
        let mut code = Vec::new();
        let (mut next, mut end, mut depth) = (0, 0, 0usize);
        for token in tokens(text, language) {
            while comments.get(next).is_some_and(|comment| comment.span.end <= token.span.start) {
                next += 1;
            }
            let in_comment = comments.get(next).is_some_and(|comment| comment.span.contains(&token.span.start));
            let gap = text.get(end..token.span.start).unwrap_or("");
            if token.kind == TokenKind::Comment || in_comment {
                continue;
            }
            end = token.span.end;
            if lines_count && depth == 0 && (gap.contains('\n') || code.is_empty()) {
                code.push("\n");
                let line = text[..token.span.start].rfind('\n').map_or(0, |feed| feed + 1);
                code.push(&text[line..token.span.start]);
            }
            let word = &text[token.span];
            match word {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            code.push(word);
        }
        Words { code, comments: comments.into_iter().map(|comment| comment.name.clone()).collect() }
    }
}
