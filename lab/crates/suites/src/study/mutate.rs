//! Wrong programs with a known fault: a Python program with one place of its syntax changed. Whether it is wrong, execution says.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Node, Parser};

/// A program with one change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mutant {
    /// The kind of fault, of the paper's six.
    pub bug_type: &'static str,
    /// What was changed into what.
    pub what: String,
    /// The program.
    pub code: String,
}

const OPERATORS: &str = "operator misuse";
const VALUES: &str = "value misuse";
const VARIABLES: &str = "variable misuse";
const MISSING: &str = "missing logic";
const EXCESS: &str = "excess logic";
const FUNCTIONS: &str = "function misuse";

/// What operators are taken for; one that stands twice has two mutants.
const SWAPPED: [(&str, &str); 24] = [
    ("<", "<="),
    ("<", ">"),
    ("<=", "<"),
    (">", ">="),
    (">", "<"),
    (">=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("in", "not in"),
    ("not in", "in"),
    ("+", "-"),
    ("-", "+"),
    ("*", "+"),
    ("//", "%"),
    ("//", "/"),
    ("%", "//"),
    ("and", "or"),
    ("or", "and"),
    ("+=", "-="),
    ("-=", "+="),
    ("*=", "+="),
    ("//=", "%="),
    ("&", "|"),
    ("|", "&"),
];

/// Functions and methods that are taken for each other.
const CONFUSED: [(&str, &str); 18] = [
    ("min", "max"),
    ("max", "min"),
    ("any", "all"),
    ("all", "any"),
    ("ceil", "floor"),
    ("floor", "ceil"),
    ("sorted", "list"),
    ("lower", "upper"),
    ("upper", "lower"),
    ("islower", "isupper"),
    ("isupper", "islower"),
    ("startswith", "endswith"),
    ("endswith", "startswith"),
    ("lstrip", "rstrip"),
    ("rstrip", "lstrip"),
    ("append", "extend"),
    ("find", "rfind"),
    ("keys", "values"),
];

/// All programs with one change, each once; nothing of a program that does not parse.
pub fn mutants(code: &str) -> Vec<Mutant> {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_python::LANGUAGE.into()).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(code, None).filter(|tree| !tree.root_node().has_error()) else { return Vec::new() };
    let mut sites = Sites { code, edits: Vec::new() };
    sites.look(tree.root_node(), &BTreeSet::new());
    let mut seen = BTreeSet::from([code.to_owned()]);
    let mut all = Vec::new();
    for (bug_type, start, end, text) in sites.edits {
        let changed = format!("{}{text}{}", &code[..start], &code[end..]);
        let parses = parser.parse(&changed, None).is_some_and(|tree| !tree.root_node().has_error());
        if parses && seen.insert(changed.clone()) {
            let shown = |text: &str| text.trim().chars().take(60).collect::<String>();
            all.push(Mutant {
                bug_type,
                what: format!("`{}` to `{}`", shown(&code[start..end]), shown(&text)),
                code: changed,
            });
        }
    }
    all
}

/// A change: its kind, the bytes that it replaces, and what with.
type Edit = (&'static str, usize, usize, String);

struct Sites<'a> {
    code: &'a str,
    edits: Vec<Edit>,
}

