//! A change and the text about it, taken apart once for everybody who asks.

use std::sync::OnceLock;

use crate::{
    change::{Change, Tree},
    judge::Judgement,
};
use veridiff_text::{
    diff::{Diff, DiffError},
    grounding::{Alignment, PlainScores, Words},
    sample::{Sample, Task},
};

/// A change, a text and what is known of them without a model. What is costly is worked out when it is first asked for.
#[derive(Debug)]
pub struct Case {
    diff: Diff,
    text: String,
    task: Task,
    alignment: OnceLock<Alignment>,
    plain: OnceLock<PlainScores>,
    judgement: OnceLock<Judgement>,
}

impl Case {
    /// Of a unified diff or one hunk, and the text that was written about it as `task`.
    ///
    /// # Errors
    /// The diff cannot be read; the error names the line.
    pub fn new(diff: &str, text: impl Into<String>, task: Task) -> Result<Self, DiffError> {
        let (alignment, plain, judgement) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Ok(Case { diff: Diff::parse(diff)?, text: text.into(), task, alignment, plain, judgement })
    }

    /// Of a sample.
    ///
    /// # Errors
    /// Those of [`Case::new`].
    pub fn of_sample(sample: &Sample) -> Result<Self, DiffError> {
        Case::new(&sample.diff, sample.text.clone(), sample.task)
    }

    /// The change that the text is about, taken apart into lines.
    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    /// The text that is judged, as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the text was written as.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Every word of the text with where it stands in the change, and the statements that its lines decide.
    pub fn alignment(&self) -> &Alignment {
        self.alignment.get_or_init(|| Alignment::new(&self.diff, &self.text))
    }

    /// What the change says of the text, statement by statement.
    pub fn judgement(&self) -> &Judgement {
        self.judgement.get_or_init(|| self.judgement_with(None))
    }

    /// What the change and the tree behind it say of the text, worked out at each call. What the change does not name and the tree
    /// does is no longer objected to, and what neither names is known to be nowhere.
    pub fn judgement_with(&self, tree: Option<&dyn Tree>) -> Judgement {
        Judgement::new(&Change::new(&self.diff), &self.text, self.task, tree)
    }

    /// The text taken apart into words, sentences and quoted code.
    pub fn words(&self) -> &Words {
        &self.alignment().words
    }

    /// Grounding and form of the text.
    pub fn plain(&self) -> &PlainScores {
        self.plain.get_or_init(|| PlainScores::of_alignment(&self.diff, &self.text, self.alignment()))
    }
}
