//! TypeScript, with and without JSX.

use super::super::table::{Role, Table};
use super::ecmascript::{FRAMES, JSX, ROLES};

const OWN: &[(&str, Role)] = &[
    ("function_signature method_signature abstract_method_signature", Role::Function { name: "name" }),
    (
        "interface_declaration enum_declaration type_alias_declaration abstract_class_declaration",
        Role::Type { name: "name" },
    ),
    ("required_parameter optional_parameter", Role::Parameter { name: "pattern", value: "value" }),
    ("public_field_definition property_signature enum_assignment", Role::Binding { name: "name", value: "value" }),
    ("enum_body", Role::Members),
    ("type_identifier predefined_type", Role::Name),
    ("nested_type_identifier nested_identifier", Role::Path { last: "name|property" }),
    ("generic_type", Role::Wrap { inner: "name" }),
    ("instantiation_expression non_null_expression as_expression satisfies_expression", Role::Wrap { inner: "#0" }),
];

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    roles: &[ROLES, OWN],
    raisers: &[],
    importers: &["require"],
    frames: FRAMES,
};

pub(crate) static TSX: Table = Table {
    grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    roles: &[ROLES, JSX, OWN],
    raisers: &[],
    importers: &["require"],
    frames: FRAMES,
};