impl Sites<'_> {
    fn text(&self, node: Node<'_>) -> &str {
        &self.code[node.byte_range()]
    }

    fn edit(&mut self, kind: &'static str, node: Node<'_>, text: impl Into<String>) {
        self.edits.push((kind, node.start_byte(), node.end_byte(), text.into()));
    }

    fn look(&mut self, node: Node<'_>, locals: &BTreeSet<String>) {
        let mut own = None;
        match node.kind() {
            "function_definition" => own = Some(self.locals(node)),
            // a docstring is no part of what a program does
            "expression_statement" if node.named_child(0).is_some_and(|child| child.kind() == "string") => return,
            "comment" => return,
            "comparison_operator" | "binary_operator" | "boolean_operator" | "augmented_assignment" => {
                self.operators(node)
            }
            "integer" => {
                if let Ok(n) = self.text(node).parse::<i64>() {
                    self.edit(VALUES, node, (n + 1).to_string());
                    self.edit(VALUES, node, (n - 1).to_string());
                }
            }
            "true" => self.edit(VALUES, node, "False"),
            "false" => self.edit(VALUES, node, "True"),
            "string" => self.string(node),
            "call" => self.call(node),
            "identifier" => self.variable(node, locals),
            "not_operator" => {
                let inner = node.child_by_field_name("argument").map(|inner| self.text(inner).to_owned());
                inner.into_iter().for_each(|inner| self.edit(MISSING, node, format!("({inner})")));
            }
            "if_statement" => {
                if let Some(condition) = node.child_by_field_name("condition") {
                    self.edit(MISSING, condition, "True");
                }
            }
            "else_clause" => self.edit(MISSING, node, ""),
            "block" => self.statements(node),
            "return_statement" => {
                if let Some(value) = node.named_child(0) {
                    let text = self.text(value).to_owned();
                    self.edit(EXCESS, value, format!("not ({text})"));
                    self.edit(EXCESS, value, format!("({text}) * 2"));
                }
            }
            _ => {}
        }
        let locals = own.as_ref().unwrap_or(locals);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).collect::<Vec<_>>() {
            self.look(child, locals);
        }
    }

    fn operators(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        for child in
            node.children(&mut cursor).filter(|child| !child.is_named() || child.kind() == "not in").collect::<Vec<_>>()
        {
            let text = self.text(child).to_owned();
            for (_, other) in SWAPPED.iter().filter(|(one, _)| *one == text) {
                self.edit(OPERATORS, child, *other);
            }
        }
        if node.kind() == "boolean_operator" {
            let left = node.child_by_field_name("left").map(|left| self.text(left).to_owned());
            left.into_iter().for_each(|left| self.edit(MISSING, node, left));
        }
    }

    /// A literal without its last letter.
    fn string(&mut self, node: Node<'_>) {
        let text = self.text(node).to_owned();
        let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let Some(quote) = quote.filter(|quote| !text.starts_with(&quote.to_string().repeat(3))) else { return };
        let inner = &text[1..text.len().max(2) - 1];
        if !inner.contains('\\') && !inner.is_empty() {
            let cut: String = inner.chars().take(inner.chars().count() - 1).collect();
            self.edit(VALUES, node, format!("{quote}{cut}{quote}"));
        }
    }

    fn call(&mut self, node: Node<'_>) {
        let Some(function) = node.child_by_field_name("function") else { return };
        let name =
            if function.kind() == "attribute" { function.child_by_field_name("attribute") } else { Some(function) };
        let Some(name) = name else { return };
        let text = self.text(name).to_owned();
        if let Some((_, other)) = CONFUSED.iter().find(|(one, _)| *one == text) {
            self.edit(FUNCTIONS, name, *other);
        }
        if text == "range" {
            let Some(arguments) = node.child_by_field_name("arguments") else { return };
            let end = arguments.named_child(if arguments.named_child_count() == 1 { 0 } else { 1 });
            if let Some(end) = end.filter(|end| end.kind() != "keyword_argument") {
                let text = self.text(end).to_owned();
                self.edit(VALUES, end, format!("({text}) - 1"));
            }
        }
    }

    /// The names that a function binds: its parameters, and what it assigns.
    fn locals(&self, function: Node<'_>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut waiting = vec![function];
        while let Some(node) = waiting.pop() {
            let target = match node.kind() {
                "parameters" => Some(node),
                "assignment" | "for_statement" | "for_in_clause" => node.child_by_field_name("left"),
                _ => None,
            };
            if let Some(target) = target {
                let mut inner = vec![target];
                while let Some(node) = inner.pop() {
                    match node.kind() {
                        "identifier" => drop(names.insert(self.text(node).to_owned())),
                        // an annotation, a default and what is assigned into bind nothing
                        "type" | "attribute" | "subscript" => {}
                        _ => {
                            let mut cursor = node.walk();
                            inner.extend(node.named_children(&mut cursor));
                        }
                    }
                }
            }
            let mut cursor = node.walk();
            waiting.extend(node.named_children(&mut cursor));
        }
        names
    }

    /// A read of one local, replaced by another.
    fn variable(&mut self, node: Node<'_>, locals: &BTreeSet<String>) {
        let Some(parent) = node.parent() else { return };
        let is = |field: &str| parent.child_by_field_name(field) == Some(node);
        let is_bound = match parent.kind() {
            "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => is("left"),
            "parameters"
            | "typed_parameter"
            | "default_parameter"
            | "pattern_list"
            | "tuple_pattern"
            | "function_definition"
            | "lambda_parameters" => true,
            "attribute" => is("attribute"),
            "keyword_argument" => is("name"),
            "call" => is("function"),
            _ => false,
        };
        let name = self.text(node).to_owned();
        if is_bound || !locals.contains(&name) {
            return;
        }
        // the next by name, and the first behind the last
        let other = locals.range(name.clone()..).nth(1).or_else(|| locals.first()).filter(|other| **other != name);
        if let Some(other) = other.cloned() {
            self.edit(VARIABLES, node, other);
        }
    }

    fn statements(&mut self, block: Node<'_>) {
        let mut cursor = block.walk();
        let statements: Vec<Node<'_>> =
            block.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        for statement in &statements {
            let is_plain = statement.kind() == "expression_statement"
                && statement.named_child(0).is_some_and(|child| child.kind() != "string");
            if is_plain {
                if statements.len() > 1 {
                    self.edit(MISSING, *statement, "pass");
                }
                let (text, column) = (self.text(*statement).to_owned(), statement.start_position().column);
                self.edit(EXCESS, *statement, format!("{text}\n{}{text}", " ".repeat(column)));
            }
        }
    }
}

