//! Another component in the label: `fix(parser):` for `fix(printer):`.

use std::sync::LazyLock;

use regex::Regex;

use super::{About, Balance, Kind, Road, Scene, Twin};
use crate::message::Statement;
use crate::truth::Fact;

/// Twins whose label names a component that the change does not touch.
pub struct Scope;

/// A component in a label.
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    /// Its byte in the text.
    start: usize,
    /// Whether it stands in brackets behind a type, as in `fix(parser):`.
    pub(super) is_bracketed: bool,
}

static BRACKETED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[a-z]+\(([\w./-]{3,})\)!?:\s").expect("a valid pattern"));
static PLAIN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^([\w./-]{3,}):\s").expect("a valid pattern"));

/// The component that a statement's label names; what kind of change it is, such as `fix`, is none.
pub(super) fn scope(statement: &Statement) -> Option<Label<'_>> {
    const TYPES: [&str; 16] = [
        "fix", "feat", "feature", "chore", "docs", "doc", "test", "tests", "refactor", "perf", "style", "build", "ci",
        "types", "breaking", "misc",
    ];
    let label = &statement.text[..statement.head];
    let find = |pattern: &Regex| pattern.captures(label).and_then(|found| found.get(1));
    let (name, is_bracketed) = match find(&BRACKETED) {
        Some(name) => (name, true),
        None => (find(&PLAIN)?, false),
    };
    (!TYPES.contains(&name.as_str().to_lowercase().as_str())).then(|| Label {
        name: name.as_str(),
        start: name.start(),
        is_bracketed,
    })
}

impl Road for Scope {
    fn name(&self) -> &'static str {
        "scope"
    }

    fn kind(&self) -> Kind {
        Kind::Component
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let Some(label) = scope(scene.statement) else { return Vec::new() };
        let is_in_paths = |name: &str| {
            let name = name.to_lowercase();
            scene.case.paths.iter().any(|path| path.to_lowercase().contains(&name))
        };
        let diff = scene.case.diff.to_lowercase();
        let text = scene.statement.text.to_lowercase();
        let others = scene.around.scopes(label.is_bracketed).filter(|other| {
            let lower = other.to_lowercase();
            let is_apart = |piece: &str| piece.len() < 3 || !(diff.contains(piece) || text.contains(piece));
            *other != label.name && !TOO_WIDE.contains(&lower.as_str()) && lower.split(['/', '.', '-']).all(is_apart)
        });
        let is_said_again = scene.body().to_lowercase().contains(&label.name.to_lowercase());
        if !is_in_paths(label.name) || is_said_again {
            return Vec::new();
        }
        let Some(other) = scene.choose(self.name(), others.map(str::to_owned)) else { return Vec::new() };
        let end = label.start + label.name.len();
        let text = format!("{}{other}{}", &scene.statement.text[..label.start], &scene.statement.text[end..]);
        let edit = Some((label.name.to_owned(), other));
        vec![Twin { road: self.name().to_owned(), text, about: About::Same, edit, fact: Fact::Open }]
    }
}

/// Components that any change may be said to belong to.
const TOO_WIDE: [&str; 14] = [
    "core", "all", "misc", "build", "docs", "deps", "dev", "lib", "src", "internal", "cleanup", "general", "global",
    "common",
];
