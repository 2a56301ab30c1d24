//! Names that became others while what they stand for stayed.

use std::collections::HashMap;

use super::matching::{Matching, Scope};
use super::status::Status;
use crate::syntax::{Item, ItemKind, tokens};

/// Bodies are compared at most so often in a file.
const MAX_COMPARISONS: usize = 4000;
/// Of a body's words so many are compared.
const MAX_WORDS: usize = 2000;
/// The share of words that the bodies of a renamed function have in common, where one stands in the other's place.
const ALIKE: f64 = 0.8;
/// A body of fewer words only counts where one stands in the other's place.
const TELLING_WORDS: usize = 10;

/// The words of a definition, in order.
pub(super) fn body<'t>(text: &'t str, item: &Item) -> Vec<&'t str> {
    let code = text.get(item.span.clone()).unwrap_or("");
    tokens(code, None).into_iter().map(|token| &code[token.span]).take(MAX_WORDS).collect()
}

/// Whether two definitions only differ in their names, wherever these stand.
fn differ_in_name(old: (&str, &[String]), new: (&str, &[String])) -> bool {
    let same = |(before, after): (&String, &String)| before == after || (before == old.0 && after == new.0);
    old.1.len() == new.1.len() && old.1.iter().zip(new.1).all(same)
}

/// The share of words that two bodies have in common, by Dice.
fn overlap(old: &[&str], new: &[&str]) -> f64 {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in old {
        *counts.entry(word).or_default() += 1;
    }
    let mut common = 0;
    for word in new {
        if let Some(count) = counts.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    2.0 * f64::from(common) / ((old.len() + new.len()) as f64).max(1.0)
}

/// Functions and types with the same body, or in the other's place with nearly the same.
pub(super) fn definitions(matching: &mut Matching) {
    let bodies = |items: &[Item], open: Vec<usize>, text: &'_ str| -> Vec<(usize, Vec<String>)> {
        let is_definition = |&index: &usize| matches!(items[index].kind, ItemKind::Function | ItemKind::Type);
        let owned = |index| (index, body(text, &items[index]).into_iter().map(str::to_owned).collect());
        open.into_iter().filter(is_definition).map(owned).collect()
    };
    let old = bodies(matching.old, matching.open_old(), &matching.file.old.text);
    let new = bodies(matching.new, matching.open_new(), &matching.file.new.text);
    let mut comparisons = 0;
    for same_body in [true, false] {
        for (new, new_body) in &new {
            for (old, old_body) in &old {
                if !matching.is_open(*old, *new) || matching.old[*old].kind != matching.new[*new].kind {
                    continue;
                }
                comparisons += 1;
                if comparisons > MAX_COMPARISONS {
                    return;
                }
                let in_place = matching.old_places[*old].after == matching.new_places[*new].after;
                let is_it = if same_body {
                    differ_in_name((&matching.old[*old].name, old_body), (&matching.new[*new].name, new_body))
                        && (in_place || new_body.len() >= TELLING_WORDS)
                } else {
                    let words = |body: &[String]| body.len() >= TELLING_WORDS;
                    let old: Vec<&str> = old_body.iter().map(String::as_str).collect();
                    let new: Vec<&str> = new_body.iter().map(String::as_str).collect();
                    in_place && words(old_body) && words(new_body) && overlap(&old, &new) >= ALIKE
                };
                if is_it {
                    matching.pair(*old, *new, Status::Renamed { other: *old });
                }
            }
        }
    }
}

/// Parameters at the same position, and values and fields in the same place, that only have another name.
pub(super) fn names(matching: &mut Matching) {
    let positions = |items: &[Item]| -> (HashMap<usize, usize>, HashMap<Option<usize>, usize>) {
        let mut counts: HashMap<Option<usize>, usize> = HashMap::new();
        let mut positions = HashMap::new();
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.kind == ItemKind::Parameter) {
            let count = counts.entry(item.scope).or_default();
            positions.insert(index, *count);
            *count += 1;
        }
        (positions, counts)
    };
    let (old_positions, old_counts) = positions(matching.old);
    let (new_positions, new_counts) = positions(matching.new);
    let mut parameters: HashMap<(Scope, usize), usize> = HashMap::new();
    let mut values: HashMap<(Scope, usize, ItemKind, String), Vec<usize>> = HashMap::new();
    for old in matching.open_old() {
        let item = &matching.old[old];
        let scope = matching.scope_of_old(old);
        if let (ItemKind::Parameter, Some(&position)) = (item.kind, old_positions.get(&old)) {
            parameters.insert((scope, position), old);
        } else if let Some(code) = code_besides_name(&matching.file.old.text, item) {
            values.entry((scope, matching.old_places[old].after, item.kind, code)).or_default().push(old);
        }
    }
    for new in matching.open_new() {
        let item = &matching.new[new];
        let scope = matching.scope_of_new(new);
        let old = if let (ItemKind::Parameter, Some(&position)) = (item.kind, new_positions.get(&new)) {
            let old = parameters.get(&(scope, position)).copied();
            let same_count = |old: &usize| old_counts.get(&matching.old[*old].scope) == new_counts.get(&item.scope);
            old.filter(same_count).filter(|&old| matching.same_value(old, new))
        } else {
            let code = code_besides_name(&matching.file.new.text, item);
            let key = code.map(|code| (scope, matching.new_places[new].after, item.kind, code));
            key.and_then(|key| values.get_mut(&key)).filter(|old| !old.is_empty()).map(|old| old.remove(0))
        };
        if let Some(old) = old.filter(|&old| matching.is_open(old, new)) {
            matching.pair(old, new, Status::Renamed { other: old });
        }
    }
}

/// Of a binding its value, and of a field the words of its declaration besides its name; nothing where that says nothing.
fn code_besides_name(text: &str, item: &Item) -> Option<String> {
    match item.kind {
        ItemKind::Binding => item.value.clone(),
        ItemKind::Field => {
            let words: Vec<&str> = body(text, item).into_iter().filter(|word| *word != item.name).collect();
            (words.len() > 1).then(|| words.join(" "))
        }
        _ => None,
    }
}
