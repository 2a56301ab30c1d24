//! The words that a change shows, and whether what was said of another one is surely false of it.

use std::collections::{BTreeSet, HashSet};

use veridiff_text::grounding::{stem, subwords};

use crate::words::content_words;

/// The stems of all words of a diff.
#[derive(Debug)]
pub(super) struct Shown(HashSet<String>);

impl Shown {
    /// Looks at a diff once.
    pub(super) fn new(diff: &str) -> Self {
        Shown(diff.split(|c: char| !c.is_alphanumeric()).flat_map(subwords).collect())
    }

    /// Whether a word stands anywhere in the diff, in any form.
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.contains(&stem(word)) || self.0.contains(word)
    }

    /// How many words of a statement about `own` this change has too; `None` where too many for it to be surely false: two words, and
    /// half of all, must be missing that its own change shows.
    pub(super) fn shared(&self, own: &Shown, text: &str) -> Option<usize> {
        let words: BTreeSet<String> = content_words(text).into_iter().collect();
        let (there, missing): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| self.has(word));
        let n_shown = missing.iter().filter(|word| own.has(word)).count();
        (n_shown >= 2 && missing.len() >= there.len()).then_some(there.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_false_where_its_words_are_missing() {
        let own = Shown::new("+let retry_timeout = reader.lines();");
        let other = Shown::new("+let readers = parse(path);");
        let text = "Keep the retry timeout of the readers";
        assert_eq!(other.shared(&own, text), Some(1));
        assert_eq!(own.shared(&own, text), None);
    }
}
