//! Which item of one side is which of the other, and what became of each.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::condition;
use super::places::{Place, Places};
use super::renames;
use super::status::{How, Status};
use crate::side::FileChange;
use crate::syntax::{Item, ItemKind, Syntax, without_blanks};

/// The statuses of all items of a file's two sides.
pub(super) struct Statuses {
    pub old: Vec<Status>,
    pub new: Vec<Status>,
}

/// What became of every item of a file.
pub(super) fn statuses(file: &FileChange, old: &Syntax, new: &Syntax) -> Statuses {
    let mut matching = Matching::new(file, old, new);
    matching.same_lines();
    matching.same_definitions();
    renames::definitions(&mut matching);
    matching.same_values();
    matching.other_values();
    renames::names(&mut matching);
    matching.finish()
}

/// The scope of an item so that the same function has the same on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Outside,
    /// A definition that both sides have, by its index on the old side.
    Both(usize),
    OldOnly(usize),
    NewOnly(usize),
}

/// Two sides' items while they are matched.
pub(super) struct Matching<'m> {
    pub file: &'m FileChange,
    pub old: &'m [Item],
    pub new: &'m [Item],
    pub old_places: Vec<Place>,
    pub new_places: Vec<Place>,
    old_status: Vec<Option<Status>>,
    new_status: Vec<Option<Status>>,
    /// For every matched item of the new side its counterpart.
    counterparts: HashMap<usize, usize>,
}

/// What two items share that are the same thing; a field that gets a value is still the same.
fn class(kind: ItemKind) -> ItemKind {
    match kind {
        ItemKind::Field => ItemKind::Binding,
        kind => kind,
    }
}

fn is_definition(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Function | ItemKind::Type)
}

/// Whether an item's value is code of its own, by which it can be told to have changed.
fn has_value(kind: ItemKind) -> bool {
    use ItemKind::{Binding, Call, Condition, Field, Import, Parameter, Raise, Resource, Return};
    matches!(kind, Binding | Call | Condition | Field | Import | Parameter | Raise | Resource | Return)
}

