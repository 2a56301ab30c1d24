//! Items while they are collected: out of order, and each with the byte of its name.

use std::collections::HashSet;
use std::ops::Range;

use super::code;
use super::item::{Item, ItemKind};

/// An item as it is found.
pub(super) struct Found<'a> {
    pub kind: ItemKind,
    pub name: &'a str,
    pub path: String,
    pub value: Option<String>,
    pub span: Range<usize>,
    /// First byte of its name.
    pub at: usize,
    pub scope: Option<usize>,
    pub guards: Vec<(usize, bool)>,
}

/// Whose a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    /// A part of something that is no item of its own.
    Somebody,
    Item(u32),
}

impl ItemKind {
    /// Whether the name is a word of the code that no other item has.
    fn owns_its_name(self) -> bool {
        use ItemKind::{Binding, Call, Field, Function, Import, Parameter, Type, Use};
        matches!(self, Function | Type | Parameter | Binding | Field | Call | Import | Use)
    }

    /// Whether a keyword begins it.
    fn is_statement(self) -> bool {
        use ItemKind::{Catch, Condition, Raise, Resource, Return};
        matches!(self, Condition | Return | Raise | Catch | Resource)
    }
}

/// The items of a text so far.
pub(super) struct Draft<'t> {
    pub text: &'t str,
    /// First byte of every line.
    lines: Vec<usize>,
    items: Vec<Item>,
    /// For each byte whether a name that begins there belongs to an item, and to which.
    owners: Vec<Owner>,
    /// Bytes at which a statement begins that is an item.
    begun: HashSet<usize>,
}

impl<'t> Draft<'t> {
    pub(super) fn new(text: &'t str) -> Draft<'t> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Draft { text, lines, items: Vec::new(), owners: vec![Owner::Nobody; text.len() + 1], begun: HashSet::new() }
    }

    /// 0-based line of a byte.
    pub(super) fn line(&self, byte: usize) -> usize {
        self.lines.partition_point(|&start| start <= byte).saturating_sub(1)
    }

    /// The bytes of a line, feed excluded.
    pub(super) fn line_span(&self, line: usize) -> Range<usize> {
        let start = self.lines.get(line).copied().unwrap_or(self.text.len());
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| next - 1);
        start..end.max(start)
    }

    pub(super) fn line_count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Whether the name that begins at `byte` belongs to an item.
    pub(super) fn is_taken(&self, byte: usize) -> bool {
        self.owners.get(byte).is_none_or(|&owner| owner != Owner::Nobody)
    }

    pub(super) fn take(&mut self, byte: usize) {
        if let Some(owner @ Owner::Nobody) = self.owners.get_mut(byte) {
            *owner = Owner::Somebody;
        }
    }

    /// Keeps an item; its index.
    pub(super) fn push(&mut self, found: Found) -> usize {
        let name = code::bare_name(found.name).to_owned();
        let line = self.line(found.at);
        if found.kind.owns_its_name()
            && let Some(owner @ (Owner::Nobody | Owner::Somebody)) = self.owners.get_mut(found.at)
        {
            *owner = u32::try_from(self.items.len()).map_or(Owner::Somebody, Owner::Item);
        }
        if found.kind.is_statement() {
            self.begun.insert(found.at);
        }
        self.items.push(Item {
            kind: found.kind,
            name,
            path: found.path,
            value: found.value,
            span: found.span,
            line,
            scope: found.scope,
            guards: found.guards,
        });
        self.items.len() - 1
    }

    /// Replaces the kind and value of the item whose name begins at `byte`, where it only is a use; whether there is an item.
    pub(super) fn refine(&mut self, byte: usize, kind: ItemKind, path: &str, value: Option<&String>) -> bool {
        if kind.is_statement() {
            return self.begun.contains(&byte);
        }
        let Some(Owner::Item(index)) = self.owners.get(byte) else { return self.is_taken(byte) };
        let item = &mut self.items[*index as usize];
        if item.kind == ItemKind::Use && kind != ItemKind::Use {
            item.kind = kind;
            path.clone_into(&mut item.path);
            item.value = value.cloned();
        }
        true
    }

    /// The items by their first byte, outer ones first.
    pub(super) fn finish(self) -> Vec<Item> {
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|&index| {
            let span = &self.items[index].span;
            (span.start, std::cmp::Reverse(span.end))
        });
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let mut items: Vec<Option<Item>> = self.items.into_iter().map(Some).collect();
        order
            .into_iter()
            .filter_map(|old| items[old].take())
            .map(|mut item| {
                item.scope = item.scope.map(|scope| place[scope]);
                for guard in &mut item.guards {
                    guard.0 = place[guard.0];
                }
                item
            })
            .collect()
    }
}
