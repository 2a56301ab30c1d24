//! Checking samples by rules alone, and the one function that decides a finding's verdict, with a detector's decision where there is one.

use std::{fmt, sync::Arc};

use crate::{
    case::Case,
    change::Tree,
    finding::{Finding, place, statements},
    judge::{Judgement, OF_ANOTHER_TREE},
    rules::Choice,
    verdict::{self, DetectorDecision},
};
use veridiff_text::{chain::one_line, diff::DiffError, sample::Sample};

/// The names of a tree, which all samples of a checker are changes of.
#[derive(Clone)]
pub struct SharedTree(pub Arc<dyn Tree + Send + Sync>);

impl fmt::Debug for SharedTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedTree").finish_non_exhaustive()
    }
}

/// Why a sample cannot be checked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A diff whose hunks and headers do not fit each other.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A text without any change.
    #[error("the diff has no added and no removed line: give what `git diff` prints, or one hunk of it")]
    NoChange,
}

impl CheckError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        match self {
            CheckError::Diff(error) => error.hint(),
            CheckError::NoChange => None,
        }
    }

    /// The error, its causes and how to mend it, in one line.
    pub fn describe(&self) -> String {
        let line = one_line(self);
        match self.hint() {
            Some(hint) => format!("{line}; {hint}"),
            None => line,
        }
    }
}

/// Rules, and the tree around the changes that they read.
#[derive(Debug, Clone, Default)]
pub struct RuleChecker {
    rules: Choice,
    tree: Option<SharedTree>,
}

impl RuleChecker {
    /// A checker with these rules, for changes of this tree. Without a tree, names outside the diff are unknown.
    pub fn new(rules: Choice, tree: Option<SharedTree>) -> Self {
        RuleChecker { rules, tree }
    }

    /// The rules that run.
    pub fn choice(&self) -> &Choice {
        &self.rules
    }

    /// Sets the tree around the changes to come.
    pub fn set_tree(&mut self, tree: Option<SharedTree>) {
        self.tree = tree;
    }

    /// The same rules for changes of another tree.
    pub fn with_tree(&self, tree: SharedTree) -> Self {
        RuleChecker { rules: self.rules.clone(), tree: Some(tree) }
    }

    /// Checks a sample by rules alone. A sample that cannot be checked has a finding with the error.
    pub fn check(&self, sample: &Sample) -> Finding {
        let mut finding = Finding::new(sample);
        let case = Case::of_sample(sample).map_err(CheckError::from);
        match case.and_then(|case| has_lines(&case).map(|_| case)) {
            Ok(case) => {
                finding.place = place(sample, case.diff());
                self.decide(&mut finding, &case, None);
            }
            Err(problem) => finding.error = Some(problem.describe()),
        }
        finding
    }

    /// Sets a finding's verdict, its reason, its statements and its probability: from the rules, and from a detector's decision where the
    /// rules leave the text open. Every verdict of this program is decided here.
    pub fn decide(&self, finding: &mut Finding, case: &Case, detector: Option<DetectorDecision>) {
        let report = self.report(case);
        finding.notes.extend(report.of_another_tree.then(|| OF_ANOTHER_TREE.to_owned()));
        finding.statements = statements(case, &report, finding.p_detector);
        let decided = verdict::of_text(&report, detector);
        finding.verdict = Some(decided.verdict);
        finding.reason = decided.reason;
        finding.p_hallucination = verdict::probability(&report, finding.p_detector);
    }

    /// What the chosen rules find in a text.
    fn report(&self, case: &Case) -> Judgement {
        match &self.tree {
            Some(SharedTree(tree)) => case.judgement_with(Some(tree.as_ref())).by(case.diff(), &self.rules),
            None => case.judgement().by(case.diff(), &self.rules),
        }
    }
}

/// Whether a change has an added or a removed line.
pub fn has_change(case: &Case) -> bool {
    case.diff().lines().iter().any(|line| line.kind.is_changed())
}

/// Whether a change has lines for a model to read. A rename, another mode and a binary file have names to compare, and nothing else.
///
/// # Errors
/// [`CheckError::NoChange`] if there is no change at all.
pub fn has_lines(case: &Case) -> Result<bool, CheckError> {
    match has_change(case) {
        false if case.diff().files().is_empty() => Err(CheckError::NoChange),
        has_change => Ok(has_change),
    }
}
