//! The likeliest tokens at every place of a text, beside the one that stands there.

use candle_core::{DType, Device, Result};
use rayon::prelude::*;

use super::scores::score_row;
use crate::{decoder::Decoder, ops::Real, past::Past, plan::LOGIT_ROWS};

/// A token and ln p of it, nats.
pub type Likely = (u32, f64);

/// What a model expected at every place of a text `[T]`, and behind it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tops {
    /// ln p of each of the text's tokens: those of [`scores_after`](super::scores::scores_after).
    pub logprob: Vec<f64>,
    /// T + 1 lists of the likeliest tokens, the likeliest first: one for every place, and one for what follows the text. Of tokens that
    /// are as likely the one with the smaller id comes first.
    pub likeliest: Vec<Vec<Likely>>,
}

/// Reads the text `[T]`, of any length, behind a prompt, and keeps the `most` likeliest tokens of every place.
///
/// # Errors
/// A tensor operation failed, or the logits of a row are not finite.
pub fn tops_after(decoder: &Decoder, past: &Past, text: &[u32], most: usize) -> Result<Tops> {
    match decoder.head().dtype() {
        DType::F64 => tops_in::<f64>(decoder, past, text, most),
        _ => tops_in::<f32>(decoder, past, text, most),
    }
}

fn tops_in<T: Real>(decoder: &Decoder, past: &Past, text: &[u32], most: usize) -> Result<Tops> {
    // the last target has no row of its own: whichever token stands there, the row before it is the one behind the text
    let targets = [text, &[0]].concat();
    let hidden = past.predicting_rows(decoder, &targets)?;
    let mut tops = Tops::default();
    for (i, rows) in targets.chunks(LOGIT_ROWS).enumerate() {
        let start = i * LOGIT_ROWS;
        let logits = decoder.head().logits(&hidden.narrow(0, start, rows.len())?)?;
        let host: Vec<T> = logits.to_dtype(T::DTYPE)?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
        let v = host.len() / rows.len();
        let read = host.par_chunks_exact(v).zip(rows).map(|(row, &target)| {
            let scores = score_row(row, target as usize);
            let likely = |(id, logit): (u32, T)| (id, logit.to_f64() - scores.log_sum_exp);
            (scores.logit - scores.log_sum_exp, largest(row, most).into_iter().map(likely).collect())
        });
        for (logprob, likeliest) in read.collect::<Vec<(f64, Vec<Likely>)>>() {
            if !logprob.is_finite() {
                candle_core::bail!("the model's logits for token {} are not finite", tops.logprob.len());
            }
            tops.logprob.push(logprob);
            tops.likeliest.push(likeliest);
        }
    }
    tops.logprob.truncate(text.len());
    Ok(tops)
}

/// The `most` largest of a row with their places, the largest first.
fn largest<T: Real>(row: &[T], most: usize) -> Vec<(u32, T)> {
    let mut kept: Vec<(u32, T)> = Vec::with_capacity(most + 1);
    for (id, &logit) in (0..).zip(row) {
        if kept.len() == most && kept.last().is_none_or(|&(_, least)| logit <= least) {
            continue;
        }
        let place = kept.partition_point(|&(_, other)| other >= logit);
        kept.insert(place, (id, logit));
        kept.truncate(most);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_of_equals_the_first() {
        let row = [1.0f32, 5.0, 3.0, 5.0, -1.0];
        assert_eq!(largest(&row, 3), [(1, 5.0), (3, 5.0), (2, 3.0)]);
        assert_eq!(largest(&row, 0), []);
        assert_eq!(largest(&row, 9).len(), 5);
    }
}
