//! What is kept of a node of each role.

use tree_sitter::Node;

use super::code::{bare_name, comment_words, path, squeeze, string_content, without_brackets};
use super::item::ItemKind;
use super::table::{Form, Role, Way, select, select_all};
use super::walk::{Branch, Frame, GivenName, List, NewItem, Walker};

impl Walker<'_, '_> {
    /// Keeps what a node of a role stands for; whether its children are to be visited. `frame` is what will be around them.
    pub(super) fn keep(
        &mut self,
        node: Node,
        role: Role,
        field: Option<&str>,
        around: &Frame,
        frame: &mut Frame,
    ) -> bool {
        match role {
            Role::Function { name } => self.function(node, name, around, frame),
            Role::Type { name } | Role::TypeWithBody { name } => {
                if matches!(role, Role::TypeWithBody { .. }) && node.child_by_field_name("body").is_none() {
                    return true;
                }
                if let Some(scope) = self.definition(ItemKind::Type, node, select(node, name), around) {
                    frame.scope = Some(scope);
                    frame.guard = None;
                }
            }
            Role::Parameters if !matches!(field, Some("result" | "receiver")) => frame.list = List::Parameters,
            Role::Parameters => {}
            Role::Members => frame.list = List::Members,
            Role::Parameter { name, value } => {
                let is_parameter = matches!(around.list, List::Parameters | List::InParameter);
                let kind = if is_parameter { ItemKind::Parameter } else { ItemKind::Binding };
                self.bind(node, kind, select_all(node, name), select(node, value), around);
                frame.list = if is_parameter { List::InParameter } else { List::No };
            }
            Role::Binding { name, value } | Role::Alias { name, value } => {
                let value = select(node, value);
                let kind = if value.is_none() && self.is_in_type(around) { ItemKind::Field } else { ItemKind::Binding };
                self.bind(node, kind, select_all(node, name), value, around);
            }
            Role::Declaration { name, value } => self.declaration(node, name, value, around, frame),
            Role::Call { function, arguments } => {
                if let Some((name, path)) = select(node, function).and_then(|function| self.resolve(function)) {
                    self.call(node, name, path.start_byte(), select(node, arguments), around);
                }
            }
            Role::Method { name, arguments } => {
                if let Some((name, _)) = select(node, name).and_then(|name| self.resolve(name)) {
                    self.call(node, name, node.start_byte(), select(node, arguments), around);
                }
            }
            Role::Condition { keyword, condition, alternative, form } => {
                let conditions = select_all(node, condition);
                self.condition(node, field, (keyword, form), &conditions, select(node, alternative), (around, frame));
            }
            Role::Return { value } => {
                let value = select(node, value).map(|value| squeeze(self.code(value.byte_range())));
                self.simple(ItemKind::Return, "return", value, node, around);
            }
            Role::Raise { value } => self.raise(node, select(node, value), around),
            Role::Catch { types } => self.catch(node, types, around),
            Role::Import(import) => self.import(node, import, around),
            Role::Resource { value, up } => self.resource(node, value, up, around),
            Role::Number => return self.literal(ItemKind::Number, node, around),
            Role::Constant => return self.literal(ItemKind::Constant, node, around),
            Role::Text => {
                let content = string_content(self.code(node.byte_range()));
                self.simple(ItemKind::Text, content, None, node, around);
            }
            Role::Comment => return self.comment(node, around),
            Role::Statement => {
                let is_text = |child: Node| matches!(self.compiled.role(child), Some(Role::Text));
                if node.named_child_count() == 1 && node.named_child(0).is_some_and(is_text) {
                    return self.comment(node, around);
                }
            }
            Role::Name => {
                let kind = match around.list {
                    _ if field == Some("type") => ItemKind::Use,
                    List::Parameters => ItemKind::Parameter,
                    List::Members => ItemKind::Field,
                    List::No | List::InParameter => ItemKind::Use,
                };
                self.name(kind, node, node, around);
                return false;
            }
            Role::Path { .. } => {
                if let Some((name, path)) = self.resolve(node) {
                    self.name(ItemKind::Use, name, path, around);
                }
            }
            Role::Wrap { .. } | Role::Pattern => match around.list {
                List::Parameters => {
                    self.bind(node, ItemKind::Parameter, vec![node], None, around);
                    frame.list = List::InParameter;
                }
                List::InParameter => frame.list = List::InParameter,
                List::Members | List::No => {}
            },
        }
        true
    }

