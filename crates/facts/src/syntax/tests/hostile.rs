//! Texts that are made to break a reader.

use super::*;

fn all(text: &str) {
    for language in Language::ALL.into_iter().map(Some).chain([None]) {
        let syntax = Syntax::parse(text, language);
        for item in &syntax.items {
            assert!(text.get(item.span.clone()).is_some(), "{language:?} {item:?}");
            assert!(item.scope.is_none_or(|scope| scope < syntax.items.len()));
            assert!(item.guards.iter().all(|guard| guard.0 < syntax.items.len()));
        }
        assert!(syntax.items.is_sorted_by_key(|item| item.span.start));
    }
}

#[test]
fn nothing_and_blanks_have_no_items() {
    for text in ["", "\n", " \t\r\n\n"] {
        all(text);
        assert!(Syntax::parse(text, Some(Language::Python)).items.is_empty());
    }
}

#[test]
fn deep_nesting_is_read() {
    all(&("(".repeat(10_000) + &")".repeat(10_000)));
    all(&"(".repeat(10_000));
    all(&"f(".repeat(10_000));
    all(&"if (a) { ".repeat(5_000));
    all(&("x = ".to_owned() + &"[".repeat(10_000)));
    all(&"}".repeat(10_000));
}

#[test]
fn junk_is_read() {
    let bytes: String = (0u32..4000).map(|n| char::from_u32(n * 7919 % 0x11_0000).unwrap_or('\0')).collect();
    all(&bytes);
    all("\0\0\0\u{feff}\u{202e}def f():\0 return 'é\u{1f600}");
    all(&"\"".repeat(5_000));
    all(&"'\\".repeat(5_000));
    all(&"/*".repeat(5_000));
    all(&"é=\"\\".repeat(2_000));
}

#[test]
fn a_line_of_a_megabyte_is_read() {
    let text = "x=f(1,'a');".repeat(100_000);
    for language in [Some(Language::JavaScript), Some(Language::Python), None] {
        let syntax = Syntax::parse(&text, language);
        assert!(!syntax.items.is_empty());
    }
}
