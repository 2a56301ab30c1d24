//! Something described in words that is said to come, to go or to stay, and whose lines all say otherwise.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::diff::LineKind;

use super::single::takes_away;
use crate::{
    mention::{Mention, MentionKind},
    rules::{
        Claimed, Ruling, Scene,
        phrase::{is_denied, pattern},
        resolve::{LinesOf, resolve},
        state::ELSEWHERE,
        terms::{Side, Term, Weight, best_lines, terms},
        thing::is_comment,
    },
};

/// What is said of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Comes,
    Goes,
    Stays,
    /// It was so before.
    Was,
}

const THING: &str = r"((?:the |an? |any |all |its |our |some |new |old |unused )*[a-z@][^,;:()]{2,60}?)";
const END: &str = r"(?: (?:to|from|in|into|for|on|onto|at|when|if|so|that|which|and|or|with|without|by|as|before|after|because|while|whereas|but|until|here|now|again|too|out|between|during|via|using|just|is|are|was|were)\b|[,.;:()?!]|$)";
const IS: &str = r"(?:is|are|was|were|gets?|got|being|has been|have been)(?: being| now| newly| also| thus)*";

static CLAIMS: LazyLock<Vec<(Way, Regex)>> = LazyLock::new(|| {
    let comes = "(?:adds?|added|adding|introduc(?:es?|ed|ing)|inserts?|inserted|inserting|gains?|gained|picks? up|restores?|restored|restoring|brings? back|puts? back|reinstates?|re-?adds?|gets? an?|now has|now have|comes? with|puts? in|brings? in|starts? (?:[a-z]+ing|to [a-z]+))";
    let goes = "(?:removes?|removed|removing|deletes?|deleted|deleting|drops?|dropped|dropping|loses?|lost|losing|strips?|gets? rid of|got rid of|ditch(?:es)?|takes? out|eliminates?|no longer has|no longer have|does away with|forgoes?|stops? (?:[a-z]+ing))";
    let came = "(?:added|introduced|inserted|restored|reinstated|brought back|put back)";
    let went = "(?:removed|dropped|deleted|gone|taken out|stripped|eliminated|lost)";
    let stays = "(?:stays?|remains?|is kept|are kept|is retained|is left in|is left alone|is still (?:there|here|in)|lives? on|survives?|is left (?:there|here|in place|as it was))";
    vec![
        (Way::Comes, pattern(&format!(r"\b{comes} {THING}{END}"))),
        (Way::Goes, pattern(&format!(r"\b{goes} {THING}{END}"))),
        (Way::Comes, pattern(&format!(r"{THING} {IS} {came}\b"))),
        (Way::Goes, pattern(&format!(r"{THING} {IS} {went}\b"))),
        (Way::Comes, pattern(&format!(r"\bwhy (?:is|are|was|were) {THING} (?:being )?{came}\b"))),
        (Way::Goes, pattern(&format!(r"\bwhy (?:is|are|was|were) {THING} (?:being )?{went}\b"))),
        (
            Way::Goes,
            pattern(&format!(
                r"{THING}(?:\([^()]{{0,20}}\))? (?:goes away|go away|went away|disappears?|vanish(?:es)?)\b"
            )),
        ),
        (
            Way::Comes,
            pattern(&format!(
                r"\b(?:now|from now on|starts?|begins?)(?: also| only| just)? [a-z]{{3,}}(?:s|ing)? {THING}{END}"
            )),
        ),
        (
            Way::Goes,
            pattern(&format!(
                r"\b(?:no longer|stops?|stopped|ceases? to|does not|doesn't) [a-z]{{3,}} {THING} (?:any ?more|any longer)\b"
            )),
        ),
        (Way::Comes, pattern(&format!(r"\bonly (?:in|for|with|on|under|if|when) {THING}{END}"))),
        (Way::Goes, pattern(&format!(r"\b(?:no longer|stops?|stopped|ceases? to) [a-z]{{3,}} {THING}{END}"))),
        (
            Way::Stays,
            pattern(&format!(r"\b(?:still|keeps?|continues? to|kept)(?: on)? [a-z]{{3,}}(?:s|ing)? {THING}{END}")),
        ),
        (
            Way::Was,
            pattern(&format!(
                r"\b(?:previously|formerly|until now|so far|(?:it|this|that|code|which|we) used to|the old code|originally)(?: [a-z]{{2,}}){{0,2}} {THING}{END}"
            )),
        ),
        (Way::Stays, pattern(&format!(r"{THING} {stays}\b"))),
        (Way::Goes, pattern(&format!(r"{THING} (?:one )?goes(?:[,.;]|$)"))),
    ]
});