    fn function(&mut self, node: Node, name: Way, around: &Frame, frame: &mut Frame) {
        let scope = match (select(node, name), self.given.remove(&node.id())) {
            (None, Some(given)) => {
                let GivenName { name, path, at } = given;
                let bytes = node.byte_range();
                self.push(around, NewItem { kind: ItemKind::Function, name: &name, path, value: None, bytes, at })
            }
            (name, _) => self.definition(ItemKind::Function, node, name, around),
        };
        if scope.is_some() {
            frame.scope = scope;
            frame.guard = None;
        }
    }

    pub(super) fn definition(
        &mut self,
        kind: ItemKind,
        node: Node,
        name: Option<Node>,
        around: &Frame,
    ) -> Option<usize> {
        let (name, whole) = self.resolve(name?)?;
        let mut path = path(self.code(whole.byte_range()), self.code(name.byte_range()));
        if let Some(receiver) = node.child_by_field_name("receiver") {
            // the type of a method's receiver, as in `(c *Cache[K])`
            let receiver = self.code(receiver.byte_range()).split('[').next().unwrap_or("");
            let of = receiver.trim_end_matches([')', ' ']).rsplit([' ', '*', '(']).next().unwrap_or("");
            path = format!("{of}.{path}");
        }
        self.take(name.start_byte());
        let (bytes, at) = (node.byte_range(), name.start_byte());
        self.push(around, NewItem { kind, name: self.code(name.byte_range()), path, value: None, bytes, at })
    }

    fn call(&mut self, node: Node, name: Node, start: usize, arguments: Option<Node>, around: &Frame) {
        if self.is_taken(name.start_byte()) {
            return;
        }
        let text = self.code(name.byte_range());
        let path = path(self.code(start..name.end_byte()), text);
        let value = arguments.map(|arguments| squeeze(without_brackets(self.code(arguments.byte_range()))));
        let (bytes, at) = (node.byte_range(), name.start_byte());
        if let Some(raiser) = self.compiled.table.raisers.iter().find(|raiser| raiser.name == text) {
            let kind = ItemKind::Raise;
            if raiser.typed && path == text {
                self.take(at);
                let arguments = arguments.map(|arguments| select_all(arguments, "*")).unwrap_or_default();
                self.raise_call(node, &arguments, around);
                return;
            }
            let item = NewItem { kind, name: text, path: path.clone(), value: value.clone(), bytes: bytes.clone(), at };
            self.push(around, item);
        }
        if self.compiled.table.importers.contains(&text) {
            self.import_call(node, arguments, around);
        }
        self.take(at);
        self.push(around, NewItem { kind: ItemKind::Call, name: text, path, value, bytes, at });
    }

