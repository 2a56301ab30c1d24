//! VD016: what is said to be done with two things together is done with one of them and another.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::diff::LineKind;

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{is_denied, pattern},
    terms::{Term, Weight, best_lines, terms},
    thing::is_comment,
};
use crate::{
    blocks::{Blocks, SideLine},
    occurrences::Places,
};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD016",
    name: "relation",
    summary: "The text says that something is passed to, called on, read from or set to another thing, and the lines have it with a third one.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check: |_| Vec::new(),
    check_statement: Some(check),
};

const NP: &str = r"([^,;:()]{2,50}?)";
const END: &str = r"(?: (?:in|for|so|when|if|on|as|at|before|after|because|since|which|that|and|but|instead|rather|too|now|again|here|twice|once|by|with|until|while|to)\b|[,.;:()?]|$)";

static RELATIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let of = |verbs: &str, done: &str, joint: &str| {
        [
            pattern(&format!(r"\b(?:{verbs}) {NP} (?:{joint}) {NP}{END}")),
            pattern(&format!(
                r"{NP} (?:is|are|gets?|was|were|being) (?:now |also |only |directly )?(?:{done})(?: twice| once| directly| now)? (?:{joint}) {NP}{END}"
            )),
        ]
    };
    [
        of("pass(?:es|ing)?|hands?|handing|giv(?:es?|ing)|forwards?|forwarding|sends?|sending|feeds?|delegates?|suppl(?:y|ies)", "passed|handed|given|forwarded|sent|fed|supplied|delegated", "to|into"),
        of("calls?|calling|invokes?|invoking", "called|invoked", "on|with"),
        of("reads?|reading|takes?|taking|gets?|getting|fetch(?:es|ing)?|loads?|loading|pulls?|imports?|importing|obtains?|deriv(?:es?|ing)", "read|taken|fetched|loaded|pulled|imported|obtained|derived", "from|via|through"),
        of("sets?|setting|assigns?|assigning|points?|initiali[sz]es?", "set|assigned|initiali[sz]ed", "to"),
        of("wraps?|wrapping", "wrapped", "in|into|with"),
    ]
    .into_iter()
    .flatten()
    .collect()
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|not|[a-z]+n't|no longer|never|were|was|used to|previously|instead|rather|remov\w+|drop\w*|replac\w*|mov(?:e|es|ed|ing)|renam\w*|fix(?:es|ed)?|allow\w*|either|or|formerly|unless|than)\b",
    )
});

/// What the statement says of two things.
fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    if OPEN.is_match(said) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for captures in RELATIONS.iter().flat_map(|pattern| pattern.captures_iter(said)) {
        let part = captures.get(0).expect("the whole").range();
        if !is_denied(&said[..part.start]) {
            found.extend(judge(scene, scene.change.new_blocks(), &captures[1], &captures[2], part));
        }
    }
    found.truncate(1);
    found
}

fn judge(scene: &Scene<'_, '_>, blocks: &Blocks<'_>, thing: &str, with: &str, part: Range<usize>) -> Option<Claimed> {
    // "the value of `a` from `b`" speaks of more than two
    let is_time = ["every ", "each ", "any "].iter().any(|word| with.trim_start().starts_with(word));
    if is_time
        || with.split(' ').count() > 5
        || [" of ", " in ", " from "].iter().any(|joint| with.contains(joint))
        || thing.contains(" from ")
    {
        return None;
    }
    let [things, others] = super::terms::apart(terms(scene, thing), terms(scene, with));
    // a sign is on many lines
    if others.iter().any(|term| term.key.len() < 2) {
        return None;
    }
    let strong = |list: Vec<Term<'_>>| list.into_iter().filter(|term| term.weight > Weight::Common).count();
    if strong(things.clone()) == 0 {
        return None;
    }
    let mut lines = best_lines(&things, |places: &Places| places.added.clone(), 0.5);
    lines.retain(|&line| {
        !is_comment(scene.change.code(line)) && crate::blocks::function_name(scene.change.code(line)).is_none()
    });
    if lines.is_empty() || lines.len() > 4 {
        return None;
    }
    // every word of the other thing that the code has stands elsewhere
    let known: Vec<&Term<'_>> =
        others.iter().filter(|term| term.weight > Weight::Common && is_code_of_new_side(scene, term)).collect();
    if known.is_empty() || others.iter().any(|term| term.weight > Weight::Common && term.places.is_empty()) {
        return None;
    }
    let windows: Vec<Vec<usize>> = lines.iter().map(|&line| statement(blocks, line)).collect();
    let is_here = |term: &Term<'_>| {
        windows.iter().flatten().any(|line| term.places.added.contains(line) || term.places.context.contains(line))
    };
    let all_here = others.iter().all(|term| term.places.is_empty() || is_here(term));
    if all_here
        || !known.iter().any(|term| !is_here(term))
        || others.iter().any(|term| term.weight == Weight::Name && is_here(term))
    {
        return None;
    }
    let message = format!("it is with something else than {}", known[0].key);
    Some(Claimed { ruling: Ruling::Contradicted, part, lines, message })
}

