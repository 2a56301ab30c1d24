//! What an adapter's head says of a whole text, read where the text ends.

use candle_core::{DType, Result};

use crate::{files::adapter::Adapter, language::ReadPrompt};

/// The log-odds that an adapter's head gives to the text `targets` `[T]`, at least one token, behind a prompt that the adapted model
/// has read. The adapter's end token is put behind the text. No next token is scored: the vocabulary is left alone.
///
/// # Errors
/// The model has two stacks, or a tensor operation failed.
pub fn answer_about(prompt: &ReadPrompt, targets: &[u32], adapter: &Adapter) -> Result<f64> {
    let ReadPrompt::Past(decoder, past) = prompt else {
        candle_core::bail!("an adapter's head reads decoder-only models");
    };
    // the row that predicts a token is the state at the one before: the second end is never read
    let ids: Vec<u32> = targets.iter().copied().chain([adapter.end(); 2]).collect();
    let rows = past.predicting_rows(decoder, &ids)?;
    let state = decoder.head().normed(&rows.narrow(0, rows.dim(0)? - 1, 1)?)?;
    Ok(adapter.log_odds(&state.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?))
}
