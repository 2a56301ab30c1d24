//! What JavaScript and TypeScript share.

use super::super::table::{Form, Import, Role};

/// Their roles.
pub(super) const ROLES: &[(&str, Role)] = &[
    (
        "function_declaration generator_function_declaration function_expression generator_function method_definition",
        Role::Function { name: "name" },
    ),
    ("arrow_function", Role::Function { name: "" }),
    ("class_declaration class", Role::Type { name: "name" }),
    ("formal_parameters", Role::Parameters),
    ("assignment_pattern object_assignment_pattern", Role::Parameter { name: "left", value: "right" }),
    ("variable_declarator", Role::Binding { name: "name", value: "value" }),
    ("assignment_expression augmented_assignment_expression", Role::Binding { name: "left", value: "right" }),
    ("pair", Role::Binding { name: "key", value: "value" }),
    ("labeled_statement", Role::Binding { name: "label", value: "body" }),
    ("call_expression", Role::Call { function: "function", arguments: "arguments" }),
    ("new_expression", Role::Call { function: "constructor", arguments: "arguments" }),
    (
        "if_statement",
        Role::Condition { keyword: "if", condition: "condition", alternative: "alternative", form: Form::Before },
    ),
    (
        "ternary_expression",
        Role::Condition { keyword: "?", condition: "condition", alternative: "alternative", form: Form::Before },
    ),
    (
        "while_statement",
        Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::Before },
    ),
    ("do_statement", Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::Before }),
    ("for_statement", Role::Condition { keyword: "for", condition: "condition", alternative: "", form: Form::Before }),
    ("switch_case", Role::Condition { keyword: "case", condition: "value", alternative: "", form: Form::Before }),
    ("return_statement", Role::Return { value: "#0" }),
    ("throw_statement", Role::Raise { value: "#0" }),
    ("catch_clause", Role::Catch { types: "" }),
    (
        "import_statement",
        Role::Import(Import::Members {
            module: "source",
            names: "@import_clause.@identifier+@import_clause.@named_imports.@import_specifier.name+\
                    @import_clause.@named_imports.@import_specifier.alias+@import_clause.@namespace_import.#0",
        }),
    ),
    ("parenthesized_expression await_expression computed_property_name", Role::Wrap { inner: "#0" }),
    ("rest_pattern spread_element", Role::Wrap { inner: "#0" }),
    ("pair_pattern", Role::Wrap { inner: "value" }),
    ("number", Role::Number),
    ("string template_string regex", Role::Text),
    ("true false null undefined", Role::Constant),
    ("comment html_comment hash_bang_line", Role::Comment),
    (
        "identifier property_identifier private_property_identifier shorthand_property_identifier \
         shorthand_property_identifier_pattern statement_identifier this super",
        Role::Name,
    ),
    ("member_expression", Role::Path { last: "property" }),
    ("object_pattern array_pattern", Role::Pattern),
];

/// What JSX adds.
pub(super) const JSX: &[(&str, Role)] = &[
    ("jsx_attribute", Role::Binding { name: "#0", value: "#1" }),
    ("jsx_expression", Role::Wrap { inner: "#0" }),
    ("jsx_text", Role::Text),
];

/// What can stand before a fragment.
pub(super) const FRAMES: &[&str] =
    &["class A {\n", "class A { m() {\n", "({\n", "f(\n", "if (x) {\n", "try {\n", "switch (x) {\n", "f({ m() {\n"];
