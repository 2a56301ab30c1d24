use super::*;
use LineKind::{Added, Context, Header, Removed};
use proptest::prelude::*;

fn kinds(text: &str) -> Vec<LineKind> {
    Diff::parse(text).unwrap().lines().iter().map(|line| line.kind).collect()
}

fn changed(text: &str, bytes: ChangedBytes) -> Vec<&str> {
    Diff::parse(text).unwrap().changed_spans_by(bytes).into_iter().map(|span| &text[span]).collect()
}

const GIT: &str = "diff --git a/one.py b/one.py\nindex 3f1c2aa..9b07d41 100644\n--- a/one.py\n+++ b/one.py\n\
@@ -40,3 +40,3 @@ def f():\n a\n-b\n+c\n \n\
diff --git a/old name.sql b/new name.sql\nsimilarity index 90%\nrename from old name.sql\nrename to new name.sql\n\
--- a/old name.sql\n+++ b/new name.sql\n@@ -1,2 +1 @@\n--- old table\n x\n\\ No newline at end of file\n\
diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n";

#[test]
fn git_format_with_rename_mode_and_binary() {
    let diff = Diff::parse(GIT).unwrap();
    assert_eq!(diff.files(), ["one.py", "new name.sql", "run.sh", "logo.png"]);
    let in_hunks: Vec<_> =
        diff.lines().iter().filter(|l| l.kind != Header).map(|l| (l.kind, l.old, l.new, l.file)).collect();
    assert_eq!(
        in_hunks,
        [
            (Context, Some(40), Some(40), Some(0)),
            (Removed, Some(41), None, Some(0)),
            (Added, None, Some(41), Some(0)),
            (Context, Some(42), Some(42), Some(0)),
            (Removed, Some(1), None, Some(1)),
            (Context, Some(2), Some(1), Some(1)),
        ]
    );
    assert_eq!(changed(GIT, ChangedBytes::default()), ["-b", "+c", "--- old table"]);
    assert_eq!(changed(GIT, ChangedBytes { exclude_marker: true, ..Default::default() }), ["b", "c", "-- old table"]);
    assert_eq!(
        changed(GIT, ChangedBytes { include_newline: true, ..Default::default() }),
        ["-b\n", "+c\n", "--- old table\n"]
    );
    let naive = changed(GIT, ChangedBytes { naive_headers: true, ..Default::default() });
    assert_eq!(naive.len(), 3 + 4, "the four file headers too: {naive:?}");
}

#[test]
fn plain_files_are_told_apart_by_the_counts() {
    let text = "--- a.c\t2020-01-01\n+++ a.c\t2020-01-02\n@@ -1 +1 @@\n-x\n+y\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-p\n+q\n";
    assert_eq!(kinds(text), [Header, Header, Header, Removed, Added, Header, Header, Header, Removed, Added]);
    assert_eq!(Diff::parse(text).unwrap().files(), ["a.c", "b.c"]);
    let svn = "Index: a.c\n--- a.c\n+++ a.c\n@@ -1 +1 @@\n-x\n+y\nIndex: b.c\n--- b.c\n+++ b.c\n@@ -1 +1 @@\n-p\n+q\n";
    assert_eq!(Diff::parse(svn).unwrap().files(), ["a.c", "b.c"]);
}

#[test]
fn a_patch_mail_is_header_around_its_hunks() {
    let text = "From 1234 Mon\nSubject: [PATCH] x\n\n---\n a | 2 +-\n\
diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n-- \n2.39.0\n\n";
    assert_eq!(changed(text, ChangedBytes::default()), ["-x", "+y"]);
}

#[test]
fn bare_lines_and_bare_hunks() {
    assert_eq!(kinds("-x = 1\n+x = 2\n"), [Removed, Added]);
    assert_eq!(kinds("@@ -1,2 +1,2 @@\n-a\n+b\n\n"), [Header, Removed, Added, Context]);
    assert_eq!(kinds("@@ ... @@\n-a\n+b\n c"), [Header, Removed, Added, Context]);
    // Without any `@@` the whole text is a hunk until git says otherwise.
    assert_eq!(kinds("--- a\n+x\ndiff --git a/b b/b\n+y"), [Removed, Added, Header, Header]);
}

