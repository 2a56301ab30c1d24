use super::*;
use veridiff_text::diff::Diff;

const DIFF: &str = "--- a/cache.py\n+++ b/cache.py\n@@ -1,3 +1,3 @@\n class Cache:\n-    def load(self, key, limit=30):\n+    def fetch(self, key, timeout=60):\n         return self.store(key)\n";

fn of(text: &str) -> Vec<(EditKind, String)> {
    let diff = Diff::parse(DIFF).unwrap();
    edits(&Change::new(&diff), text).into_iter().map(|edit| (edit.kind, edit.text)).collect()
}

#[test]
fn names_and_numbers_are_those_of_the_change() {
    let all = of("`timeout` is 60 now.");
    let has = |kind: EditKind, text: &str| assert!(all.contains(&(kind, text.to_owned())), "{text}: {all:#?}");
    has(EditKind::Name, "`limit` is 60 now.");
    has(EditKind::Number, "`timeout` is 30 now.");
    has(EditKind::Direction, "`timeout` is 60 no longer.");
    has(EditKind::Negation, "`timeout` is not 60 now.");
    assert!(EditKind::ALL.iter().all(|kind| all.iter().filter(|(known, _)| known == kind).count() <= MOST));
}

#[test]
fn opposites_go_both_ways_and_keep_their_form() {
    assert!(of("Adds a retry").contains(&(EditKind::Direction, "Removes a retry".into())));
    assert!(of("Removes a retry").contains(&(EditKind::Direction, "Adds a retry".into())));
    assert!(of("It doesn’t lock.").contains(&(EditKind::Negation, "It does lock.".into())));
    assert_eq!(of("Calls `is_not(added)`.").iter().filter(|(kind, _)| *kind != EditKind::Name).count(), 0);
}

#[test]
fn two_names_are_exchanged_with_what_stands_between_them() {
    assert!(of("Rename `load` to `fetch`.").contains(&(EditKind::Order, "Rename `fetch` to `load`.".into())));
}

#[test]
fn nothing_is_edited_where_there_is_nothing() {
    assert_eq!(of(""), []);
    assert_eq!(of("Nice!"), []);
}
