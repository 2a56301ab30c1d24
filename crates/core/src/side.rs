//! A change with something taken out of it, for what a text loses without.

use veridiff_text::diff::{Diff, LineKind};

/// What a prompt keeps of the diff when a text is scored a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptSide {
    /// The prompt has no diff at all.
    NoDiff,
    /// The unchanged lines: the change is cut out.
    Unchanged,
    /// The file as it was: the change is undone.
    Old,
    /// The file as it is now: what was before is not shown.
    New,
}

impl PromptSide {
    /// Every side, in the order in which they are run.
    pub const ALL: [PromptSide; 4] = [PromptSide::NoDiff, PromptSide::Unchanged, PromptSide::Old, PromptSide::New];

    /// What is left of a diff of which the first `kept` bytes were read. Lines of the old or the new file stand as unchanged
    /// ones: with a blank for their marker.
    pub fn of(self, diff: &Diff, kept: usize) -> String {
        let mut text = String::new();
        for line in diff.lines().iter().filter(|line| line.span.start < kept) {
            let written = &diff.text()[line.span.start..line.span.end.min(kept)];
            let stays = match (self, line.kind) {
                (PromptSide::NoDiff, _) => false,
                (_, LineKind::Context | LineKind::Header) => {
                    text.push_str(written);
                    text.push('\n');
                    continue;
                }
                (PromptSide::Old, LineKind::Removed) | (PromptSide::New, LineKind::Added) => true,
                _ => false,
            };
            if stays {
                text.push(' ');
                text.push_str(written.get(1..).unwrap_or_default());
                text.push('\n');
            }
        }
        // the diff that was read may end without a line feed; its sides then do too
        if !diff.text()[..kept.min(diff.text().len())].ends_with('\n') {
            text.pop();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_of_a_diff() {
        let text = "diff --git a/x b/x\n@@ -1,3 +1,3 @@ f\n a\n-b\n+c\n d";
        let diff = Diff::parse(text).unwrap();
        let of = |side: PromptSide| side.of(&diff, text.len());
        assert_eq!(of(PromptSide::NoDiff), "");
        assert_eq!(of(PromptSide::Unchanged), "diff --git a/x b/x\n@@ -1,3 +1,3 @@ f\n a\n d");
        assert_eq!(of(PromptSide::Old), "diff --git a/x b/x\n@@ -1,3 +1,3 @@ f\n a\n b\n d");
        assert_eq!(of(PromptSide::New), "diff --git a/x b/x\n@@ -1,3 +1,3 @@ f\n a\n c\n d");
        // a diff that was cut has sides that are cut there too
        let cut = text.find("+c").unwrap() + 1;
        assert_eq!(PromptSide::New.of(&diff, cut), "diff --git a/x b/x\n@@ -1,3 +1,3 @@ f\n a\n ");
        assert_eq!(PromptSide::Old.of(&diff, 0), "");
        let ends = Diff::parse("+é\n-ü\n").unwrap();
        assert_eq!(
            (PromptSide::New.of(&ends, 99), PromptSide::Unchanged.of(&ends, 99)),
            (" é\n".into(), String::new())
        );
    }
}
