//! A fragment of code as a syntax tree, with what had to stand around it so that it parses.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::languages::compiled;
use super::table::Compiled;
use super::tokens::{TokenKind, tokens};
use crate::language::Language;

/// A hundred operations of the parser each, in which about one token is read: what a byte may cost, and what any text may.
const CHECKS_PER_KILOBYTE: usize = 40;
const CHECKS: usize = 400;
/// A text that is larger is read by its lines only.
pub(super) const MAX_BYTES: usize = 400 << 10;

/// Things that are tried before a fragment.
const MAX_FRAMES: usize = 8;

/// A tree and the text it was made of.
pub(super) struct Parsed {
    pub tree: Tree,
    /// The fragment with what was put around it.
    pub source: String,
    /// The fragment's bytes in it.
    pub window: Range<usize>,
    pub compiled: &'static Compiled,
    /// Bytes that fit nowhere, and tokens that are missing.
    pub errors: usize,
}

/// Parses fragments of one language within a bound on all of them together.
pub(super) struct Fragments {
    parser: Parser,
    compiled: &'static Compiled,
    language: Language,
    /// Bytes that may still be parsed.
    budget: usize,
}

impl Fragments {
    /// `None` if the grammar cannot be used.
    pub(super) fn new(language: Language, text: &str) -> Option<Fragments> {
        let compiled = compiled(language, text.contains("<?"))?;
        let mut parser = Parser::new();
        parser.set_language(&compiled.grammar).ok()?;
        Some(Fragments { parser, compiled, language, budget: 3 * text.len() + (64 << 10) })
    }

    /// The tree of a text as it stands, if it has no errors.
    pub(super) fn parse_whole(&mut self, text: &str) -> Option<Parsed> {
        let (before, after) = brackets("", text, self.language);
        if !before.is_empty() || !after.is_empty() {
            return None;
        }
        match self.attempt("", text, "", true)? {
            Outcome::Parsed(parsed) if parsed.errors == 0 => Some(parsed),
            _ => None,
        }
    }

    /// The tree of a fragment: the first without errors among those with different things before it, else the one that is read furthest
    /// before its first error, or with the fewest. `None` if that takes too long.
    pub(super) fn parse_fragment(&mut self, text: &str) -> Option<Parsed> {
        let indentation = indentation(text);
        let mut best: Option<Parsed> = None;
        // what stands around the candidate that is read furthest, and how far that is
        let mut furthest: Option<(String, String, usize)> = None;
        // so few errors are a line at the end that is cut off, which nothing before the fragment mends
        let is_good = |parsed: &Parsed| parsed.errors <= 8 + text.len() / 20;
        for frame in std::iter::once(&"").chain(self.compiled.table.frames).take(MAX_FRAMES) {
            if self.budget < text.len() {
                break;
            }
            let frame = frame.replace("{i}", indentation);
            let (openers, after) = brackets(&frame, text, self.language);
            // a comment that goes on at the fragment's first byte comes after what is put before it
            let before = match openers.strip_suffix("/*") {
                Some(openers) => format!("{openers}{frame}/*"),
                None => openers + &frame,
            };
            match self.attempt(&before, text, &after, true) {
                Some(Outcome::Parsed(parsed)) => {
                    if is_good(&parsed) {
                        return Some(parsed);
                    }
                    if best.as_ref().is_none_or(|best| parsed.errors < best.errors) {
                        best = Some(parsed);
                    }
                }
                Some(Outcome::Error { at }) if furthest.as_ref().is_none_or(|furthest| at > furthest.2) => {
                    furthest = Some((before, after, at));
                }
                Some(Outcome::Error { .. }) | None => {}
            }
        }
        let again = furthest.and_then(|(before, after, _)| self.attempt(&before, text, &after, false));
        match (again, best) {
            (Some(Outcome::Parsed(parsed)), Some(best)) => {
                Some(if parsed.errors < best.errors { parsed } else { best })
            }
            (Some(Outcome::Parsed(parsed)), None) => Some(parsed),
            (_, best) => best,
        }
    }

