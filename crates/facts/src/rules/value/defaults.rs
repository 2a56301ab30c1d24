//! What a parameter or an option is by default, by name or by words, and whether it has a default at all.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::statements::StatementKind;

use super::compare::{agrees, is_against};
use crate::{
    bindings::{Literal, bindings, literal},
    changes::{Fact, Status, Which},
    code::{TokenKind, tokens},
    occurrences::{Places, stems},
    rules::{
        Claimed, Ruling, Scene,
        phrase::pattern,
        terms::{Term, Weight, best_lines, terms},
    },
    syntax::ItemKind,
};

const VALUE: &str = r"(@\d+|true|false|null|nil|none|on|off|an empty (?:string|list|array|object|dict))";
const NP: &str = r"([^,;:()]{0,60}?)";

/// The thing and its default, each by the number of its group.
static CLAIMS: LazyLock<Vec<(Regex, [usize; 2])>> = LazyLock::new(|| {
    let form = |text: String, groups| (pattern(&text), groups);
    vec![
        form(format!(r"{NP} (?:now |still |which )?(?:defaults?|defaulting) to (?:the |a )?{VALUE}"), [1, 2]),
        form(
            format!(
                r"{NP} (?:gets?|has|have|with|keeps|takes|gives?|given|of) (?:its |an? )?default (?:value )?of {VALUE}"
            ),
            [1, 2],
        ),
        form(format!(r"{NP},? (?:with|and document) {VALUE} as (?:the |its |an? )?default"), [1, 2]),
        form(format!(r"{NP},? {VALUE} (?:by default|if not given|unless given)"), [1, 2]),
        form(format!(r"{NP} an? default of {VALUE}"), [1, 2]),
        form(format!(r"\buses? {VALUE} as the default (?:of|for) {NP}(?:[,.;]|$)"), [2, 1]),
    ]
});

static WITHOUT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:has no default|have no default|without (?:a |any )?default|no (?:@\d+ |none |nil |null )?default|(?:is|as) required\b|a required)",
    )
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|n't|no longer|never|instead of|rather than|was|were|used to|previously|unlike|formerly|before)\b|n't\b",
    )
});

/// What the statement says of defaults.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    let asks = asks(scene);
    let mut found = Vec::new();
    if scene.kind == StatementKind::Question && asks.is_none() {
        return found;
    }
    for (pattern, [thing, value]) in CLAIMS.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            if OPEN.is_match(&skeleton[part.clone()]) {
                continue;
            }
            let Some(claimed) = claimed(scene, &captures[*value]) else { continue };
            found.extend(default_is(scene, &captures[*thing], &claimed, asks.is_some(), part));
        }
    }
    if asks.is_none()
        && let Some(words) = WITHOUT.find(skeleton)
    {
        found.extend(no_default(scene, words.range()));
    }
    found.truncate(1);
    found
}

/// Whether a statement asks for what it speaks of.
fn asks(scene: &Scene<'_, '_>) -> Option<()> {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:please|(?:could|can|should|shouldn't|couldn't) (?:we|you|this|it|the)|can we|should (?:be|default))\b|^(?:could|can|let) ",
        )
    });
    (scene.kind == StatementKind::Request || ASKS.is_match(&scene.clause.skeleton)).then_some(())
}

fn claimed(scene: &Scene<'_, '_>, written: &str) -> Option<Literal> {
    if let Some(mention) = written.starts_with('@').then(|| scene.clause.mention(written)).flatten() {
        let code = mention.code.as_str();
        let kind = tokens(code).first().map(|token| token.kind)?;
        return literal(kind, code, false)
            .filter(|_| !mention.is_marked || kind != TokenKind::Text)
            .or_else(|| mention.is_marked.then(|| Literal::Text(code.to_owned())));
    }
    match written {
        "on" | "true" => Some(Literal::Constant("true".to_owned())),
        "off" | "false" => Some(Literal::Constant("false".to_owned())),
        "null" | "nil" | "none" => Some(Literal::Constant("null".to_owned())),
        _ => Some(Literal::Text(String::new())),
    }
}

/// The parameters that came or changed and that a phrase names, or else the whole statement does.
fn parameters<'s>(scene: &'s Scene<'_, '_>, phrase: &str) -> Vec<Fact<'s>> {
    let of = |phrase: &str| {
        let terms = terms(scene, phrase);
        let is_said = |fact: &Fact<'_>| {
            let parts = stems(&fact.item.name);
            let is_whole = |term: &Term<'_>| term.weight == Weight::Name && term.is_of_name(&fact.item.name, &[]);
            terms.iter().any(is_whole)
                || (!parts.is_empty() && parts.iter().all(|part| terms.iter().any(|term| term.key == *part)))
        };
        let all = scene.change.changes().items(Which::New, ItemKind::Parameter);
        all.filter(|fact| matches!(fact.status, Status::Added | Status::Changed { .. }))
            .filter(is_said)
            .collect::<Vec<_>>()
    };
    let named = of(phrase);
    if named.is_empty() { of(&scene.clause.skeleton) } else { named }
}

