//! What holds of any change.

use proptest::prelude::*;

use super::*;
use crate::language::Language;

#[test]
fn comments_and_formatting_are_told_from_code() {
    let extent = |diff: &str, language| changes(diff, language).files[0].extent;
    let comment = "@@ -1,2 +1,3 @@\n+# new words\n-x = 1  # old\n+x = 1  # other\n y = 2\n";
    assert_eq!(extent(comment, "python"), Extent::Comments);
    let docstring = "@@ -1,3 +1,3 @@\n def f():\n-    \"\"\"Old.\"\"\"\n+    \"\"\"New.\"\"\"\n     return 1\n";
    assert_eq!(extent(docstring, "python"), Extent::Comments);
    let layout = "@@ -1 +1,3 @@\n-int f(int a){return a;}\n+int f(int a) {\n+    return a;\n+}\n";
    assert_eq!(extent(layout, "c"), Extent::Formatting);
    let wrapped = "@@ -1 +1,2 @@\n-f(a, b)\n+f(a,\n+  b)\n";
    assert_eq!(extent(wrapped, "python"), Extent::Formatting);
    let dedented = "@@ -1,3 +1,3 @@\n if a:\n     b()\n-    c()\n+c()\n";
    assert_eq!(extent(dedented, "python"), Extent::Code);
    assert_eq!(extent("@@ -1 +1 @@\n-x = \"a b\"\n+x = \"a  b\"\n", "python"), Extent::Code);
}

#[test]
fn a_function_that_goes_to_another_file_is_moved() {
    let body = "def far(a, b):\n    c = a + b\n    return c * 2\n";
    let lines = |mark: char| body.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let diff = format!(
        "--- a/x.py\n+++ b/x.py\n@@ -1,3 +0,0 @@\n{}--- a/y.py\n+++ b/y.py\n@@ -0,0 +1,3 @@\n{}",
        lines('-'),
        lines('+')
    );
    let changes = changes(&diff, "python");
    assert!(changes.named(Which::Old, "far").iter().all(|fact| fact.status == Status::Moved));
    assert!(changes.named(Which::New, "far").iter().all(|fact| fact.status == Status::Moved));
}

#[test]
fn a_language_without_a_grammar_has_items_too() {
    let diff = "--- a/x.yaml\n+++ b/x.yaml\n@@ -1,2 +1,2 @@\n jobs:\n-  timeout: 10\n+  timeout: 20\n";
    assert_story(diff, "yaml", &["New Binding timeout = 20: Changed (timeout = 10)"]);
    let kotlin =
        "--- a/x.kt\n+++ b/x.kt\n@@ -1 +1 @@\n-fun get(k: Int) = load(k, 1)\n+fun fetch(k: Int) = load(k, 2)\n";
    let found = story(&changes(kotlin, "kotlin"));
    assert!(found.iter().any(|line| line.starts_with("New Function fetch")), "{found:#?}");
    assert!(found.iter().any(|line| line.starts_with("New Call load = k, 2: Changed")), "{found:#?}");
}

const LINES: &[&str] = &[
    "def get(self, key, ttl=60.0):",
    "    if not key in self.data: raise KeyError(key)",
    "func (p *Pool) Get(n int) error {",
    "public static int x = 0x1F; // note",
    "} else if (a && !b) {",
    "  return foo(bar(\"é\"), 'x', `y`);",
    "/* open",
    " * middle */",
    "\"\"\"",
    "impl<T> A<T> for B { fn f(&'a self) {} }",
    "<?php $this->x = ['a' => 1]; ?>",
    "raise Foo.new(1) unless x",
    "import a, { b as c } from './d';",
    "use std::{fs::{self, File}, io::*};",
    "#include <a.h>",
    "))}}]]",
    "((({{[[",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_diff_is_too_strange(
        picks in prop::collection::vec((0..LINES.len(), 0usize..40, 0usize..4, ".{0,4}"), 0..14),
        language in 0..Language::ALL.len() + 1,
    ) {
        let mut diff = "@@ ... @@\n".to_owned();
        for (line, cut, mark, noise) in picks {
            let line = LINES[line];
            let cut = line.floor_char_boundary(cut.min(line.len()));
            let (start, end) = if mark == 3 { ("", &line[cut..]) } else { (&line[..cut], &line[cut..]) };
            diff += &format!("{}{start}{noise}{end}\n", ['+', '-', ' ', '+'][mark]);
        }
        let Ok(diff) = Diff::parse(&diff) else { return Ok(()) };
        let mut files = FileChange::of_diff(&diff, None);
        for file in &mut files {
            file.language = Language::ALL.get(language).copied();
        }
        let changes = Changes::new(&files);
        for fact in changes.all(Which::Old).chain(changes.all(Which::New)) {
            prop_assert!(changes.files[fact.file].side(fact.which).text.get(fact.item.span.clone()).is_some());
            changes.scope_name(&fact);
            changes.is_touched(&fact);
            changes.named(fact.which, &fact.item.path);
            if let Some(other) = changes.counterpart(&fact) {
                prop_assert_eq!(changes.counterpart(&other).map(|back| back.index), Some(fact.index));
            }
            let wrong = match fact.which { Which::Old => Status::Added, Which::New => Status::Removed };
            prop_assert!(fact.status != wrong);
        }
    }
}
