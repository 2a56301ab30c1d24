use veridiff_text::{sample::Task, statements::StatementKind};

use super::RULE;
use crate::rules::{Ruling, phrase::said};

const DIFF: &str = "--- a/cache.js\n+++ b/cache.js\n@@ ... @@\n const util = require('util');\n-const lru = require('lru');\n+const quick = require('quick');\n function get(key, limit) {\n-  const old = lru.find(key);\n-  throw new Error(key);\n+  const found = quick.search(key);\n+  return freeze(found, ttl);\n   util.trace(key);\n }\n";

fn ruling(text: &str) -> Option<Ruling> {
    said(&RULE, DIFF, text, Task::Review, StatementKind::Assertion)
}

#[test]
fn a_false_statement_has_a_true_twin() {
    let mut wrongs: Vec<&str> = Vec::new();
    for (held, wrong) in [
        ("`get` still uses `util`.", "`get` still uses `lru`."),
        ("`util` is still imported.", "`lru` is still imported."),
        ("It keeps calling `util.trace`.", "It keeps calling `lru.find`."),
        ("`get` no longer calls `lru.find`.", "`get` no longer calls `quick.search`."),
        ("`lru` is no longer used.", "`quick` is no longer used."),
        ("`get` doesn't use `lru` any more.", "`get` doesn't use `quick` any more."),
        ("It now calls `quick.search`.", "It now calls `lru.find`."),
        ("`quick` is now required.", "`lru` is now required."),
        ("Previously it used `lru`.", "Previously it used `quick`."),
        ("`lru.find` was called before.", "`quick.search` was called before."),
        ("`lru` already existed.", "`quick` already existed."),
        ("`quick` was not imported before.", "`lru` was not imported before."),
        ("`get` had no `ttl` argument.", "`get` had no `limit` argument."),
        ("`util` stays in place.", "`lru` stays in place."),
        ("The change leaves `util` untouched.", "The change leaves `lru` untouched."),
        ("`get` depends on `quick.search`.", "`get` depends on `lru.find`."),
        ("It no longer throws.", "It still throws."),
    ] {
        if ruling(held) == Some(Ruling::Contradicted) {
            wrongs.push(held);
        }
        if ruling(wrong) != Some(Ruling::Contradicted) {
            wrongs.push(wrong);
        }
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}

#[test]
fn what_others_do_is_not_the_change() {
    for text in [
        "Callers that still use `lru` have to follow.",
        "It should still use `lru`.",
        "The lookup was done by `lru.find`, which is gone.",
        "Was `lru` too slow, so that it is `quick` now?",
    ] {
        assert_ne!(ruling(text), Some(Ruling::Contradicted), "{text}");
    }
}