impl<'m> Matching<'m> {
    fn new(file: &'m FileChange, old: &'m Syntax, new: &'m Syntax) -> Matching<'m> {
        let places = |side, items: &[Item]| {
            let places = Places::of(side);
            items.iter().map(|item| places.at(item.line)).collect()
        };
        Matching {
            file,
            old_places: places(&file.old, &old.items),
            new_places: places(&file.new, &new.items),
            old_status: vec![None; old.items.len()],
            new_status: vec![None; new.items.len()],
            old: &old.items,
            new: &new.items,
            counterparts: HashMap::new(),
        }
    }

    pub(super) fn is_open(&self, old: usize, new: usize) -> bool {
        self.old_status[old].is_none() && self.new_status[new].is_none()
    }

    /// The items of changed lines that have no counterpart yet.
    pub(super) fn open_old(&self) -> Vec<usize> {
        (0..self.old.len())
            .filter(|&index| self.old_status[index].is_none() && self.old_places[index].changed)
            .collect()
    }

    pub(super) fn open_new(&self) -> Vec<usize> {
        (0..self.new.len())
            .filter(|&index| self.new_status[index].is_none() && self.new_places[index].changed)
            .collect()
    }

    /// Makes two items counterparts; the status as it is seen from the other side is worked out.
    pub(super) fn pair(&mut self, old: usize, new: usize, status: Status) {
        let seen_from_old = match status {
            Status::Renamed { .. } => Status::Renamed { other: new },
            Status::Changed { how, .. } => Status::Changed { other: new, how },
            status => status,
        };
        self.old_status[old] = Some(seen_from_old);
        self.new_status[new] = Some(status);
        self.counterparts.insert(new, old);
    }

    pub(super) fn scope_of_old(&self, item: usize) -> Scope {
        match self.old[item].scope {
            None => Scope::Outside,
            Some(scope) if self.old_status[scope].is_some() => Scope::Both(scope),
            Some(scope) => Scope::OldOnly(scope),
        }
    }

    pub(super) fn scope_of_new(&self, item: usize) -> Scope {
        match self.new[item].scope {
            None => Scope::Outside,
            Some(scope) => self.counterparts.get(&scope).map_or(Scope::NewOnly(scope), |&old| Scope::Both(old)),
        }
    }

    pub(super) fn same_value(&self, old: usize, new: usize) -> bool {
        let (old, new) = (&self.old[old], &self.new[new]);
        match (&old.value, &new.value) {
            (Some(old), Some(new)) => old == new || without_blanks(old) == without_blanks(new),
            (None, None) => true,
            _ => false,
        }
    }

    /// The status of two items that are one but for their values.
    fn kept_or_changed(&self, old: usize, new: usize) -> Status {
        if self.same_value(old, new)
            && (self.old[old].kind != ItemKind::Condition || self.old[old].name == self.new[new].name)
        {
            return Status::Kept;
        }
        let (before, after) = (&self.old[old], &self.new[new]);
        let how = match (before.kind, &before.value, &after.value) {
            (ItemKind::Condition, Some(old), Some(new)) => {
                condition::compare((&before.name, old), (&after.name, new), self.file.language)
            }
            _ => How::Value,
        };
        Status::Changed { other: old, how }
    }

    /// What stands on an unchanged line is the same on both sides, in its order in the line.
    fn same_lines(&mut self) {
        let mut waiting: HashMap<(usize, ItemKind, &str), VecDeque<usize>> = HashMap::new();
        for (index, item) in self.old.iter().enumerate().filter(|&(index, _)| !self.old_places[index].changed) {
            let key = (self.old_places[index].after, class(item.kind), item.path.as_str());
            waiting.entry(key).or_default().push_back(index);
        }
        for index in 0..self.new.len() {
            let place = self.new_places[index];
            let item = &self.new[index];
            if place.changed {
                continue;
            }
            let key = (place.after, class(item.kind), item.path.as_str());
            if let Some(old) = waiting.get_mut(&key).and_then(VecDeque::pop_front) {
                let status = if has_value(item.kind) { self.kept_or_changed(old, index) } else { Status::Kept };
                self.pair(old, index, status);
            }
        }
    }

    /// Definitions of the same name, in the same definition before others.
    fn same_definitions(&mut self) {
        // outer definitions come first, so that the inner ones' scopes are known
        for same_scope in [true, false] {
            let key = |item: &Item, scope| (item.kind, item.path.clone(), same_scope.then_some(scope));
            let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
            for index in self.open_old().into_iter().filter(|&index| is_definition(&self.old[index])) {
                let scope = self.old[index].scope.map(|scope| self.old[scope].path.clone());
                waiting.entry(key(&self.old[index], scope)).or_default().push_back(index);
            }
            for index in self.open_new().into_iter().filter(|&index| is_definition(&self.new[index])) {
                let scope = self.new[index].scope.map(|scope| self.new[scope].path.clone());
                let Some(old) = waiting.get_mut(&key(&self.new[index], scope)).and_then(VecDeque::pop_front) else {
                    continue;
                };
                let in_place = self.old_places[old].after == self.new_places[index].after;
                self.pair(old, index, if in_place { Status::Kept } else { Status::Moved });
            }
        }
    }

    /// The same code: in lines that replace each other it is kept, elsewhere moved.
    fn same_values(&mut self) {
        self.match_by(
            |m, old| (m.of_old(old), m.old_places[old].after),
            |m, new| (m.of_new(new), m.new_places[new].after),
            Status::Kept,
        );
        self.match_by(
            |m, old| (m.code_of(&m.old[old]), m.old_places[old].after),
            |m, new| (m.code_of(&m.new[new]), m.new_places[new].after),
            Status::Kept,
        );
        self.match_by(Matching::of_old, Matching::of_new, Status::Moved);
        self.match_by(|m, old| m.code_of(&m.old[old]), |m, new| m.code_of(&m.new[new]), Status::Moved);
    }

    fn code_of(&self, item: &Item) -> (ItemKind, String, Option<String>) {
        let value = item.value.as_deref().map(|value| without_blanks(value).into_owned());
        (item.kind, item.path.clone(), value)
    }

    fn of_old(&self, item: usize) -> ((ItemKind, String, Option<String>), Scope) {
        (self.code_of(&self.old[item]), self.scope_of_old(item))
    }

    fn of_new(&self, item: usize) -> ((ItemKind, String, Option<String>), Scope) {
        (self.code_of(&self.new[item]), self.scope_of_new(item))
    }

    /// Pairs the open items that have the same key, in their order.
    fn match_by<K: Hash + Eq>(
        &mut self,
        old_key: impl Fn(&Self, usize) -> K,
        new_key: impl Fn(&Self, usize) -> K,
        status: Status,
    ) {
        let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
        for index in self.open_old().into_iter().filter(|&index| !is_definition(&self.old[index])) {
            waiting.entry(old_key(self, index)).or_default().push_back(index);
        }
        for index in self.open_new().into_iter().filter(|&index| !is_definition(&self.new[index])) {
            if let Some(old) = waiting.get_mut(&new_key(self, index)).and_then(VecDeque::pop_front) {
                self.pair(old, index, status);
            }
        }
    }

    /// The same name in the same scope with another value: in lines that replace each other first, then where there is only one of them.
    fn other_values(&mut self) {
        let name = |item: &Item| match item.kind {
            ItemKind::Condition | ItemKind::Return => String::new(),
            _ => item.path.clone(),
        };
        for in_place in [true, false] {
            let key = |item: &Item, scope, place: Place| {
                (class(item.kind), name(item), scope, in_place.then_some(place.after))
            };
            let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
            for index in self.open_old().into_iter().filter(|&index| has_value(self.old[index].kind)) {
                let key = key(&self.old[index], self.scope_of_old(index), self.old_places[index]);
                waiting.entry(key).or_default().push_back(index);
            }
            let mut wanting: HashMap<_, Vec<usize>> = HashMap::new();
            for index in self.open_new().into_iter().filter(|&index| has_value(self.new[index].kind)) {
                let key = key(&self.new[index], self.scope_of_new(index), self.new_places[index]);
                wanting.entry(key).or_default().push(index);
            }
            let mut pairs = Vec::new();
            for (key, new) in &wanting {
                let Some(old) = waiting.get_mut(key) else { continue };
                if !in_place && (key.1.is_empty() || old.len() > 1 || new.len() > 1) {
                    continue;
                }
                for &new in new {
                    let like = |&old: &usize| !key.1.is_empty() || alike(&self.old[old], &self.new[new]);
                    let Some(place) = old.iter().take(32).position(like) else { continue };
                    let Some(old) = old.remove(place) else { continue };
                    pairs.push((old, new));
                }
            }
            for (old, new) in pairs {
                let status = self.kept_or_changed(old, new);
                self.pair(old, new, status);
            }
        }
    }

    fn finish(self) -> Statuses {
        let settle = |statuses: Vec<Option<Status>>, places: &[Place], gone: Status| {
            let settled = statuses.into_iter().zip(places);
            settled.map(|(status, place)| status.unwrap_or(if place.changed { gone } else { Status::Kept })).collect()
        };
        Statuses {
            old: settle(self.old_status, &self.old_places, Status::Removed),
            new: settle(self.new_status, &self.new_places, Status::Added),
        }
    }
}

/// Whether two conditions or two returned values have a word in common, so that one can have become the other.
fn alike(old: &Item, new: &Item) -> bool {
    let words = |item: &Item| -> Vec<String> {
        let value = item.value.as_deref().unwrap_or("");
        value
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (old, new) = (words(old), words(new));
    (old.is_empty() && new.is_empty()) || old.iter().any(|word| new.contains(word))
}
