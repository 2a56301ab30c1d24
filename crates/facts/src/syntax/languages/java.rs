//! Java.

use super::super::table::{Form, Import, Role, Table};

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_java::LANGUAGE.into(),
    roles: &[&[
        (
            "method_declaration constructor_declaration compact_constructor_declaration annotation_type_element_declaration",
            Role::Function { name: "name" },
        ),
        ("lambda_expression", Role::Function { name: "" }),
        (
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
            Role::Type { name: "name" },
        ),
        ("formal_parameters inferred_parameters", Role::Parameters),
        ("formal_parameter", Role::Parameter { name: "name", value: "" }),
        ("spread_parameter", Role::Parameter { name: "@variable_declarator.name", value: "" }),
        ("variable_declarator", Role::Binding { name: "name", value: "value" }),
        ("assignment_expression", Role::Binding { name: "left", value: "right" }),
        ("element_value_pair", Role::Binding { name: "key", value: "value" }),
        ("enum_constant", Role::Binding { name: "name", value: "arguments" }),
        ("method_invocation", Role::Method { name: "name", arguments: "arguments" }),
        ("object_creation_expression", Role::Call { function: "type", arguments: "arguments" }),
        ("explicit_constructor_invocation", Role::Call { function: "constructor", arguments: "arguments" }),
        ("marker_annotation annotation", Role::Call { function: "name", arguments: "arguments" }),
        (
            "if_statement",
            Role::Condition { keyword: "if", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        (
            "ternary_expression",
            Role::Condition { keyword: "?", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        (
            "while_statement do_statement",
            Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::Before },
        ),
        (
            "for_statement",
            Role::Condition { keyword: "for", condition: "condition", alternative: "", form: Form::Before },
        ),
        ("switch_label", Role::Condition { keyword: "case", condition: "#0", alternative: "", form: Form::Before }),
        (
            "assert_statement",
            Role::Condition { keyword: "assert", condition: "#0", alternative: "", form: Form::Before },
        ),
        ("return_statement", Role::Return { value: "#0" }),
        ("throw_statement", Role::Raise { value: "#0" }),
        ("catch_clause", Role::Catch { types: "@catch_formal_parameter.@catch_type.*" }),
        ("import_declaration", Role::Import(Import::Dotted { names: "@scoped_identifier+@identifier" })),
        ("synchronized_statement", Role::Resource { value: "#0", up: 0 }),
        ("resource", Role::Binding { name: "name", value: "value" }),
        ("resource_specification", Role::Resource { value: "@resource.#-1", up: 1 }),
        ("parenthesized_expression", Role::Wrap { inner: "#0" }),
        ("generic_type array_type annotated_type", Role::Wrap { inner: "element|#0" }),
        (
            "decimal_integer_literal hex_integer_literal octal_integer_literal binary_integer_literal \
             decimal_floating_point_literal hex_floating_point_literal",
            Role::Number,
        ),
        ("string_literal character_literal", Role::Text),
        ("true false null_literal", Role::Constant),
        ("line_comment block_comment", Role::Comment),
        ("identifier type_identifier this super integral_type floating_point_type boolean_type void_type", Role::Name),
        ("field_access", Role::Path { last: "field" }),
        ("scoped_identifier", Role::Path { last: "name" }),
        ("scoped_type_identifier", Role::Path { last: "#-1" }),
    ]],
    raisers: &[],
    importers: &[],
    frames: &[
        "class A {\n",
        "class A { void m() {\n",
        "class A { void m() { {\n",
        "if (x) {\n",
        "try {\n",
        "f(\n",
        "switch (x) {\n",
        "enum A {\n",
    ],
};