/// Sentences on what should be or could be.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|recommend|if we|can we|can you|let's|unless|whether|want|wants|needs? to|instead|rather)\b",
    )
});

/// What the whole statement says of things.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    if OPEN.is_match(said) || ELSEWHERE.is_match(said) {
        return Vec::new();
    }
    let mut found: Vec<Claimed> = Vec::new();
    for (way, pattern) in CLAIMS.iter() {
        for captures in pattern.captures_iter(said) {
            let (whole, thing) = (captures.get(0).expect("the whole"), captures.get(1).expect("the thing"));
            if !is_denied(&said[..whole.start()]) && !is_denied(&format!("{} ", thing.as_str())) {
                let claimed = judge(scene, *way, thing.as_str(), thing.range());
                found.extend(claimed.or_else(|| with_clause(scene, *way, said, thing.range())));
            }
        }
    }
    found.truncate(1);
    found
}

/// Words with which no thing begins.
const PREPOSITIONS: [&str; 18] = [
    "when", "if", "once", "early", "that", "because", "so", "as", "after", "before", "in", "from", "to", "for", "on",
    "at", "by", "with",
];

impl Way {
    /// The side that speaks against it.
    fn wrong(self) -> Side {
        if matches!(self, Way::Goes | Way::Was) { Side::New } else { Side::Old }
    }

    /// Whether a term stands where it should.
    fn agrees(self, term: &Term<'_>) -> bool {
        let (alone, mostly) = if self.wrong() == Side::New { (Side::Old, Side::Went) } else { (Side::New, Side::Came) };
        // a word is on many lines by chance
        term.side() == alone || (term.side() == mostly && term.weight == Weight::Name)
    }
}

fn judge(scene: &Scene<'_, '_>, way: Way, thing: &str, part: Range<usize>) -> Option<Claimed> {
    if thing.trim_start().split(' ').next().is_some_and(|word| PREPOSITIONS.contains(&word)) {
        return None;
    }
    let terms = terms(scene, head(thing));
    if terms.iter().any(|term| way.agrees(term)) {
        return None;
    }
    let claimed = |lines, message| Some(Claimed { ruling: Ruling::Contradicted, part, lines, message });
    if let (Way::Goes, [term]) = (way, &terms[..])
        && is_untouched(scene, term)
    {
        return claimed(term.places.context.clone(), format!("no line with `{}` is removed", term.written));
    }
    if !says_enough(scene, way, &terms) {
        return None;
    }
    let (of_wrong, of_right): (LinesOf, LinesOf) = match way.wrong() {
        Side::New => (|places| places.added.clone(), |places| places.removed.clone()),
        _ => (|places| places.removed.clone(), |places| places.added.clone()),
    };
    let lines = best_lines(&terms, of_wrong, 0.5);
    let is_right = !best_lines(&terms, of_right, 0.5).is_empty();
    let is_named = terms.iter().any(|term| term.weight == Weight::Name);
    if !is_named && lines.iter().all(|&line| is_told(scene.change.code(line))) {
        return None;
    }
    if lines.is_empty() || is_right || (way == Way::Goes && takes_away(scene, &lines)) {
        return None;
    }
    let message = match way.wrong() {
        Side::New => "its lines are added, none is removed",
        _ => "its lines are removed, none is added",
    };
    claimed(lines, message.to_owned())
}

/// The same of a thing that is described by what it does, "a step that puts the context back": its lines are found by all words
/// together, and no line of the other side has half of them.
fn with_clause(scene: &Scene<'_, '_>, way: Way, said: &str, thing: Range<usize>) -> Option<Claimed> {
    static CLAUSE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^ (?:that|which) [^,;:.()?]{6,80}?(?: (?:so|because|since|when|if|as|while|but|and|instead|rather|now|here|again)\b|[,;:.()?]|$)",
        )
    });
    if !matches!(way, Way::Comes | Way::Goes) {
        return None;
    }
    let clause = CLAUSE.find(&said[thing.end..])?;
    let phrase = said[thing.start..thing.end + clause.end()].trim_end_matches(|c: char| !c.is_alphanumeric());
    let all = terms(scene, phrase);
    let (of_wrong, of_right): (LinesOf, LinesOf) = match way.wrong() {
        Side::New => (|places| places.added.clone(), |places| places.removed.clone()),
        _ => (|places| places.removed.clone(), |places| places.added.clone()),
    };
    let wrong = resolve(scene, phrase, &all, of_wrong);
    let lines = wrong.all_lines(scene, 0.6);
    let is_there = |side: LinesOf| !resolve(scene, phrase, &all, side).all_lines(scene, 0.4).is_empty();
    let telling = all
        .iter()
        .filter(|term| term.weight > Weight::Common && lines.iter().any(|l| of_wrong(&term.places).contains(l)));
    if lines.is_empty()
        || !wrong.is_anchored()
        || telling.count() < 2
        || is_there(of_right)
        || is_there(|p| p.context.clone())
    {
        return None;
    }
    if way == Way::Goes && takes_away(scene, &lines) || lines.iter().all(|&line| is_told(scene.change.code(line))) {
        return None;
    }
    let message = if way == Way::Goes { "its line is added" } else { "its line is removed" };
    Some(Claimed { ruling: Ruling::Contradicted, part: thing, lines, message: message.to_owned() })
}

