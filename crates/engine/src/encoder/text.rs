//! Texts, and pairs of them, to token ids.

use tokenizers::{
    PostProcessor, Tokenizer, TruncationDirection, TruncationParams, TruncationStrategy, truncate_encodings,
};

use crate::ModelError;

/// A text, or a pair of texts, as an encoder reads it.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    /// Token ids with the special ones.
    pub ids: Vec<u32>,
    /// Which of them the tokenizer added.
    pub special: Vec<bool>,
    /// Tokens cut off to keep within the limit.
    pub n_cut: usize,
}

/// Splits a text into tokens, cut on the right so that there are at most `limit` with the special ones. Of a pair the longer
/// is cut first, as its trainers' code does.
pub(super) fn encode(
    tokenizer: &Tokenizer,
    text: &str,
    pair: Option<&str>,
    limit: usize,
) -> Result<Encoded, ModelError> {
    let plain = |text: &str| tokenizer.encode(text, false).map_err(ModelError::Tokens);
    let (first, second) = (plain(text)?, pair.map(plain).transpose()?);
    let n_added = tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(pair.is_some()));
    let n_whole = first.len() + second.as_ref().map_or(0, |second| second.len());
    let max_length = limit.saturating_sub(n_added);
    let truncation = TruncationParams {
        direction: TruncationDirection::Right,
        max_length,
        strategy: TruncationStrategy::LongestFirst,
        stride: 0,
    };
    let (first, second) = truncate_encodings(first, second, &truncation).map_err(ModelError::Tokens)?;
    let encoding = tokenizer.post_process(first, second, true).map_err(ModelError::Tokens)?;
    Ok(Encoded {
        ids: encoding.get_ids().to_vec(),
        special: encoding.get_special_tokens_mask().iter().map(|&mask| mask != 0).collect(),
        n_cut: n_whole.saturating_sub(max_length),
    })
}
