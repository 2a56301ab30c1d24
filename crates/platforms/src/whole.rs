//! What a request's whole diff knows of the tree that it changes.

use veridiff_facts::change::Tree;
use veridiff_text::diff::Diff;

/// The whole diff of a request: it knows that a name is there, and never that one is not.
#[derive(Debug)]
pub struct WholeDiff {
    diff: String,
    files: Vec<String>,
}

impl WholeDiff {
    /// Of a diff that was read already.
    pub fn new(diff: String) -> WholeDiff {
        let files = Diff::parse(&diff).map(|diff| diff.files().to_vec()).unwrap_or_default();
        WholeDiff { diff, files }
    }

    /// The diff.
    pub fn diff(&self) -> &str {
        &self.diff
    }
}

impl Tree for WholeDiff {
    fn contains(&self, name: &str) -> Option<bool> {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let mut places = self.diff.match_indices(name);
        let stands = places.any(|(start, found)| {
            let (before, after) = (&self.diff[..start], &self.diff[start + found.len()..]);
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        });
        (stands && !name.is_empty()).then_some(true)
    }

    fn has_file(&self, path: &str) -> Option<bool> {
        self.files.iter().any(|file| file == path).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_diff_knows_what_is_there_and_never_what_is_not() {
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old_name(x)\n+new_name(x2)\n".to_owned();
        let whole = WholeDiff::new(diff);
        for (name, known) in [("new_name", Some(true)), ("x", Some(true)), ("name", None), ("x3", None), ("", None)] {
            assert_eq!(whole.contains(name), known, "{name}");
        }
        assert_eq!((whole.has_file("a.py"), whole.has_file("b.py")), (Some(true), None));
    }
}
