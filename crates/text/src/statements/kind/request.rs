//! Whether a piece of a review asks for something to be done.

use super::super::{
    lexicon::{Form, is_auxiliary, is_evaluative, is_noun_too, verb_form},
    segments::Item,
};

/// Whether a piece without the words that lead to it asks for something: an imperative, `should`, `you can`, `it would be better`.
pub(super) fn requests(rest: &[Item]) -> bool {
    is_imperative(rest) || (0..rest.len()).any(|i| asks_at(rest, i))
}

fn word(rest: &[Item], i: usize) -> &str {
    rest.get(i).map_or("", Item::word)
}

/// Whether the words from `i` on are a phrase that asks.
fn asks_at(rest: &[Item], i: usize) -> bool {
    let next = |n: usize| word(rest, i + n);
    let soon = |from: usize, to: usize, fits: &dyn Fn(&str) -> bool| (from..to).any(|n| fits(next(n)));
    match next(0) {
        "please" | "pls" | "plz" | "todo" | "let's" | "lets" | "suggest" | "recommend" | "recommended"
        | "advisable" | "prefer" | "i'd" => true,
        "should" | "shouldn't" | "must" | "ought" => {
            !soon(1, 5, &|word| matches!(word, "fine" | "ok" | "okay" | "good"))
        }
        "need" | "needs" => matches!(next(1), "to" | "a" | "an" | "more" | "some" | "better"),
        "have" | "has" => next(1) == "to" && next(2) == "be",
        "don't" => next(1) == "need" || next(1) == "think" && soon(2, 6, &|word| word == "need" || word == "should"),
        "no" => next(1) == "need",
        "would" | "might" | "may" | "it'd" => {
            matches!(next(1), "be" | "prefer" | "suggest" | "recommend" | "like" | "love" | "want")
                && (next(1) != "be" || soon(2, 6, &is_wished))
        }
        "could" => next(1) == "be" && (participle(next(2)) || is_evaluative(next(2))) || next(1) == "use",
        "can" => (1..3).any(|n| next(n) == "be" && (improves(next(n + 1)) || improves(next(n + 2)))),
        "you" | "we" => {
            matches!(next(1), "can" | "could" | "may" | "might" | "should" | "shouldn't" | "must" | "need" | "want")
                && !matches!(next(2), "see" | "find" | "not" | "get" | "have" | "be" | "end" | "also" if next(3) == "see")
                && !matches!(next(2), "see" | "be" | "end" | "get")
        }
        "it" | "it's" | "that's" => advises(rest, i),
        "better" | "best" | "worth" | "important" | "necessary" => {
            next(1) == "to"
                || (next(0) == "worth" && verb_form(next(1)) == Some(Form::Gerund))
                || (next(0) == "better" && next(1) == "if")
        }
        "make" | "making" => next(1) == "sure" && i < 2,
        "feel" => next(1) == "free",
        "how" => next(1) == "about",
        "want" => next(1) == "to" && i > 0 && matches!(word(rest, i - 1), "might" | "may" | "you" | "we" | "probably"),
        _ => false,
    }
}

/// `it is good practice to`, `it's a good idea to`, `it is recommended to`.
fn advises(rest: &[Item], i: usize) -> bool {
    let words: Vec<&str> = (i..i + 9).map(|n| word(rest, n)).collect();
    let says = matches!(words[0], "it's" | "that's")
        || (words[0] == "it"
            && (words[1] == "is"
                || (matches!(words[1], "would" | "might" | "may" | "will" | "could") && words[2..4].contains(&"be"))));
    let wished = words[..6].iter().position(|word| is_wished(word));
    let until = words.iter().position(|&word| word == "to" || word == "if");
    let (Some(at), Some(until)) = (wished, until) else { return false };
    let states = words
        .get(until + 1)
        .is_some_and(|word| matches!(*word, "note" | "see" | "mention" | "know" | "remember" | "say"));
    says && at < until && until - at <= 4 && !states
}

