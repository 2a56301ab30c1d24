//! The changes of samples in the form that everything else reads.

use super::Sample;
use crate::diff::input;

/// Reads each sample's change as one from a file is read, and returns what there is to tell of them. A change that is refused stays
/// as it is: its sample is still one of the input, and the rows of a table are not to become fewer.
pub fn settle_changes<'s>(samples: impl IntoIterator<Item = &'s mut Sample>) -> Vec<String> {
    let mut told = Vec::new();
    for sample in samples {
        match input::read(&sample.diff) {
            Ok(change) => {
                told.extend(change.notes.iter().map(|note| format!("sample `{}`: {note}", sample.id)));
                sample.diff = change.diff;
            }
            Err(error) => told.push(format!("sample `{}`: {error}", sample.id)),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";

    #[test]
    fn the_changes_of_samples_are_read_in_the_same_way() {
        let shown = format!("From: A\nSubject: [PATCH] x\n\n---\n{}", DIFF.replace("+1,2", "+1,9"));
        let mut samples =
            [Sample::new("1", DIFF, "x"), Sample::new("2", &shown, "x"), Sample::new("3", "no diff", "x")];
        let told = settle_changes(&mut samples);
        assert_eq!(samples[0].diff, DIFF);
        assert_eq!(samples[1].diff, DIFF);
        assert_eq!(samples[2].diff, "no diff");
        assert!(told[0].starts_with("sample `2`: line 9: the hunk header promises 2 old and 9 new lines"), "{told:?}");
        assert_eq!(told[1..], ["sample `3`: this is no diff: it looks like a text"]);
    }
}
