//! One table a language; [`compiled`] is where they are chosen.

use std::sync::OnceLock;

use super::table::{Compiled, Table};
use crate::language::Language;

#[cfg(feature = "c")]
mod c;
#[cfg(any(feature = "c", feature = "cpp"))]
mod c_family;
#[cfg(feature = "cpp")]
mod cpp;
#[cfg(feature = "csharp")]
mod csharp;
#[cfg(any(feature = "javascript", feature = "typescript"))]
mod ecmascript;
#[cfg(feature = "go")]
mod go;
#[cfg(feature = "java")]
mod java;
#[cfg(feature = "javascript")]
mod javascript;
#[cfg(feature = "php")]
mod php;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "ruby")]
mod ruby;
#[cfg(feature = "rust")]
mod rust;
#[cfg(feature = "typescript")]
mod typescript;

/// A language's table by the numbers of its grammar, made at its first use; text of PHP
/// may have tags around its code. `None` where the crate was built without the grammar.
pub(crate) fn compiled(language: Language, has_tags: bool) -> Option<&'static Compiled> {
    macro_rules! once {
        ($table:expr) => {{
            static COMPILED: OnceLock<Compiled> = OnceLock::new();
            let table: &'static Table = &$table;
            Some(COMPILED.get_or_init(|| Compiled::new(table)))
        }};
    }
    match language {
        #[cfg(feature = "python")]
        Language::Python => once!(python::TABLE),
        #[cfg(feature = "javascript")]
        Language::JavaScript => once!(javascript::TABLE),
        #[cfg(feature = "typescript")]
        Language::TypeScript => once!(typescript::TABLE),
        #[cfg(feature = "typescript")]
        Language::Tsx => once!(typescript::TSX),
        #[cfg(feature = "java")]
        Language::Java => once!(java::TABLE),
        #[cfg(feature = "go")]
        Language::Go => once!(go::TABLE),
        #[cfg(feature = "rust")]
        Language::Rust => once!(rust::TABLE),
        #[cfg(feature = "c")]
        Language::C => once!(c::TABLE),
        #[cfg(feature = "cpp")]
        Language::Cpp => once!(cpp::TABLE),
        #[cfg(feature = "csharp")]
        Language::CSharp => once!(csharp::TABLE),
        #[cfg(feature = "ruby")]
        Language::Ruby => once!(ruby::TABLE),
        #[cfg(feature = "php")]
        Language::Php if has_tags => once!(php::TAGGED),
        #[cfg(feature = "php")]
        Language::Php => once!(php::BARE),
        #[allow(unreachable_patterns, reason = "every grammar may be there")]
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_every_table_is_one_of_its_grammar() {
        let mut missing = Vec::new();
        for language in Language::ALL {
            let Some(compiled) = compiled(language, false) else { continue };
            let kinds =
                compiled.table.roles.iter().flat_map(|part| part.iter()).flat_map(|(kinds, _)| kinds.split(' '));
            let unknown: Vec<&str> = kinds.filter(|kind| compiled.grammar.id_for_node_kind(kind, true) == 0).collect();
            missing.extend(unknown.into_iter().map(|kind| format!("{language:?} {kind}")));
        }
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
