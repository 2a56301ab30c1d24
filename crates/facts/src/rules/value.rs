//! VD006: what is said to have a value has another.

mod compare;
mod defaults;
mod growth;
mod numbers;
mod strings;
mod wording;

use std::ops::Range;

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, is_gap},
};
use crate::{
    bindings::{Binding, Literal, bindings, literal},
    code::{TokenKind, is_name_char},
    mention::{Mention, MentionKind},
    occurrences::stems,
};
use compare::{agrees, is_against, replaced};
use veridiff_text::{diff::LineKind, statements::StatementKind};
use wording::{BEFORE, CHANGED, NOT, NOUNS, NUMBERS, PATTERNS, SAYS, SWITCHED};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD006",
    name: "value",
    summary: "The text gives a value of something, and the lines give it another.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: true,
    check,
    check_statement: Some(|scene| {
        [numbers::check(scene), defaults::check(scene), growth::check(scene), strings::check(scene)].concat()
    }),
};

/// Which side a sentence speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Time {
    Now,
    Before,
}

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    match scene.kind {
        StatementKind::Assertion => {}
        StatementKind::Request => return presupposed(scene),
        _ => return Vec::new(),
    }
    let skeleton = &scene.clause.skeleton;
    let mut found: Vec<Claimed> = Vec::new();
    for (part, [name, old, new]) in changed(scene) {
        if !MODAL.is_match(segment(skeleton, &part)) {
            found.extend(judge(scene, &Named::Name(name), old, Time::Before, part.clone()));
            found.extend(judge(scene, &Named::Name(name), new, Time::Now, part));
        }
    }
    for (pattern, [old, new]) in NUMBERS.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            let pair = (scene.clause.mention(&captures[*old]), scene.clause.mention(&captures[*new]));
            let (Some(old), Some(new)) = pair else { continue };
            if is_plain(segment(skeleton, &part)) {
                found.extend(swapped(scene, old, new, part));
            }
        }
    }
    for pattern in PATTERNS.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            let Some((gap, [name, value])) = groups(&captures) else { continue };
            let (Some(name), Some(value)) = (scene.clause.mention(name), scene.clause.mention(value)) else { continue };
            let around = segment(skeleton, &part);
            if !is_gap(gap.trim()) || !is_plain(around) {
                continue;
            }
            let time = if BEFORE.is_match(around) { Time::Before } else { Time::Now };
            found.extend(judge(scene, &Named::Name(name), value, time, part));
        }
    }
    for captures in NOUNS.iter().flat_map(|pattern| pattern.captures_iter(skeleton)) {
        let part = captures.get(0).expect("the whole").range();
        let value = scene.clause.mention(&captures[2]).filter(|value| value.kind == MentionKind::Number);
        let around = segment(skeleton, &part);
        let Some(value) = value.filter(|_| is_plain(around) && !BEFORE.is_match(around)) else { continue };
        let words = captures[1].split(' ').filter(|w| !["default", "value", "now", "the", "of", "new"].contains(w));
        let words: Vec<String> = words.map(veridiff_text::grounding::stem).collect();
        if !words.is_empty() {
            found.extend(judge(scene, &Named::Words(words), value, Time::Now, part));
        }
    }
    for (value, pattern) in SWITCHED.iter() {
        for captures in pattern.captures_iter(skeleton) {
            let part = captures.get(0).expect("the whole").range();
            let groups: Vec<&str> = captures.iter().skip(1).flatten().map(|m| m.as_str()).collect();
            let Some(name) = groups.last().and_then(|name| scene.clause.mention(name)) else { continue };
            if !is_plain(segment(skeleton, &part)) || (groups.len() == 2 && !is_gap(groups[0].trim())) {
                continue;
            }
            let value = Literal::Constant((*value).to_owned());
            found.extend(compare(scene, &Named::Name(name), &value, value.written(), Time::Now, part));
        }
    }
    for captures in SAYS.captures_iter(skeleton) {
        let part = captures.get(0).expect("the whole").range();
        let pair = (scene.clause.mention(&captures[1]), scene.clause.mention(&captures[2]));
        let (Some(name), Some(text)) = pair else { continue };
        let around = segment(skeleton, &part);
        if is_plain(around) && !BEFORE.is_match(around) {
            found.extend(says(scene, name, text, part));
        }
    }
    found.dedup_by(|a, b| a.ruling == b.ruling && a.message == b.message);
    found
}

