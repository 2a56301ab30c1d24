//! One walk over a syntax tree, without recursion, that keeps what is around a node.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::Node;

use super::draft::{Draft, Found};
use super::item::ItemKind;
use super::parse::Parsed;
use super::table::{Compiled, Form, Role, select};

/// Guards further out than this are left out of an item.
const MAX_GUARDS: usize = 16;

/// Which role plain names have among a node's children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    No,
    /// They are parameters.
    Parameters,
    /// A parameter is around them.
    InParameter,
    /// They are fields.
    Members,
}

/// What a condition decides about its node's other children.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branch {
    /// Index of the condition's item.
    pub item: usize,
    /// Id of the condition's node, and its last byte.
    pub condition: (usize, usize),
    /// Id of the node that runs where it does not hold.
    pub alternative: Option<usize>,
    pub form: Form,
    /// The guard under which the next alternative runs.
    pub otherwise: Option<usize>,
}

/// What is around the children of a node.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub scope: Option<usize>,
    pub guard: Option<usize>,
    pub list: List,
    pub branch: Option<Branch>,
    pub bytes: Range<usize>,
}

/// A guard, and the one around it.
struct Guard {
    outer: Option<usize>,
    condition: usize,
    otherwise: bool,
}

/// A name that a function without one gets from what it is assigned to.
pub(super) struct GivenName {
    pub name: String,
    pub path: String,
    pub at: usize,
}

pub(super) struct Walker<'w, 't> {
    pub source: &'w str,
    window: Range<usize>,
    /// The window's first byte in the side's text.
    offset: usize,
    pub compiled: &'static Compiled,
    pub draft: &'w mut Draft<'t>,
    frames: Vec<Frame>,
    guards: Vec<Guard>,
    pub given: HashMap<usize, GivenName>,
}

/// Collects the items of a tree whose fragment begins at `offset` in the side's text; lines that did not parse go to `unread`.
pub(super) fn walk(parsed: &Parsed, offset: usize, draft: &mut Draft, unread: &mut Vec<Range<usize>>) {
    let root = Frame { scope: None, guard: None, list: List::No, branch: None, bytes: 0..parsed.source.len() };
    let mut walker = Walker {
        source: &parsed.source,
        window: parsed.window.clone(),
        offset,
        compiled: parsed.compiled,
        draft,
        frames: vec![root],
        guards: Vec::new(),
        given: HashMap::new(),
    };
    let mut cursor = parsed.tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() {
            unread.push(walker.lines(&node));
        }
        let down = walker.enter(node, cursor.field_name());
        if down && cursor.goto_first_child() {
            continue;
        }
        walker.frames.pop();
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            walker.frames.pop();
        }
    }
}

