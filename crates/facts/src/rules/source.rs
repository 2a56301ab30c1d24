//! VD014: what is said to be imported from a module comes from another one.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::statements::StatementKind;

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{is_denied, pattern},
};
use crate::{
    code::pieces,
    mention::{Mention, MentionKind},
};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD014",
    name: "source",
    summary: "The text says from which module something is imported, and the line that imports it names another one.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: false,
    check,
    check_statement: None,
};

static CLAIMS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        pattern(
            r"\b(?:imports?|imported|importing) (?:the |an? )?(?:[a-z]+ ){0,3}?(@\d+)(?:(?:,| and|, and) (?:the )?(?:[a-z]+ ){0,2}?@\d+){0,2} (?:[a-z]+ ){0,2}?from (?:the |an? )?(?:[a-z]+ ){0,3}?(@\d+)",
        ),
        pattern(
            r"(@\d+)(?: [a-z]+)? (?:is|are|was|were|comes?|has been|have been)(?: now)?(?: being)?(?: imported)? from (?:the |an? )?(?:[a-z]+ ){0,3}?(@\d+)",
        ),
    ]
});

/// `from M import …`, `import … from 'M'`, `… = require('M')`: the module.
static MODULES: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        Regex::new(r"^\s*from\s+([\w.]+)\s+import\b").expect("a valid pattern"),
        Regex::new(r#"\bfrom\s+['"]([^'"]+)['"]"#).expect("a valid pattern"),
        Regex::new(r#"\brequire\(\s*['"]([^'"]+)['"]"#).expect("a valid pattern"),
    ]
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    if scene.kind != StatementKind::Assertion {
        return Vec::new();
    }
    let skeleton = &scene.clause.skeleton;
    let mut found = Vec::new();
    // several modules in a row, and imports that went
    if ["respectively", "remov", "delet"].iter().any(|word| skeleton.contains(word)) {
        return found;
    }
    for captures in CLAIMS.iter().flat_map(|claim| claim.captures_iter(skeleton)) {
        let (Some(whole), Some(name), Some(module)) = (captures.get(0), captures.get(1), captures.get(2)) else {
            continue;
        };
        let (Some(name), Some(module)) = (scene.clause.mention(name.as_str()), scene.clause.mention(module.as_str()))
        else {
            continue;
        };
        if !is_denied(&skeleton[..whole.start()]) {
            found.extend(compare(scene, name, module).map(|(ruling, lines, message)| Claimed {
                ruling,
                part: whole.range(),
                lines,
                message,
            }));
        }
    }
    found
}

fn compare(scene: &Scene<'_, '_>, name: &Mention, module: &Mention) -> Option<(Ruling, Vec<usize>, String)> {
    if !matches!(name.kind, MentionKind::Name) {
        return None;
    }
    let finding = scene.change.find(name);
    let places = finding.exactly()?;
    let lines = if places.added.is_empty() { places.new_side() } else { places.added.clone() };
    let sources: Vec<(usize, &str)> = lines
        .iter()
        .filter_map(|&line| {
            let code = scene.change.code(line);
            let module = MODULES.iter().find_map(|pattern| pattern.captures(code)?.get(1))?;
            Some((line, module.as_str()))
        })
        .collect();
    let written = &scene.clause.text[name.span.clone()];
    if let Some((line, source)) = sources.iter().find(|(_, source)| is_same(source, &module.code)) {
        return Some((Ruling::Holds, vec![*line], format!("`{written}` is imported from `{source}`")));
    }
    let (line, source) = *sources.first()?;
    let said = &scene.clause.text[module.span.clone()];
    Some((Ruling::Contradicted, vec![line], format!("`{written}` is imported from `{source}`, not from `{said}`")))
}

/// Whether two modules may be the same: the pieces of one are pieces of the other, relative beginnings and ends of files apart.
fn is_same(source: &str, said: &str) -> bool {
    let pieces_of = |module: &str| -> Vec<String> {
        let plain = [".js", ".ts", ".mjs", ".py", ".jsx", ".tsx"].iter().find_map(|end| module.strip_suffix(end));
        let parts = plain.unwrap_or(module).split(['/', '@']).flat_map(pieces);
        parts.filter(|piece| *piece != "index").map(str::to_lowercase).collect()
    };
    let (source, said) = (pieces_of(source), pieces_of(said));
    said.iter().all(|piece| source.contains(piece)) || source.iter().all(|piece| said.contains(piece))
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn modules_are_compared_by_their_pieces() {
        for same in [["./utils", "utils.js"], ["mmdet.models.utils", "models.utils"], ["../utils/index", "utils"]] {
            assert!(is_same(same[0], same[1]), "{same:?}");
        }
        assert!(!is_same("docutils.nodes", "docutils.note"));
        assert!(!is_same("mmdet.models.utils", "mmdet.models.builder"));
    }
}
