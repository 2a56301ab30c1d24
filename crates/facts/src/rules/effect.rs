//! VD012: what is said to be returned, raised, caught, awaited or logged is not, but something else is done with it.

mod keyword;

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::{diff::LineKind, statements::StatementKind};

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, is_gap, pattern},
    thing::is_comment,
};
use crate::mention::{Mention, MentionKind};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD012",
    name: "effect",
    summary: "The text says what is done with something, or what happens, and the lines do something else.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(keyword::check),
};

/// What is done with a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Return,
    Raise,
    Catch,
    Await,
}

static DEEDS: LazyLock<Vec<(Deed, Regex)>> = LazyLock::new(|| {
    vec![
        (Deed::Return, pattern(r"\b(?:returns?|returning) OBJ")),
        (Deed::Return, pattern(r"(@\d+)(?: [a-z]+)? is (?:now )?returned\b")),
        (Deed::Raise, pattern(r"\b(?:raises?|throws?|raising|throwing|panics? with|fails? with) OBJ")),
        (Deed::Raise, pattern(r"(@\d+)(?: [a-z]+)? is (?:now )?(?:raised|thrown)\b")),
        (Deed::Catch, pattern(r"\b(?:catches|catch|catching|swallows?|rescues?|handles) OBJ")),
        (Deed::Catch, pattern(r"(@\d+)(?: [a-z]+)? is (?:now )?(?:caught|swallowed|rescued)\b")),
        (Deed::Await, pattern(r"\b(?:awaits?|awaiting) OBJ")),
        (Deed::Await, pattern(r"(@\d+)(?: [a-z]+)? is (?:now )?awaited\b")),
    ]
});

/// How a line does something with a name.
static DOES: LazyLock<[(Deed, Regex); 4]> = LazyLock::new(|| {
    let of = |text: &str| Regex::new(text).expect("a valid pattern");
    [
        (Deed::Return, of(r"^(?:\}\s*)?return\b|=>|\breturn\b|->|^yield\b|Ok\(|Err\(")),
        (Deed::Raise, of(r"\b(?:raise|throw|throws|panic!?|bail!|reject)\b|Err\(|\b[fF]atal|\b[aA]bort")),
        (Deed::Catch, of(r"\b(?:except|catch|rescue|suppress|errors\.Is|errors\.As|instanceof|isinstance|Err\()")),
        (Deed::Await, of(r"\bawait\b|\.await\b|\bthen\(|\bgather\(|\bPromise\b|\basyncio\b|\bwait\(")),
    ]
});

/// Something that happens by a keyword, whatever with, and what is said of it: that it still does, or no longer.
static HAPPENS: LazyLock<Vec<(bool, Regex)>> = LazyLock::new(|| {
    vec![
        (true, pattern(r"\b(?:still|now) (?:throws?|raises?|panics?)\b")),
        (true, pattern(r"\b(?:starts?|begins?) (?:throwing|raising|panicking|to throw|to raise|to panic)\b")),
        (
            false,
            pattern(
                r"\b(?:stops?|no longer|does not|doesn't|never) (?:throwing|raising|panicking|throws?|raises?|panics?)\b",
            ),
        ),
        (
            true,
            pattern(
                r"\b(?:throws?|raises?|panics?)\b[^,;:]{0,40} (?:instead of|rather than) (?:return|ignor|skip|log)",
            ),
        ),
    ]
});

static RAISES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bthrow\s+\w|\braise(?:\s+[A-Z]\w*|$)|\bpanic!?\(|\bbail!\(|\.unwrap\(|\.expect\(|\btoThrow|\bassertRaises|pytest\.raises")
        .expect("a valid pattern")
});

static LEVEL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:at|as|to|with|on)(?: the| an?)? (debug|info|warn|warning|error|trace|critical|fatal)(?:[ -]level|s? instead|s? rather)",
    )
});

static LOGS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:log|logger|logging|console|slog|tracing|_log|LOG|glog|klog)\w*(?:\([^()]*\))?(?:\.\w+\([^()]*\))*(?:\.|::)(debug|info|warn|warning|error|trace|critical|fatal)[fw]?\s*!?\(|\b(debug|info|warn|error|trace)!\(")
        .expect("a valid pattern")
});

static NOT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|never|no longer|[a-z]+n't|instead|rather|without|stops?|if|when|unless|whether|was|were|used to|previously|before|remov\w+|fix\w*|replac\w+|nothing|either|or)\b",
    )
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    if scene.kind != StatementKind::Assertion || MODAL.is_match(skeleton) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (deed, pattern) in DEEDS.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            let groups: Vec<&str> = captures.iter().skip(1).flatten().map(|m| m.as_str()).collect();
            let Some(mention) = groups.last().and_then(|number| scene.clause.mention(number)) else { continue };
            let start = skeleton[..part.start].rfind([',', ';']).map_or(0, |at| at + 1);
            if NOT.is_match(&skeleton[start..part.end]) || (groups.len() == 2 && !is_gap(groups[0].trim())) {
                continue;
            }
            found.extend(done(scene, *deed, mention, part));
        }
    }
    for (is_now, pattern) in HAPPENS.iter() {
        let depends = [" if ", " when ", " unless ", " for "].iter().any(|word| skeleton.contains(word));
        if let Some(matched) = pattern.find(skeleton).filter(|_| *is_now || !depends) {
            found.extend(happens(scene, *is_now, matched.range()));
        }
    }
    if let Some(captures) = LEVEL.captures(skeleton).filter(|_| skeleton.contains("log")) {
        found.extend(level(scene, &captures[1], captures.get(1).expect("the level").range()));
    }
    found.dedup_by(|a, b| a.message == b.message);
    found
}

