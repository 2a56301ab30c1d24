//! What a statement does: it asserts, asks, answers to nobody, greets.

mod request;
mod title;

use super::{
    StatementKind,
    blocks::BlockKind,
    lexicon::{
        Form, is_auxiliary, is_courtesy, is_evaluative, is_function, is_lead, is_subordinator, is_vague, verb_form,
    },
    segments::{Item, segments},
    tokens::{Token, TokenKind},
};
use crate::sample::Task;
use title::{is_of_git, is_signature, is_title_of, refers_only};

/// What a piece of a sentence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Says something, with a verb.
    Asserts,
    /// Wants something done.
    Requests,
    /// Is put as a question.
    Asks,
    /// Finds something good or bad, of nothing in particular.
    Judges,
    /// Thanks or greets.
    Greets,
    /// A condition, an example.
    Attends,
    /// No sentence; it names something.
    Names,
    /// No sentence; it names nothing that could be looked up.
    Fills,
}

/// The kind of a statement without its label.
pub(super) fn kind_of(text: &str, tokens: &[Token], block: BlockKind, task: Task) -> StatementKind {
    let has = |kinds: &[TokenKind]| tokens.iter().any(|token| kinds.contains(&token.kind));
    if !has(&[TokenKind::Word]) {
        return without_words(tokens, task);
    }
    if is_bare_code(tokens) {
        return StatementKind::Code;
    }
    let pieces = segments(text, tokens);
    let items: Vec<&Item> = pieces.iter().flatten().collect();
    let exact = has(&[TokenKind::Name, TokenKind::Number]);
    if (task == Task::Commit && is_of_git(&items)) || (!exact && refers_only(&items)) || is_signature(&items) {
        return StatementKind::Courtesy;
    }
    let mut roles: Vec<Role> = Vec::with_capacity(pieces.len());
    let mut opens = true;
    for (i, piece) in pieces.iter().enumerate() {
        let goes_on = i > 0 && roles[i - 1] != Role::Asserts && continues(&pieces[i - 1], piece);
        let role = if goes_on {
            Role::Attends
        } else if i > 0 && roles[i - 1] != Role::Requests && is_predicate(piece) {
            if piece.iter().any(is_concrete) { Role::Asserts } else { Role::Judges }
        } else {
            role(piece, task, opens)
        };
        opens &= matches!(role, Role::Greets | Role::Attends) || (role == Role::Fills && piece.len() == 1);
        roles.push(role);
    }
    if !exact && !asks(tokens) && is_title_of(text, tokens, block, task, &items, &roles) {
        return StatementKind::Markup;
    }
    match combine(&pieces, &roles, asks(tokens), task) {
        // it stands in brackets
        StatementKind::Opinion if exact => StatementKind::Assertion,
        kind => kind,
    }
}

/// Whether a piece behind `and` goes on with a condition or a relative clause of the piece before: "check if `a` is set and has
/// an owner".
fn continues(before: &[Item], piece: &[Item]) -> bool {
    let depends = |item: &Item| is_subordinator(item.word()) || matches!(item.word(), "that" | "which" | "who" | "to");
    matches!(piece[0].word(), "and" | "or") && before.iter().any(depends) && !piece.get(1).is_some_and(is_subject)
}

/// Whether a piece goes on with a second verb of the subject before it: "the changes are small and improve the names".
fn is_predicate(piece: &[Item]) -> bool {
    matches!(piece[0].word(), "and" | "or")
        && piece.get(1).is_some_and(|item| verb_form(item.word()) == Some(Form::Base))
}

/// Whether a word is the subject of a clause of its own.
fn is_subject(item: &Item) -> bool {
    matches!(item.word(), "i" | "it" | "it's" | "that" | "there" | "they" | "this" | "we" | "you")
}

/// Whether a statement is a line of code that nothing marks as one: an assignment or a statement with hardly a word of prose.
fn is_bare_code(tokens: &[Token]) -> bool {
    let count = |kind: TokenKind| tokens.iter().filter(|token| token.kind == kind).count();
    let codes = tokens.iter().any(|token| matches!(token.kind, TokenKind::Sign('=' | '{' | '}' | ';')));
    codes && count(TokenKind::Word) * 3 < count(TokenKind::Name) + count(TokenKind::Number)
}