impl<'w> Walker<'w, '_> {
    /// Keeps what a node stands for and what is around its children; whether they are to be visited.
    fn enter(&mut self, node: Node, field: Option<&str>) -> bool {
        let around = self.around(node, field);
        let bytes = node.byte_range();
        let inside = bytes.start < self.window.end && bytes.end > self.window.start;
        let mut frame = Frame { list: List::No, branch: None, bytes, ..around.clone() };
        if node.is_error() {
            frame.list = around.list;
        }
        let role = if node.is_named() && inside { self.compiled.role(node) } else { None };
        let down = role.is_none_or(|role| self.keep(node, role, field, &around, &mut frame));
        self.frames.push(frame);
        down && inside
    }

    /// What is around a child of the current node.
    fn around(&mut self, node: Node, field: Option<&str>) -> Frame {
        let Some(frame) = self.frames.last().cloned() else {
            return Frame { scope: None, guard: None, list: List::No, branch: None, bytes: 0..0 };
        };
        let Some(branch) = frame.branch else { return frame };
        let is_condition = node.id() == branch.condition.0;
        let is_alternative = field == Some("alternative") || branch.alternative == Some(node.id());
        let guard = if is_condition || !node.is_named() {
            frame.guard
        } else if is_alternative {
            branch.otherwise
        } else {
            match branch.form {
                Form::Before if node.start_byte() < branch.condition.1 => frame.guard,
                Form::Unless if node.start_byte() < branch.condition.1 => frame.guard,
                Form::Before | Form::After => Some(self.guard(frame.guard, branch.item, false)),
                Form::Unless | Form::AfterUnless => Some(self.guard(frame.guard, branch.item, true)),
            }
        };
        Frame { guard, branch: None, ..frame }
    }

    pub(super) fn guard(&mut self, outer: Option<usize>, condition: usize, otherwise: bool) -> usize {
        self.guards.push(Guard { outer, condition, otherwise });
        self.guards.len() - 1
    }

    /// A condition that is itself an alternative of the node around it: the next alternative only runs where it does not hold either.
    pub(super) fn chain(&mut self, condition: usize) {
        let Some(branch) = self.frames.last().and_then(|frame| frame.branch) else { return };
        let otherwise = self.guard(branch.otherwise, condition, true);
        if let Some(branch) = self.frames.last_mut().and_then(|frame| frame.branch.as_mut()) {
            branch.otherwise = Some(otherwise);
        }
    }

    fn guards_of(&self, mut guard: Option<usize>) -> Vec<(usize, bool)> {
        let mut guards = Vec::new();
        while let Some(Guard { outer, condition, otherwise }) = guard.and_then(|index| self.guards.get(index)) {
            if guards.len() == MAX_GUARDS {
                break;
            }
            guards.push((*condition, *otherwise));
            guard = *outer;
        }
        guards.reverse();
        guards
    }

    /// The code of some bytes of the source.
    pub(super) fn code(&self, bytes: Range<usize>) -> &'w str {
        self.source.get(bytes).unwrap_or("")
    }

    /// The bytes of the node `up` levels above the current one.
    pub(super) fn bytes_above(&self, up: usize) -> Option<Range<usize>> {
        let index = self.frames.len().checked_sub(up)?;
        self.frames.get(index).map(|frame| frame.bytes.clone())
    }

    /// A byte of the source in the side's text, if it is one of the fragment's.
    pub(super) fn place(&self, byte: usize) -> Option<usize> {
        self.window.contains(&byte).then(|| byte - self.window.start + self.offset)
    }

    fn clamp(&self, byte: usize) -> usize {
        byte.clamp(self.window.start, self.window.end) - self.window.start + self.offset
    }

    fn lines(&self, node: &Node) -> Range<usize> {
        self.draft.line(self.clamp(node.start_byte()))..self.draft.line(self.clamp(node.end_byte())) + 1
    }

    /// Whether the name that begins at a byte of the source belongs to an item, or lies outside the fragment.
    pub(super) fn is_taken(&self, byte: usize) -> bool {
        self.place(byte).is_none_or(|byte| self.draft.is_taken(byte))
    }

    pub(super) fn take(&mut self, byte: usize) {
        if let Some(byte) = self.place(byte) {
            self.draft.take(byte);
        }
    }

    /// Keeps an item whose name begins at byte `at` of the source; its index, if it is in the fragment.
    pub(super) fn push(&mut self, around: &Frame, item: NewItem) -> Option<usize> {
        let at = self.place(item.at)?;
        let guards = self.guards_of(around.guard);
        let span = self.clamp(item.bytes.start)..self.clamp(item.bytes.end);
        let NewItem { kind, name, path, value, .. } = item;
        Some(self.draft.push(Found { kind, name, path, value, span, at, scope: around.scope, guards }))
    }

    /// Whether a type is the innermost definition around.
    pub(super) fn is_in_type(&self, around: &Frame) -> bool {
        around.scope.is_some_and(|scope| self.draft.items()[scope].kind == ItemKind::Type)
    }

    /// The node of a name, and the node of the path whose last part it is.
    pub(super) fn resolve<'n>(&self, mut node: Node<'n>) -> Option<(Node<'n>, Node<'n>)> {
        let mut path = None;
        for _ in 0..16 {
            node = match self.compiled.role(node)? {
                Role::Name => return Some((node, path.unwrap_or(node))),
                Role::Path { last } => {
                    path.get_or_insert(node);
                    select(node, last)?
                }
                Role::Method { name, arguments } if select(node, arguments).is_none() => {
                    path.get_or_insert(node);
                    select(node, name)?
                }
                Role::Wrap { inner } => select(node, inner)?,
                Role::Alias { value, .. } => select(node, value)?,
                _ => return None,
            };
        }
        None
    }
}

/// An item to be kept, by bytes of the source.
pub(super) struct NewItem<'c> {
    pub kind: ItemKind,
    pub name: &'c str,
    pub path: String,
    pub value: Option<String>,
    pub bytes: Range<usize>,
    pub at: usize,
}