    /// Parses a text with something around it; `None` if that takes too long. Recovering from errors is most of the work, so an attempt can
    /// end at the first one.
    fn attempt(&mut self, prefix: &str, text: &str, suffix: &str, stop_at_error: bool) -> Option<Outcome> {
        let source = format!("{prefix}{text}{suffix}");
        let mut checks = CHECKS + source.len() / 1024 * CHECKS_PER_KILOBYTE;
        let mut error = None;
        let mut reached = 0;
        let mut progress = |state: &tree_sitter::ParseState| {
            reached = reached.max(state.current_byte_offset());
            if stop_at_error && state.has_error() {
                error = Some(state.current_byte_offset());
                return ControlFlow::Break(());
            }
            checks = checks.saturating_sub(1);
            if checks == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let bytes = source.as_bytes();
        let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or(&[]);
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = self.parser.parse_with_options(&mut read, None, Some(options));
        let Some(tree) = tree else {
            self.parser.reset();
            self.budget = self.budget.saturating_sub(reached);
            let error = error?;
            return Some(Outcome::Error { at: error.saturating_sub(prefix.len()) });
        };
        self.budget = self.budget.saturating_sub(text.len());
        let errors = errors(&tree);
        let window = prefix.len()..prefix.len() + text.len();
        Some(Outcome::Parsed(Parsed { tree, source, window, errors, compiled: self.compiled }))
    }
}

/// What became of an attempt.
enum Outcome {
    Parsed(Parsed),
    /// It was stopped at an error about here.
    Error {
        at: usize,
    },
}

/// Bytes in the outermost error nodes, and eight for each missing token.
fn errors(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut count = 0;
    loop {
        let node: Node = cursor.node();
        let mut down = false;
        if node.is_missing() {
            count += 8;
        } else if node.is_error() {
            count += node.byte_range().len() + 1;
        } else {
            down = node.has_error();
        }
        if down && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return count;
            }
        }
    }
}

/// The brackets and comment marks that have to stand before and after a text behind a frame so that all of them are closed.
fn brackets(frame: &str, text: &str, language: Language) -> (String, String) {
    let mut before = Vec::new();
    let mut open = Vec::new();
    // what a comment that began before the text says is no code
    let has_long_comments = !matches!(language, Language::Python | Language::Ruby);
    let (opens, closes) = (text.find("/*"), text.find("*/"));
    let begins_inside = has_long_comments && closes.is_some_and(|close| opens.is_none_or(|open| close < open));
    let code = if begins_inside { closes.map_or(0, |close| close + 2) } else { 0 };
    let code = format!("{frame}{}", text.get(code..).unwrap_or(""));
    for token in tokens(&code, Some(language)) {
        if token.kind != TokenKind::Mark {
            continue;
        }
        match code.as_bytes()[token.span.start] {
            b'(' => open.push(')'),
            b'[' => open.push(']'),
            b'{' => open.push('}'),
            close @ (b')' | b']' | b'}') => {
                let close = char::from(close);
                if open.last() == Some(&close) {
                    open.pop();
                } else if open.is_empty() {
                    before.push(match close {
                        ')' => '(',
                        ']' => '[',
                        _ => '{',
                    });
                }
            }
            _ => {}
        }
        // a text with more than this is not code that brackets would mend
        if open.len() + before.len() > 200 {
            return (String::new(), String::new());
        }
    }
    let mut before: String = before.iter().rev().collect();
    let mut after: String = open.iter().rev().collect();
    if !after.is_empty() {
        after.insert(0, '\n');
    }
    if has_long_comments {
        if begins_inside || (closes.is_none() && text.trim_start().starts_with("* ")) {
            before.push_str("/*");
        }
        let ends_inside = text.rfind("/*").is_some_and(|open| text.rfind("*/").is_none_or(|close| close < open));
        if ends_inside || (closes.is_none() && before.ends_with("/*")) {
            after.insert_str(0, "\n*/");
        }
    }
    (before, after)
}

/// The smallest indentation of a line that is not blank.
fn indentation(text: &str) -> &str {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| &line[..line.len() - line.trim_start().len()])
        .min_by_key(|indentation| indentation.len())
        .unwrap_or("")
}
