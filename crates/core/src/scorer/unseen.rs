//! How probable a text is to a model that sees no change.

use super::Scorer;
use crate::{
    Error, Result,
    settings::Settings,
    tokens::{TokensError, encode_pair_prompt, encode_prompt},
};
use veridiff_engine::{
    language::{LanguageModel, ReadPrompt},
    past::Keep,
    reading::scores::scores_about,
};
use veridiff_text::sample::Task;

/// The prompt of a task without a change, read once for all texts.
#[derive(Debug)]
pub struct Unseen<'s> {
    scorer: &'s Scorer,
    prompt: ReadPrompt,
}

impl Scorer {
    /// Reads the prompt of a task with nothing in the place of the diff.
    ///
    /// # Errors
    /// Nothing is left of a prompt that is the diff alone, or a fault of the model.
    pub fn unseen(&self, task: Task, settings: &Settings) -> Result<Unseen<'_>> {
        let template = self.template(task, settings);
        let ids = match self.model {
            LanguageModel::DecoderOnly(_) => encode_prompt(&self.tokenizer, &template, "", &settings.encode),
            LanguageModel::EncoderDecoder(_) => encode_pair_prompt(&self.tokenizer, &template, "", &settings.encode),
        }?;
        Ok(Unseen { scorer: self, prompt: self.model.read(&ids, Keep::KeysValues)? })
    }
}

impl Unseen<'_> {
    /// The mean log-probability of a text's tokens, in nats.
    ///
    /// # Errors
    /// The text has no tokens, or a fault of the model.
    pub fn log_prob(&self, text: &str) -> Result<f64> {
        let encoded = self.scorer.tokenizer.encode_fast(text, false).map_err(TokensError::Tokenizer)?;
        if encoded.is_empty() {
            return Err(Error::from(TokensError::NoTokens { part: "text" }));
        }
        let scores = scores_about(&self.prompt, encoded.get_ids())?;
        Ok(scores.logprob.iter().sum::<f64>() / scores.logprob.len() as f64)
    }
}
