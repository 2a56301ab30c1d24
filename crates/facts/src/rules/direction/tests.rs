use veridiff_text::{sample::Task, statements::StatementKind};

use super::RULE;
use crate::rules::{Ruling, phrase::said};

const DIFF: &str = "--- a/store.py\n+++ b/store.py\n@@ ... @@ class Store:\n import json\n-import pickle\n+import threading\n \n-def load(path, mode='fast'):\n+def load_all(path, retries=3):\n     data = parse(path)\n-    for item in items:\n-        keep[item] = data[item]\n+    for item in items:\n+        keep[item.key] = data[item.key]\n-    raise ValueError(path)\n+    logger.warning(path)\n-    level = logging.info\n+    level = logging.debug\n     limit = 10\n-    handler.detach_from(bus)\n+    with lock_of(path):\n     finish(data)\n";

fn ruling(text: &str, task: Task) -> Option<Ruling> {
    said(&RULE, DIFF, text, task, StatementKind::Assertion)
}

#[test]
fn a_false_statement_has_a_true_twin() {
    let mut wrongs: Vec<&str> = Vec::new();
    for (held, wrong) in [
        ("Add a `retries` parameter", "Add a `mode` parameter"),
        ("`retries` is new here.", "`mode` is new here."),
        ("Remove `pickle`", "Remove `threading`"),
        ("`pickle` is gone.", "`retries` is gone."),
        ("No more `pickle`", "No more `threading`"),
        ("The new `retries` argument has a default.", "The new `mode` argument has a default."),
        ("Stop using `pickle`", "Stop using `threading`"),
        ("Start using `threading`", "Start using `pickle`"),
        ("Rename `load` to `load_all`", "Rename `load_all` to `load`"),
        ("`load` becomes `load_all`.", "`load_all` becomes `load`."),
        ("`load` gives way to `load_all`.", "`load_all` gives way to `load`."),
        ("load: `mode` → `retries`", "load: `retries` → `mode`"),
        ("Use `item.key` instead of `item` as the key", "Use `item` instead of `item.key` as the key"),
        (
            "The level goes from `logging.info` to `logging.debug`.",
            "The level goes from `logging.debug` to `logging.info`.",
        ),
        ("Drop `pickle` in favour of `threading`", "Drop `threading` in favour of `pickle`"),
        ("`load_all` takes the place of `load`.", "`load` takes the place of `load_all`."),
        ("`load_all` supersedes `load`.", "`load` supersedes `load_all`."),
        ("Instead of `pickle` it imports `threading`.", "Instead of `threading` it imports `pickle`."),
        ("Log at debug level instead of info", "Log at info level instead of debug"),
        ("Stop raising on a bad path", "Start raising on a bad path"),
        ("Drop the dependency on `pickle`", "Drop the dependency on `threading`"),
        ("Rename load to load_all", "Rename load_all to load"),
        ("Swap `logging.info` for `logging.debug`", "Swap `logging.debug` for `logging.info`"),
    ] {
        if ruling(held, Task::Commit) == Some(Ruling::Contradicted) {
            wrongs.push(held);
        }
        if ruling(wrong, Task::Commit) != Some(Ruling::Contradicted) {
            wrongs.push(wrong);
        }
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}

#[test]
fn what_is_denied_asked_for_or_stays_is_not_read() {
    for text in [
        "This does not remove `threading`.",
        "You should remove `threading`.",
        "It forgot to add `pickle`.",
        "Instead of adding `mode` again, it could be derived.",
        "If you replace `load_all` with `load`, callers break.",
    ] {
        assert_ne!(ruling(text, Task::Review), Some(Ruling::Contradicted), "{text}");
    }
    assert_eq!(
        said(&RULE, DIFF, "Remove `threading`", Task::Review, StatementKind::Request),
        None,
        "a request says nothing of what was done"
    );
    assert_eq!(ruling("Drop the `limit` variable", Task::Commit), Some(Ruling::Contradicted), "it stays");
}

#[test]
fn what_is_told_is_what_the_lines_show() {
    let diff = "--- a/c.py\n+++ b/c.py\n@@ -1,6 +1,7 @@\n class Cache:\n-    def __init__(self, size=100):\n+    def __init__(self, size=100, ttl=60.0):\n     def get(self, key):\n-        return self._data.get(key)\n+        return self._data[key]\n     def fetch(self, url):\n-        return None\n+        # nothing came\n+        raise FetchError(url)\n";
    let diff = veridiff_text::diff::Diff::parse(diff).unwrap();
    let change = crate::change::Change::new(&diff);
    for (text, told) in [
        (
            "Gives back the value instead of raising an error.",
            "it is the other way round: `raising` is only on added lines",
        ),
        (
            "Replaces `raise FetchError(url)` with `return None`.",
            "it is the other way round: `return None` made way for `raise FetchError(url)`",
        ),
        ("Adds a `get` call.", "`get` is on removed lines, and on no added one"),
        ("`FetchError` was dropped.", "`FetchError` is only on added lines: the change brings it"),
        ("`ttl` defaults to 300.", "`ttl` is 60.0 here, not 300"),
        ("`size` went from 10 to 100.", "`size` was 100 here, not 10"),
    ] {
        let judgement =
            crate::judge::Judgement::new(&change, text, Task::Review, None).by(&diff, &crate::rules::Choice::default());
        let messages: Vec<&str> = judgement
            .rulings()
            .filter(|ruled| ruled.ruling == Ruling::Contradicted)
            .map(|ruled| ruled.message.as_str())
            .collect();
        assert_eq!(messages, [told], "{text}");
    }
}

#[test]
fn a_change_that_adds_something_to_a_type_puts_nothing_in_its_place() {
    let diff = "--- a/kinds.py\n+++ b/kinds.py\n@@ ... @@ class ResourceType(object):\n     GROUP = 'group'\n+    BACKEND_SERVICE = 'backend_service'\n";
    for (text, wanted) in [
        ("This code change adds a new constant BACKEND_SERVICE to the ResourceType class.", None),
        ("This removes the constant BACKEND_SERVICE.", Some(Ruling::Contradicted)),
    ] {
        let ruling = said(&RULE, diff, text, Task::Review, StatementKind::Assertion);
        assert_eq!(ruling.filter(|ruling| *ruling == Ruling::Contradicted), wanted, "{text}");
    }
}