/// As many mutants as wanted, drawn evenly over the kinds of fault and over the program, always the same.
pub fn spread(all: Vec<Mutant>, n: usize) -> Vec<Mutant> {
    let mut kinds: BTreeMap<&str, Vec<Mutant>> = BTreeMap::new();
    for mutant in all {
        kinds.entry(mutant.bug_type).or_default().push(mutant);
    }
    let mut drawn = Vec::new();
    while drawn.len() < n && kinds.values().any(|kind| !kind.is_empty()) {
        for kind in kinds.values_mut().filter(|kind| !kind.is_empty()) {
            // from the middle outwards, so that not all are of the first lines
            drawn.push(kind.remove(kind.len() / 2));
        }
    }
    drawn.truncate(n);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "def f(items, n):\n    \"\"\"At 1 < 2.\"\"\"\n    # 3 < 4\n    total = 0\n    for item in range(n):\n        if not items and item < n:\n            \
                        total += items[item]\n        else:\n            total -= 1\n    return max(total, n)\n";

    #[test]
    fn each_kind_of_fault_is_made_and_docstrings_are_left_alone() {
        let all = mutants(CODE);
        let kinds: BTreeSet<_> = all.iter().map(|mutant| mutant.bug_type).collect();
        assert_eq!(kinds.len(), 6, "{kinds:?}");
        for (text, kind) in [
            ("item <= n", OPERATORS),
            ("not items or item", OPERATORS),
            ("total = 1", VALUES),
            ("range((n) - 1)", VALUES),
            ("items[items]", VARIABLES),
            ("if True:", MISSING),
            ("return not (max(total, n))", EXCESS),
            ("min(total, n)", FUNCTIONS),
        ] {
            assert!(
                all.iter().any(|mutant| mutant.code.contains(text) && mutant.bug_type == kind),
                "no `{text}`: {all:#?}"
            );
        }
        assert!(all.iter().all(|mutant| mutant.code.contains("\"\"\"At 1 < 2.\"\"\"\n    # 3 < 4\n")));
        let codes: BTreeSet<_> = all.iter().map(|mutant| &mutant.code).collect();
        assert_eq!(codes.len(), all.len(), "each is there once");
        assert!(!codes.contains(&CODE.to_owned()));
    }

    #[test]
    fn what_does_not_parse_has_none_and_few_are_spread() {
        assert!(mutants("def f(:\n").is_empty());
        let few = spread(mutants(CODE), 6);
        assert_eq!(few.iter().map(|mutant| mutant.bug_type).collect::<BTreeSet<_>>().len(), 6);
    }
}
