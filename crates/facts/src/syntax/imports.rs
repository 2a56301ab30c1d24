//! Imports in their different forms.

use tree_sitter::Node;

use super::code::{path, string_content};
use super::item::ItemKind;
use super::table::{Import, select, select_all};
use super::walk::{Frame, NewItem, Walker};

impl Walker<'_, '_> {
    pub(super) fn import(&mut self, node: Node, import: Import, around: &Frame) {
        match import {
            Import::Modules { names } => self.modules(node, select_all(node, names), None, around),
            Import::Dotted { names } => {
                for name in select_all(node, names) {
                    let code = self.code(name.byte_range());
                    let cut = code.rfind(['.', '\\', ':']);
                    let module = cut.map(|cut| code[..cut].trim_end_matches(':').to_owned());
                    self.modules(node, vec![name], module, around);
                }
            }
            Import::Members { module, names } => {
                let module = select(node, module);
                let text = module.map(|module| string_content(self.code(module.byte_range())).to_owned());
                let names = select_all(node, names);
                if let (true, Some(module)) = (names.is_empty(), module) {
                    self.quoted(node, module, around);
                    return;
                }
                self.modules(node, names, text, around);
            }
            Import::Quoted { path } => {
                if let Some(path) = select(node, path) {
                    self.quoted(node, path, around);
                }
            }
            Import::Tree { argument } => {
                if let Some(argument) = select(node, argument) {
                    self.tree(node, argument, around);
                }
            }
        }
    }

    /// `require("module")`.
    pub(super) fn import_call(&mut self, node: Node, arguments: Option<Node>, around: &Frame) {
        if let Some(module) = arguments.and_then(|arguments| select(arguments, "#0"))
            && self.code(module.byte_range()).starts_with(['"', '\'', '`'])
        {
            self.quoted(node, module, around);
        }
    }

    /// A module each, under the name that it gets as well.
    fn modules(&mut self, node: Node, names: Vec<Node>, module: Option<String>, around: &Frame) {
        for node_of_name in names {
            let Some((name, whole)) = self.resolve(node_of_name) else { continue };
            let text = self.code(name.byte_range());
            let imported = path(self.code(whole.byte_range()), text);
            self.import_item(node, name, imported.clone(), module.clone(), around);
            let alias = node_of_name.child_by_field_name("alias").and_then(|alias| self.resolve(alias));
            if let Some((alias, _)) = alias {
                self.import_item(node, alias, self.code(alias.byte_range()).to_owned(), Some(imported), around);
            }
        }
    }

    fn import_item(&mut self, node: Node, name: Node, path: String, value: Option<String>, around: &Frame) {
        let at = name.start_byte();
        self.take(at);
        let bytes = node.byte_range();
        let name = self.code(name.byte_range());
        self.push(around, NewItem { kind: ItemKind::Import, name, path, value, bytes, at });
    }

    /// A path between quotes: its last part is the name.
    fn quoted(&mut self, node: Node, path: Node, around: &Frame) {
        let content = string_content(self.code(path.byte_range()));
        let name = content.rsplit('/').next().unwrap_or(content);
        let (bytes, at) = (node.byte_range(), path.start_byte());
        let path = content.to_owned();
        self.push(around, NewItem { kind: ItemKind::Import, name, path, value: None, bytes, at });
        if let Some(alias) = node.child_by_field_name("name").filter(|alias| alias.is_named()) {
            let text = self.code(alias.byte_range()).to_owned();
            self.import_item(node, alias, text, Some(content.to_owned()), around);
        }
    }

    /// The names of `a::{b, c::{d as e, *}}`, each with its whole path.
    fn tree(&mut self, node: Node, argument: Node, around: &Frame) {
        let code = self.code(argument.byte_range());
        let base = argument.start_byte();
        let mut segments: Vec<(usize, &str)> = Vec::new();
        let mut groups: Vec<usize> = Vec::new();
        let mut alias = None;
        let mut rest = code;
        loop {
            rest = rest.trim_start();
            let at = code.len() - rest.len();
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, mark) = (&rest[..length], rest.chars().next());
            match mark {
                Some(_) if word == "as" => alias = Some(None),
                Some(_) if length > 0 && alias == Some(None) => alias = Some(Some((at, word))),
                Some(_) if length > 0 => segments.push((at, word)),
                Some('{') => groups.push(segments.len()),
                Some(',' | '}') | None => {
                    let group = groups.last().copied().unwrap_or(0);
                    self.leaf(node, base, &segments, group, alias.take().flatten(), around);
                    segments.truncate(group);
                    if mark == Some('}') {
                        groups.pop();
                        // the group stands for all of its path
                        segments.truncate(groups.last().copied().unwrap_or(0));
                    }
                }
                Some(_) => {}
            }
            let Some(mark) = mark else { return };
            rest = &rest[length.max(if length == 0 { mark.len_utf8() } else { 0 })..];
        }
    }

    fn leaf(
        &mut self,
        node: Node,
        base: usize,
        segments: &[(usize, &str)],
        group: usize,
        alias: Option<(usize, &str)>,
        around: &Frame,
    ) {
        let Some(&(at, last)) = segments.get(group..).and_then(<[_]>::last) else { return };
        let joined = |parts: &[(usize, &str)]| parts.iter().map(|part| part.1).collect::<Vec<_>>().join("::");
        let (mut segments, mut name) = (segments, last);
        if last == "self" && segments.len() > 1 {
            segments = &segments[..segments.len() - 1];
            name = segments[segments.len() - 1].1;
        }
        let module = joined(&segments[..segments.len() - 1]);
        let value = (!module.is_empty()).then_some(module);
        let path = joined(segments);
        let bytes = node.byte_range();
        let kind = ItemKind::Import;
        self.take(base + at);
        self.push(around, NewItem { kind, name, path: path.clone(), value, bytes: bytes.clone(), at: base + at });
        if let Some((at, name)) = alias {
            self.take(base + at);
            let (at, value) = (base + at, Some(path));
            self.push(around, NewItem { kind, name, path: name.to_owned(), value, bytes, at });
        }
    }
}
