//! What a text says, statement by statement: sentences and clauses with byte spans, and of each whether it says something that a
//! change can confirm or refute, or asks, praises, greets, quotes or marks up.
//!
//! Rules and word lists for English, no parser and no model. A text in another language is cut in the same way, and
//! [`Statements::language`] says that its kinds mean less.

mod blocks;
mod clauses;
mod kind;
mod lexicon;
mod line;
mod prefix;
mod segments;
mod split;
mod tokens;
mod tongue;

use std::ops::Range;

use crate::sample::Task;
use blocks::{BlockKind, blocks};
pub use tongue::TextLanguage;

/// Whether a lower-case word is a verb that has a subject before it: an auxiliary, or a verb of programming in the third person.
pub fn is_third_person(word: &str) -> bool {
    lexicon::is_auxiliary(word) || lexicon::verb_form(word) == Some(lexicon::Form::Third)
}

/// A text taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statements {
    /// Its statements in order; their spans are disjoint.
    pub list: Vec<Statement>,
    /// What it is written in.
    pub language: TextLanguage,
}

/// A sentence, or a block that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its bytes in the text, without blanks and list markers around them.
    pub span: Range<usize>,
    /// What it does.
    pub kind: StatementKind,
    /// Bytes of its clauses: at least one, in order; what lies between them is blank.
    pub clauses: Vec<Range<usize>>,
    /// Bytes of what stands before it as a label: `fix(core):` of a conventional commit, `[ABC-12]`, `nit:`.
    pub prefix: Option<Range<usize>>,
}

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// Says something of the code or the change that can be true or false.
    Assertion,
    /// Asks for something to be done.
    Request,
    /// Asks for an answer.
    Question,
    /// Taste, praise, general advice.
    Opinion,
    /// Greeting, thanks, sign-off, trailers, links and references only.
    Courtesy,
    /// A fenced, indented or suggested block of code.
    Code,
    /// A quoted line.
    Quote,
    /// HTML tags, headings without content, rules of tables, images, emoji only.
    Markup,
}

impl StatementKind {
    /// All of them.
    pub const ALL: [StatementKind; 8] = [
        StatementKind::Assertion,
        StatementKind::Request,
        StatementKind::Question,
        StatementKind::Opinion,
        StatementKind::Courtesy,
        StatementKind::Code,
        StatementKind::Quote,
        StatementKind::Markup,
    ];

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Assertion => "assertion",
            StatementKind::Request => "request",
            StatementKind::Question => "question",
            StatementKind::Opinion => "opinion",
            StatementKind::Courtesy => "courtesy",
            StatementKind::Code => "code",
            StatementKind::Quote => "quote",
            StatementKind::Markup => "markup",
        }
    }
}

impl Statements {
    /// Takes a text apart. `task` decides what an imperative is: in a commit message it says what the change does, in a review it
    /// asks for something.
    pub fn new(text: &str, task: Task) -> Self {
        let mut list = Vec::new();
        let mut prose = tongue::Count::default();
        for block in blocks(text) {
            let kind = match block.kind {
                BlockKind::Code => StatementKind::Code,
                BlockKind::Quote => StatementKind::Quote,
                BlockKind::Markup => StatementKind::Markup,
                BlockKind::Trailer => StatementKind::Courtesy,
                BlockKind::Prose | BlockKind::Heading | BlockKind::Row => {
                    let is_first = list.is_empty();
                    let tokens = tokens::tokens(text, block.span.clone());
                    prose.add(text, &tokens);
                    for (i, range) in split::split(text, &tokens, block.kind).into_iter().enumerate() {
                        let place = prefix::Place { opens_text: is_first && i == 0, opens_block: i == 0 };
                        list.push(statement(text, &tokens[range], &block, task, place));
                    }
                    continue;
                }
            };
            let clauses = vec![block.span.clone()];
            list.push(Statement { span: block.span, kind, clauses, prefix: None });
        }
        Statements { list, language: prose.language() }
    }

    /// Whether something in the text can be true or false of the change.
    pub fn has_assertion(&self) -> bool {
        self.list.iter().any(|statement| statement.kind == StatementKind::Assertion)
    }
}

/// A statement of prose; `tokens` are all of it, at least one.
fn statement(
    text: &str,
    tokens: &[tokens::Token],
    block: &blocks::Block,
    task: Task,
    place: prefix::Place,
) -> Statement {
    let span = tokens[0].span.start..tokens[tokens.len() - 1].span.end;
    let prefixed = prefix::prefix(text, tokens, task, place);
    let (label, rest) = tokens.split_at(prefixed);
    let prefix = label.first().map(|first| first.span.start..label[label.len() - 1].span.end);
    let kind = kind::kind_of(text, if rest.is_empty() { tokens } else { rest }, block.kind, task);
    let clauses = clauses::clauses(text, tokens, prefixed);
    Statement { span, kind, clauses, prefix }
}

#[cfg(test)]
mod tests;
