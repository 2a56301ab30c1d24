//! A comment with what people say of it, and whether its verdict agrees.

use std::collections::HashMap;

use veridiff_facts::verdict::Verdict;
use veridiff_serve::refusal::Refusal;

use super::fault;
use crate::{
    bot::{Bot, Site},
    labels,
    store::{Came, Feedback},
};

/// All verdicts, the worst first.
pub(super) const VERDICTS: [Verdict; 5] =
    [Verdict::Contradicted, Verdict::Unsupported, Verdict::Abstain, Verdict::Clear, Verdict::NothingToCheck];

/// The verdict of this name.
pub(super) fn verdict(name: &str) -> Option<Verdict> {
    VERDICTS.into_iter().find(|verdict| verdict.name() == name)
}

/// A comment that was checked, and what people say of it.
#[derive(Debug)]
pub(super) struct Said {
    pub came: Came,
    pub verdict: Option<Verdict>,
    /// 1 where people say that it is false, 0 where they say that it is true, and what that comes from.
    pub label: Option<(u8, &'static str)>,
}

/// What a verdict is beside what people say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Both object, or neither does.
    Agrees,
    /// It was objected to, and people say that it is true.
    FalseAccusation,
    /// Nothing was said against it, and people say that it is false.
    Miss,
}

impl Said {
    /// Whether the verdict objects; none where it cannot tell, or there is none.
    pub fn objects(&self) -> Option<bool> {
        match self.verdict? {
            Verdict::Contradicted | Verdict::Unsupported => Some(true),
            Verdict::Clear | Verdict::NothingToCheck => Some(false),
            Verdict::Abstain => None,
        }
    }

    /// What the verdict is beside what people say, where both say something.
    pub fn beside(&self) -> Option<Beside> {
        Some(match (self.objects()?, self.label?.0) {
            (true, 0) => Beside::FalseAccusation,
            (false, 1) => Beside::Miss,
            _ => Beside::Agrees,
        })
    }

    /// By what it is named in links and forms.
    pub fn key(&self) -> String {
        let Came { platform, repository, comment, .. } = &self.came;
        format!("{platform}:{repository}:{comment}")
    }
}

/// What one person says of a comment on the page.
pub(super) fn own(feedback: &[Feedback], who: &str) -> Option<bool> {
    feedback.iter().find(|said| said.kind == "page" && said.who == who).map(|said| said.value == "true")
}

/// The platform, the repository and the comment of a key.
pub(super) fn parts(key: &str) -> Option<(&str, &str, &str)> {
    let (platform, rest) = key.split_once(':')?;
    let (repository, comment) = rest.rsplit_once(':')?;
    Some((platform, repository, comment))
}

impl Bot {
    /// All comments that were checked, the newest first.
    pub(super) fn said(&self) -> Result<Vec<Said>, Refusal> {
        let resolved_is: HashMap<&str, Option<u8>> = self.resolved_is();
        let came = self.store.came().map_err(|error| fault(&error))?;
        let said = came.into_iter().map(|came| Said {
            verdict: came.verdict.as_deref().and_then(verdict),
            label: labels::label(&came.feedback, resolved_is.get(came.platform.as_str()).copied().flatten()),
            came,
        });
        Ok(said.collect())
    }

    /// The host of this name, if the file still has it.
    pub(super) fn site(&self, platform: &str) -> Option<&Site> {
        self.sites.iter().find(|site| site.config.platform.name() == platform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_a_comment_of_a_repository_with_any_name() {
        assert_eq!(parts("gitlab:group/sub/a:12"), Some(("gitlab", "group/sub/a", "12")));
        assert_eq!((parts("gitlab:12"), parts(""), parts("x")), (None, None, None));
    }
}
