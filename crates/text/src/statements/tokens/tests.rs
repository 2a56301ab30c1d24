use super::{TokenKind::*, *};

fn read(text: &str) -> Vec<(&str, TokenKind)> {
    tokens(text, 0..text.len()).into_iter().map(|token| (&text[token.span], token.kind)).collect()
}

fn kind(text: &str) -> TokenKind {
    let found = read(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].1
}

#[test]
fn what_a_programmer_wrote_is_a_name() {
    for name in [
        "`a b`",
        "``a`b``",
        "foo.py",
        "camelCase",
        "snake_case",
        "std::io",
        "--help",
        "/usr/lib",
        "\\n",
        "utf8",
        "$x",
        "'key'",
        "\"two words\"",
        "C++",
        "JSON",
        "@Override",
        "src/a.rs",
        "x=1",
        ".gitignore",
        "regex-1.9",
    ] {
        assert_eq!(kind(name), Name, "{name}");
    }
    for word in ["don't", "re-use", "and/or", "LGTM", "e.g.", "vs.", "1st", "Nice", "das", "设置"] {
        assert_eq!(kind(word), Word, "{word}");
    }
    for number in ["3.5", "60s", "10,000", "0x1F", "v1.2.3", "-1"] {
        assert_eq!(kind(number), Number, "{number}");
    }
    for reference in ["#12", "ABC-12", "owner/name#12", "1a2b3c4d", "@someone"] {
        assert_eq!(kind(reference), Reference, "{reference}");
    }
    assert_eq!((kind("https://a.b/c?d=1"), kind("a@b.cd"), kind("<a@b.cd>")), (Link, Link, Link));
    assert_eq!((kind("<br/>"), kind(":+1:"), kind("![a](b.png)")), (Tag, Tag, Tag));
}

#[test]
fn apostrophes_and_lone_marks_quote_nothing() {
    assert_eq!(read("the users' data, it's 'x'").last(), Some(&("'x'", Name)));
    assert_eq!(read("a ` b"), [("a", Word), ("`", Sign('`')), ("b", Word)]);
    assert_eq!(read("5 \" b").len(), 3);
    assert_eq!(read("a<T> b"), [("a", Word), ("<", Sign('<')), ("T", Word), (">", Sign('>')), ("b", Word)]);
}

#[test]
fn a_link_ends_before_the_sentence_does() {
    assert_eq!(read("(see https://a.b/c_(d)).")[2], ("https://a.b/c_(d)", Link));
    assert_eq!(read("[here](http://a.b) is").len(), 5);
}

#[test]
fn brackets_hold_together_and_smileys_do_not() {
    let inside = |text: &str| tokens(text, 0..text.len()).iter().map(|token| token.inside).collect::<Vec<_>>();
    assert_eq!(inside("a (b [c] d) e"), [false, true, true, true, true, true, true, true, false]);
    assert_eq!(inside("a :( b (c)"), [false, false, false, false, true, true, true]);
    assert_eq!(inside("a) b (c"), [false; 5]);
}
