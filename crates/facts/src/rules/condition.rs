//! VD007: what is said to happen under a condition happens where the condition does not hold.

mod guard;
mod inline;
mod joint;
mod states;
mod wording;
mod words;

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::{diff::LineKind, grounding::stem, statements::StatementKind};

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, pattern},
    thing::Thing,
};
use crate::{
    blocks::{Blocks, Guard, is_exit},
    clause::Clause,
    mention::{Mention, MentionKind},
    occurrences::Places,
};
use guard::{Said, Subject, holds, joint, speaks_of};
use wording::{ABSENT, ACTIONS, EQUAL, LEAVES, LESS, MORE, NEGATION, PLACEHOLDER, PRESENT, SKIPS, SUCH, UNEQUAL, WHEN};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD007",
    name: "condition",
    summary: "The text says under which condition something happens, and the lines have the opposite condition.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(|scene| [words::check(scene), joint::check(scene), states::check(scene)].concat()),
};

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let clause = scene.clause;
    let skeleton = &clause.skeleton;
    if scene.kind != StatementKind::Assertion || MODAL.is_match(skeleton) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for captures in WHEN.captures_iter(skeleton) {
        let whole = captures.get(0).expect("the whole").range();
        let condition = captures.get(2).expect("always there");
        let word = &captures[1];
        // what happens: before the condition, or behind it where the condition comes first
        let start = skeleton[..whole.start].rfind(['.', ';', ':']).map_or(0, |at| at + 1);
        let (before, behind) = (&skeleton[start..whole.start], &skeleton[whole.end..]);
        let main = if before.trim().len() > 3 { before } else { behind };
        let main = main.split([';']).next().unwrap_or(main);
        let main = main.split(", otherwise").next().unwrap_or(main);
        if matches!(word, "even when" | "even if") || SKIPS.is_match(main) || has_condition(main) {
            continue;
        }
        let part = whole.start..condition.end();
        if let Some(claimed) = joined(scene, scene.change.new_blocks(), condition.as_str(), main) {
            found.push(Claimed { part, ..claimed });
            continue;
        }
        // "it" is what the sentence began with
        let condition_text = match condition.as_str().strip_prefix("it ") {
            Some(rest) => PLACEHOLDER.find(main).map(|found| format!("{} {rest}", found.as_str())),
            None => Some(condition.as_str().to_owned()),
        };
        let Some((subject, claimed)) = condition_text.and_then(|text| read(clause, word, &text)) else { continue };
        let claimed = if LEAVES.is_match(main) { denied(claimed) } else { claimed };
        let own = match &subject {
            Subject::Named(mention) => Some(*mention),
            Subject::Words(_) => None,
        };
        let thing = Thing::read(clause, main);
        let lines = action_lines(scene, &thing, main, own);
        if lines.is_empty() {
            found.extend(by_itself(scene.change.new_blocks(), &subject, &claimed, part));
        } else {
            let only = word.starts_with("only");
            found.extend(judge(scene, scene.change.new_blocks(), &Case { thing, lines, subject, claimed, only }, part));
        }
    }
    found
}

fn has_condition(main: &str) -> bool {
    [" if ", " when ", " unless ", " whenever "].iter().any(|word| format!(" {main} ").contains(word))
}

