//! Another name of the same kind, one that the change shows and leaves alone.

use veridiff_facts::changes::Which;
use veridiff_facts::mention::{MentionKind, mentions};
use veridiff_facts::syntax::ItemKind;
use veridiff_text::diff::LineKind;
use veridiff_text::grounding::{is_common, is_stop};

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::replaced;

/// Twins that name what stands around the change.
pub struct Name;

impl Road for Name {
    fn name(&self) -> &'static str {
        "name"
    }

    fn kind(&self) -> Kind {
        Kind::Component
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        let named = mentions(body, 0..body.len());
        let names = named
            .iter()
            .filter(|mention| mention.kind == MentionKind::Name && body.matches(&*mention.code).count() == 1);
        let twin = names.filter(|mention| !mention.code.contains(['.', ':', '/', '-'])).find_map(|mention| {
            let places = scene.change.find(mention);
            let places = places.exactly()?;
            if places.n_added == places.n_removed {
                return None;
            }
            let role = role_of(scene, &mention.code)?;
            let other = scene.choose(self.name(), others(scene, &mention.code, role))?;
            let at = body.find(&mention.code)?;
            Some(replaced(body, at..at + mention.code.len(), &other))
        });
        twin.map(|body| scene.twin(self, &body, None)).into_iter().collect()
    }
}

/// What a name is used for, as far as it matters in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Function,
    Type,
    Value,
}

fn role(kind: ItemKind) -> Option<Role> {
    match kind {
        ItemKind::Function | ItemKind::Call => Some(Role::Function),
        ItemKind::Type => Some(Role::Type),
        ItemKind::Parameter | ItemKind::Binding | ItemKind::Field | ItemKind::Use => Some(Role::Value),
        _ => None,
    }
}

fn role_of(scene: &Scene<'_, '_>, name: &str) -> Option<Role> {
    let changes = scene.change.changes();
    let mut items = [Which::New, Which::Old].into_iter().flat_map(|which| changes.all(which));
    items.find_map(|fact| (fact.item.name == name).then(|| role(fact.item.kind)).flatten())
}

/// Names of the same use and the same form that stand on unchanged lines alone, and around no changed one.
fn others(scene: &Scene<'_, '_>, name: &str, wanted: Role) -> Vec<String> {
    let changes = scene.change.changes();
    let diff = scene.change.diff;
    let mut found: Vec<String> = Vec::new();
    for fact in changes.all(Which::New) {
        let other = &fact.item.name;
        let is_like = role(fact.item.kind) == Some(wanted) && form(other) == form(name) && other.len() >= 4;
        if !is_like || is_common(&other.to_lowercase()) || is_stop(&other.to_lowercase()) || other == name {
            continue;
        }
        let Some(places) = scene.change.occurrences.name(other) else { continue };
        let is_header = |line: &usize| diff.lines().get(*line).is_none_or(|line| line.kind == LineKind::Header);
        let is_left_alone = places.added.is_empty() && places.removed.is_empty() && places.files.is_empty();
        // what it is defined as stands around what follows
        let is_defined = matches!(fact.item.kind, ItemKind::Function | ItemKind::Type);
        let lower = other.to_lowercase();
        let is_apart = !scene.statement.text.to_lowercase().contains(&lower)
            && !lower.contains(&name.to_lowercase())
            && !name.to_lowercase().contains(&lower);
        if is_left_alone && !is_defined && is_apart && !places.context.iter().any(is_header) {
            found.push(other.clone());
        }
    }
    found.sort();
    found.dedup();
    found
}

/// How a name is written: capital first, other capitals, underscores.
fn form(name: &str) -> (bool, bool, bool) {
    let inner = name.trim_start_matches('_');
    let mut letters = inner.chars();
    let opens = letters.next().is_some_and(char::is_uppercase);
    (opens, letters.any(char::is_uppercase), inner.contains('_'))
}
