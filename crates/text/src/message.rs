//! Commit messages that no author wrote of a change: git made them.

use crate::named;

/// What a message is, beside an author's words about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Of a merge.
    Merge,
    /// Of a commit that takes another one back, or brings it again: its words are the other one's.
    Revert,
    /// Of a commit that will be melted into another one: `fixup!`, `squash!`, `amend!`.
    Fixup,
}

named!(Made, "kind of message", "merges" => Merge, "reverts" => Revert, "fixups" => Fixup);

impl Made {
    /// What git made it for, in words for a person.
    pub fn what(self) -> &'static str {
        match self {
            Made::Merge => "a merge",
            Made::Revert => "a revert",
            Made::Fixup => "a fixup",
        }
    }
}

/// What git made a message for, as its wording shows; none of an author's own.
///
/// ```
/// use veridiff_text::message::{Made, made};
///
/// assert_eq!(made("Merge branch 'retry'"), Some(Made::Merge));
/// assert_eq!(made("fixup! Add a retry"), Some(Made::Fixup));
/// assert_eq!(made("Merge both loops"), None);
/// ```
pub fn made(message: &str) -> Option<Made> {
    const MERGED: [&str; 9] =
        ["branch", "branches", "remote-tracking", "tag", "tags", "commit", "commits", "pull", "in"];
    let message = message.trim_start();
    let subject = message.lines().next().unwrap_or_default();
    let merged = subject.strip_prefix("Merge ").or_else(|| subject.strip_prefix("Merged "));
    let merged = merged.and_then(|rest| rest.split(' ').next());
    // an author may merge branches of code: git and code hosts quote what they merge, or number or name where it is from
    let names_it = subject.contains(['\'', '#', '/']) || subject.split(' ').count() == 3;
    if merged.is_some_and(|word| MERGED.contains(&word)) && names_it {
        return Some(Made::Merge);
    }
    let taken_back = message.split("This reverts commit ").nth(1);
    let is_hash = |text: &str| text.chars().take_while(char::is_ascii_hexdigit).count() >= 7;
    if ["Revert \"", "Reapply \""].iter().any(|start| subject.starts_with(start)) || taken_back.is_some_and(is_hash) {
        return Some(Made::Revert);
    }
    ["fixup! ", "squash! ", "amend! "].iter().any(|start| subject.starts_with(start)).then_some(Made::Fixup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_and_code_hosts_write_is_told_from_an_authors_words() {
        for merge in [
            "Merge branch 'feat'",
            "Merge branch 'feat' into main\n\n# Conflicts:\n#\ta.py",
            "Merge branches 'a' and 'b'",
            "Merge remote-tracking branch 'origin/main'",
            "Merge tag 'v1.0'",
            "Merge commit '0123abc'",
            "Merge commit 0123abc",
            "Merge pull request #12 from someone/feat",
            "Merged in feat (pull request #3)",
        ] {
            assert_eq!(made(merge), Some(Made::Merge), "{merge}");
        }
        assert_eq!(made("Revert \"Add a cache\"\n\nThis reverts commit 0123456789."), Some(Made::Revert));
        assert_eq!(made("Take the cache back\n\nThis reverts commit 0123456789."), Some(Made::Revert));
        assert_eq!(made("Reapply \"Add a cache\""), Some(Made::Revert));
        assert_eq!(made("squash! Add a cache"), Some(Made::Fixup));
        for own in [
            "Merge the two loops",
            "Merge branches of the if statement that do the same",
            "Merge in the defaults before reading",
            "Revert to the old default of 60 seconds",
            "wip",
            "Fix it",
            "",
        ] {
            assert_eq!(made(own), None, "{own}");
        }
    }
}
