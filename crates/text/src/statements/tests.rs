mod any_text;

use super::{StatementKind::*, TextLanguage::*, *};

fn read(text: &str, task: Task) -> Vec<(StatementKind, &str)> {
    let statements = Statements::new(text, task);
    statements.list.into_iter().map(|statement| (statement.kind, &text[statement.span])).collect()
}

/// The kind of a text that is one statement.
fn kind(text: &str, task: Task) -> StatementKind {
    let found = read(text, task);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].0
}

#[test]
fn reviews_assert() {
    for text in [
        "The default of `limit` is 20 pages, which is too few.",
        "`pop` still gives back an item that was taken.",
        "Nice, this removes the deadlock in `pop`.",
        "`depth` is read but it should be checked, too.",
        "This drops the guard from `push`.",
        "The guard is a `Mutex`, so `pop` may not call `push`.",
        "Adds a guard around `push`.",
        "Old entries are dropped when the queue is full.",
        "Typo in the docstring.",
        "The function returns early.",
        "Test cases are missing for the parser.",
        "Return value is never used.",
        "You should rename `a` because `b` shadows it.",
        "`a` is None here, can we handle it?",
        "This will break on Windows.",
        "unused import",
        "The change looks good, but `a` is never closed.",
        "`a` is never closed, right?",
        "The changes are small and improve the parser.",
        "It is not clear why it looks if the window is open.",
        "fetch retries three times.",
        "parse now returns a list.",
        "compute raises an error when all attempts fail.",
    ] {
        assert_eq!(kind(text, Task::Review), Assertion, "{text}");
    }
}

#[test]
fn reviews_request() {
    for text in [
        "Consider adding a docstring to `push`.",
        "Please rename this.",
        "Use `b` instead.",
        "Instead of `a`, use `b`.",
        "The name should be `b`, not `a`.",
        "It would be better to split this function.",
        "It would be helpful to add a comment, as it is not clear.",
        "You can remove this check.",
        "We could use a set here.",
        "Maybe rename the variable?".trim_end_matches('?'),
        "nit: remove the blank line",
        "Handle errors of `a`.",
        "Return `None` here.",
        "Test the empty list too",
        "Don't catch everything.",
        "If `a` is None, this should raise.",
        "I'd move this to the other file.",
        "`a` -> `b`",
        "This can be simplified.",
        "It's a good practice to close files.",
        "Make sure that `a` is set and has an owner.",
        "Instead of looking whether `a` is set and has an owner, it would be better to fail.",
        "This line can also be removed.",
        "Let's keep the name.",
    ] {
        assert_eq!(kind(text, Task::Review), Request, "{text}");
    }
}

#[test]
fn questions_opinions_and_courtesies() {
    for text in ["Why is `limit` a string?", "Is this needed?", "why is this here", "Could you rename `a`?", "Right?"] {
        assert_eq!(kind(text, Task::Review), Question, "{text}");
    }
    for text in [
        "Nice change, the code is cleaner now.",
        "LGTM",
        "LGTM!",
        "This improves readability.",
        "Looks good to me 👍",
        "I think this is not a good idea.",
        "The change seems fine.",
        "This will make it easier for other developers to understand its purpose.",
    ] {
        assert_eq!(kind(text, Task::Review), Opinion, "{text}");
    }
    for text in [
        "Thanks!",
        "Hi @someone,",
        "Thank you for the work.",
        "Fixes #12",
        "See https://a.b/c",
        "[docs](https://a.b/c)",
        "Signed-off-by: A <a@b.c>",
        "Closes #1, #2.",
    ] {
        assert_eq!(kind(text, Task::Review), Courtesy, "{text}");
    }
    for text in [
        "👍",
        "---",
        "<details>",
        "## Summary",
        "## Review summary",
        "**Potential issue**",
        "![a](b.png)",
        "<!-- hidden -->",
        "Suggestions:",
    ] {
        assert_eq!(kind(text, Task::Review), Markup, "{text}");
    }
}

#[test]
fn commits_assert_in_the_imperative() {
    for text in [
        "Add a guard around `push`",
        "Fix typo",
        "bump x",
        "Bump x to 1.2",
        "Improve readability",
        "fix(core): hold the guard",
        "Holds the guard in `push`",
        "1.2.3",
        "typo",
        "docs: typo",
        "The guard should be held.",
        "Fixes #12 by holding the guard",
    ] {
        assert_eq!(kind(text, Task::Commit), Assertion, "{text}");
    }
    for text in
        ["Fix #12", "Merge branch 'main' into work", "Merge pull request #1 from a/b", "This reverts commit 1a2b3c4d."]
    {
        assert_eq!(kind(text, Task::Commit), Courtesy, "{text}");
    }
    assert_eq!(kind("wip", Task::Commit), Opinion);
}

#[test]
fn a_text_of_many_parts() {
    let text = "Hi @a,\n\nImport `re`; it is used but not imported. Why?\n\n> before\n\n- Rename `x`.\n- `y` is 1.\n\n```py\nx = 1\n```\nThanks!";
    assert_eq!(
        read(text, Task::Review),
        [
            (Courtesy, "Hi @a,"),
            (Request, "Import `re`;"),
            (Assertion, "it is used but not imported."),
            (Question, "Why?"),
            (Quote, "> before"),
            (Request, "Rename `x`."),
            (Assertion, "`y` is 1."),
            (Code, "```py\nx = 1\n```"),
            (Courtesy, "Thanks!"),
        ]
    );
    let text = "fix(core): hold it\n\nThe lock was not held while the file of another process\nWas read.\n\nFixes #1\nSigned-off-by: A <a@b.c>\n";
    let found = Statements::new(text, Task::Commit);
    assert_eq!(found.list[0].prefix.clone().map(|span| &text[span]), Some("fix(core):"));
    assert_eq!(
        read(text, Task::Commit)[1..],
        [
            (Assertion, "The lock was not held while the file of another process\nWas read."),
            (Courtesy, "Fixes #1"),
            (Courtesy, "Signed-off-by: A <a@b.c>"),
        ]
    );
}

#[test]
fn languages() {
    let language = |text: &str| Statements::new(text, Task::Review).language;
    for text in [
        "Der Cache wird nicht geleert, wenn der Lock fehlt.",
        "Die Variable `x` ist unbenutzt und kann entfernt werden.",
        "Le verrou n'est jamais libéré quand `get` lève une exception.",
        "Il manque un test pour cette fonction.",
        "El bloqueo no se libera si `get` falla.",
        "Falta una prueba para esta función.",
        "O bloqueio não é liberado quando `get` falha.",
        "Esta função não é usada em nenhum lugar.",
        "这里没有释放锁。",
        "修复 SparkSession 的 bug",
        "ここでロックが解放されていません。",
        "Блокировка не освобождается, если `get` бросает исключение.",
        "Questa funzione non viene usata da nessuna parte.",
        "De functie wordt niet meer gebruikt.",
    ] {
        assert_eq!(language(text), Other, "{text}");
    }
    for text in [
        "The lock is never released when `get` raises.",
        "SparkSessionBuilder and HiveThriftServer2 should share the same MetaStoreClient",
        "Rename `größe` to `size` in the parser",
        "Is this needed?",
    ] {
        assert_eq!(language(text), English, "{text}");
    }
    for text in
        ["fix typo in readme", "Bump foo to 1.2", "LGTM", "cargo fmt", "", "`x`", "doc: minor touchups", "1.2.3"]
    {
        assert_ne!(language(text), Other, "{text}");
    }
}
