//! What an adapter's head says of a whole text, read where the text ends.

use candle_core::{DType, Result};

use super::{Want, read_about};
use crate::{files::adapter::Adapter, language::Prompt};

/// The log-odds that an adapter's head gives to the text `targets` `[T]`, at least one token, behind a prompt that the adapted model
/// has read with [`read_noting`](crate::language::LanguageModel::read_noting). The adapter's end token is put behind the text.
///
/// # Errors
/// The prompt was read without notes, or a tensor operation failed.
pub fn answer_about(prompt: &Prompt, targets: &[u32], adapter: &Adapter) -> Result<f64> {
    let Prompt::Past(decoder, _) = prompt else {
        candle_core::bail!("an adapter's head reads decoder-only models");
    };
    // the row that predicts a token is the state at the one before: the second end is never read
    let ids: Vec<u32> = targets.iter().copied().chain([adapter.end(); 2]).collect();
    let want = Want { hidden: vec![decoder.blocks().len()], ..Want::default() };
    let reading = read_about(prompt, &ids, &want)?;
    let Some(state) = reading.hidden.first().and_then(|layer| layer.rows.last()) else {
        candle_core::bail!("a text without tokens: there is nothing to answer");
    };
    let norm: Vec<f64> = decoder.head().norm().to_dtype(DType::F64)?.to_vec1()?;
    let mean_square = state.iter().map(|value| value * value).sum::<f64>() / state.len() as f64;
    let scale = (mean_square + decoder.config().rms_norm_eps).sqrt();
    let normed: Vec<f64> = state.iter().zip(&norm).map(|(value, weight)| value / scale * weight).collect();
    Ok(adapter.log_odds(&normed))
}
