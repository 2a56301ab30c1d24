//! Rust.

use super::super::table::{Form, Import, Raiser, Role, Table};

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    roles: &[&[
        ("function_item function_signature_item macro_definition", Role::Function { name: "name" }),
        ("closure_expression", Role::Function { name: "" }),
        ("struct_item enum_item union_item trait_item type_item associated_type", Role::Type { name: "name" }),
        // the methods of a type belong to it wherever they stand
        ("impl_item", Role::Type { name: "type" }),
        ("parameters closure_parameters", Role::Parameters),
        ("parameter", Role::Parameter { name: "pattern", value: "" }),
        ("let_declaration", Role::Binding { name: "pattern", value: "value" }),
        ("const_item static_item", Role::Binding { name: "name", value: "value" }),
        ("assignment_expression compound_assignment_expr", Role::Binding { name: "left", value: "right" }),
        ("field_initializer", Role::Binding { name: "field", value: "value" }),
        ("field_declaration enum_variant", Role::Binding { name: "name", value: "value" }),
        ("let_condition", Role::Binding { name: "pattern", value: "value" }),
        ("call_expression", Role::Call { function: "function", arguments: "arguments" }),
        ("macro_invocation", Role::Call { function: "macro", arguments: "@token_tree" }),
        ("attribute", Role::Call { function: "#0", arguments: "arguments" }),
        (
            "if_expression",
            Role::Condition { keyword: "if", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        (
            "while_expression",
            Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::Before },
        ),
        (
            "match_pattern",
            Role::Condition { keyword: "if", condition: "condition", alternative: "", form: Form::After },
        ),
        ("match_arm", Role::Condition { keyword: "case", condition: "pattern", alternative: "", form: Form::Before }),
        ("return_expression", Role::Return { value: "#0" }),
        ("use_declaration", Role::Import(Import::Tree { argument: "argument" })),
        (
            "parenthesized_expression try_expression await_expression mut_pattern ref_pattern reference_pattern \
             captured_pattern self_parameter",
            Role::Wrap { inner: "@self|#-1" },
        ),
        ("generic_function", Role::Wrap { inner: "function" }),
        ("generic_type", Role::Wrap { inner: "type" }),
        ("reference_type", Role::Wrap { inner: "type" }),
        ("integer_literal float_literal", Role::Number),
        ("string_literal raw_string_literal char_literal", Role::Text),
        ("boolean_literal", Role::Constant),
        ("line_comment block_comment", Role::Comment),
        (
            "identifier field_identifier type_identifier shorthand_field_identifier primitive_type self super crate metavariable",
            Role::Name,
        ),
        ("field_expression", Role::Path { last: "field" }),
        ("scoped_identifier scoped_type_identifier", Role::Path { last: "name" }),
        ("tuple_pattern tuple_struct_pattern struct_pattern slice_pattern tuple_expression", Role::Pattern),
        ("field_pattern", Role::Wrap { inner: "pattern|name" }),
    ]],
    raisers: &[Raiser { name: "panic", typed: false }, Raiser { name: "bail", typed: false }],
    importers: &[],
    frames: &[
        "fn f() {\n",
        "impl A {\n",
        "impl A { fn f() {\n",
        "struct A {\n",
        "enum A {\n",
        "if x {\n",
        "fn f() { if x {\n",
        "match x {\n",
        "fn f() { x = A {\n",
        "f(\n",
        "use a::{\n",
    ],
};
