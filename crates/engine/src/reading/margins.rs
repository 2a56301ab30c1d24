//! How much more probable a text is than others that differ from it in a few tokens.
//!
//! What such texts have in common with the text before their first other token is run once, and what follows goes through the blocks
//! together, so that many short runs fill the matrix products as one long one does.

use candle_core::{Result, Tensor};

use super::scores::{scores_about, step_scores};
use crate::{decoder::Decoder, language::ReadPrompt, past::Past};

/// Most rows that go through the blocks together, the text's own beside; more bring no speed.
pub const ROWS_TOGETHER: usize = 256;

/// Log-probability of the text `text` `[T]` minus that of each of `others`, behind the same prompt: nats. None of them is empty.
///
/// # Errors
/// A tensor operation failed, or the logits of a row are not finite.
pub fn margins_about(prompt: &ReadPrompt, text: &[u32], others: &[Vec<u32>]) -> Result<Vec<f64>> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    if text.is_empty() || others.iter().any(Vec::is_empty) {
        candle_core::bail!("a text without tokens: there is nothing to compare");
    }
    match prompt {
        ReadPrompt::Past(decoder, past) => {
            let mut margins = Vec::with_capacity(others.len());
            let mut rest = others;
            while !rest.is_empty() {
                let mut rows = 0;
                let fits = rest.iter().take_while(|other| {
                    rows += other.len();
                    rows <= ROWS_TOGETHER
                });
                let (now, later) = rest.split_at(fits.count().max(1));
                margins.extend(margins_behind(decoder, past, text, now)?);
                rest = later;
            }
            Ok(margins)
        }
        ReadPrompt::Source(..) => {
            let total = |ids: &[u32]| scores_about(prompt, ids).map(|scores| scores.logprob.iter().sum::<f64>());
            let own = total(text)?;
            others.iter().map(|other| total(other).map(|total| own - total)).collect()
        }
    }
}

/// [`margins_about`] by a decoder-only model, all at once.
fn margins_behind(decoder: &Decoder, past: &Past, text: &[u32], others: &[Vec<u32>]) -> Result<Vec<f64>> {
    let shared = |other: &[u32]| {
        let n = text.iter().zip(other).take_while(|(a, b)| a == b).count();
        // a token of each is left to be scored
        n.min(text.len() - 1).min(other.len() - 1)
    };
    let branches: Vec<(usize, &[u32])> = others.iter().map(|other| (shared(other), &other[shared(other)..])).collect();
    let (trunk, rows) = past.run_together(decoder, text, &branches)?;
    let first = branches.iter().map(|(shared, _)| *shared).min().unwrap_or(0);
    let trunk = trunk.narrow(0, first, text.len() - first)?;
    let targets: Vec<u32> =
        [&text[first..]].into_iter().chain(branches.iter().map(|(_, own)| *own)).flatten().copied().collect();
    let all: Vec<&Tensor> = std::iter::once(&trunk).chain(&rows).collect();
    let logprob = step_scores(decoder.head(), &Tensor::cat(&all, 0)?, &targets)?.logprob;
    let (own, mut rest) = logprob.split_at(text.len() - first);
    let margins = branches.iter().map(|(shared, ids)| {
        let (other, later) = rest.split_at(ids.len());
        rest = later;
        own[shared - first..].iter().sum::<f64>() - other.iter().sum::<f64>()
    });
    Ok(margins.collect())
}
