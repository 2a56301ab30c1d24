//! What the nodes of a language's grammar stand for, as data.

use std::collections::HashMap;

use tree_sitter::{Language as Grammar, Node};

/// A way from a node to others: steps joined with `.`, each a field's name, `#n` (the n-th named child, `#-1` the last), `@kind` (the
/// children of a kind) or `*` (all named children). Ways joined with `|` are tried in order, and those joined with `+` are all gone.
/// The empty way leads nowhere.
pub(super) type Way = &'static str;

/// What a kind of node stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// A function or method.
    Function { name: Way },
    /// A type.
    Type { name: Way },
    /// A type where its body stands, and else only its name.
    TypeWithBody { name: Way },
    /// A list in which plain names are parameters.
    Parameters,
    /// A list in which plain names are fields.
    Members,
    /// A parameter with its default; elsewhere than in a list of parameters a name with a value.
    Parameter { name: Way, value: Way },
    /// A name gets a value; without a value inside a type it is a field.
    Binding { name: Way, value: Way },
    /// A declaration as in C, where functions, fields and variables look alike.
    Declaration { name: Way, value: Way },
    /// A call of what `function` leads to.
    Call { function: Way, arguments: Way },
    /// A call whose path is everything up to its name.
    Method { name: Way, arguments: Way },
    /// What decides whether its other children run.
    Condition { keyword: &'static str, condition: Way, alternative: Way, form: Form },
    /// What is given back.
    Return { value: Way },
    /// A thrown exception.
    Raise { value: Way },
    /// Caught exceptions; the way leads to their types.
    Catch { types: Way },
    /// An import.
    Import(Import),
    /// A resource that is held for the node `up` levels above.
    Resource { value: Way, up: usize },
    /// `value as name`.
    Alias { value: Way, name: Way },
    /// A number.
    Number,
    /// A string.
    Text,
    /// A string that is a documentation string where it is a statement of its own.
    Statement,
    /// A truth value or a nothing.
    Constant,
    /// A comment.
    Comment,
    /// A name.
    Name,
    /// A path whose name `last` leads to.
    Path { last: Way },
    /// What only holds a name.
    Wrap { inner: Way },
    /// Several names that get one value.
    Pattern,
}

/// How a condition stands to what it decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// What runs follows it.
    Before,
    /// What runs stands before it.
    After,
    /// What follows runs where it does not hold.
    Unless,
    /// What stands before runs where it does not hold.
    AfterUnless,
}

/// The forms of imports.
#[derive(Debug, Clone, Copy)]
pub(super) enum Import {
    /// Whole modules.
    Modules { names: Way },
    /// A path whose last part is imported out of the rest.
    Dotted { names: Way },
    /// Names out of a module.
    Members { module: Way, names: Way },
    /// A path between quotes.
    Quoted { path: Way },
    /// A tree of names as in Rust.
    Tree { argument: Way },
}

/// How a language raises by calling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raiser {
    /// The function's name.
    pub name: &'static str,
    /// Whether the first argument is the exception's type.
    pub typed: bool,
}

/// A language's grammar and what its nodes stand for.
pub(super) struct Table {
    /// The grammar.
    pub grammar: fn() -> Grammar,
    /// Kinds of nodes, separated by blanks, and their role; later ones replace earlier ones.
    pub roles: &'static [&'static [(&'static str, Role)]],
    /// Functions that raise.
    pub raisers: &'static [Raiser],
    /// Functions that import the module that their first argument names.
    pub importers: &'static [&'static str],
    /// What can stand before a fragment so that it parses; `{i}` is its indentation, and brackets
    /// that stay open are closed after it.
    pub frames: &'static [&'static str],
}

/// A table by the numbers that the grammar gives its kinds.
pub(crate) struct Compiled {
    pub(super) grammar: Grammar,
    pub(super) table: &'static Table,
    roles: Vec<Option<Role>>,
}

impl Compiled {
    pub(super) fn new(table: &'static Table) -> Compiled {
        let grammar = (table.grammar)();
        let by_kind: HashMap<&str, Role> = table
            .roles
            .iter()
            .flat_map(|part| part.iter())
            .flat_map(|&(kinds, role)| kinds.split(' ').map(move |kind| (kind, role)))
            .collect();
        let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        let roles = (0..count)
            .map(|id| {
                let kind = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))?;
                by_kind.get(kind).copied()
            })
            .collect();
        Compiled { grammar, table, roles }
    }

    /// The role of a node.
    pub(super) fn role(&self, node: Node) -> Option<Role> {
        self.roles.get(usize::from(node.kind_id())).copied().flatten()
    }
}

/// The nodes to which a way leads.
pub(super) fn select_all<'t>(node: Node<'t>, way: Way) -> Vec<Node<'t>> {
    if way.is_empty() {
        return Vec::new();
    }
    let first_that_leads = |ways: &'static str| {
        ways.split('|')
            .map(|steps| {
                steps.split('.').fold(vec![node], |nodes, step| nodes.into_iter().flat_map(|n| go(n, step)).collect())
            })
            .find(|found: &Vec<Node>| !found.is_empty())
            .unwrap_or_default()
    };
    way.split('+').flat_map(first_that_leads).collect()
}

/// The first node to which a way leads.
pub(super) fn select<'t>(node: Node<'t>, way: Way) -> Option<Node<'t>> {
    match way {
        "" => None,
        field if field.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => node.child_by_field_name(field),
        _ => select_all(node, way).into_iter().next(),
    }
}

fn go<'t>(node: Node<'t>, step: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    if let Some(kind) = step.strip_prefix('@') {
        return node.named_children(&mut cursor).filter(|child| child.kind() == kind).collect();
    }
    if let Some(number) = step.strip_prefix('#') {
        let not_a_comment = |child: &Node| !child.is_extra();
        if number == "-1" {
            return node.named_children(&mut cursor).filter(not_a_comment).last().into_iter().collect();
        }
        let number = number.parse().unwrap_or(0);
        return node.named_children(&mut cursor).filter(not_a_comment).nth(number).into_iter().collect();
    }
    if step == "*" {
        return node.named_children(&mut cursor).collect();
    }
    node.children_by_field_name(step, &mut cursor).filter(Node::is_named).collect()
}