/// Whether lines of code of the new side have a term.
fn is_code_of_new_side(scene: &Scene<'_, '_>, term: &Term<'_>) -> bool {
    let is_code = |line: &usize| {
        let is_file = scene.change.diff.lines()[*line].kind == LineKind::Header
            && !scene.change.diff.line_text(*line).starts_with("@@");
        !is_file && !is_comment(scene.change.code(*line))
    };
    term.places.new_side().iter().any(is_code)
}

/// The lines of the statement that a line of the new side is a part of, by its brackets.
fn statement(blocks: &Blocks<'_>, line: usize) -> Vec<usize> {
    const MOST: usize = 8;
    let Some(at) = blocks.lines.iter().position(|side| side.line == line) else { return vec![line] };
    let depth = |code: &str| {
        code.chars()
            .map(|c| match c {
                '(' | '[' => 1,
                ')' | ']' => -1,
                _ => 0,
            })
            .sum::<i32>()
    };
    let (mut first, mut last) = (at, at);
    let mut open = depth(blocks.lines[at].code);
    while open < 0 && first > 0 && at - first < MOST {
        first -= 1;
        open += depth(blocks.lines[first].code);
    }
    // a list of arguments that neither opens nor closes on this line
    let is_listed = |side: &SideLine<'_>| side.code.ends_with([',', '=', '.']);
    let above = blocks.lines[..first].iter().rev().take(MOST).take_while(|side| is_listed(side)).count();
    if first > above && blocks.lines[first - above - 1].code.ends_with(['(', '[']) {
        first -= above + 1;
        open += blocks.lines[first..at].iter().map(|side| depth(side.code)).sum::<i32>();
    }
    while (open > 0 || blocks.lines.get(last + 1).is_some_and(|side| side.code.starts_with('.')))
        && last + 1 < blocks.lines.len()
        && last - at < MOST
    {
        last += 1;
        open += depth(blocks.lines[last].code);
    }
    blocks.lines[first..=last].iter().map(|side| side.line).collect()
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use super::RULE;
    use crate::rules::twins::texts_apart;

    const JS: &str = "--- a/app.js\n+++ b/app.js\n@@ @@\n function boot(settings) {\n   const router = makeRouter(settings);\n   const mailer = makeMailer(settings);\n+  const session = openSession(\n+    settings.secret,\n+  );\n+  router.attach(session);\n+  const zone = readZone(locale.region);\n   mailer.start();\n }\n";

    #[test]
    fn what_is_done_with_what_is_told_apart() {
        texts_apart(
            &RULE,
            Task::Commit,
            JS,
            &[
                ("Pass the secret to openSession", "Pass the secret to makeMailer"),
                ("Read the zone from the region", "Read the zone from the mailer"),
                ("Hand the session to the router", "Hand the session to the mailer"),
            ],
        );
        texts_apart(
            &RULE,
            Task::Review,
            JS,
            &[("The session is passed to `attach`.", "The session is passed to `makeMailer`.")],
        );
    }
}
