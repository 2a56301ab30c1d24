//! What C and C++ share.

use super::super::table::{Form, Import, Role};

/// Their roles.
pub(super) const ROLES: &[(&str, Role)] = &[
    ("function_definition", Role::Function { name: "declarator" }),
    ("preproc_function_def", Role::Function { name: "name" }),
    ("type_definition", Role::Type { name: "declarator" }),
    ("struct_specifier union_specifier enum_specifier", Role::TypeWithBody { name: "name" }),
    ("parameter_list preproc_params", Role::Parameters),
    ("parameter_declaration", Role::Parameter { name: "declarator", value: "" }),
    ("declaration field_declaration", Role::Declaration { name: "declarator", value: "default_value" }),
    ("init_declarator", Role::Binding { name: "declarator", value: "value" }),
    ("preproc_def enumerator", Role::Binding { name: "name", value: "value" }),
    ("assignment_expression", Role::Binding { name: "left", value: "right" }),
    ("initializer_pair", Role::Binding { name: "designator", value: "value" }),
    ("call_expression", Role::Call { function: "function", arguments: "arguments" }),
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
    ("for_statement", Role::Condition { keyword: "for", condition: "condition", alternative: "", form: Form::Before }),
    ("case_statement", Role::Condition { keyword: "case", condition: "value", alternative: "", form: Form::Before }),
    (
        "preproc_ifdef",
        Role::Condition { keyword: "#ifdef", condition: "name", alternative: "alternative", form: Form::Before },
    ),
    (
        "preproc_if preproc_elif",
        Role::Condition { keyword: "#if", condition: "condition", alternative: "alternative", form: Form::Before },
    ),
    ("return_statement", Role::Return { value: "#0" }),
    ("preproc_include", Role::Import(Import::Quoted { path: "path" })),
    ("pointer_declarator function_declarator array_declarator", Role::Wrap { inner: "declarator" }),
    ("parenthesized_declarator field_designator parenthesized_expression", Role::Wrap { inner: "#0" }),
    ("number_literal", Role::Number),
    ("string_literal char_literal system_lib_string", Role::Text),
    ("true false null", Role::Constant),
    ("comment", Role::Comment),
    ("identifier field_identifier type_identifier statement_identifier primitive_type", Role::Name),
    ("field_expression", Role::Path { last: "field" }),
];

/// What can stand before a fragment.
pub(super) const FRAMES: &[&str] = &[
    "void f() {\n",
    "struct A {\n",
    "if (x) {\n",
    "void f() { if (x) {\n",
    "switch (x) {\n",
    "f(\n",
    "enum A {\n",
    "int a[] = {\n",
    "#if X\n",
];
