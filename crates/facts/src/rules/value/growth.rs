//! What is said to grow or to shrink, to be turned on or off, against lines that differ in one value alone.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::diff::LineKind;

use crate::{
    bindings::{Literal, literal},
    code::{Token, TokenKind, tokens},
    rules::{
        Claimed, Ruling, Scene,
        phrase::{is_denied, pattern},
        terms::{Term, Weight, terms},
    },
};

/// Words for more and for less, for on and for off.
static WORDS: LazyLock<[(Kind, bool, Regex); 4]> = LazyLock::new(|| {
    let of = |kind, up, text: &str| (kind, up, pattern(&format!(r"\b(?:{text})\b")));
    [
        of(
            Kind::Size,
            true,
            "rais(?:e|es|ed|ing)|increas(?:e|es|ed|ing)|bump(?:s|ed|ing)?|grow(?:s|n)?|enlarg(?:e|es|ed)|lengthen(?:s|ed)?|extend(?:s|ed)?|doubl(?:e|es|ed|ing)|longer|larger|bigger|higher|greater|up from|widen(?:s|ed)?|more generous|upgrad(?:e|es|ed)",
        ),
        of(
            Kind::Size,
            false,
            "lower(?:s|ed|ing)?|decreas(?:e|es|ed|ing)|reduc(?:e|es|ed|ing)|shrink(?:s|ing)?|shrunk|shorten(?:s|ed)?|halv(?:e|es|ed|ing)|cut(?:s|ting)?|shorter|smaller|down from|downgrad(?:e|es|ed)|tighten(?:s|ed)?",
        ),
        of(Kind::Switch, true, "enabl(?:e|es|ed|ing)|turn(?:s|ed)? on|switch(?:es|ed)? on|activat(?:e|es|ed)|opts? in"),
        of(
            Kind::Switch,
            false,
            "disabl(?:e|es|ed|ing)|turn(?:s|ed)? off|switch(?:es|ed)? off|deactivat(?:e|es|ed)|opts? out",
        ),
    ]
});

static ORDER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:before|after|ahead of|behind) "));

static VERSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d+\.\d+\.\d+|[@=~^<>]=? ?v?\d+\.\d|\bv\d|[Vv]ersion").expect("valid"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Size,
    Switch,
}

/// A removed and an added line with one value in the place of another.
struct Pair {
    lines: [usize; 2],
    kind: Kind,
    up: bool,
}

/// What the statement says of growth and of switches.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    let claims: Vec<_> =
        WORDS.iter().filter_map(|(kind, up, words)| Some((*kind, *up, words.find(said)?.range()))).collect();
    let [(kind, up, ref part)] = claims[..] else { return Vec::new() };
    // "`i` is bumped before the call" speaks of what runs
    if ORDER.is_match(said) {
        return Vec::new();
    }
    if is_denied(&said[..part.start]) || said.contains("instead") || said.contains("rather") {
        return Vec::new();
    }
    let all = pairs(scene);
    let of_kind: Vec<&Pair> = all.iter().filter(|pair| pair.kind == kind).collect();
    let words = terms(scene, &said[part.end..]);
    let speaks = |pair: &&&Pair| {
        words.iter().any(|term: &Term<'_>| {
            term.weight > Weight::Common
                && pair.lines.iter().all(|line| term.places.added.contains(line) || term.places.removed.contains(line))
        })
    };
    let spoken: Vec<&&Pair> = of_kind.iter().filter(speaks).collect();
    if spoken.is_empty() || spoken.iter().any(|pair| pair.up == up) {
        return Vec::new();
    }
    let message = match (kind, up) {
        (Kind::Size, true) => "it is less than before",
        (Kind::Size, false) => "it is more than before",
        (Kind::Switch, true) => "it is turned off",
        (Kind::Switch, false) => "it is turned on",
    };
    vec![Claimed {
        ruling: Ruling::Contradicted,
        part: part.clone(),
        lines: spoken[0].lines.to_vec(),
        message: message.to_owned(),
    }]
}

/// How far apart the two sides of a line stand.
const WINDOW: usize = 12;

fn pairs(scene: &Scene<'_, '_>) -> Vec<Pair> {
    let lines = scene.change.diff.lines();
    let mut found = Vec::new();
    for (old, _) in lines.iter().enumerate().filter(|(_, line)| line.kind == LineKind::Removed) {
        let before = tokens(scene.change.code(old));
        for new in (old + 1..(old + WINDOW).min(lines.len())).filter(|&new| lines[new].kind == LineKind::Added) {
            found.extend(pair(scene, [old, new], &before));
        }
    }
    found
}

/// The one value in which two lines differ, if that is all.
fn pair(scene: &Scene<'_, '_>, lines: [usize; 2], before: &[Token]) -> Option<Pair> {
    let codes = lines.map(|line| scene.change.code(line));
    // of versions a part is no amount: 3.0.9 is before 3.0.11
    if codes.iter().any(|code| VERSION.is_match(code)) {
        return None;
    }
    let after = tokens(codes[1]);
    if before.len() != after.len() {
        return None;
    }
    let mut other = before.iter().zip(&after).filter(|(a, b)| codes[0][a.span.clone()] != codes[1][b.span.clone()]);
    let (a, b) = other.next()?;
    if other.next().is_some() {
        return None;
    }
    let value = |token: &Token, code: &str| {
        literal(
            if token.kind == TokenKind::Text { TokenKind::Name } else { token.kind },
            &code[token.span.clone()],
            false,
        )
    };
    match (value(a, codes[0])?, value(b, codes[1])?) {
        (Literal::Number(old, _), Literal::Number(new, _)) => {
            let (old, new) = (f64::from_bits(old), f64::from_bits(new));
            (old != new).then_some(Pair { lines, kind: Kind::Size, up: new > old })
        }
        (Literal::Constant(old), Literal::Constant(new)) => {
            let truth = |word: &str| match word.to_lowercase().as_str() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            };
            let (old, new) = (truth(&old)?, truth(&new)?);
            (old != new).then_some(Pair { lines, kind: Kind::Switch, up: new })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::twins::texts_apart;
    use crate::rules::value::RULE;

    const TS: &str = "--- a/conf.ts\n+++ b/conf.ts\n@@ -1,4 +1,4 @@\n export const conf = {\n-  idleSeconds: 30,\n+  idleSeconds: 75,\n-  sendTelemetry: true,\n+  sendTelemetry: false,\n };\n";

    #[test]
    fn growth_and_switches_are_told_apart() {
        texts_apart(
            &RULE,
            Task::Commit,
            TS,
            &[
                ("Raise the idle time of connections", "Lower the idle time of connections"),
                ("Disable telemetry", "Enable telemetry"),
                ("Longer idle time, in seconds", "Shorter idle time, in seconds"),
            ],
        );
    }
}
