//! VD013: of two things with two others the text says which belong together, and the lines have them the other way round.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use veridiff_text::statements::StatementKind;

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, pattern},
    thing::Thing,
};
use crate::{
    blocks::{Blocks, ScopeKind},
    mention::{Mention, MentionKind},
    occurrences::{Places, stems},
};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD013",
    name: "pairing",
    summary: "The text says of two things with two others which belong together, and the lines have them the other way round.",
    judges: false,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: Some(check),
};

/// `A in X and B in Y`: for each word that joins, since "stored in" beside "converted to" pairs nothing.
static JOINED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let of = |joint: &str| {
        pattern(&format!(
            r"([^,;:()]{{1,80}}?) {joint} ([^,;:()]{{2,50}}?),? (?:and|while|whereas|but|;) ([^,;:()]{{1,50}}?) {joint} ([^,;:()]{{2,50}}?)(?:[,;:(.]|$)"
        ))
    };
    ["(?:in|inside|within)", "(?:to|into)", "for", "from", "as", "on", "with", "under", "by"].map(of).into()
});

/// `X expects A, Y expects B`.
static SAID: LazyLock<Regex> = LazyLock::new(|| {
    let verb = r"(?:expects?|returns?|uses?|says|has|have|gets?|takes|is|are|becomes?|yields?|means|maps? to|defaults? to|falls? back to|sets?|calls?|raises?|throws?|reads?)";
    pattern(&format!(
        r"([^,;:()]{{2,60}}?) (?:now |still )?{verb}((?: [a-z]+){{0,2}}) (@\d+)(?:, (?:and |while |whereas |but )?|; | and | while | whereas | but )([^,;:()]{{2,60}}?) (?:now |still )?{verb}((?: [a-z]+){{0,2}}) (@\d+)"
    ))
});

static ELSEWHERE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:not|never|no longer|without|instead|rather|than|was|were|used to|previously|before|old|if|when|unless|mov\w+|renam\w+|replac\w+|chang\w+|both|either|or|same|swap\w*|respectively|turn\w*|convert\w*)\b",
    )
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    if scene.kind != StatementKind::Assertion || MODAL.is_match(skeleton) {
        return Vec::new();
    }
    let mut all: Vec<(Range<usize>, [String; 2], [String; 2])> = Vec::new();
    for captures in JOINED.iter().flat_map(|pattern| pattern.captures_iter(skeleton)) {
        let group = |n: usize| captures[n].to_owned();
        all.push((captures.get(0).expect("the whole").range(), [group(1), group(3)], [group(2), group(4)]));
    }
    for captures in SAID.captures_iter(skeleton) {
        let group = |n: usize| captures[n].to_owned();
        all.push((captures.get(0).expect("the whole").range(), [group(3), group(6)], [group(1), group(4)]));
    }
    let mut found = Vec::new();
    for (part, things, owners) in all {
        if ELSEWHERE.is_match(&skeleton[part.clone()]) {
            continue;
        }
        let mut read = [&things[0], &things[1]].map(|text| Thing::read(scene.clause, text));
        let mut owners_read = [&owners[0], &owners[1]].map(|text| Owner::read(scene, text));
        // the first part has what both have too: "pass 1 as `localtime`"
        let [first, second] = &mut read;
        match second.mentions[..] {
            [mention] => first.mentions.retain(|other| other.kind == mention.kind),
            [] => first.mentions.clear(),
            _ => continue,
        }
        if first.mentions.len() != second.mentions.len() {
            continue;
        }
        if !first.mentions.is_empty() {
            first.words.clear();
            second.words.clear();
        }
        if read.iter().any(Thing::is_empty) || owners_read.iter_mut().any(|owner| owner.is_empty()) {
            continue;
        }
        let other = |index: usize| read[1 - index].mentions.first().copied();
        let mut lines = Vec::new();
        let mut belongs = |thing: usize, owner: usize| {
            let found = owners_read[owner].line_with(scene, scene.change.new_blocks(), &read[thing], other(thing));
            lines.extend(found);
            found.is_some()
        };
        let straight = [belongs(0, 0), belongs(1, 1)];
        let crossed = [belongs(0, 1), belongs(1, 0)];
        let is_telling = |thing: &Thing<'_>| {
            thing.mentions.iter().all(|m| m.value().is_none_or(|value| value > 2.0) && m.kind != MentionKind::Constant)
        };
        let is_crossed = crossed == [true, true] || (0..2).any(|index| crossed[index] && is_telling(&read[index]));
        if straight == [false, false] && is_crossed {
            let message =
                format!("it is the other way round: {} with {}", said(scene, &things[0]), said(scene, &owners[1]));
            found.push(Claimed { ruling: Ruling::Contradicted, part, lines, message });
        } else if straight == [true, true] && crossed == [false, false] {
            found.push(Claimed { ruling: Ruling::Holds, part, lines, message: "they belong together".to_owned() });
        }
    }
    found
}

fn said(scene: &Scene<'_, '_>, part: &str) -> String {
    let start = scene.clause.skeleton.find(part).unwrap_or(0);
    format!("«{}»", scene.clause.text[scene.clause.origin(start..start + part.len())].trim())
}