/// What is said to go from one value to another: the thing, the old value and the new one.
fn changed<'s>(scene: &'s Scene<'_, '_>) -> Vec<(Range<usize>, [&'s Mention; 3])> {
    let mut found = Vec::new();
    for (pattern, order) in CHANGED.iter() {
        for captures in pattern.captures_iter(&scene.clause.skeleton) {
            let [name, old, new] = order.map(|group| scene.clause.mention(&captures[group]));
            let (Some(name), Some(old), Some(new)) = (name, old, new) else { continue };
            found.push((captures.get(0).expect("the whole").range(), [name, old, new]));
        }
    }
    found
}

/// Who asks for another value takes the old one as given: neither side having it speaks against that.
fn presupposed(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let against = |(part, [name, old, _]): (Range<usize>, [&Mention; 3])| {
        let at = |time| judge(scene, &Named::Name(name), old, time, part.clone());
        let is_against = |claimed: &Claimed| claimed.ruling == Ruling::Contradicted;
        let before = at(Time::Before);
        let now = at(Time::Now).filter(is_against)?;
        before.as_ref().is_none_or(is_against).then_some(now)
    };
    changed(scene).into_iter().filter_map(against).collect()
}

/// The words before a thing, the thing and its value.
fn groups<'t>(captures: &regex::Captures<'t>) -> Option<(&'t str, [&'t str; 2])> {
    let groups: Vec<&str> = captures.iter().skip(1).flatten().map(|found| found.as_str()).collect();
    match groups[..] {
        [gap, name, value] => Some((gap, [name, value])),
        [name, value] => Some(("", [name, value])),
        _ => None,
    }
}

/// The part of a sentence that some of its words stand in, up to their end: from the last `;`, `while` or `but`.
fn segment<'t>(skeleton: &'t str, part: &Range<usize>) -> &'t str {
    const STARTS: [&str; 8] = ["; ", ". ", ", while ", ", whereas ", " but ", ", and ", ", so ", ", since "];
    let before = &skeleton[..part.start];
    let start = STARTS.iter().filter_map(|mark| before.rfind(mark).map(|at| at + mark.len())).max().unwrap_or(0);
    &skeleton[start..part.end]
}

/// Whether a part of a sentence says how something is, not how it is not or should be.
fn is_plain(part: &str) -> bool {
    !NOT.is_match(part) && !MODAL.is_match(part)
}

/// What has the value.
enum Named<'m> {
    Name(&'m Mention),
    /// By the stems of its words.
    Words(Vec<String>),
}

impl Named<'_> {
    fn is(&self, name: &str) -> bool {
        match self {
            Named::Name(mention) => mention.last() == name || mention.code == name || is_flag_of(&mention.code, name),
            Named::Words(words) => {
                let parts = stems(name);
                words.iter().all(|word| parts.contains(word))
            }
        }
    }
}

/// Whether an option is that of a name: `--max-size` of `max_size`.
fn is_flag_of(flag: &str, name: &str) -> bool {
    flag.strip_prefix("--")
        .is_some_and(|flag| flag.replace('-', "_") == name.trim_start_matches("--").replace('-', "_"))
}

fn judge(scene: &Scene<'_, '_>, named: &Named<'_>, value: &Mention, time: Time, part: Range<usize>) -> Option<Claimed> {
    let can_have = |mention: &Mention| {
        matches!(mention.kind, MentionKind::Name | MentionKind::Text | MentionKind::Flag) && mention.span != value.span
    };
    if matches!(named, Named::Name(mention) if !can_have(mention)) {
        return None;
    }
    let claimed = match value.kind {
        MentionKind::Number => {
            literal(TokenKind::Number, &value.code, scene.clause.text[..value.span.start].ends_with('-'))
        }
        MentionKind::Constant => literal(TokenKind::Name, &value.code, false),
        MentionKind::Text => Some(Literal::Text(value.code.clone())),
        MentionKind::Name | MentionKind::Flag | MentionKind::File if value.is_marked => {
            Some(Literal::Text(value.code.clone()))
        }
        _ => None,
    }?;
    let written = &scene.clause.text[value.span.clone()];
    compare(scene, named, &claimed, written, time, part)
}

