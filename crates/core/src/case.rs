//! A change and the text about it, taken apart once for everybody who asks.

use std::sync::OnceLock;

use veridiff_text::{
    diff::{Diff, DiffError},
    grounding::{Evidence, PlainScores, Words},
    sample::{Sample, Task},
};

/// A change, a text and what is known of them without a model. What is costly is worked out when it is first asked for.
#[derive(Debug)]
pub struct Case {
    diff: Diff,
    text: String,
    task: Task,
    evidence: OnceLock<Evidence>,
    plain: OnceLock<PlainScores>,
}

impl Case {
    /// Of a unified diff or one hunk, and the text that was written about it as `task`.
    ///
    /// # Errors
    /// The diff cannot be read; the error names the line.
    pub fn new(diff: &str, text: impl Into<String>, task: Task) -> Result<Self, DiffError> {
        let (evidence, plain) = (OnceLock::new(), OnceLock::new());
        Ok(Case { diff: Diff::parse(diff)?, text: text.into(), task, evidence, plain })
    }

    /// Of a sample.
    ///
    /// # Errors
    /// Those of [`Case::new`].
    pub fn of_sample(sample: &Sample) -> Result<Self, DiffError> {
        Case::new(&sample.diff, sample.text.clone(), sample.task)
    }

    /// The change.
    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the text was written as.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Every word of the text with where it stands in the change, and the statements that its lines decide.
    pub fn evidence(&self) -> &Evidence {
        self.evidence.get_or_init(|| Evidence::new(&self.diff, &self.text))
    }

    /// The words of the text.
    pub fn words(&self) -> &Words {
        &self.evidence().words
    }

    /// Grounding and form of the text.
    pub fn plain(&self) -> &PlainScores {
        self.plain.get_or_init(|| PlainScores::of_evidence(&self.diff, &self.text, self.evidence()))
    }
}
