//! What could have stood at every place of a text, beside the token that does: the likeliest tokens, or some that are named.

use candle_core::{DType, Device, Result, Tensor};
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

/// Reads the text `[T]` behind a prompt: at each of some of its places, counted from 0, ln p of the token that stands there, and of each of
/// `others` as if it stood there, nats.
///
/// # Errors
/// As [`tops_after`].
pub fn others_after(
    decoder: &Decoder,
    past: &Past,
    text: &[u32],
    places: &[usize],
    others: &[u32],
) -> Result<Vec<(f64, Vec<f64>)>> {
    match decoder.head().dtype() {
        DType::F64 => others_in::<f64>(decoder, past, text, places, others),
        _ => others_in::<f32>(decoder, past, text, places, others),
    }
}

fn tops_in<T: Real>(decoder: &Decoder, past: &Past, text: &[u32], most: usize) -> Result<Tops> {
    // the last target has no row of its own: whichever token stands there, the row before it is the one behind the text
    let targets = [text, &[0]].concat();
    let hidden = past.predicting_rows(decoder, &targets)?;
    let places = at_places(decoder, &hidden, &targets, |row: &[T], total| {
        largest(row, most).into_iter().map(|(id, logit)| (id, logit.to_f64() - total)).collect()
    })?;
    let (mut logprob, likeliest): (Vec<f64>, Vec<Vec<Likely>>) = places.into_iter().unzip();
    logprob.truncate(text.len());
    Ok(Tops { logprob, likeliest })
}

fn others_in<T: Real>(
    decoder: &Decoder,
    past: &Past,
    text: &[u32],
    places: &[usize],
    others: &[u32],
) -> Result<Vec<(f64, Vec<f64>)>> {
    // what stands behind the last place is not read
    let Some(last) = places.iter().max() else { return Ok(Vec::new()) };
    let hidden = past.predicting_rows(decoder, &text[..=*last])?;
    let rows: Vec<u32> = places.iter().map(|&place| place as u32).collect();
    let hidden = hidden.index_select(&Tensor::new(rows, hidden.device())?, 0)?;
    let targets: Vec<u32> = places.iter().map(|&place| text[place]).collect();
    at_places(decoder, &hidden, &targets, |row: &[T], total| {
        others.iter().map(|&id| row[id as usize].to_f64() - total).collect()
    })
}

/// Of every target, predicted by its row of `hidden` `[T, H]`, its ln p and what `read` makes of the row's logits and of their log-sum-exp.
/// The logits are taken a few rows at a time.
fn at_places<T: Real, R: Send>(
    decoder: &Decoder,
    hidden: &Tensor,
    targets: &[u32],
    read: impl Fn(&[T], f64) -> R + Sync,
) -> Result<Vec<(f64, R)>> {
    let mut places = Vec::with_capacity(targets.len());
    for (i, rows) in targets.chunks(LOGIT_ROWS).enumerate() {
        let logits = decoder.head().logits(&hidden.narrow(0, i * LOGIT_ROWS, rows.len())?)?;
        let host: Vec<T> = logits.to_dtype(T::DTYPE)?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
        let of_row = |(row, &target): (&[T], &u32)| {
            let scores = score_row(row, target as usize);
            (scores.logit - scores.log_sum_exp, read(row, scores.log_sum_exp))
        };
        let read: Vec<_> = host.par_chunks_exact(host.len() / rows.len()).zip(rows).map(of_row).collect();
        places.extend(read);
    }
    match places.iter().position(|(logprob, _)| !logprob.is_finite()) {
        Some(place) => candle_core::bail!("the model's logits for token {place} are not finite"),
        None => Ok(places),
    }
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
