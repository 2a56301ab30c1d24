//! Which hunks of a change a text speaks of: where a change is too long to be read whole, these go first.

use std::collections::BTreeSet;

use veridiff_text::grounding::{is_common, is_stop};

use crate::{change::Change, mention::mentions, occurrences::Places};

/// How much more a name, a number or quoted code says of where a text points than a word of prose.
const OF_MENTION: f64 = 3.0;

/// The hunks of a change, by index in [`veridiff_text::diff::Diff::hunks`], each with how much of the text points at it; 0 for one
/// that nothing points at. What stands in many hunks points at each of them the less, as in the inverse document frequency of
/// search engines.
pub fn weights(change: &Change<'_>, text: &str) -> Vec<f64> {
    let hunks = change.diff.hunks();
    let mut of_line: Vec<Option<usize>> = vec![None; change.diff.lines().len()];
    for (index, hunk) in hunks.iter().enumerate() {
        hunk.header.into_iter().chain(hunk.lines.clone()).for_each(|line| of_line[line] = Some(index));
    }
    let mut weights = vec![0.0; hunks.len()];
    let mut point = |places: &Places, weight: f64| {
        let lines = places.added.iter().chain(&places.removed).chain(&places.context);
        let mut named: BTreeSet<usize> = lines.filter_map(|&line| of_line[line]).collect();
        // a file's name is that of all its hunks
        let files: BTreeSet<usize> = places.files.iter().filter_map(|&line| change.diff.lines()[line].file).collect();
        named.extend((0..hunks.len()).filter(|&index| hunks[index].file.is_some_and(|file| files.contains(&file))));
        let share = weight * (1.0 + hunks.len() as f64 / named.len().max(1) as f64).ln();
        named.iter().for_each(|&index| weights[index] += share);
    };
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for mention in mentions(text, 0..text.len()) {
        if let Some(places) = change.find(&mention).places().filter(|_| seen.insert(mention.code.clone())) {
            point(places, OF_MENTION);
        }
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    for word in words.filter(|word| word.len() > 2 && !is_stop(word) && !is_common(word)) {
        if let Some(places) = change.occurrences.word(&word).filter(|_| seen.insert(word.clone())) {
            point(places, 1.0);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_text::diff::Diff;

    const THREE: &str = "--- a/cache.py\n+++ b/cache.py\n@@ -1,2 +1,2 @@\n-MAX = 100\n+MAX = 200\n pass\n\
                         @@ -40,2 +40,3 @@ class Cache:\n def evict(self):\n+    self.oldest.pop()\n     return self\n\
                         --- a/docs.md\n+++ b/docs.md\n@@ -1 +1 @@\n-It holds 100.\n+It holds 200.\n";

    fn first(text: &str) -> usize {
        let diff = Diff::parse(THREE).unwrap();
        let weights = weights(&Change::new(&diff), text);
        assert_eq!(weights.len(), 3);
        (0..3).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap()
    }

    #[test]
    fn a_text_points_at_hunks_by_names_files_and_words() {
        assert_eq!(first("`MAX` is doubled."), 0);
        assert_eq!(first("Evicting takes the oldest entry now."), 1);
        assert_eq!(first("Say so in docs.md"), 2);
    }

    #[test]
    fn a_text_about_something_else_points_nowhere() {
        let diff = Diff::parse(THREE).unwrap();
        assert_eq!(weights(&Change::new(&diff), "Looks good to me!"), [0.0; 3]);
    }
}