#[test]
fn a_carriage_return_belongs_to_the_changed_span() {
    let text = "@@ -1 +1 @@\r\n-a\r\n+b\r\n";
    assert_eq!(changed(text, ChangedBytes::default()), ["-a\r", "+b\r"]);
    assert_eq!(kinds("@@ -1,2 +1,2 @@\r\n-a\r\n+b\r\n\r\n\r\n"), [Header, Removed, Added, Context, Header]);
}

#[test]
fn wrong_counts_name_line_promise_and_find() {
    let short = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n";
    assert_eq!(Diff::parse(short), Err(DiffError::HunkCount { line: 4, promised: (2, 2), found: (1, 1) }));
    let long = "@@ -1 +1 @@\n-a\n+b\n+c\n";
    assert_eq!(Diff::parse(long), Err(DiffError::HunkCount { line: 1, promised: (1, 1), found: (1, 2) }));
    assert_eq!(Diff::parse("@@ -1 +1 @@\n"), Err(DiffError::HunkCount { line: 1, promised: (1, 1), found: (0, 0) }));
}

#[test]
fn empty_and_combined_are_errors() {
    assert_eq!(Diff::parse(" \r\n\n"), Err(DiffError::Empty));
    let combined = "diff --cc a\nindex 1,2..3\n--- a/a\n+++ b/a\n@@@ -1,1 -1,1 +1,2 @@@\n  a\n++b\n";
    assert_eq!(Diff::parse(combined), Err(DiffError::Combined { line: 5 }));
}

#[test]
fn line_at_gives_the_line_of_a_byte() {
    let diff = Diff::parse("-ab\n\n+é").unwrap();
    let lines: Vec<_> = (0..9).map(|byte| diff.line_at(byte)).collect();
    assert_eq!(lines, [Some(0), Some(0), Some(0), Some(0), Some(1), Some(2), Some(2), Some(2), None]);
}

fn diff_like() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("@@ -1,2 +1,2 @@ f".to_owned()),
        Just("@@ -1 +99999999999999999999 @@".to_owned()),
        Just("@@ -18446744073709551615,1 +1 @@".to_owned()),
        Just("@@ ... @@".to_owned()),
        Just("diff --git a/é b/é".to_owned()),
        Just("diff --git \"".to_owned()),
        Just("--- a/x".to_owned()),
        Just("+++ b/x".to_owned()),
        Just("\\ No newline at end of file".to_owned()),
        "[-+ @\\\\]?\\PC{0,6}\r?",
    ];
    (prop::collection::vec(line, 0..12), prop::bool::ANY)
        .prop_map(|(lines, feed)| lines.join("\n") + if feed { "\n" } else { "" })
}

proptest! {
    #[test]
    fn lines_cover_the_text_and_spans_slice_it(text in prop_oneof![diff_like(), ".*"]) {
        let Ok(diff) = Diff::parse(&text) else { return Ok(()) };
        let joined = diff.lines().iter().map(|l| &text[l.span.clone()]).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(joined.as_str(), text.strip_suffix('\n').unwrap_or(&text));
        for exclude_marker in [false, true] {
            let spans = diff.changed_spans_by(ChangedBytes { exclude_marker, ..Default::default() });
            prop_assert_eq!(spans.len(), diff.lines().iter().filter(|l| l.kind.is_changed()).count());
            for span in spans {
                prop_assert!(text.get(span.clone()).is_some_and(|s| !s.contains('\n')));
                let line = &diff.lines()[diff.line_at(span.start.min(text.len() - 1)).unwrap()];
                prop_assert_eq!(line.span.end, span.end);
            }
        }
        for (index, line) in diff.lines().iter().enumerate() {
            prop_assert!(line.file.is_none_or(|file| file < diff.files().len()));
            if line.span.start < text.len() { prop_assert_eq!(diff.line_at(line.span.start), Some(index)); }
        }
    }
}
