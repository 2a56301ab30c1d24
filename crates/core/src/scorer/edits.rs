//! What a model makes of a text's edits, behind the prompt of the text itself and behind one without the change.

use std::ops::Range;

use super::Scorer;
use crate::{
    Result,
    settings::Settings,
    side::PromptSide,
    tokens::{Encoding, encode_text},
};
use veridiff_engine::{
    language::ReadPrompt,
    reading::{margins::margins_about, scores::StepScores},
};
use veridiff_facts::case::Case;
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
    /// The same behind a prompt without the change, what the model prefers anyway; 0 where that prompt was not run.
    pub prior: f64,
}

impl ScoredEdit {
    /// What the change adds to the preference for the text as it is: nats.
    pub fn gain(&self) -> f64 {
        self.margin - self.prior
    }
}

impl Scorer {
    /// The edits of a case's text that fit, each beside the text behind the prompt, and behind the one without the change where that
    /// was run.
    ///
    /// # Errors
    /// A fault of the model.
    pub(super) fn scores_of_edits(
        &self,
        case: &Case,
        encoding: &Encoding,
        settings: &Settings,
        prompt: &ReadPrompt,
        without: Option<&ReadPrompt>,
    ) -> Result<Vec<ScoredEdit>> {
        let (own, behind) = (&encoding.ids[encoding.n_prompt..], self.behind(case, encoding, settings));
        let fits = |edit: Edit| behind(&edit.text).map(|ids| (edit, ids));
        let of_text = edits(&Change::new(case.diff()), case.text()).into_iter();
        let (edits, ids): (Vec<Edit>, Vec<Vec<u32>>) = of_text.filter_map(fits).unzip();
        let margins = margins_about(prompt, own, &ids)?;
        let priors = match without {
            Some(without) => margins_about(without, own, &ids)?,
            None => vec![0.0; ids.len()],
        };
        let scored = edits.into_iter().zip(margins.into_iter().zip(priors));
        Ok(scored
            .map(|(Edit { kind, span, with, .. }, (margin, prior))| ScoredEdit { kind, span, with, margin, prior })
            .collect())
    }

    /// What gives the tokens of another text behind the prompt of a case that was encoded already; none if it does not fit, or would
    /// change the prompt's own tokens.
    fn behind<'a>(
        &'a self,
        case: &'a Case,
        encoding: &'a Encoding,
        settings: &'a Settings,
    ) -> impl Fn(&str) -> Option<Vec<u32>> + 'a {
        let (prompt, own) = encoding.ids.split_at(encoding.n_prompt);
        let room = self.max_tokens(settings).saturating_sub(prompt.len());
        let alone = move |text: &str| encode_text(&self.tokenizer, text, &settings.encode).ok();
        // Where the text has the same tokens behind the prompt as alone, so has another that begins with the same kind of letter, and
        // the prompt need not be encoded again with each.
        let is_apart = alone(case.text()).is_some_and(|ids| ids == own);
        let first = |text: &str| text.chars().next();
        move |text: &str| {
            let begins_alike = match (first(text), first(case.text())) {
                (Some(a), Some(b)) => a == b || (a.is_alphabetic() && b.is_alphabetic()),
                _ => false,
            };
            if is_apart && begins_alike {
                return alone(text).filter(|ids| ids.len() <= room);
            }
            let whole = self.encode(case.diff(), text, case.task(), settings).ok()?;
            let (other, ids) = whole.ids.split_at_checked(whole.n_prompt)?;
            (other == prompt).then(|| ids.to_vec())
        }
    }

    /// The prompt without the change, where it was run.
    pub(super) fn without_change<'a>(
        known: &'a [Option<ReadPrompt>],
        sides: &[(PromptSide, StepScores)],
    ) -> Option<&'a ReadPrompt> {
        sides.iter().find(|(side, _)| *side == PromptSide::NoDiff)?;
        known[PromptSide::NoDiff as usize].as_ref()
    }
}
