//! Names that get a value, and declarations as in C.

use tree_sitter::Node;

use super::code::{path, squeeze, string_content};
use super::item::ItemKind;
use super::table::{Role, Way, select, select_all};
use super::walk::{Frame, GivenName, NewItem, Walker};

/// Names in one pattern beyond this are left out.
const MAX_NAMES: usize = 64;

impl Walker<'_, '_> {
    /// Gives names their value; a pattern's names get the values of a pattern of the same size one by one.
    pub(super) fn bind(&mut self, node: Node, kind: ItemKind, names: Vec<Node>, value: Option<Node>, around: &Frame) {
        let code = value.map(|value| squeeze(self.code(value.byte_range())));
        let spread: Vec<(Node, Node)> = names.iter().flat_map(|&name| self.spread(name)).collect();
        if spread.is_empty() {
            if let Some(&place) = names.first().filter(|_| kind != ItemKind::Parameter) {
                self.bind_place(node, kind, place, code, around);
            }
            return;
        }
        let is_pattern = |value: &Node| matches!(self.compiled.role(*value), Some(Role::Pattern));
        let values = value.filter(is_pattern).map(|value| select_all(value, "*")).unwrap_or_default();
        for (index, (name, whole)) in spread.iter().enumerate() {
            if self.is_taken(name.start_byte()) {
                continue;
            }
            let value = match values.get(index) {
                Some(value) if values.len() == spread.len() => Some(squeeze(self.code(value.byte_range()))),
                _ => code.clone(),
            };
            let text = self.code(name.byte_range());
            let name_text = string_content(text);
            let path = path(string_content(self.code(whole.byte_range())), name_text);
            let (bytes, at) = (node.byte_range(), name.start_byte());
            self.take(at);
            self.push(around, NewItem { kind, name: name_text, path, value, bytes, at });
        }
        let is_function = |value: &Node| matches!(self.compiled.role(*value), Some(Role::Function { .. }));
        if let (Some(value), [(name, whole)]) = (value.filter(is_function), spread.as_slice()) {
            let name_text = self.code(name.byte_range()).to_owned();
            let path = path(self.code(whole.byte_range()), &name_text);
            self.given.insert(value.id(), GivenName { name: name_text, path, at: name.start_byte() });
        }
    }

    /// A value goes to a place that is no name, such as `d["k"]`: the name is that of the whole.
    fn bind_place(&mut self, node: Node, kind: ItemKind, place: Node, value: Option<String>, around: &Frame) {
        let mut whole = place;
        for _ in 0..16 {
            if let Some((name, _)) = self.resolve(whole) {
                let name_text = self.code(name.byte_range());
                let path = path(self.code(place.byte_range()), name_text);
                let (bytes, at) = (node.byte_range(), place.start_byte());
                self.push(around, NewItem { kind, name: name_text, path, value, bytes, at });
                return;
            }
            let Some(inner) = whole.named_child(0) else { return };
            whole = inner;
        }
    }

    /// The names in a pattern, each with the path whose last part it is; strings, which are keys, among them.
    pub(super) fn spread<'n>(&self, node: Node<'n>) -> Vec<(Node<'n>, Node<'n>)> {
        let mut names = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if names.len() == MAX_NAMES {
                break;
            }
            match self.compiled.role(node) {
                Some(Role::Pattern) => {
                    // `Some(x)` binds x, not what its type is called
                    let mut cursor = node.walk();
                    let of_type = node.child_by_field_name("type").map(|node| node.id());
                    let mut parts: Vec<Node> =
                        node.named_children(&mut cursor).filter(|part| Some(part.id()) != of_type).collect();
                    parts.reverse();
                    stack.extend(parts);
                }
                Some(Role::Wrap { inner } | Role::Alias { value: inner, .. }) => stack.extend(select(node, inner)),
                Some(Role::Text) => names.push((node, node)),
                _ => names.extend(self.resolve(node)),
            }
        }
        names
    }

    pub(super) fn declaration(&mut self, node: Node, names: Way, value: Way, around: &Frame, frame: &mut Frame) {
        for name in select_all(node, names) {
            if matches!(self.compiled.role(name), Some(Role::Binding { .. })) {
                continue;
            }
            let in_function = around.scope.is_some() && !self.is_in_type(around);
            match self.function_declarator(name) {
                Some(declarator) if in_function => {
                    self.bind(node, ItemKind::Binding, vec![name], select(declarator, "parameters"), around);
                }
                Some(_) => {
                    if let Some(scope) = self.definition(ItemKind::Function, node, Some(name), around) {
                        frame.scope = Some(scope);
                    }
                }
                None => {
                    let value = select(node, value);
                    let is_field = value.is_none() && self.is_in_type(around);
                    let kind = if is_field { ItemKind::Field } else { ItemKind::Binding };
                    self.bind(node, kind, vec![name], value, around);
                }
            }
        }
    }

    /// The part of a declarator that makes it a function's, unless it is a pointer to one.
    fn function_declarator<'n>(&self, mut node: Node<'n>) -> Option<Node<'n>> {
        for _ in 0..16 {
            if node.kind() == "function_declarator" {
                let inner = node.child_by_field_name("declarator")?;
                return (inner.kind() != "parenthesized_declarator").then_some(node);
            }
            let Some(Role::Wrap { inner }) = self.compiled.role(node) else { return None };
            node = select(node, inner)?;
        }
        None
    }
}