fn denied(said: Said<'_>) -> Said<'_> {
    match said {
        Said::True(is) => Said::True(!is),
        Said::Such(word, is) => Said::Such(word, !is),
        Said::Same(other, is) => Said::Same(other, !is),
        Said::More(other, is) => Said::More(other, !is),
    }
}

/// What a condition is about and what it says of it.
fn read<'c>(clause: &'c Clause<'_>, word: &str, condition: &str) -> Option<(Subject<'c>, Said<'c>)> {
    let mut negated = matches!(word, "unless" | "when not" | "if not" | "except when" | "except if");
    if [" or ", " and ", " but "].iter().any(|joint| condition.contains(joint)) && !condition.contains("or equal to") {
        return None;
    }
    let places: Vec<(Range<usize>, &Mention)> = {
        let of = |found: regex::Match<'_>| clause.mention(found.as_str()).map(|mention| (found.range(), mention));
        PLACEHOLDER.find_iter(condition).filter_map(of).collect()
    };
    match &places[..] {
        [] => {
            let text = NEGATION.replace_all(&format!(" {condition}"), "").to_string();
            negated ^= NEGATION.is_match(&format!(" {condition}"));
            let (subject, said) = text.trim().split_once(" is ").or_else(|| text.trim().split_once(" are "))?;
            let mut words = Thing::read(clause, subject).words;
            let behind = format!(" is {said}");
            let claimed = if ABSENT.is_match(&behind) {
                Said::True(negated)
            } else if PRESENT.is_match(&behind) {
                Said::True(!negated)
            } else if !said.trim().contains(' ') {
                words.push(stem(said.trim()));
                Said::True(!negated)
            } else {
                return None;
            };
            (!words.is_empty() && words.len() <= 3).then_some((Subject::Words(words), claimed))
        }
        [(range, subject)] | [(range, subject), _]
            if matches!(subject.kind, MentionKind::Name | MentionKind::Snippet) =>
        {
            let before = &condition[..range.start];
            static NO: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:no|without|lacks?|not)\b"));
            negated ^= NO.is_match(before);
            let end = places.get(1).map_or(condition.len(), |(other, _)| other.start);
            let behind = &condition[range.end..end];
            negated ^= NEGATION.is_match(behind);
            let behind = NEGATION.replace_all(behind, |captures: &regex::Captures<'_>| {
                if captures.get(1).is_some() { captures[0].trim_end_matches("n't").to_owned() } else { String::new() }
            });
            let behind = behind.trim_end();
            let claimed = match places.get(1) {
                Some((other_range, other)) => {
                    // what is behind the second thing changes what is said of the first
                    if condition[other_range.end..].trim().split(' ').count() > 3 {
                        return None;
                    }
                    if EQUAL.is_match(behind) {
                        Said::Same(other, !negated)
                    } else if UNEQUAL.is_match(behind) {
                        Said::Same(other, negated)
                    } else if MORE.is_match(behind) {
                        Said::More(other, !negated)
                    } else if LESS.is_match(behind) {
                        Said::More(other, negated)
                    } else {
                        return None;
                    }
                }
                None if ABSENT.is_match(behind) => Said::True(negated),
                None if PRESENT.is_match(behind) => Said::True(!negated),
                None => Said::Such(stem(&SUCH.captures(behind)?[1]), !negated),
            };
            Some((Subject::Named(subject), claimed))
        }
        _ => None,
    }
}

/// The changed lines, or else the others of the new side, on which what the sentence speaks of happens.
fn action_lines(scene: &Scene<'_, '_>, thing: &Thing<'_>, main: &str, subject: Option<&Mention>) -> Vec<usize> {
    let mut lines = if thing.is_empty()
        || subject.is_some_and(|own| thing.mentions.iter().all(|m| m.code == own.code) && thing.words.is_empty())
    {
        Vec::new()
    } else {
        thing.lines(scene, Places::new_side, false)
    };
    if lines.is_empty() {
        for (words, code) in &*ACTIONS {
            if words.is_match(main) {
                let is_added = |line: &usize| scene.change.diff.lines()[*line].kind == LineKind::Added;
                let all = (0..scene.change.diff.lines().len()).filter(is_added);
                lines.extend(all.filter(|&line| code.is_match(scene.change.code(line).trim())));
            }
        }
    }
    let is_added = |line: &usize| scene.change.diff.lines()[*line].kind == LineKind::Added;
    if lines.iter().any(is_added) {
        lines.retain(is_added);
    }
    lines
}

/// What happens on which lines, and the condition that it is said to have.
struct Case<'c> {
    thing: Thing<'c>,
    lines: Vec<usize>,
    subject: Subject<'c>,
    claimed: Said<'c>,
    only: bool,
}

fn judge(scene: &Scene<'_, '_>, blocks: &Blocks<'_>, case: &Case<'_>, part: Range<usize>) -> Option<Claimed> {
    let Case { thing, lines, subject, claimed, only } = case;
    let guards = |line: usize| -> Vec<Guard> {
        inline::guards(scene.change.code(line), line, thing).into_iter().chain(blocks.guards(line).to_vec()).collect()
    };
    let rulings: Vec<(bool, usize, usize)> = lines
        .iter()
        .filter_map(|&line| {
            guards(line)
                .iter()
                .find_map(|guard| holds(guard, subject, claimed).map(|agrees| (agrees, line, guard.line)))
        })
        .collect();
    let name = match subject {
        Subject::Named(mention) => format!("`{}`", &scene.clause.text[mention.span.clone()]),
        Subject::Words(words) => words.join(" "),
    };
    if let Some(&(_, line, at)) = rulings.first() {
        return if rulings.iter().all(|(agrees, ..)| *agrees) {
            let message = format!("the condition on {name} is as it says");
            Some(Claimed { ruling: Ruling::Holds, part, lines: vec![line], message })
        } else if rulings.iter().all(|(agrees, ..)| !agrees) {
            let message = format!("the condition on {name} is the opposite");
            Some(Claimed { ruling: Ruling::Contradicted, part, lines: vec![at, line], message })
        } else {
            None
        };
    }
    // said to depend on what does not guard it, though a condition on it stands beside
    if !only || matches!(subject, Subject::Words(_)) {
        return None;
    }
    let beside = blocks
        .conditions()
        .into_iter()
        .find(|guard| speaks_of(guard, subject) && lines.iter().all(|&line| blocks.is_beside(guard.line, line)))?;
    let is_free = lines.iter().all(|&line| guards(line).iter().all(|guard| !speaks_of(guard, subject)));
    let message = format!("it does not depend on {name}");
    is_free.then(|| Claimed { ruling: Ruling::Contradicted, part, lines: vec![lines[0], beside.line], message })
}

