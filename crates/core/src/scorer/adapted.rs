//! What a model with an adapter says of a text: whether it is true of the change, as log-odds that it is not.

use std::{borrow::Cow, sync::Arc};

use tokenizers::Tokenizer;

use crate::{
    Result,
    tokens::{EncodeOptions, encode},
};
use veridiff_engine::{
    files::adapter::Adapter,
    language::{LanguageModel, ReadPrompt},
    past::Keep,
    reading::answer::answer_about,
};
use veridiff_facts::case::Case;

use veridiff_text::{
    diff::Diff,
    prompt::Template,
    statements::{StatementKind, Statements},
};

/// A scorer's model with an adapter merged into its weights.
#[derive(Debug)]
pub(super) struct Adapted {
    model: LanguageModel,
    adapter: Arc<Adapter>,
    template: Template,
    /// Whether the template asks for [`Diff::changes`], not for the whole diff.
    of_changes: bool,
}

/// Where an adapter's template wants [`Diff::changes`].
const CHANGES: &str = "{changes}";

/// What the head of an adapter gives: log-odds that a text is false of the change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Of the whole text.
    pub text: f64,
    /// The largest of its assertions, each read alone; that of the text where it has none or consists of one.
    pub worst: f64,
}

impl Adapted {
    /// # Errors
    /// The adapter's template has not exactly one `{diff}` or `{changes}`.
    pub(super) fn new(model: LanguageModel, adapter: Arc<Adapter>) -> Result<Self> {
        let of_changes = adapter.template().contains(CHANGES);
        let template = Template::new("adapter", &adapter.template().replace(CHANGES, "{diff}"))?;
        Ok(Adapted { model, adapter, template, of_changes })
    }

    /// What of a diff the model reads; of one that changes no line, a rename, all.
    fn shown<'d>(&self, diff: &'d Diff) -> Cow<'d, Diff> {
        let changes = if self.of_changes { Diff::parse(&diff.changes()).ok() } else { None };
        changes.map_or(Cow::Borrowed(diff), Cow::Owned)
    }

    /// Asks about a case's text and about each of its assertions, behind one run of the prompt: the one in `known` if it is the same.
    ///
    /// # Errors
    /// The text does not fit or cannot be encoded, or a fault of the model.
    pub(super) fn answer(
        &self,
        tokenizer: &Tokenizer,
        known: &mut Option<ReadPrompt>,
        case: &Case,
        max_tokens: usize,
        options: EncodeOptions,
    ) -> Result<Answer> {
        // the end stands twice behind the text, see `answer_about`
        let max_tokens = Some(max_tokens.saturating_sub(1));
        let options = EncodeOptions { max_tokens, append_eos: Some(self.adapter.end()), ..options };
        let diff = self.shown(case.diff());
        let ids_of = |text: &str| encode(tokenizer, &self.template, &diff, text, &options);
        let whole = ids_of(case.text())?;
        let (prompt, targets) = whole.ids.split_at(whole.n_prompt);
        let read = match known.take().filter(|known| known.serves(prompt, Keep::KeysValues)) {
            Some(known) => known,
            None => self.model.read(prompt, Keep::KeysValues)?,
        };
        // the end that `encode` appends is the one that `answer_about` puts there
        let answer = |targets: &[u32]| answer_about(&read, &targets[..targets.len() - 1], &self.adapter);
        let text = answer(targets)?;
        let statements = Statements::new(case.text(), case.task()).list;
        let is_whole = |text: &str| text.trim() == case.text().trim();
        let mut worst: Option<f64> = None;
        for statement in statements.iter().filter(|statement| statement.kind == StatementKind::Assertion) {
            let alone = case.text()[statement.span.clone()].trim();
            let log_odds = if is_whole(alone) {
                text
            } else {
                let Ok(alone) = ids_of(alone) else { continue };
                // another boundary, or a diff that was cut elsewhere: another prompt
                if alone.n_prompt != prompt.len() || alone.ids[..alone.n_prompt] != *prompt {
                    continue;
                }
                answer(&alone.ids[alone.n_prompt..])?
            };
            worst = Some(worst.map_or(log_odds, |worst| worst.max(log_odds)));
        }
        *known = Some(read);
        Ok(Answer { text, worst: worst.unwrap_or(text) })
    }
}
