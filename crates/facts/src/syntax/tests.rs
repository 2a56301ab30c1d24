use super::*;
use crate::language::Language;

mod hostile;
mod languages;

/// The items of a text, one a line: kind, path and value.
fn items(text: &str, language: Language) -> Vec<String> {
    let syntax = Syntax::parse(text, Some(language));
    syntax.items.iter().map(shown).collect()
}

fn shown(item: &Item) -> String {
    match &item.value {
        Some(value) => format!("{:?} {} = {value}", item.kind, item.path),
        None => format!("{:?} {}", item.kind, item.path),
    }
}

/// Whether all of `expected` are among the items; those that are missing otherwise, with what is there.
fn assert_items(text: &str, language: Language, expected: &[&str]) {
    let found = items(text, language);
    let missing: Vec<_> = expected.iter().filter(|item| !found.iter().any(|f| f == *item)).collect();
    assert!(missing.is_empty(), "{language:?} lacks {missing:#?} in {found:#?}");
}
