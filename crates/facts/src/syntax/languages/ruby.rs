//! Ruby.

use super::super::table::{Form, Raiser, Role, Table};

pub(crate) static TABLE: Table = Table {
    grammar: || tree_sitter_ruby::LANGUAGE.into(),
    roles: &[&[
        ("method singleton_method", Role::Function { name: "name" }),
        ("lambda", Role::Function { name: "" }),
        ("class module", Role::Type { name: "name" }),
        ("method_parameters lambda_parameters block_parameters", Role::Parameters),
        ("optional_parameter keyword_parameter", Role::Parameter { name: "name", value: "value" }),
        ("splat_parameter hash_splat_parameter block_parameter", Role::Parameter { name: "name", value: "" }),
        ("assignment operator_assignment", Role::Binding { name: "left", value: "right" }),
        ("pair", Role::Binding { name: "key", value: "value" }),
        ("call", Role::Method { name: "method", arguments: "arguments" }),
        (
            "if",
            Role::Condition { keyword: "if", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        (
            "elsif",
            Role::Condition {
                keyword: "elsif",
                condition: "condition",
                alternative: "alternative",
                form: Form::Before,
            },
        ),
        (
            "unless",
            Role::Condition {
                keyword: "unless",
                condition: "condition",
                alternative: "alternative",
                form: Form::Unless,
            },
        ),
        ("if_modifier", Role::Condition { keyword: "if", condition: "condition", alternative: "", form: Form::After }),
        (
            "unless_modifier",
            Role::Condition { keyword: "unless", condition: "condition", alternative: "", form: Form::AfterUnless },
        ),
        (
            "conditional",
            Role::Condition { keyword: "?", condition: "condition", alternative: "alternative", form: Form::Before },
        ),
        ("while", Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::Before }),
        (
            "while_modifier",
            Role::Condition { keyword: "while", condition: "condition", alternative: "", form: Form::After },
        ),
        ("until", Role::Condition { keyword: "until", condition: "condition", alternative: "", form: Form::Unless }),
        (
            "until_modifier",
            Role::Condition { keyword: "until", condition: "condition", alternative: "", form: Form::AfterUnless },
        ),
        ("when", Role::Condition { keyword: "when", condition: "pattern", alternative: "", form: Form::Before }),
        ("return", Role::Return { value: "#0" }),
        ("rescue", Role::Catch { types: "exceptions.*" }),
        ("parenthesized_statements splat_argument pattern", Role::Wrap { inner: "#0" }),
        ("integer float rational complex", Role::Number),
        ("string subshell regex heredoc_body bare_string", Role::Text),
        ("true false nil", Role::Constant),
        ("comment", Role::Comment),
        (
            "identifier constant instance_variable class_variable global_variable simple_symbol hash_key_symbol \
             bare_symbol self super setter operator",
            Role::Name,
        ),
        ("scope_resolution", Role::Path { last: "name" }),
        ("left_assignment_list right_assignment_list destructured_left_assignment", Role::Pattern),
    ]],
    raisers: &[Raiser { name: "raise", typed: true }, Raiser { name: "fail", typed: true }],
    importers: &["require", "require_relative", "load"],
    frames: &["class A\n", "def f\n", "if x\n", "class A\ndef f\n", "begin\n", "x = {\n", "f(\n", "x.each do\n"],
};
