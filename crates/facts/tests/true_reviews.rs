//! True statements of reviewers about what a change takes away, in the many words that there are for it: no rule may object to one.

use veridiff_facts::{judge::Judgement, rules::Ruling};
use veridiff_text::{diff::Diff, sample::Task};

const DIFF: &str = r#"--- a/store.py
+++ b/store.py
@@ ... @@
 import logging
 
-class Store:
+class BoundedStore:
     def put(self, key, value):
-        if len(self.items) > self.max_items:
-            print("full")
-            raise ValueError(key)
+        if len(self.items) >= self.max_items:
+            log.info("full")
+            raise StoreError(key)
         self.items[key] = value
 
     def drop(self, key):
-        print("drop", key)
-        del self.items[key]
+        log.info("drop %s", key)
+        self.items.pop(key, None)
 
     def save(self, path):
-        with open(path, "w") as f:
-            f.write(json.dumps(self.items))
+        tmp = path + ".tmp"
+        atomic_write(tmp, json.dumps(self.items))
         return path
 
-    def length(self):
+    def size(self):
         return len(self.items)
"#;

const TRUE: [&str; 30] = [
    "The `print` call is gone.",
    "The call to `print` goes away.",
    "`print` vanishes from `drop`.",
    "`print` has disappeared.",
    "`ValueError` became `StoreError`.",
    "`ValueError` becomes `StoreError`.",
    "`ValueError` turns into `StoreError`.",
    "`length` is now called `size`.",
    "`length` becomes `size`.",
    "`Store` is now called `BoundedStore`.",
    "`StoreError` is raised in place of `ValueError`.",
    "`log.info` takes the place of `print`.",
    "`log.info` supersedes `print`.",
    "Swaps `print` for `log.info`.",
    "`print` gives way to `log.info`.",
    "`print` is swapped for `log.info`.",
    "`print` went to stdout, `log.info` goes to the log.",
    "`log.info` does what `print` did.",
    "`del` raises for a missing key.",
    "The output of `print` is lost.",
    "The `print` in `drop` was replaced with `log.info`.",
    "The call to `open` in `save` was replaced with `atomic_write`.",
    "`>` in `put` was replaced with `>=`.",
    "The direct write in `save` was removed.",
    "The `del` in `drop` was removed.",
    "`open` truncates the file first, so a crash lost data.",
    "Logging through `print` cannot be filtered.",
    "A `ValueError` tells the caller nothing about the store.",
    "`print` bypasses the logging configuration.",
    "`f.write` leaves half a file behind on a crash.",
];

#[test]
fn what_goes_is_spoken_of_in_many_words() {
    let diff = Diff::parse(DIFF).expect("a diff");
    let accused = |text: &&&str| Judgement::of(&diff, text, Task::Review).ruling() >= Some(Ruling::NotHere);
    let accused: Vec<_> = TRUE.iter().filter(accused).collect();
    assert!(accused.is_empty(), "{accused:#?}");
}

#[test]
fn versions_are_no_amounts() {
    let diff =
        "--- a/ci.yml\n+++ b/ci.yml\n@@ ... @@\n-  - uses: actions/cache@v3.0.9\n+  - uses: actions/cache@v3.0.11\n";
    let judgement =
        Judgement::of(&Diff::parse(diff).expect("a diff"), "Bump actions/cache from 3.0.9 to 3.0.11", Task::Commit);
    assert!(judgement.ruling() < Some(Ruling::NotHere), "{judgement:#?}");
}
