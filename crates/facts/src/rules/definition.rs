//! VD015: what is said to be defined anew was defined before, what is said to be taken away is still defined.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    Claimed, Rule, Ruling, Scene,
    phrase::{MODAL, is_denied, pattern},
};
use crate::{
    changes::{Changes, Status, Which},
    syntax::ItemKind,
};
use veridiff_text::statements::StatementKind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD015",
    name: "definition",
    summary: "The text says that a function, type or parameter is new or gone, and both sides of the change define it.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: true,
    check,
    check_statement: None,
};

/// What is said to have come.
static ADDED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:adds?|added|introduc(?:es?|ed)|creates?|created|defines?|defined) (?:an? |the )?(?:new |missing )?(function|method|class|struct|enum|interface|trait|parameter|argument)(?: called| named)? (@\d+)",
    )
});

/// What is said to have gone.
static REMOVED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:removes?|removed|deletes?|deleted|drops?|dropped) (?:the )?(?:unused |old |obsolete )?(function|method|class|struct|enum|interface|trait|parameter|argument)(?: called| named)? (@\d+)",
    )
});

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let skeleton = &scene.clause.skeleton;
    if scene.kind != StatementKind::Assertion || MODAL.is_match(skeleton) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (pattern, came) in [(&*ADDED, true), (&*REMOVED, false)] {
        for captures in pattern.captures_iter(skeleton) {
            let whole = captures.get(0).expect("the whole");
            let Some(mention) = scene.clause.mention(&captures[2]).filter(|_| !is_denied(&skeleton[..whole.start()]))
            else {
                continue;
            };
            let kinds: &[ItemKind] = match &captures[1] {
                "function" | "method" => &[ItemKind::Function],
                "parameter" | "argument" => &[ItemKind::Parameter],
                _ => &[ItemKind::Type],
            };
            let Some(line) = kept(scene.change.changes(), mention.last(), kinds) else { continue };
            let written = &scene.clause.text[mention.span.clone()];
            let message = if came {
                format!("`{written}` was defined before the change, too")
            } else {
                format!("`{written}` is still defined")
            };
            found.push(Claimed { ruling: Ruling::Contradicted, part: whole.range(), lines: vec![line], message });
        }
    }
    found
}

/// A line that defines a name whose every definition is on both sides; none where one of them came, went or moved.
fn kept(changes: &Changes, name: &str, kinds: &[ItemKind]) -> Option<usize> {
    let of = |which: Which| {
        changes.named(which, name).into_iter().filter(|fact| kinds.contains(&fact.item.kind)).collect::<Vec<_>>()
    };
    let (new, old) = (of(Which::New), of(Which::Old));
    let stays = |status: Status| matches!(status, Status::Kept | Status::Changed { .. });
    if new.is_empty() || new.len() != old.len() || !new.iter().chain(&old).all(|fact| stays(fact.status)) {
        return None;
    }
    new.iter().find_map(|fact| changes.diff_line(fact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::phrase::said;
    use veridiff_text::sample::Task;

    const DIFF: &str = "--- a/a.py\n+++ b/a.py\n@@ -1,6 +1,9 @@\n class Cache:\n-    def get(self, key):\n-        return self.data[key]\n+    def get(self, key, default=None):\n+        return self.data.get(key, default)\n \n-    def put(self, key, value):\n-        self.data[key] = value\n+    def put(self, key, value):\n+        self.data[key] = (value, now())\n+\n+    def clear(self):\n+        self.data = {}\n";

    #[test]
    fn what_both_sides_define_neither_came_nor_went() {
        for (held, wrong) in [
            ("Adds a method `clear`.", "Adds a method `get`."),
            ("It adds the parameter `default`.", "It adds the parameter `key`."),
            ("Adds a new method called `clear`.", "Removes the method `put`."),
            ("It should define a class `Store`.", "It defines a class `Cache`."),
        ] {
            let ruling = |text| said(&RULE, DIFF, text, Task::Review, StatementKind::Assertion);
            assert_eq!((ruling(held), ruling(wrong)), (None, Some(Ruling::Contradicted)), "{held} {wrong}");
        }
    }
}