/// A comparison of two things, where the sentence does not say what happens in words that the lines have.
fn by_itself(blocks: &Blocks<'_>, subject: &Subject<'_>, claimed: &Said<'_>, part: Range<usize>) -> Option<Claimed> {
    if !matches!(claimed, Said::Same(..) | Said::More(..)) {
        return None;
    }
    let mut rulings = Vec::new();
    for guard in blocks.conditions() {
        if let Some(agrees) = holds(&guard, subject, claimed) {
            // behind an exit the opposite holds
            if blocks.block(guard.line).first().is_none_or(|side| is_exit(side.code)) {
                return None;
            }
            rulings.push((agrees, guard.line));
        }
    }
    let &(agrees, line) = rulings.first()?;
    if rulings.iter().any(|(other, _)| *other != agrees) {
        return None;
    }
    let (ruling, message) = if agrees {
        (Ruling::Holds, "the comparison is as it says".to_owned())
    } else {
        (Ruling::Contradicted, "the comparison is the opposite".to_owned())
    };
    Some(Claimed { ruling, part, lines: vec![line], message })
}

/// Two things joined by `and` or `or`.
fn joined(scene: &Scene<'_, '_>, blocks: &Blocks<'_>, condition: &str, main: &str) -> Option<Claimed> {
    static JOINED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:both |either |the |a )*(@\d+)[^@]{0,40}? (and|or) (?:[a-z]+ ){0,3}?(@\d+)[^@]{0,40}(?:@\d+)?[^@]{0,20}$",
        )
    });
    let captures = JOINED.captures(condition)?;
    if captures[0].contains(" not ") || captures[0].contains("n't") || captures[0].contains(" equal to") {
        return None;
    }
    let things = [scene.clause.mention(&captures[1])?, scene.clause.mention(&captures[3])?];
    let said = &captures[2] == "and";
    let thing = Thing::read(scene.clause, main);
    let lines = action_lines(scene, &thing, main, None);
    let joints: Vec<(bool, usize)> = lines
        .iter()
        .flat_map(|&line| blocks.guards(line))
        .filter_map(|guard| joint(guard, things).map(|and| (and, guard.line)))
        .collect();
    let &(and, line) = joints.first()?;
    if joints.iter().any(|(other, _)| *other != and) {
        return None;
    }
    let (ruling, message) = if and == said {
        (Ruling::Holds, "the two are joined as it says".to_owned())
    } else {
        (Ruling::Contradicted, format!("the two are joined by `{}`", if and { "and" } else { "or" }))
    };
    Some(Claimed { ruling, part: 0..0, lines: vec![line], message })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::twins::tell_apart;

    const DIFF: &str = "--- a/http.py\n+++ b/http.py\n@@ @@\n def send(request, auth, proxy):\n+    if auth:\n+        del request.authorization\n+    if not proxy:\n+        raise ProxyError(request)\n+    if self.is_hidden:\n+        newline = True\n+    if limit > floor:\n+        shrink_buffer()\n+    if kind == \"raw\" and size:\n+        decode_body()\n+    width = 80 if narrow else 120\n+    length = given_length or 300\n+    log_request(request)\n     if verbose:\n         print_details()\n";

    #[test]
    fn true_and_false_statements_are_told_apart() {
        tell_apart(
            &RULE,
            DIFF,
            &[
                ("Delete the authorization if `auth` is given", "Delete the authorization unless `auth` is given"),
                ("Raises `ProxyError` when `proxy` is missing.", "Raises `ProxyError` when `proxy` is set."),
                (
                    "`newline` becomes True only when the bar is hidden.",
                    "`newline` becomes True only when the bar is visible.",
                ),
                (
                    "`shrink_buffer` is called if `limit` is greater than `floor`.",
                    "`shrink_buffer` is called if `limit` is less than `floor`.",
                ),
                (
                    "`decode_body` runs if `kind` is raw and `size` is set.",
                    "`decode_body` runs if `kind` is raw or `size` is set.",
                ),
                ("The width is 80 if `narrow` is set.", "The width is 120 if `narrow` is set."),
                ("It uses 300 if `given_length` is missing.", "It uses 300 if `given_length` is set."),
                ("Print the details only if `verbose` is set", "Call `log_request` only if `verbose` is set"),
                ("Leave `newline` unset unless the bar is hidden", "Leave `newline` unset if the bar is hidden"),
                ("Throws an error if `proxy` is not given.", "Throws an error if `proxy` is given."),
            ],
        );
    }
}