/// Characters by their names.
const SIGNS: [(&str, &str); 16] = [
    ("slash", "/"),
    ("tilde", "~"),
    ("backslash", "\\"),
    ("comma", ","),
    ("colon", ":"),
    ("semicolon", ";"),
    ("dot", "."),
    ("period", "."),
    ("dash", "-"),
    ("hyphen", "-"),
    ("underscore", "_"),
    ("star", "*"),
    ("asterisk", "*"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("plus", "+"),
];

/// What a thing is said to belong to.
enum Owner<'c> {
    /// A function, a test, or what stands on a line.
    Thing(Thing<'c>),
    /// A character.
    Sign(&'static str),
    /// The branch where a condition with these words holds; none for the other branch.
    Branch(Vec<String>),
}

impl<'c> Owner<'c> {
    fn read(scene: &'c Scene<'_, '_>, part: &str) -> Owner<'c> {
        let words: Vec<&str> = part.split(' ').collect();
        if let Some((_, sign)) = SIGNS.iter().find(|(name, _)| words.last() == Some(name) && words.len() <= 2) {
            return Owner::Sign(sign);
        }
        let thing = Thing::read(scene.clause, part);
        if words.contains(&"branch") || words.contains(&"case") {
            let is_else = words.contains(&"else") || words.contains(&"other");
            let names = thing.mentions.iter().flat_map(|mention| stems(mention.last()));
            let condition = if is_else { Vec::new() } else { thing.words.iter().cloned().chain(names).collect() };
            if is_else || !condition.is_empty() {
                return Owner::Branch(condition);
            }
        }
        Owner::Thing(thing)
    }

    fn is_empty(&self) -> bool {
        matches!(self, Owner::Thing(thing) if thing.is_empty() || thing.mentions.len() > 1)
    }

    /// A line of the new side that has a thing in what it is said to belong to. On a line with both things each has what follows it.
    fn line_with(
        &self,
        scene: &Scene<'_, '_>,
        blocks: &Blocks<'_>,
        thing: &Thing<'_>,
        other: Option<&Mention>,
    ) -> Option<usize> {
        let own = match self {
            Owner::Thing(owner) => owner.lines(scene, Places::new_side, false),
            _ => Vec::new(),
        };
        thing.lines(scene, Places::new_side, true).into_iter().find(|&line| {
            let code = scene.change.code(line);
            let at = thing.mentions.first().and_then(|mention| code.find(&mention.code).map(|at| (at, mention)));
            let other_at = other.and_then(|other| code.find(&other.code));
            let stretch = match (at, other_at) {
                (Some((at, mention)), Some(other)) if other != at => {
                    let end = if other > at { other } else { code.len() };
                    Some(code.get(at + mention.code.len()..end).unwrap_or(""))
                }
                _ => None,
            };
            match self {
                Owner::Sign(sign) => stretch.is_some_and(|stretch| {
                    ['"', '\'', '`'].iter().any(|quote| stretch.contains(&format!("{quote}{sign}{quote}")))
                }),
                Owner::Branch(words) => blocks.guards(line).first().is_some_and(|guard| {
                    let parts = stems_of(&guard.condition);
                    if words.is_empty() {
                        guard.negated
                    } else {
                        !guard.negated && words.iter().all(|word| parts.contains(word))
                    }
                }),
                Owner::Thing(owner) => {
                    let named = owner.mentions.first().map(|mention| mention.last().to_owned());
                    let is_scope = named.as_ref().is_some_and(|name| blocks.is_in(line, name))
                        || blocks
                            .around(line)
                            .iter()
                            .any(|scope| scope.kind == ScopeKind::Test && owner.is_said_by(&scope.name));
                    is_scope
                        || match stretch {
                            Some(stretch) => owner.is_said_by(stretch),
                            None => own.contains(&line),
                        }
                }
            }
        })
    }
}

fn stems_of(code: &str) -> Vec<String> {
    crate::code::tokens(code).into_iter().flat_map(|token| stems(&code[token.span])).collect()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::twins::tell_apart;

    const DIFF: &str = "--- a/map.js\n+++ b/map.js\n@@ @@\n+const types = {\n+  gzip: [\"tgz\", \"gz2\"],\n+  brotli: [\"btr\"],\n+};\n+function alpha(x) {\n+  return scale(x, 3);\n+}\n+function beta(x) {\n+  return scale(x, 7);\n+}\n+test(\"small date\", () => {\n+  expect(code).toBe(\"too_small\");\n+});\n+test(\"large date\", () => {\n+  expect(code).toBe(\"too_big\");\n+});\n+text.replace(/%1/g, \"/\").replace(/%2/g, \"~\");\n+if (localtime) {\n+  mktime(tm);\n+} else {\n+  timegm(tm);\n+}\n";

    #[test]
    fn true_and_false_statements_are_told_apart() {
        tell_apart(
            &RULE,
            DIFF,
            &[
                ("Scale by 3 in `alpha` and 7 in `beta`", "Scale by 7 in `alpha` and 3 in `beta`"),
                ("Add tgz to gzip and btr to brotli", "Add btr to gzip and tgz to brotli"),
                (
                    "The \"small date\" test expects `too_small`, the \"large date\" test expects `too_big`.",
                    "The \"small date\" test expects `too_big`, the \"large date\" test expects `too_small`.",
                ),
                (
                    "`mktime` is called in the localtime branch and `timegm` in the else branch.",
                    "`timegm` is called in the localtime branch and `mktime` in the else branch.",
                ),
                ("`alpha` uses 3 while `beta` uses 7.", "`alpha` uses 7 while `beta` uses 3."),
                ("Use `tgz` for gzip and `btr` for brotli", "Use `btr` for gzip and `tgz` for brotli"),
            ],
        );
    }
}
