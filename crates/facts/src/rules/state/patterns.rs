//! What says how it is now, still, no longer, or was before.

use std::sync::LazyLock;

use regex::Regex;

use crate::rules::phrase::pattern;

/// What is said of a thing's being there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is so after the change.
    Now,
    /// It was so before the change and is so now.
    Still,
    /// The change does not touch it.
    Kept,
    /// It was so before the change and is not any more.
    Gone,
    /// It was so before the change.
    Before,
    /// It was not so before the change.
    NotBefore,
    /// How the code is, in a sentence that speaks of nothing that was.
    Plain,
}

const THERE: &str = "(?:there|present|in place|around|needed|required|available|kept|in use|valid)";
const ANY_MORE: &str = "(?:any ?more|any longer)";
const ONCE: &str = "(?:previously|originally|formerly|before this|before the change|before that|until now|up to now|so far|used to|the old code|the old version|the original code|in the past)";

/// Claims on how it is or was.
pub static PATTERNS: LazyLock<Vec<(State, Regex)>> = LazyLock::new(|| {
    let texts = [
        (State::Still, r"\bstill VERBS OBJ".to_owned()),
        (State::Still, format!(r"(@\d+)(?: [a-z]+)? (?:is|are|gets) still (?:{THERE}|DONE)\b")),
        (State::Still, r"\b(?:keeps?|kept|continues?|goes on) (?:on )?(?:DOING|to VERBS) OBJ".to_owned()),
        (State::Still, r"\bVERBS OBJ(?: [a-z]+){0,3} (?:as before|like before|as it did before)\b".to_owned()),
        (State::Kept, r"(@\d+)(?: [a-z]+)? (?:stays|remains)(?: [a-z]+)? (?:unchanged|untouched|the same|in place|as it was|as is|as it is|there)\b".to_owned()),
        (State::Kept, r"(@\d+)(?: [a-z]+)? (?:is|are) (?:kept|retained|preserved|left (?:in place|alone|untouched|unchanged|as is|as it is|as it was)|not touched|not changed|untouched|unchanged)\b".to_owned()),
        (State::Kept, r"\b(?:leaves?|left) OBJ(?: [a-z]+){0,2} (?:unchanged|untouched|alone|in place|intact|as is|as it is|as it was)\b".to_owned()),
        (State::Kept, r"\b(?:without (?:touching|changing)|does not (?:touch|change)|doesn't (?:touch|change)) OBJ".to_owned()),
        (State::Kept, r"\b(?:keeps?|keeping|retains?|preserves?|but keep|and keep) (?:the )?(?:[a-z-]+ )?(@\d+)(?: (?:alias|option|field|argument|parameter|function|method|check|import|call|as it is|as is|unchanged|in place|where it)\b|[,.;]|$)".to_owned()),
        (State::Gone, r"\bno longer (?:also )?VERBS OBJ".to_owned()),
        (State::Gone, format!(r"\b(?:does not|doesn't|do not|don't|will not|won't) VERBS OBJ(?: [a-z]+){{0,3}} {ANY_MORE}")),
        (State::Gone, r"\b(?:stops?|stopped|ceases?|ceased|quits?) DOING OBJ".to_owned()),
        (State::Gone, format!(r"(@\d+)(?: [a-z]+)? (?:is|are) no longer (?:being )?(?:{THERE}|DONE)\b")),
        (State::Gone, format!(r"(@\d+)(?: [a-z]+)? (?:is not|are not|isn't|aren't) (?:{THERE}|DONE)(?: [a-z]+){{0,3}} {ANY_MORE}")),
        (State::Now, r"\bnow (?:also |only |just |always |explicitly )?VERBS OBJ".to_owned()),
        (State::Now, r"\b(?:will|is|are) now (?:also )?DOING OBJ".to_owned()),
        (State::Now, format!(r"(@\d+)(?: [a-z]+)? (?:is|are|gets) now (?:also |only |always )?(?:{THERE}|DONE)\b")),
        (State::Now, format!(r"(@\d+)(?: [a-z]+)? (?:is|are|gets) (?:{THERE}|DONE) (?:now|from now on)\b")),
        (State::Now, r"\bVERBS OBJ(?: [a-z]+)? (?:now|from now on)(?:[,.;]|$)".to_owned()),
        (State::Before, format!(r"\b{ONCE}\b[^@.;]{{0,40}}\b(?:VERBS|DONE|DOING|was|were) OBJ")),
        (State::Before, r"\b(?:was|were) DOING OBJ".to_owned()),
        (State::Before, r"(@\d+)(?: [a-z]+)? (?:was|were) (?:previously|originally|formerly|so far|until now|already) (?:there|DONE)\b".to_owned()),
        (State::Before, r"(@\d+)(?: [a-z]+)? (?:was|were) (?:there|present|DONE) (?:before|already|previously|until now|so far|earlier)\b".to_owned()),
        (State::Before, r"(@\d+)(?: [a-z]+)? (?:already existed|existed already|existed before|existed|was already there|was there already|was there before|is not new|isn't new|wasn't new)\b".to_owned()),
        (State::NotBefore, r"(@\d+)(?: [a-z]+)?(?:,? (?:which|that))? (?:was|were) not (?:DONE|there|present)(?: [a-z]+){0,2} (?:before|until now|so far|previously|earlier)\b".to_owned()),
        (State::NotBefore, r"(@\d+)(?: [a-z]+)?(?:,? (?:which|that))? (?:wasn't|weren't) (?:DONE|there|present)(?: [a-z]+){0,2} (?:before|until now|so far|previously|earlier)\b".to_owned()),
        (State::NotBefore, r"\b(?:had|took|accepted|contained) no (?:[a-z-]+ )?(@\d+)".to_owned()),
        (State::NotBefore, r"\b(?:lacked|was missing|were missing) (?:the |an? )?(?:[a-z-]+ )?(@\d+)".to_owned()),
        (State::NotBefore, r"(@\d+)(?: (?:part|line|call|check|bit|field|argument|parameter|import|lines|condition|test))? (?:is|are) (?:brand |all )?new\b".to_owned()),
        (State::Before, r"(@\d+)(?: [a-z]+)? (?:isn't|aren't|is not|are not) new\b".to_owned()),
        (State::Plain, r"\bVERBS OBJ".to_owned()),
        (State::Plain, format!(r"(@\d+)(?: [a-z]+)? (?:is|are|gets) (?:also )?(?:{THERE}|DONE)(?: [a-z]+\b|[,.;:)]|$)")),
    ];
    texts.into_iter().map(|(state, text)| (state, pattern(&text))).collect()
});

/// Claims on what the code does, by a word: "still throws".
pub static WORDS: LazyLock<Vec<(State, Regex)>> = LazyLock::new(|| {
    vec![
        (State::Still, pattern(r"\bstill ([a-z]{4,}s)\b")),
        (State::Still, pattern(r"\bkeeps? ([a-z]{4,}ing)\b")),
        (State::Gone, pattern(r"\bno longer ([a-z]{4,}s)\b")),
        (State::Gone, pattern(r"\b(?:doesn't|does not|don't|do not) ([a-z]{4,})\b[^.;]* (?:any ?more|any longer)\b")),
        (State::Now, pattern(r"\bis now (?:an? |the )?([a-z]{5,})\b")),
        (State::Now, pattern(r"\bis an? ([a-z]{5,}) now\b")),
    ]
});