/// A statement without a word: links, names, numbers, signs.
fn without_words(tokens: &[Token], task: Task) -> StatementKind {
    let has = |kind: TokenKind| tokens.iter().any(|token| token.kind == kind);
    if has(TokenKind::Name) || has(TokenKind::Number) {
        let replaces = tokens.iter().any(|token| matches!(token.kind, TokenKind::Sign('→' | '⇒' | '>' | '=')));
        return match task {
            _ if asks(tokens) => StatementKind::Question,
            Task::Commit => StatementKind::Assertion,
            Task::Review if replaces => StatementKind::Request,
            // the note of a linter: `[83/80]`
            Task::Review if !has(TokenKind::Name) => StatementKind::Assertion,
            Task::Review => StatementKind::Code,
        };
    }
    if has(TokenKind::Link) || has(TokenKind::Reference) {
        return StatementKind::Courtesy;
    }
    if asks(tokens) { StatementKind::Question } else { StatementKind::Markup }
}

/// Whether a question mark ends the sentence.
fn asks(tokens: &[Token]) -> bool {
    let signs = tokens.iter().rev().map_while(|token| match token.kind {
        TokenKind::Sign(sign) => Some(sign),
        TokenKind::Tag => Some(' '),
        _ => None,
    });
    signs.into_iter().any(|sign| matches!(sign, '?' | '？'))
}

/// What the pieces of a sentence do together: what it asserts outweighs what it asks, and that what it finds.
fn combine(pieces: &[Vec<Item>], roles: &[Role], question: bool, task: Task) -> StatementKind {
    let any = |role: Role| roles.contains(&role);
    if question {
        // a question of markup and brackets alone has no pieces
        let Some((last, others)) = pieces.split_last() else { return StatementKind::Question };
        let states = |(piece, role): (&Vec<Item>, &Role)| *role == Role::Asserts && piece.iter().any(Item::is_exact);
        let before = others.iter().zip(roles).any(states);
        return if before && is_tag_or_question(last, task) {
            StatementKind::Assertion
        } else {
            StatementKind::Question
        };
    }
    let mut requested = false;
    for (piece, role) in pieces.iter().zip(roles) {
        match role {
            // what a request would bring about
            Role::Asserts
                if requested && !piece.iter().any(Item::is_exact) && (is_modal(piece) || piece[0].word() == "so") => {}
            Role::Asserts => return StatementKind::Assertion,
            Role::Requests => requested = true,
            _ => {}
        }
    }
    if requested {
        StatementKind::Request
    } else if any(Role::Asks) {
        StatementKind::Question
    } else if any(Role::Names) || (any(Role::Attends) && pieces.iter().flatten().any(is_concrete)) {
        StatementKind::Assertion
    } else if any(Role::Greets) && !any(Role::Judges) {
        StatementKind::Courtesy
    } else {
        StatementKind::Opinion
    }
}

/// Whether the last piece of a question is the whole question, so that what stands before it is stated: `…, right?`, `…, can we?`.
fn is_tag_or_question(piece: &[Item], task: Task) -> bool {
    let rest = without_lead(piece);
    rest.is_empty()
        || is_inverted(rest)
        || request::requests(rest) && task == Task::Review
        || matches!(rest[rest.len() - 1].word(), "right" | "correct")
        || (rest.len() <= 2 && matches!(rest[0].word(), "right" | "no" | "correct" | "not"))
}

fn is_modal(piece: &[Item]) -> bool {
    piece
        .iter()
        .any(|item| matches!(item.word(), "will" | "would" | "can" | "could" | "may" | "might" | "it'll" | "it'd"))
}

/// Whether an item names something: a name, a number, a word that is neither grammar nor evaluation nor vague.
fn is_concrete(item: &Item) -> bool {
    match item {
        Item::Word(word) => {
            !is_function(word)
                && !is_evaluative(word)
                && !is_vague(word)
                && !is_auxiliary(word)
                && !is_lead(word)
                && !is_courtesy(word)
                && word.chars().any(char::is_alphabetic)
        }
        Item::Name | Item::Number => true,
        Item::Reference => false,
    }
}

