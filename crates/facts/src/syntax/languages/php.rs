//! PHP, inside its tags or without them.

use super::super::table::{Form, Import, Role, Table};

const ROLES: &[(&str, Role)] = &[
    ("function_definition method_declaration", Role::Function { name: "name" }),
    ("anonymous_function arrow_function", Role::Function { name: "" }),
    ("class_declaration interface_declaration trait_declaration enum_declaration", Role::Type { name: "name" }),
    ("formal_parameters", Role::Parameters),
    ("simple_parameter property_promotion_parameter", Role::Parameter { name: "name", value: "default_value" }),
    ("variadic_parameter", Role::Parameter { name: "name", value: "" }),
    ("property_element", Role::Binding { name: "name", value: "default_value" }),
    ("const_element", Role::Binding { name: "#0", value: "#1" }),
    ("enum_case", Role::Binding { name: "name", value: "value" }),
    ("assignment_expression augmented_assignment_expression", Role::Binding { name: "left", value: "right" }),
    ("argument", Role::Binding { name: "name", value: "#1" }),
    ("function_call_expression", Role::Call { function: "function", arguments: "arguments" }),
    (
        "member_call_expression nullsafe_member_call_expression scoped_call_expression",
        Role::Method { name: "name", arguments: "arguments" },
    ),
    ("object_creation_expression", Role::Call { function: "#0", arguments: "@arguments" }),
    ("attribute", Role::Call { function: "#0", arguments: "parameters" }),
    ("if_statement", Role::Condition { keyword: "if", condition: "condition", alternative: "", form: Form::Before }),
    (
        "else_if_clause",
        Role::Condition { keyword: "elseif", condition: "condition", alternative: "", form: Form::Before },
    ),
    (
        "conditional_expression",
        Role::Condition { keyword: "?", condition: "condition", alternative: "alternative", form: Form::Before },
    ),
    (
        "while_statement do_statement",
        Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::Before },
    ),
    ("for_statement", Role::Condition { keyword: "for", condition: "condition", alternative: "", form: Form::Before }),
    ("case_statement", Role::Condition { keyword: "case", condition: "value", alternative: "", form: Form::Before }),
    (
        "match_conditional_expression",
        Role::Condition { keyword: "case", condition: "conditional_expressions", alternative: "", form: Form::Before },
    ),
    ("return_statement", Role::Return { value: "#0" }),
    ("throw_expression", Role::Raise { value: "#0" }),
    ("catch_clause", Role::Catch { types: "type.*" }),
    (
        "namespace_use_declaration",
        Role::Import(Import::Dotted {
            names: "@namespace_use_clause.@qualified_name+@namespace_use_clause.@name+\
                    @namespace_use_group.@namespace_use_clause.*",
        }),
    ),
    ("named_type optional_type by_ref parenthesized_expression", Role::Wrap { inner: "#0" }),
    ("integer float", Role::Number),
    ("string encapsed_string heredoc nowdoc", Role::Text),
    ("boolean null", Role::Constant),
    ("comment", Role::Comment),
    ("name variable_name primitive_type", Role::Name),
    (
        "member_access_expression nullsafe_member_access_expression scoped_property_access_expression",
        Role::Path { last: "name" },
    ),
    ("qualified_name class_constant_access_expression namespace_name", Role::Path { last: "#-1" }),
    ("list_literal", Role::Pattern),
];

const FRAMES: &[&str] = &[
    "class A {\n",
    "class A { function m() {\n",
    "if ($x) {\n",
    "class A { function m() { if ($x) {\n",
    "try {\n",
    "f(\n",
    "$x = [\n",
    "switch ($x) {\n",
];

/// Text in which code stands between tags.
pub(crate) static TAGGED: Table = Table {
    grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
    roles: &[ROLES],
    raisers: &[],
    importers: &[],
    frames: FRAMES,
};

/// Code without tags.
pub(crate) static BARE: Table = Table {
    grammar: || tree_sitter_php::LANGUAGE_PHP_ONLY.into(),
    roles: &[ROLES],
    raisers: &[],
    importers: &[],
    frames: FRAMES,
};
