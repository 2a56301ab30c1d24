//! Thirteen statements about a small cache that learns to forget and to lock, each with how it has to stand to the change, and of those
//! that the change refutes the line that does.

use veridiff_facts::{
    judge::{Judged, Judgement, Standing},
    rules::Ruling,
};
use veridiff_text::{diff::Diff, sample::Task};

const SHELF: &str = "--- a/shelf.py\n+++ b/shelf.py\n@@ @@\n \"\"\"Keeps books on a shelf.\"\"\"\n \n+import threading\n+import time\n \n class Shelf:\n-    def __init__(self, max_books=40):\n+    def __init__(self, max_books=40, lifetime=90.0):\n         self.max_books = max_books\n+        self.lifetime = lifetime\n         self._books = {}\n+        self._lock = threading.Lock()\n \n     def take(self, title, default=None):\n-        return self._books.get(title, default)\n+        with self._lock:\n+            book, expires = self._books.get(title, (default, None))\n+            if expires is not None and expires < time.monotonic():\n+                del self._books[title]\n+                return default\n+            return book\n \n     def put(self, title, book):\n-        if len(self._books) >= self.max_books:\n-            self._books.pop(next(iter(self._books)))\n-        self._books[title] = book\n+        with self._lock:\n+            if len(self._books) >= self.max_books:\n+                self._books.pop(next(iter(self._books)))\n+            self._books[title] = (book, time.monotonic() + self.lifetime)\n";

#[test]
fn each_stands_to_the_change_as_it_should_with_its_line() {
    let clear = &[Standing::Confirmed, Standing::Named, Standing::Worded][..];
    let refuted = &[Standing::Contradicted][..];
    let unknown = &[Standing::NotHere, Standing::Open][..];
    let rows: [(&str, &[Standing], &str); 13] = [
        ("The default for `lifetime` is 600 seconds, which is too long.", refuted, "lifetime=90.0"),
        ("`take` still returns a book that has expired.", refuted, "expires < time.monotonic()"),
        ("This removes the lock from `put`.", refuted, "_lock"),
        ("`lifetime` is accepted but ignored.", refuted, "self.lifetime"),
        ("The lock is a `threading.RLock`, so `take` may call `put`.", refuted, "threading.Lock()"),
        ("Import `threading` and `time`; they are used but not imported.", refuted, "import threading"),
        ("Adds a lock around `take` and `put`.", clear, ""),
        ("Expired books are deleted when they are taken.", clear, ""),
        ("`__init__` takes a lifetime that defaults to 90 seconds.", clear, ""),
        ("`put` still evicts the oldest book when the shelf is full.", &[Standing::Confirmed], "len(self._books) >="),
        ("Switches the shelf to Redis with a connection pool.", unknown, ""),
        ("Nice change, the code is cleaner now.", &[], ""),
        ("Consider adding a docstring to `put`.", &[], ""),
    ];
    let diff = Diff::parse(SHELF).expect("a diff");
    for (text, expected, line) in rows {
        let judgement = Judgement::of(&diff, text, Task::Review);
        let worst = judgement.statements.iter().filter_map(Judged::standing).max();
        assert!(worst.map_or(expected.is_empty(), |worst| expected.contains(&worst)), "{worst:?}: {text}");
        let says = |ruling: Ruling| {
            let ruled = judgement.rulings().filter(move |ruled| ruled.ruling == ruling);
            ruled.flat_map(|ruled| &ruled.lines).any(|&index| diff.line_text(index).contains(line))
        };
        assert!(line.is_empty() || says(Ruling::Contradicted) || says(Ruling::Holds), "no such line: {text}");
    }
}
