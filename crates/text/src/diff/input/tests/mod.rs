//! What git and people give, and what is read of it.

mod any_input;
mod refused;
mod repository;

use super::*;

/// The files' names and the changed lines, with their markers.
fn changes(diff: &str) -> (Vec<String>, Vec<String>) {
    let diff = Diff::parse(diff).unwrap();
    let lines = diff.changed_spans().into_iter().map(|span| diff.text()[span].to_owned()).collect();
    (diff.files().to_vec(), lines)
}

const CLEAN: &str = "diff --git a/a.py b/a.py\nindex 1111111..2222222 100644\n--- a/a.py\n+++ b/a.py\n\
@@ -1,3 +1,3 @@ def f():\n a\n-b\n+c\n \n@@ -9 +9,2 @@\n-p\n+q\n+r\n\\ No newline at end of file\n";

#[track_caller]
fn passes(diff: &str) {
    let read = read(diff).unwrap();
    assert_eq!((read.diff.as_str(), read.notes, read.message), (diff, vec![], None));
}

#[test]
fn a_clean_diff_passes_byte_for_byte() {
    passes(CLEAN);
    passes(CLEAN.trim_end());
    passes(&format!("{CLEAN}\n\n"));
    passes("@@ -1,2 +1,2 @@\n-a\n+b\n\n");
    passes("@@ ... @@\n-a\n+b\n c");
    passes("-x = 1\n+x = 2\n");
    passes("context without its blank\n-x\n+y\n z\n");
    passes("--- a.c\t2020\n+++ a.c\t2021\n@@ -1 +1 @@\n--- old rule\n+y\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-p\n+q\n");
    passes(
        "Index: a.c\n===================\n--- a.c\n+++ a.c\n@@ -1 +1 @@\n-x\n+y\n\nIndex: b.c\n===================\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-p\n+q\n",
    );
    passes("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
    passes("diff --git a/x y b/z\nsimilarity index 100%\nrename from x y\nrename to z\n");
    passes(
        "diff --git a/m b/m\nindex 1111111..2222222 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
    );
    passes("Submodule m 1111111..2222222:\n  > Say it\n  < Take it back\n");
    passes("@@ -1 +1 @@\n-say(\"\u{1b}[31m\")\n+say(\"\u{1b}[32m\")\n");
}

#[test]
fn wrong_counts_are_mended_and_told() {
    let given = "--- a/a\n+++ b/a\n@@ -7,20 +7,99 @@ fn f() {\n a\n-b\n+c\n\n@@ -40 +40 @@\n-p\n+q\n+r\n";
    let read = read(given).unwrap();
    assert_eq!(read.diff, "--- a/a\n+++ b/a\n@@ -7,2 +7,2 @@ fn f() {\n a\n-b\n+c\n\n@@ -40,1 +40,2 @@\n-p\n+q\n+r\n");
    assert_eq!(
        read.notes,
        [
            Note::Recounted { line: 3, promised: (20, 99), found: (2, 2) },
            Note::Recounted { line: 8, promised: (1, 1), found: (1, 2) }
        ]
    );
    assert_eq!(
        read.notes[0].to_string(),
        "line 3: the hunk header promises 20 old and 99 new lines, found 2 old and 2 new: read as found"
    );
}

#[test]
fn a_merge_is_read_against_its_first_parent() {
    let given = "diff --cc a.py\nindex 1111111,2222222..3333333\nmode 100644,100644..100755\n--- a/a.py\n+++ b/a.py\n\
                 @@@ -1,3 -1,2 +1,3 @@@ def f():\n  a\n -second\n- first\n- also\n++merged\n +of the second\n\
                 diff --cc b.py\nindex 1,2..3\n--- a/b.py\n+++ b/b.py\n@@@ -1 -1 +1,2 @@@\n  x\n+ of the second\n";
    // of the second parent: a, second, of the second; of the first: a, first, also, of the second
    let read = read(given).unwrap();
    assert_eq!(
        read.diff,
        "diff --git a/a.py b/a.py\nindex 1111111..3333333\nold mode 100644\nnew mode 100755\n--- a/a.py\n+++ b/a.py\n\
         @@ -1,4 +1,3 @@ def f():\n a\n-first\n-also\n+merged\n of the second\n\
         diff --git a/b.py b/b.py\nindex 1..3\n--- a/b.py\n+++ b/b.py\n@@ -1,1 +1,2 @@\n x\n+of the second\n"
    );
    assert_eq!(
        read.notes,
        [Note::FirstParent { line: 6 }, Note::Recounted { line: 6, promised: (3, 3), found: (4, 3) }]
    );
}

#[test]
fn what_tools_write_is_left_out_unless_it_is_all() {
    let lock =
        "diff --git a/web/yarn.lock b/web/yarn.lock\nindex 1..2 100644\n--- a/web/yarn.lock\n+++ b/web/yarn.lock\n";
    let hunk = "@@ -1 +1 @@\n-left-pad 1\n+left-pad 2\n";
    passes(&format!("{lock}{hunk}"));
    let both = read(&format!("{lock}{hunk}{CLEAN}")).unwrap();
    assert_eq!(both.diff, format!("{lock}{CLEAN}"));
    assert_eq!(both.notes, [Note::Generated { files: vec!["web/yarn.lock".into()] }]);
    assert_eq!(changes(&both.diff).0, ["web/yarn.lock", "a.py"]);

    let plain = "--- a.c\n+++ a.c\n@@ -1 +1 @@\n-x\n+y\n--- go.sum\n+++ go.sum\n@@ -1 +1 @@\n-p\n+q\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-v\n+w\n";
    let without = read(plain).unwrap().diff;
    assert_eq!(
        changes(&without),
        (["a.c", "go.sum", "b.c"].map(String::from).into(), ["-x", "+y", "-v", "+w"].map(String::from).into())
    );
    assert_eq!(read(&without).unwrap().diff, without);
}

#[test]
fn binary_data_is_left_out_and_named() {
    let given = format!(
        "diff --git a/l.png b/l.png\nnew file mode 100644\nindex 0000000..2222222\nGIT binary patch\nliteral 5\nMcmZQzU|?imU|?imU|?im\n\nliteral 0\nHcmV?d00001\n\n{CLEAN}"
    );
    let read = read(&given).unwrap();
    let head = "diff --git a/l.png b/l.png\nnew file mode 100644\nindex 0000000..2222222\n";
    assert_eq!(read.diff, format!("{head}Binary files /dev/null and b/l.png differ\n{CLEAN}"));
    assert_eq!(read.notes, [Note::Binary { files: vec!["l.png".into()] }]);
    assert_eq!(super::read(&read.diff).unwrap(), read);
    assert_eq!(read.notes[0].to_string(), "binary, not read: `l.png`");
}

#[test]
fn mails_that_people_make_are_cut_too() {
    let mail = format!(
        "From: A <a@b>\nSubject: [PATCH] Switch to\n Redis\nDate: Mon\n\nrename from x\n@@ -1 +1 @@ is quoted\n---\n a.py | 3 +-\n 1 file changed\n\n{CLEAN}-- \n2.47.3\n\n"
    );
    let read = read(&mail).unwrap();
    assert_eq!((read.diff.as_str(), read.notes.len()), (CLEAN, 0));
    assert_eq!(read.message.as_deref(), Some("Switch to Redis\n\nrename from x\n@@ -1 +1 @@ is quoted"));
    let hg = format!("# HG changeset patch\n# User A\nSay it\n\n{CLEAN}");
    let change = super::read(&hg).unwrap();
    assert_eq!((change.diff.as_str(), change.message.as_deref(), change.notes), (CLEAN, Some("Say it"), vec![]));
}

#[test]
fn words_around_a_diff_are_left_out_and_told() {
    let change = read(&format!("Here it is:\n\n{CLEAN}\nThat is all.\n")).unwrap();
    assert_eq!(change.diff, CLEAN);
    assert_eq!(change.notes, [Note::Outside { first: 1, last: 1 }, Note::Outside { first: 18, last: 18 }]);
    assert_eq!(change.notes[1].to_string(), "line 18 is no part of a diff: not read");
    // between two hunks of a file, only the words go
    let hunks = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\nand then\nmore\n@@ -9 +9 @@\n-c\n+d\n";
    assert_eq!(read(hunks).unwrap().diff, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n");
}

#[test]
fn a_text_may_follow_the_diff() {
    for text in ["Say b.\n", "- a list\n+ of points\n", "", "rename it\n@@ -1 +1 @@\n-a\n+b\n"] {
        let (change, behind) = read_with_text(&format!("{CLEAN}{text}")).unwrap();
        assert_eq!((change.diff.as_str(), behind.as_str(), change.notes.len()), (CLEAN, text, 0));
    }
    let mail = format!(
        "From 0123456789012345678901234567890123456789 Mon\nSubject: [PATCH] A lie\n\n---\n{CLEAN}-- \n2.47.3\n\nThe text\n"
    );
    let (change, behind) = read_with_text(&mail).unwrap();
    assert_eq!(
        (change.diff.as_str(), behind.as_str(), change.message.as_deref()),
        (CLEAN, "The text\n", Some("A lie"))
    );
    let short = "@@ -1,9 +1,9 @@\n-a\n+b\n\nThe text\n\n- a point\n";
    let (change, behind) = read_with_text(short).unwrap();
    assert_eq!((change.diff.as_str(), behind.as_str()), ("@@ -1,1 +1,1 @@\n-a\n+b\n\n", "The text\n\n- a point\n"));
    assert_eq!(read_with_text("no diff at all"), Err(InputError::NotADiff(Instead::Prose)));
}