/// What a piece does; `opens` if nothing but greetings and conditions stands before it.
fn role(piece: &[Item], task: Task, opens: bool) -> Role {
    let rest = without_lead(piece);
    let Some(first) = rest.first() else {
        return if piece.iter().any(|item| is_evaluative(item.word())) { Role::Judges } else { Role::Fills };
    };
    let first = first.word();
    let tentative = piece.iter().take(2).any(|item| matches!(item.word(), "maybe" | "perhaps" | "possibly"));
    if is_subordinator(first) || (first == "that" && piece.len() > rest.len()) {
        return Role::Attends;
    }
    let states_change = task == Task::Commit && verb_form(first).is_some() && rest.len() > 1;
    let wants = match task {
        Task::Review => request::requests(rest) || (tentative && verb_form(first).is_some_and(is_proposed)),
        Task::Commit => matches!(first, "please" | "todo" | "fixme"),
    };
    if wants {
        return Role::Requests;
    }
    if states_change {
        return Role::Asserts;
    }
    let led = &piece[..piece.len() - rest.len()];
    // `here is the …`, `so are the …` are no questions
    let asked = led.last().is_none_or(|lead| !matches!(lead.word(), "here" | "so" | "as" | "which" | "thus" | "then"));
    if (opens && asked && is_inverted(rest)) || is_doubt(rest) {
        return Role::Asks;
    }
    if is_courtesy(first) && !rest.iter().any(Item::is_exact) {
        return Role::Greets;
    }
    if !rest.iter().any(is_concrete) {
        return if rest.iter().any(|item| is_evaluative(item.word())) { Role::Judges } else { Role::Fills };
    }
    if is_finite(rest) { Role::Asserts } else { Role::Names }
}

fn is_proposed(form: Form) -> bool {
    matches!(form, Form::Base | Form::Gerund)
}

/// A piece behind the words that only lead to it.
fn without_lead(piece: &[Item]) -> &[Item] {
    let leads = piece.iter().take_while(|item| is_lead(item.word())).count();
    &piece[leads..]
}

/// Whether a piece has a finite verb of its own: an auxiliary or a verb with an ending, not in a condition or a relative clause.
fn is_finite(rest: &[Item]) -> bool {
    let mut skip = false;
    for (i, item) in rest.iter().enumerate() {
        let word = item.word();
        if i > 0 && is_subordinator(word) {
            return false;
        }
        if i > 0 && matches!(word, "that" | "which" | "who" | "whose" | "where") {
            skip = true;
            continue;
        }
        let known = is_auxiliary(word) || matches!(verb_form(word), Some(Form::Third | Form::Past));
        // a verb of no list behind its subject
        let subject =
            i > 0 && (rest[i - 1] == Item::Name || matches!(rest[i - 1].word(), "it" | "this" | "that" | "which"));
        let finite = known || (subject && word.len() > 3 && word.ends_with('s') && !is_function(word));
        if finite && !std::mem::take(&mut skip) {
            return true;
        }
    }
    false
}

/// Whether a piece is put as a question without its mark: `why`, `what is`, `is this`, `does it`.
fn is_inverted(rest: &[Item]) -> bool {
    let word = |i: usize| rest.get(i).map_or("", Item::word);
    let subject = |i: usize| {
        rest.get(i) == Some(&Item::Name)
            || matches!(
                word(i),
                "a" | "an"
                    | "i"
                    | "it"
                    | "our"
                    | "that"
                    | "the"
                    | "there"
                    | "these"
                    | "they"
                    | "this"
                    | "those"
                    | "we"
                    | "you"
                    | "your"
            )
    };
    match word(0) {
        "why" => true,
        "what" | "how" | "where" | "who" | "which" | "when" => {
            matches!(
                word(1),
                "about"
                    | "are"
                    | "can"
                    | "come"
                    | "do"
                    | "does"
                    | "did"
                    | "if"
                    | "is"
                    | "should"
                    | "was"
                    | "will"
                    | "would"
                    | "were"
            ) && (rest.len() > 2)
        }
        "what's" | "how's" | "who's" | "any" => {
            word(0) != "any" || matches!(word(1), "reason" | "idea" | "thoughts" | "chance")
        }
        "are" | "aren't" | "can" | "can't" | "could" | "couldn't" | "did" | "didn't" | "do" | "does" | "doesn't"
        | "has" | "hasn't" | "have" | "is" | "isn't" | "shall" | "should" | "shouldn't" | "was" | "wasn't" | "were"
        | "will" | "won't" | "would" | "wouldn't" => subject(1),
        _ => false,
    }
}

/// Whether a piece says that its author does not know: `not sure whether`, `I wonder if`, `I don't understand why`.
fn is_doubt(rest: &[Item]) -> bool {
    let words: Vec<&str> = rest.iter().take(6).map(Item::word).collect();
    words.windows(2).any(|pair| {
        matches!(
            pair,
            ["wonder" | "wondering" | "curious", _]
                | ["sure" | "understand" | "know", "why" | "what" | "how" | "if" | "whether"]
        )
    }) && words.iter().any(|word| matches!(*word, "not" | "don't" | "wonder" | "wondering" | "curious" | "i'm"))
}
