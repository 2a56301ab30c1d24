//! Go.

use super::super::table::{Form, Import, Raiser, Role, Table};

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_go::LANGUAGE.into(),
    roles: &[&[
        ("function_declaration method_declaration method_elem", Role::Function { name: "name" }),
        ("func_literal", Role::Function { name: "" }),
        ("type_spec type_alias", Role::Type { name: "name" }),
        ("parameter_list", Role::Parameters),
        ("parameter_declaration variadic_parameter_declaration", Role::Parameter { name: "name", value: "" }),
        ("const_spec var_spec", Role::Binding { name: "name", value: "value" }),
        ("short_var_declaration assignment_statement", Role::Binding { name: "left", value: "right" }),
        ("keyed_element", Role::Binding { name: "key", value: "value" }),
        ("field_declaration", Role::Binding { name: "name", value: "" }),
        ("call_expression", Role::Call { function: "function", arguments: "arguments" }),
        (
            "if_statement",
            Role::Condition { keyword: "if", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        ("for_clause", Role::Condition { keyword: "for", condition: "condition", alternative: "", form: Form::Before }),
        (
            "expression_case",
            Role::Condition { keyword: "case", condition: "value", alternative: "", form: Form::Before },
        ),
        ("type_case", Role::Condition { keyword: "case", condition: "type", alternative: "", form: Form::Before }),
        (
            "communication_case",
            Role::Condition { keyword: "case", condition: "communication", alternative: "", form: Form::Before },
        ),
        ("return_statement", Role::Return { value: "#0" }),
        ("import_spec", Role::Import(Import::Quoted { path: "path" })),
        ("defer_statement", Role::Resource { value: "#0", up: 0 }),
        ("parenthesized_expression pointer_type literal_element", Role::Wrap { inner: "#0" }),
        ("generic_type", Role::Wrap { inner: "type" }),
        ("int_literal float_literal imaginary_literal", Role::Number),
        ("interpreted_string_literal raw_string_literal rune_literal", Role::Text),
        ("true false nil iota", Role::Constant),
        ("comment", Role::Comment),
        ("identifier field_identifier type_identifier package_identifier label_name", Role::Name),
        ("selector_expression", Role::Path { last: "field" }),
        ("qualified_type", Role::Path { last: "name" }),
        ("expression_list", Role::Pattern),
    ]],
    raisers: &[Raiser { name: "panic", typed: false }],
    importers: &[],
    frames: &[
        "func f() {\n",
        "type A struct {\n",
        "if x {\n",
        "func f() {\nif x {\n",
        "f(\n",
        "x := T{\n",
        "import (\n",
        "switch x {\n",
        "func f() {\nswitch x {\n",
    ],
};
