//! C#.

use super::super::table::{Form, Import, Role, Table};

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    roles: &[&[
        (
            "method_declaration constructor_declaration destructor_declaration local_function_statement \
             delegate_declaration",
            Role::Function { name: "name" },
        ),
        ("lambda_expression anonymous_method_expression", Role::Function { name: "" }),
        (
            "class_declaration interface_declaration struct_declaration enum_declaration record_declaration",
            Role::Type { name: "name" },
        ),
        ("parameter_list", Role::Parameters),
        ("parameter", Role::Parameter { name: "name", value: "@equals_value_clause|#2" }),
        ("variable_declarator", Role::Binding { name: "name", value: "#1" }),
        ("property_declaration enum_member_declaration", Role::Binding { name: "name", value: "value" }),
        ("assignment_expression", Role::Binding { name: "left", value: "right" }),
        ("argument", Role::Binding { name: "name", value: "#1" }),
        ("invocation_expression", Role::Call { function: "function", arguments: "arguments" }),
        ("object_creation_expression", Role::Call { function: "type", arguments: "arguments" }),
        ("attribute", Role::Call { function: "name", arguments: "@attribute_argument_list" }),
        (
            "if_statement",
            Role::Condition { keyword: "if", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        (
            "conditional_expression",
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
        (
            "switch_section switch_expression_arm",
            Role::Condition { keyword: "case", condition: "@constant_pattern", alternative: "", form: Form::Before },
        ),
        (
            "catch_filter_clause",
            Role::Condition { keyword: "when", condition: "#0", alternative: "", form: Form::Before },
        ),
        ("return_statement", Role::Return { value: "#0" }),
        ("throw_statement throw_expression", Role::Raise { value: "#0" }),
        ("catch_clause", Role::Catch { types: "@catch_declaration.type" }),
        ("using_directive", Role::Import(Import::Modules { names: "@qualified_name|@identifier" })),
        (
            "lock_statement using_statement",
            Role::Resource { value: "@variable_declaration.@variable_declarator.#1|#0", up: 0 },
        ),
        ("parenthesized_expression await_expression", Role::Wrap { inner: "#0" }),
        ("generic_name", Role::Wrap { inner: "@identifier" }),
        ("array_type nullable_type", Role::Wrap { inner: "type" }),
        ("integer_literal real_literal", Role::Number),
        (
            "string_literal verbatim_string_literal raw_string_literal interpolated_string_expression character_literal",
            Role::Text,
        ),
        ("boolean_literal null_literal", Role::Constant),
        ("comment", Role::Comment),
        ("identifier predefined_type", Role::Name),
        (
            "member_access_expression member_binding_expression qualified_name alias_qualified_name",
            Role::Path { last: "name" },
        ),
        ("conditional_access_expression", Role::Path { last: "@member_binding_expression.name" }),
        ("tuple_pattern tuple_expression", Role::Pattern),
    ]],
    raisers: &[],
    importers: &[],
    frames: &[
        "class A {\n",
        "class A { void M() {\n",
        "class A { void M() { if (x) {\n",
        "class A { void M() { try {\n",
        "if (x) {\n",
        "try {\n",
        "f(\n",
        "switch (x) {\n",
        "enum A {\n",
        "new A {\n",
    ],
};
