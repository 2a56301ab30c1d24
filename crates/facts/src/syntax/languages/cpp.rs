//! C++.

use super::super::table::{Import, Role, Table};
use super::c_family::{FRAMES, ROLES};

const OWN: &[(&str, Role)] = &[
    ("lambda_expression", Role::Function { name: "" }),
    ("class_specifier", Role::TypeWithBody { name: "name" }),
    ("alias_declaration concept_definition", Role::Type { name: "name" }),
    ("optional_parameter_declaration", Role::Parameter { name: "declarator", value: "default_value" }),
    ("field_initializer", Role::Binding { name: "#0", value: "#1" }),
    ("new_expression", Role::Call { function: "type", arguments: "arguments" }),
    ("throw_statement", Role::Raise { value: "#0" }),
    ("catch_clause", Role::Catch { types: "parameters.@parameter_declaration.type" }),
    ("using_declaration", Role::Import(Import::Dotted { names: "#0" })),
    ("reference_declarator variadic_declarator", Role::Wrap { inner: "#0" }),
    ("template_function template_type template_method", Role::Wrap { inner: "name" }),
    ("raw_string_literal", Role::Text),
    ("namespace_identifier this auto", Role::Name),
    ("qualified_identifier", Role::Path { last: "name" }),
    ("destructor_name", Role::Path { last: "#0" }),
];

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    roles: &[ROLES, OWN],
    raisers: &[],
    importers: &[],
    frames: FRAMES,
};
