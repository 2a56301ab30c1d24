//! How likely the tokens of any text are, one behind the other, and which were likelier: no change, no prompt.

use super::Scorer;
use crate::{Result, tokens::TokensError};
use veridiff_engine::{
    language::LanguageModel,
    past::{Keep, Past},
    plan::{Footprint, Lengths, Limits},
    reading::tops::{Tops, tops_after},
};

impl Scorer {
    /// The ids of a text as the tokenizer gives them, with the special tokens that it puts around a text; what looks like one in the text
    /// is ordinary text.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn ids_of(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_fast(text, true).map_err(TokensError::Tokenizer)?.get_ids().to_vec())
    }

    /// The text of some ids, special tokens included. Bytes that are no whole character show as U+FFFD.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn text_of(&self, ids: &[u32]) -> Result<String> {
        Ok(self.tokenizer.decode(ids, false).map_err(TokensError::Tokenizer)?)
    }

    /// Reads the tokens `ids`, each behind those before it, and keeps the `most` likeliest at every place. What the process may use is
    /// at most `max_memory` bytes.
    ///
    /// # Errors
    /// There is no token, one that the model does not have, or one too many; the model is an encoder-decoder, which continues no text;
    /// faults of the model.
    pub fn likelihoods(&self, ids: &[u32], most: usize, max_memory: Option<u64>) -> Result<Tops> {
        let LanguageModel::DecoderOnly(decoder) = &self.model else { return Err(TokensError::NotContinued.into()) };
        let (vocab_size, max_tokens) = (self.model.config().vocab_size(), self.model.config().max_tokens());
        let (first, rest) = ids.split_at_checked(1).ok_or(TokensError::NoTokens { part: "text" })?;
        if ids.len() > max_tokens {
            return Err(TokensError::TextTooLong { n_response: ids.len(), max_tokens }.into());
        }
        if let Some((place, &id)) = ids.iter().enumerate().find(|(_, id)| **id as usize >= vocab_size) {
            return Err(TokensError::UnknownId { id, place, vocab_size }.into());
        }
        let limits = Limits { max_bytes: max_memory, ..Limits::default() };
        let lengths = Lengths { n_prompt: 1, n_response: rest.len() + 1 };
        Footprint::of(&self.model).plan(lengths, false, limits)?;
        let past = Past::new(decoder, first, Keep::KeysValues)?;
        Ok(tops_after(decoder, &past, rest, most)?)
    }
}