/// What somebody says that something would be, who wants it.
fn is_wished(word: &str) -> bool {
    is_evaluative(word)
        && !matches!(word, "wrong" | "clear" | "redundant" | "unnecessary" | "confusing" | "misleading" | "unclear")
}

fn participle(word: &str) -> bool {
    verb_form(word) == Some(Form::Past)
}

/// Whether a participle is of something that reviewers want done.
fn improves(word: &str) -> bool {
    matches!(
        word,
        "added"
            | "avoided"
            | "changed"
            | "cleaned"
            | "combined"
            | "condensed"
            | "consolidated"
            | "converted"
            | "deleted"
            | "dropped"
            | "enhanced"
            | "extracted"
            | "factored"
            | "improved"
            | "inlined"
            | "made"
            | "merged"
            | "moved"
            | "optimized"
            | "omitted"
            | "reduced"
            | "refactored"
            | "removed"
            | "renamed"
            | "replaced"
            | "reverted"
            | "rewritten"
            | "shortened"
            | "simplified"
            | "split"
            | "written"
    )
}

/// Whether the word before `at` is what a verb there has as its subject, so that it is a name and no verb itself: "fetch retries
/// three times", "parse now returns `None`".
fn is_subject_of(rest: &[Item], at: usize) -> bool {
    let adverbs = rest[at..].iter().take_while(|item| {
        matches!(
            item.word(),
            "now" | "still" | "also" | "no" | "longer" | "never" | "always" | "only" | "just" | "simply"
        )
    });
    let at = at + adverbs.count();
    let verb = word(rest, at);
    if verb_form(verb) != Some(Form::Third) {
        return false;
    }
    // "check returns `None`": a plural would have nothing right behind it
    let begins = |item: &Item| match item {
        Item::Word(word) => {
            matches!(
                word.as_str(),
                "a" | "an" | "the" | "its" | "it" | "them" | "no" | "none" | "nothing" | "true" | "false" | "null"
            )
        }
        Item::Name | Item::Number => true,
        Item::Reference => false,
    };
    !is_noun_too(verb) || rest.get(at + 1).is_some_and(begins)
}

/// Whether a piece begins with a verb in its plain form that has no subject.
fn is_imperative(rest: &[Item]) -> bool {
    let first = word(rest, 0);
    let second = word(rest, 1);
    match first {
        "don't" | "never" | "always" | "do" | "not" | "be" | "to" => {
            let base = if first == "do" { second == "not" } else { verb_form(second) == Some(Form::Base) };
            return base && !matches!(first, "not" | "to") || (first == "be" && matches!(second, "careful" | "sure"));
        }
        "let" => return matches!(second, "us" | "me" | "the"),
        _ => {}
    }
    if verb_form(first) != Some(Form::Base)
        || matches!(
            first,
            "note" | "notice" | "seem" | "look" | "need" | "guess" | "see" | "think" | "function" | "know"
        )
    {
        return first == "see" && rest.len() > 1;
    }
    let Some(next) = rest.get(1) else { return !is_noun_too(first) };
    if is_subject_of(rest, 1) {
        return false;
    }
    if !is_noun_too(first) {
        return !is_auxiliary(next.word());
    }
    let has_verb =
        rest[1..].iter().any(|item| is_auxiliary(item.word()) || verb_form(item.word()) == Some(Form::Third));
    match next {
        Item::Word(next) => match next.as_str() {
            "of" => false,
            "a" | "all" | "an" | "any" | "each" | "every" | "it" | "its" | "that" | "the" | "them" | "these"
            | "this" | "those" | "up" | "your" => true,
            next => !has_verb && !is_auxiliary(next),
        },
        Item::Name | Item::Number => !rest.get(2).is_some_and(|item| is_auxiliary(item.word())) || first == "use",
        Item::Reference => true,
    }
}