/// Whether a line tells of code and is none: a comment, the title of a test.
fn is_told(code: &str) -> bool {
    static TITLE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*(?:it|test|describe|context)\b|^\s*(?:def|func|fn) [Tt]est"));
    is_comment(code) || TITLE.is_match(code)
}

/// The thing itself in a phrase: what stands behind the last word that joins sentences and before the first one that says where it is.
fn head(phrase: &str) -> &str {
    static JOINS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\b(?:because|that|so|and|but|since|when|while|now|here|though|as|which|whereas|then|with it|also)\b")
    });
    static WHERE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r" (?:on|in|for|from|to|with|at|by|into|inside|within|between|under|over|around|before|after|through)\b",
        )
    });
    let start = JOINS.find_iter(phrase).last().map_or(0, |found| found.end());
    let start = if phrase[start..].trim().len() < 3 { 0 } else { start };
    let thing = &phrase[start..];
    &thing[..WHERE.find(thing).filter(|found| found.start() > 2).map_or(thing.len(), |found| found.start())]
}

/// Whether what stands on the wrong side is enough to tell: a name, two words, or all that is said.
fn says_enough(scene: &Scene<'_, '_>, way: Way, terms: &[Term<'_>]) -> bool {
    let is_against = |term: &&Term<'_>| term.side() == way.wrong() && term.weight > Weight::Common;
    let against: Vec<&Term<'_>> = terms.iter().filter(is_against).collect();
    let is_name = |term: &&Term<'_>| term.weight == Weight::Name && !term.mention.is_some_and(Mention::is_literal);
    let all = terms.len() >= 2 && terms.iter().all(|term| term.side() == way.wrong());
    against.iter().any(is_name)
        || against.len() >= 2
        || (all && !against.is_empty())
        || (way == Way::Stays && against.iter().any(|term| term.is_exact(scene)))
}

/// Whether a thing that is named stands on unchanged lines of code alone.
fn is_untouched(scene: &Scene<'_, '_>, term: &Term<'_>) -> bool {
    let places = &term.places;
    let is_code = |line: &usize| {
        let code = scene.change.code(*line);
        scene.change.diff.lines()[*line].kind == LineKind::Context && !is_comment(code)
    };
    let is_name = term.mention.is_some_and(|mention| mention.kind == MentionKind::Name);
    is_name
        && places.added.is_empty()
        && places.removed.is_empty()
        && places.files.is_empty()
        && places.context.iter().any(is_code)
        && !takes_away(scene, &places.context)
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::direction::RULE;
    use crate::rules::twins::texts_apart;

    const GO: &str = "--- a/serve.go\n+++ b/serve.go\n@@ @@\n func serve(addr string) {\n-\t// Copyright banner of Example Industries\n-\tlegacyBanner(addr)\n-\tif debugMode {\n-\t\tprintVerboseTrace(addr)\n-\t}\n+\trateLimiter := newTokenBucket(addr)\n+\trateLimiter.Start()\n \tkeepAlive(addr)\n }\n";

    #[test]
    fn what_comes_and_goes_in_words_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            GO,
            &[
                ("Why is the verbose trace gone?", "Why is the verbose trace being added?"),
                ("Why does the legacy banner go away?", "Why does this function get a legacy banner?"),
                ("It now starts a token bucket, is that wanted?", "The token bucket has been removed, is that wanted?"),
                ("It no longer prints the verbose trace.", "It still prints the verbose trace."),
                ("Why does `legacyBanner` go away?", "Why does `keepAlive` go away?"),
                (
                    "This removes the step that prints the verbose trace.",
                    "This adds a step that prints the verbose trace.",
                ),
            ],
        );
    }
}