/// A line with the value of a thing, and whether the line changes.
struct Valued {
    line: usize,
    name: String,
    value: Literal,
    changed: bool,
}

/// The values that one side gives to a thing; whether it gets one that is no literal too.
fn values(scene: &Scene<'_, '_>, named: &Named<'_>, time: Time) -> (Vec<Valued>, bool) {
    let left_out = if time == Time::Now { LineKind::Removed } else { LineKind::Added };
    let (mut all, mut has_other): (Vec<Valued>, bool) = (Vec::new(), false);
    for (index, line) in scene.change.diff.lines().iter().enumerate() {
        if line.kind == left_out || line.kind == LineKind::Header {
            continue;
        }
        let code = scene.change.code(index);
        let here: Vec<Binding> = bindings(code).into_iter().filter(|binding| named.is(&binding.name)).collect();
        has_other |= here.is_empty() && assigns(code, named);
        let changed = line.kind.is_changed();
        all.extend(here.into_iter().map(|b| Valued { line: index, name: b.name, value: b.value, changed }));
    }
    // where changed lines give it a value, those of other lines are other things of this name
    if all.iter().any(|valued| valued.changed) {
        all.retain(|valued| valued.changed);
    }
    (all, has_other)
}

fn compare(
    scene: &Scene<'_, '_>,
    named: &Named<'_>,
    claimed: &Literal,
    written: &str,
    time: Time,
    part: Range<usize>,
) -> Option<Claimed> {
    let (values, has_other) = values(scene, named, time);
    if let Some(valued) = values.iter().find(|valued| agrees(&valued.value, claimed)) {
        let message = format!("`{}` is {written}", valued.name);
        return Some(Claimed { ruling: Ruling::Holds, part, lines: vec![valued.line], message });
    }
    let first = values.first()?;
    let is_against = !has_other && values.iter().all(|valued| is_against(&valued.value, claimed));
    let word = if time == Time::Before { "was" } else { "is" };
    is_against.then(|| Claimed {
        ruling: Ruling::Contradicted,
        part,
        lines: vec![first.line],
        message: format!("`{}` {word} {} here, not {written}", first.name, first.value.written()),
    })
}

/// Whether a line gives the name a value that is neither a literal nor what already has the name.
fn assigns(code: &str, named: &Named<'_>) -> bool {
    let Named::Name(mention) = named else { return false };
    let last = mention.last();
    let is_whole = |at: &usize| !code[..*at].ends_with(is_name_char);
    code.match_indices(last).map(|(at, _)| at).filter(is_whole).any(|at| {
        let behind = code[at + last.len()..].trim_start();
        let is_assigned = (behind.starts_with('=') && !behind.starts_with("==")) || behind.starts_with(":=");
        let given = behind.trim_start_matches([':', '=']).trim_start();
        (is_assigned && given.strip_prefix(last).is_none_or(|rest| rest.starts_with(is_name_char)))
            || behind.starts_with("+=")
    })
}

/// Lines with a name that are looked at: what stands on more of them is not what a sentence is about.
const MANY: usize = 60;

/// What is said to go from one to another: a removed line that is an added one but for the two shows which way.
fn swapped(scene: &Scene<'_, '_>, old: &Mention, new: &Mention, part: Range<usize>) -> Option<Claimed> {
    let lines = |mention: &Mention, pick: fn(&crate::occurrences::Places) -> &Vec<usize>| {
        scene
            .change
            .find(mention)
            .exactly()
            .map(|places| pick(places).iter().copied().take(MANY).collect::<Vec<usize>>())
            .unwrap_or_default()
    };
    let goes = |from: &Mention, to: &Mention| {
        lines(from, |places| &places.removed).into_iter().find_map(|line| {
            let expected = replaced(scene.change.code(line), &from.code, &to.code);
            let added = lines(to, |places| &places.added);
            added
                .into_iter()
                .find(|&other| replaced(scene.change.code(other), "", "") == expected)
                .map(|b| vec![line, b])
        })
    };
    let (old_written, new_written) = (&scene.clause.text[old.span.clone()], &scene.clause.text[new.span.clone()]);
    if let Some(lines) = goes(old, new) {
        let message = format!("{old_written} becomes {new_written}");
        return Some(Claimed { ruling: Ruling::Holds, part, lines, message });
    }
    let lines = goes(new, old)?;
    let message = format!("{new_written} becomes {old_written}, not the other way round");
    Some(Claimed { ruling: Ruling::Contradicted, part, lines, message })
}

