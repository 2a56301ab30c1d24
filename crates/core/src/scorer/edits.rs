//! What a model makes of a text's edits, behind the prompt of the text itself and behind one without the change.

use std::ops::Range;

use super::Scorer;
use crate::{Result, case::Case, settings::Settings, side::Side, tokens::Encoding};
use veridiff_engine::{
    language::Prompt,
    reading::scores::{StepScores, scores_about},
};
use veridiff_facts::{
    change::Change,
    edits::{Edit, EditKind, edits},
};

/// An edit of the text with what the model prefers.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredEdit {
    /// What was edited.
    pub kind: EditKind,
    /// The bytes of the text that were edited.
    pub span: Range<usize>,
    /// The words that stand there in the edited text.
    pub with: String,
    /// Log-probability of the text minus that of the edited one, behind the change: nats, negative where the edit is preferred.
    pub margin: f64,
    /// The same behind a prompt without the change: what the model prefers anyway.
    pub prior: f64,
}

impl ScoredEdit {
    /// What the change adds to the preference for the text as it is: nats.
    pub fn gain(&self) -> f64 {
        self.margin - self.prior
    }
}

impl Scorer {
    /// The edits of a case's text, each run behind both prompts. An edit whose tokens do not leave the prompt as it is, or which does
    /// not fit, is left out.
    ///
    /// # Errors
    /// Those of [`Scorer::encode`], and faults of the model.
    pub(super) fn scores_of_edits(
        &self,
        case: &Case,
        encoding: &Encoding,
        settings: &Settings,
        prompt: &Prompt,
        scores: &StepScores,
        without: Option<(&Prompt, &StepScores)>,
    ) -> Result<Vec<ScoredEdit>> {
        let ids_of = |edit: &Edit| -> Option<Vec<u32>> {
            let edited = self.encode(case.diff(), &edit.text, case.task(), settings).ok()?;
            let (own, other) = (&encoding.ids[..encoding.n_prompt], edited.ids.get(..encoding.n_prompt)?);
            (own == other && edited.n_prompt == encoding.n_prompt).then(|| edited.ids[encoding.n_prompt..].to_vec())
        };
        let total = |scores: &StepScores| scores.logprob.iter().sum::<f64>();
        let mut scored = Vec::new();
        for edit in edits(&Change::new(case.diff()), case.text()) {
            let Some(ids) = ids_of(&edit) else { continue };
            let margin = total(scores) - total(&scores_about(prompt, &ids)?);
            let prior = match without {
                Some((prompt, scores)) => total(scores) - total(&scores_about(prompt, &ids)?),
                None => 0.0,
            };
            scored.push(ScoredEdit { kind: edit.kind, span: edit.span, with: edit.with, margin, prior });
        }
        Ok(scored)
    }

    /// The prompt without the change with the scores of the text behind it, where it was run.
    pub(super) fn without_change<'a>(
        known: &'a [Option<Prompt>],
        sides: &'a [(Side, StepScores)],
    ) -> Option<(&'a Prompt, &'a StepScores)> {
        let (_, scores) = sides.iter().find(|(side, _)| *side == Side::NoDiff)?;
        Some((known[Side::NoDiff as usize].as_ref()?, scores))
    }
}
