//! What holds of any text: where spans lie, that nothing is left out, that time is linear.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use crate::{sample::Task, statements::Statements};

/// Spans are what they promise of any text.
fn check(text: &str, task: Task) -> Result<(), TestCaseError> {
    let found = Statements::new(text, task);
    let mut end = 0;
    for statement in &found.list {
        let Range { start, end: stop } = statement.span;
        prop_assert!(end <= start && start < stop, "{found:?}");
        let part = text.get(start..stop);
        prop_assert!(part.is_some_and(|part| part == part.trim()), "{part:?}");
        prop_assert!(is_marker(&text[end..start]), "{:?} was left out of {text:?}: {found:?}", &text[end..start]);
        end = stop;
        let (first, last) = (statement.clauses.first(), statement.clauses.last());
        prop_assert_eq!(first.map(|clause| clause.start), Some(start));
        prop_assert_eq!(last.map(|clause| clause.end), Some(stop));
        for pair in statement.clauses.windows(2) {
            prop_assert!(text[pair[0].end..pair[1].start].trim().is_empty() && pair[0].end <= pair[1].start);
        }
        prop_assert!(
            statement
                .clauses
                .iter()
                .all(|clause| !clause.is_empty() && text[clause.clone()].trim() == &text[clause.clone()])
        );
        if let Some(prefix) = &statement.prefix {
            prop_assert!(prefix.start == start && prefix.end < stop && text.get(prefix.clone()).is_some());
        }
    }
    prop_assert!(is_marker(&text[end..]), "{:?} was left out of {text:?}", &text[end..]);
    Ok(())
}

/// Whether only blanks and markers of lists, headings and tables are there.
fn is_marker(text: &str) -> bool {
    text.split_whitespace().all(|word| {
        let word =
            word.trim_matches(['#', '|', '-', '*', '+', '•', '‣', '–', '—', '·', '(', ')', '.', '[', ']', 'x', 'X']);
        word.len() <= 3 && word.bytes().all(|b| b.is_ascii_digit())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_covered(text in any::<String>()) {
        check(&text, Task::Review)?;
        check(&text, Task::Commit)?;
    }

    #[test]
    fn texts_of_pieces_are_covered(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        let text = pieces.concat();
        check(&text, Task::Review)?;
        check(&text, Task::Commit)?;
    }
}

#[test]
fn a_question_of_markup_alone_is_one() {
    check(". <details>[\r\néa]? ", Task::Review).unwrap();
}

/// What the rules look at.
const PIECES: &[&str] = &[
    "a",
    "The lock",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "    ",
    "- ",
    "* ",
    "1. ",
    "2) ",
    ". ",
    "! ",
    "? ",
    "; ",
    ".",
    "…",
    ", and it is ",
    " because ",
    "`",
    "``",
    "```",
    "```\n",
    "~~~",
    "\"",
    "'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "](",
    "![",
    "<details>",
    "<!--",
    "-->",
    "</p>",
    "<",
    ">",
    "> ",
    ">>> ",
    "$ ",
    "|",
    "|---|",
    "## ",
    "#12",
    "@me",
    "https://a.b/c",
    "fix(core): ",
    "[A-1] ",
    "nit: ",
    "Signed-off-by: me",
    "Fixes #1",
    "e.g. ",
    "etc. ",
    "3.5",
    "foo.py",
    "é",
    "锁。",
    "🎉",
    ":+1:",
    "“",
    "”",
    "«",
    "\u{a0}",
    "\u{301}",
    "please add ",
    "is ",
    "why ",
    "*",
    "**",
    "_",
    "C++",
    "--flag",
    "\\n",
    "J. ",
    "x->y",
    "1,000",
    "...",
    "---",
    "\u{2028}",
];

/// Each takes well under a second on an idle machine; what is quadratic takes minutes. The bound leaves room for a busy one.
#[test]
fn time_is_linear() {
    for piece in [
        "The lock is held by `get`, and it is never released. ",
        "`",
        "``` ",
        "\"a ",
        "'a ",
        "(",
        "((a) ",
        "<a ",
        "<!-- ",
        "[a](",
        "a",
        "a.",
        "- ",
        "\n",
        "> ",
        "- a\n",
        "a, and is ",
        "![",
        ": ",
        "` `` ``` ",
        "«a ",
        "1. ",
        "```\na\n",
        "|a",
        "    a\n\n",
        "x-",
        "é",
        "...",
        "a:\n",
        "[a ",
        "fix: ",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        let start = Instant::now();
        let found = Statements::new(&text, Task::Review);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(12), "{piece:?} took {took:?} for {} statements", found.list.len());
    }
}