fn says(scene: &Scene<'_, '_>, name: &Mention, text: &Mention, part: Range<usize>) -> Option<Claimed> {
    if name.kind != MentionKind::Name || !matches!(text.kind, MentionKind::Text | MentionKind::Name) || !text.is_marked
    {
        return None;
    }
    let (mut values, has_other) = values(scene, &Named::Name(name), Time::Now);
    // of several things with the same last name those with the whole path
    let has_path = |valued: &Valued| scene.change.code(valued.line).contains(&name.code);
    if values.iter().any(has_path) {
        values.retain(has_path);
    }
    let says = |valued: &Valued| matches!(&valued.value, Literal::Text(value) if value.contains(&text.code));
    let line = values.first()?.line;
    let written = &scene.clause.text[name.span.clone()];
    if values.iter().any(says) {
        let message = format!("`{written}` says so");
        return Some(Claimed { ruling: Ruling::Holds, part, lines: vec![line], message });
    }
    let is_text = values.iter().all(|valued| matches!(&valued.value, Literal::Text(_)));
    let message = format!("`{written}` says «{}»", values[0].value.written());
    (is_text && !has_other).then(|| Claimed { ruling: Ruling::Contradicted, part, lines: vec![line], message })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::twins::{tell_apart, texts_apart};
    use veridiff_text::sample::Task;

    const DIFF: &str = "--- a/conf.py\n+++ b/conf.py\n@@ @@\n-MAX_IDLE = 8\n+MAX_IDLE = 16\n+def fetch(url, timeout=30, retries=None, mode=\"fast\"):\n+    self.timeout = timeout\n+    cache_enabled = True\n+    run(request_timeout=5000)\n+size = Column(Integer, default=5)\n+parser.add_argument(\"--max-depth\", type=int, default=12)\n+GREETING = \"good morning\"\n-MODE_A = mark.slow\n+MODE_A = mark.quick\n";

    #[test]
    fn true_and_false_statements_are_told_apart() {
        tell_apart(
            &RULE,
            DIFF,
            &[
                ("`MAX_IDLE` is 16 now.", "`MAX_IDLE` is 8 now."),
                ("Raise `MAX_IDLE` from 8 to 16", "Lower `MAX_IDLE` from 16 to 8"),
                ("The default for `timeout` is 30 seconds.", "The default for `timeout` is 300 seconds."),
                ("`retries` defaults to None.", "`retries` defaults to 3."),
                ("`mode` falls back to \"fast\".", "`mode` falls back to \"slow\"."),
                (
                    "The probe gets a request timeout of 5000 ms, which may be plenty.",
                    "The probe gets a request timeout of 500 ms, which may be too short.",
                ),
                ("Add `size` to the model, defaulting to 5", "Add `size` to the model, defaulting to 6"),
                ("`--max-depth` defaults to 12.", "`--max-depth` defaults to 10."),
                ("`GREETING` says \"morning\".", "`GREETING` says \"evening\"."),
                ("The marker goes from `slow` to `quick`.", "The marker goes from `quick` to `slow`."),
                ("`cache_enabled` is set to True.", "`cache_enabled` is set to False."),
                ("`MAX_IDLE` was 8 before.", "`MAX_IDLE` was 16 before."),
            ],
        );
        let rows = [("Lower MAX_IDLE from 16 to 7", "Lower MAX_IDLE from 10 to 7")];
        texts_apart(&RULE, Task::Review, DIFF, &rows);
        texts_apart(&RULE, Task::Commit, DIFF, &[("Raise MAX_IDLE from 8 to 16", "Lower MAX_IDLE from 10 to 7")]);
    }
}