    fn condition(
        &mut self,
        node: Node,
        field: Option<&str>,
        (keyword, form): (&'static str, Form),
        conditions: &[Node],
        alternative: Option<Node>,
        (around, frame): (&Frame, &mut Frame),
    ) {
        let (Some(first), Some(last)) = (conditions.first(), conditions.last()) else { return };
        let bytes = first.start_byte()..last.end_byte();
        let code = self.code(bytes.clone()).trim();
        let in_brackets = first.kind().starts_with("parenthes") || first.kind().ends_with("_clause");
        let value = squeeze(if in_brackets { without_brackets(code) } else { code });
        // the keyword's place, unless a body is between it and the condition
        let near = (node.start_byte()..first.start_byte()).len() < 24;
        let start = if near { node.start_byte() } else { first.start_byte() };
        let kind = ItemKind::Condition;
        let (path, bytes) = (keyword.to_owned(), start..bytes.end);
        let item = NewItem { kind, name: keyword, path, value: Some(value), bytes, at: start };
        let Some(item) = self.push(around, item) else { return };
        if field == Some("alternative") {
            self.chain(item);
        }
        let is_negative = matches!(form, Form::Unless | Form::AfterUnless);
        let otherwise = Some(self.guard(frame.guard, item, !is_negative));
        let condition = (first.id(), last.end_byte());
        frame.branch =
            Some(Branch { item, condition, alternative: alternative.map(|node| node.id()), form, otherwise });
    }

    fn raise(&mut self, node: Node, value: Option<Node>, around: &Frame) {
        let (function, arguments) = match value.and_then(|value| Some((value, self.compiled.role(value)?))) {
            Some((value, Role::Call { function, arguments } | Role::Method { name: function, arguments })) => {
                (select(value, function), select(value, arguments))
            }
            _ => (value, None),
        };
        let (name, path) = match function.and_then(|function| self.resolve(function)) {
            Some((name, whole)) => {
                let name = self.code(name.byte_range());
                (name, path(self.code(whole.byte_range()), name))
            }
            None => ("", String::new()),
        };
        let value = match arguments {
            Some(arguments) => Some(squeeze(without_brackets(self.code(arguments.byte_range())))),
            None if name.is_empty() => value.map(|value| squeeze(self.code(value.byte_range()))),
            None => None,
        };
        let (bytes, at) = (node.byte_range(), node.start_byte());
        self.push(around, NewItem { kind: ItemKind::Raise, name, path, value, bytes, at });
    }

    /// `raise Type, "words"` and `raise Type.new("words")`.
    fn raise_call(&mut self, node: Node, arguments: &[Node], around: &Frame) {
        let first = arguments.first().copied();
        let (receiver, own) = match first.and_then(|first| Some((first, self.compiled.role(first)?))) {
            Some((call, Role::Method { arguments, .. })) => {
                (call.child_by_field_name("receiver"), select(call, arguments))
            }
            _ => (first, None),
        };
        let named = receiver.and_then(|receiver| self.resolve(receiver));
        let (name, whole) =
            named.map_or(("", ""), |(name, whole)| (self.code(name.byte_range()), self.code(whole.byte_range())));
        let rest = if named.is_some() { arguments.get(1) } else { arguments.first() };
        let value = own.or(rest.copied()).map(|value| squeeze(without_brackets(self.code(value.byte_range()))));
        let (bytes, at) = (node.byte_range(), node.start_byte());
        self.push(around, NewItem { kind: ItemKind::Raise, name, path: path(whole, name), value, bytes, at });
    }

    fn catch(&mut self, node: Node, types: Way, around: &Frame) {
        let types: Vec<(Node, Node)> = select_all(node, types).into_iter().flat_map(|node| self.spread(node)).collect();
        if types.is_empty() {
            self.simple(ItemKind::Catch, "", None, node, around);
        }
        for (name, whole) in types {
            let name_text = self.code(name.byte_range());
            let path = path(self.code(whole.byte_range()), name_text);
            let (bytes, at) = (node.byte_range(), name.start_byte());
            self.push(around, NewItem { kind: ItemKind::Catch, name: name_text, path, value: None, bytes, at });
        }
    }

    fn resource(&mut self, node: Node, value: Way, up: usize, around: &Frame) {
        for mut value in select_all(node, value) {
            if let Some(Role::Alias { value: inner, .. } | Role::Wrap { inner }) = self.compiled.role(value) {
                value = select(value, inner).unwrap_or(value);
            }
            let function = match self.compiled.role(value) {
                Some(Role::Call { function, .. } | Role::Method { name: function, .. }) => select(value, function),
                _ => Some(value),
            };
            let code = self.code(value.byte_range());
            let (name, path) = match function.and_then(|function| self.resolve(function)) {
                Some((name, whole)) => {
                    let is_method = matches!(self.compiled.role(value), Some(Role::Method { .. }));
                    let start = if is_method { value.start_byte() } else { whole.start_byte() };
                    let whole = start..name.end_byte();
                    let name = self.code(name.byte_range());
                    (name, path(self.code(whole), name))
                }
                None => ("", String::new()),
            };
            let bytes = if up == 0 { node.byte_range() } else { self.bytes_above(up).unwrap_or(node.byte_range()) };
            let at = value.start_byte();
            let value = Some(squeeze(code));
            self.push(around, NewItem { kind: ItemKind::Resource, name, path, value, bytes, at });
        }
    }

    fn name(&mut self, kind: ItemKind, name: Node, whole: Node, around: &Frame) {
        if self.is_taken(name.start_byte()) {
            return;
        }
        let text = self.code(name.byte_range());
        if bare_name(text).chars().all(|c| !c.is_alphanumeric() && c != '_') {
            return;
        }
        let path = path(self.code(whole.byte_range()), text);
        let (bytes, at) = (whole.byte_range(), name.start_byte());
        self.push(around, NewItem { kind, name: text, path, value: None, bytes, at });
    }

    fn literal(&mut self, kind: ItemKind, node: Node, around: &Frame) -> bool {
        self.simple(kind, self.code(node.byte_range()), None, node, around);
        false
    }

    fn comment(&mut self, node: Node, around: &Frame) -> bool {
        let words = comment_words(self.code(node.byte_range()));
        self.simple(ItemKind::Comment, &words, None, node, around);
        false
    }

    /// An item that is the whole node.
    pub(super) fn simple(&mut self, kind: ItemKind, name: &str, value: Option<String>, node: Node, around: &Frame) {
        let (bytes, at) = (node.byte_range(), node.start_byte());
        self.push(around, NewItem { kind, name, path: name.to_owned(), value, bytes, at });
    }
}