fn default_is(
    scene: &Scene<'_, '_>,
    thing: &str,
    claimed: &Literal,
    asks: bool,
    part: Range<usize>,
) -> Option<Claimed> {
    let (line, values) = match &parameters(scene, thing)[..] {
        [fact, ..] => {
            let line = scene.change.changes().diff_line(fact)?;
            // what the grammar could not read may have a value after all
            let is_bound = bindings(scene.change.code(line)).iter().any(|binding| binding.name == fact.item.name);
            let Some(code) = fact.item.value.as_deref() else {
                if is_bound {
                    return None;
                }
                let message = format!("`{}` has no default", fact.item.name);
                return (!asks).then(|| Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message });
            };
            let all = tokens(code);
            let [token] = &all[..] else { return None };
            (line, vec![literal(token.kind, &code[token.span.clone()], false)?])
        }
        [] => of_line(scene, thing)?,
    };
    let agrees = values.iter().any(|value| agrees(value, claimed));
    if asks {
        let message = format!("it is {} by default already", claimed.written());
        return agrees.then(|| Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message });
    }
    let against = !values.is_empty()
        && values.iter().all(|value| is_against(value, claimed) || claimed == &Literal::Text(String::new()));
    let message = format!("it is {} by default, not {}", values.first()?.written(), claimed.written());
    (!agrees && against).then(|| Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message })
}

/// The values on the one added line that a phrase speaks of.
fn of_line(scene: &Scene<'_, '_>, thing: &str) -> Option<(usize, Vec<Literal>)> {
    let terms = terms(scene, thing);
    let telling: Vec<Term<'_>> =
        terms.into_iter().filter(|term| term.weight > Weight::Common || !term.places.added.is_empty()).collect();
    let lines = best_lines(&telling, |places: &Places| places.added.clone(), 0.6);
    let is_own = |name: &str| {
        let parts = stems(name);
        name == "default" || telling.iter().any(|term| term.is_of_name(name, &parts))
    };
    let own = |line: usize| -> Vec<Literal> {
        let all = bindings(scene.change.code(line)).into_iter().filter(|binding| is_own(&binding.name));
        all.map(|binding| binding.value).collect()
    };
    let mut with = lines.into_iter().map(|line| (line, own(line))).filter(|(_, values)| !values.is_empty());
    let first = with.next()?;
    with.next().is_none().then_some(first)
}

fn no_default(scene: &Scene<'_, '_>, part: Range<usize>) -> Option<Claimed> {
    let all = parameters(scene, "");
    if all.is_empty() {
        let (line, values) = of_line(scene, &scene.clause.skeleton[..part.end])?;
        let message = format!("it has the default {}", values.first()?.written());
        return Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message });
    }
    let [fact] = &all[..] else { return None };
    let value = fact.item.value.as_deref()?;
    let line = scene.change.changes().diff_line(fact)?;
    let message = format!("`{}` has the default {value}", fact.item.name);
    Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message })
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::twins::texts_apart;
    use crate::rules::value::RULE;

    const PYTHON: &str = "--- a/fetch.py\n+++ b/fetch.py\n@@ -1,3 +1,3 @@\n import os\n-def fetch(url):\n+def fetch(url, proxy=None, strict=False, depth):\n     pass\n";
    const CSHARP: &str = "--- a/Log.cs\n+++ b/Log.cs\n@@ -1,3 +1,4 @@\n class Log {\n+    public bool ShowTimestamps = true;\n     int size;\n }\n";

    #[test]
    fn defaults_in_words_are_told_apart() {
        texts_apart(
            &RULE,
            Task::Review,
            PYTHON,
            &[
                ("The strict parameter has a default of False.", "The strict parameter has a default of True."),
                ("Could we give `proxy` a default of \"localhost\"?", "Could we give `proxy` a default of None?"),
                (
                    "`depth` has no default, so old callers break.",
                    "The depth parameter defaults to 3, so old callers go on.",
                ),
            ],
        );
        texts_apart(
            &RULE,
            Task::Commit,
            CSHARP,
            &[("Show timestamps in the log, on by default", "Show timestamps in the log, off by default")],
        );
    }
}