/// Whether the lines with a name do with it what is said.
fn done(scene: &Scene<'_, '_>, deed: Deed, mention: &Mention, part: Range<usize>) -> Option<Claimed> {
    if mention.kind != MentionKind::Name {
        return None;
    }
    let finding = scene.change.find(mention);
    let places = finding.exactly()?;
    let is_code = |line: &usize| {
        let code = scene.change.code(*line);
        scene.change.diff.lines()[*line].kind != LineKind::Header && !is_comment(code) && !super::thing::is_import(code)
    };
    let lines: Vec<usize> = places.new_side().into_iter().filter(is_code).collect();
    // what an unchanged line does with it is not all that the file does
    if !lines.iter().any(|line| scene.change.diff.lines()[*line].kind == LineKind::Added) {
        return None;
    }
    let deeds = |line: usize| {
        let code = scene.change.code(line).trim();
        DOES.iter().filter(move |(_, does)| does.is_match(code)).map(|(deed, _)| *deed).collect::<Vec<_>>()
    };
    let name = &scene.clause.text[mention.span.clone()];
    if lines.iter().any(|&line| deeds(line).contains(&deed)) {
        let message = format!("the lines do so with `{name}`");
        return Some(Claimed { ruling: Ruling::Holds, part, lines, message });
    }
    let opposites: &[Deed] = match deed {
        Deed::Return => &[Deed::Raise, Deed::Catch],
        Deed::Raise => &[Deed::Return, Deed::Catch],
        Deed::Catch => &[Deed::Raise],
        Deed::Await => &[],
    };
    let does_other = |line: &usize| deeds(*line).iter().any(|deed| opposites.contains(deed));
    let is_called = |line: &usize| scene.change.code(*line).contains(&format!("{}(", mention.last()));
    let is_against = match deed {
        Deed::Await => lines.iter().all(is_called),
        _ => lines.iter().all(does_other),
    };
    let verb = match deed {
        Deed::Return => "returns",
        Deed::Raise => "raises",
        Deed::Catch => "catches",
        Deed::Await => "awaits",
    };
    is_against.then(|| Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines,
        message: format!("no line {verb} `{name}`"),
    })
}

/// Whether the change brings or takes what is said to happen now.
fn happens(scene: &Scene<'_, '_>, is_now: bool, part: Range<usize>) -> Option<Claimed> {
    let places = scene.change.places_where(|line| {
        let code = scene.change.code(line);
        scene.change.diff.lines()[line].kind != LineKind::Header && !is_comment(code) && RAISES.is_match(code)
    });
    let (lines, message) = if is_now && places.only_removed() {
        (places.removed, "the change takes away what raises")
    } else if !is_now && places.only_added() {
        (places.added, "the change brings what raises")
    } else {
        return None;
    };
    Some(Claimed { ruling: Ruling::Contradicted, part, lines, message: message.to_owned() })
}

/// Whether added lines log at a level.
fn level(scene: &Scene<'_, '_>, claimed: &str, part: Range<usize>) -> Option<Claimed> {
    let of = |kind: LineKind| -> Vec<(usize, String)> {
        let lines = scene.change.diff.lines().iter().enumerate().filter(|(_, line)| line.kind == kind);
        let level = |line: usize| {
            let captures = LOGS.captures(scene.change.code(line))?;
            let level = captures.get(1).or(captures.get(2))?.as_str().to_ascii_lowercase();
            Some((line, if level == "warning" { "warn".to_owned() } else { level }))
        };
        lines.filter_map(|(line, _)| level(line)).collect()
    };
    let claimed = if claimed == "warning" { "warn" } else { claimed };
    let (added, removed) = (of(LineKind::Added), of(LineKind::Removed));
    let lines: Vec<usize> = added.iter().map(|(line, _)| *line).collect();
    let (_, first) = added.first()?;
    if added.iter().any(|(_, level)| level == claimed) {
        let message = format!("it is logged as {claimed}");
        return Some(Claimed { ruling: Ruling::Holds, part, lines, message });
    }
    // only where the change is what sets the level
    let was_claimed = removed.iter().any(|(_, level)| level == claimed);
    let message = format!("it is logged as {first}, not as {claimed}");
    was_claimed.then_some(Claimed { ruling: Ruling::Contradicted, part, lines, message })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::twins::tell_apart;

    const DIFF: &str = "--- a/client.py\n+++ b/client.py\n@@ @@\n async def load(url):\n+    if broken:\n+        raise FetchError(url)\n+    try:\n+        await open_stream(url)\n+        send_probe(url)\n+    except TimeoutError:\n+        return EMPTY\n-    log.info(\"failed\")\n+    log.warning(\"failed\")\n";

    #[test]
    fn true_and_false_statements_are_told_apart() {
        tell_apart(
            &RULE,
            DIFF,
            &[
                ("`load` raises `FetchError`.", "`load` returns `FetchError`."),
                ("It returns `EMPTY`.", "It raises `EMPTY`."),
                ("It catches `TimeoutError`.", "It raises `TimeoutError`."),
                ("It raises `FetchError`.", "It catches `FetchError`."),
                ("`open_stream` is awaited.", "`send_probe` is awaited."),
                ("Failures are logged at warning level.", "Failures are logged at info level."),
                ("It starts raising on a broken url.", "It stops raising on a broken url."),
                ("`EMPTY` is returned.", "`EMPTY` is thrown."),
            ],
        );
    }
}
