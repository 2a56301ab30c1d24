use veridiff_text::{
    sample::Task,
    statements::StatementKind::{self, Assertion, Request},
};

use super::RULE;
use crate::rules::{Ruling, phrase::said, twins::worst_of_text};

const DIFF: &str = "--- a/main.go\n+++ b/main.go\n@@ ... @@\n import (\n \t\"fmt\"\n+\t\"path/filepath\"\n )\n--- a/job.py\n+++ b/job.py\n@@ ... @@\n+import threading\n-import pickle\n \n-def run(job):\n+def start(job, ttl, label):\n+    size = 3\n+    # label\n+    deadline = clock() + ttl\n+    limit = compute(job)\n+    notify(deadline)\n+    keep(fallback=1)\n     return job\n";

fn ruling(text: &str, kind: StatementKind) -> Option<Ruling> {
    said(&RULE, DIFF, text, Task::Review, kind)
}

#[test]
fn a_false_statement_has_a_true_twin() {
    let mut wrongs: Vec<&str> = Vec::new();
    for (kind, held, wrong) in [
        (Assertion, "`timer` is not defined.", "`deadline` is not defined."),
        (Assertion, "`clock` is never imported.", "`threading` is never imported."),
        (Assertion, "There is no import for `clock`.", "There is no import for `threading`."),
        (Assertion, "It lacks the `clock` import.", "It lacks the `path/filepath` import."),
        (
            Assertion,
            "`clock` is used here, but the import is missing.",
            "`threading` is used here, but the import is missing.",
        ),
        (Assertion, "`limit` is never used.", "`ttl` is never used."),
        (Assertion, "`label` is accepted but ignored.", "`ttl` is accepted but ignored."),
        (Assertion, "`size` is dead.", "`deadline` is dead."),
        (Assertion, "Nothing uses `limit`.", "Nothing uses `deadline`."),
        (Assertion, "`deadline` is never called.", "`notify` is never called."),
        (Assertion, "The computed `limit` is never passed on.", "The computed `deadline` is never passed on."),
        (Request, "Import `clock`", "Import `threading`"),
        (Request, "Remove `threading`", "Remove `pickle`"),
        (Request, "`clock` should be imported.", "`threading` should be imported."),
        (Request, "Rename `start` to `run`", "Rename `run` to `start`"),
    ] {
        if ruling(held, kind).is_some() {
            wrongs.push(held);
        }
        if ruling(wrong, kind) != Some(Ruling::Contradicted) {
            wrongs.push(wrong);
        }
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}

/// What a change calls on a thing of somewhere else does not show what that thing has.
#[test]
fn a_thing_lacks_something_only_where_it_is_defined() {
    let used = "--- a/tray.js\n+++ b/tray.js\n@@ ... @@\n import { Window } from 'shell'\n+const tray = new Window(options)\n+if (tray.isDestroyed()) return\n";
    let defined =
        "--- a/tray.js\n+++ b/tray.js\n@@ ... @@\n+class Window {\n+  isDestroyed() { return this.gone }\n+}\n";
    for text in [
        "The `Window` class does not have `isDestroyed`.",
        "The `Window` class of the shell does not have `isDestroyed`.",
        "`Window` doesn't offer `isDestroyed`.",
    ] {
        let ruling = |diff| worst_of_text(&RULE, diff, text, Task::Review);
        assert_eq!((ruling(used), ruling(defined)), (None, Some(Ruling::Contradicted)), "{text}");
    }
}

#[test]
fn a_claim_that_is_bound_to_a_case_or_a_place_stays_open() {
    for text in [
        "If the job fails, `notify` is never called.",
        "For a job without a deadline, `notify` is never called.",
        "`notify` is never called in `stop`.",
        "`deadline` is missing from `stop`.",
        "`start` is missing a docstring.",
        "The `start` function seems to be missing a return statement at the end.",
        "Removing `pickle` seems unnecessary.",
        "You could define another `start` for that.",
        "The `deadline` variable is missing from the list in `stop`.",
        "The lock ensures that `notify` is not called twice.",
        "`threading` was not imported before.",
    ] {
        assert_eq!(ruling(text, Assertion), None, "{text}");
    }
    assert_eq!(
        said(&RULE, DIFF, "Remove `pickle`", Task::Commit, Assertion),
        None,
        "a commit message says what it did"
    );
}
