//! Encoders that need no gradient, run by candle-transformers in f32: embeddings of texts, classification of pairs.
//!
//! | file | owns |
//! |---|---|
//! | `embed.rs` | [`Embedder`]: BERT, RoBERTa and T5 encoders, their poolings |
//! | `sentence.rs` | what the files of sentence-transformers say of pooling, length and limit |
//! | `classify.rs` | [`EntailmentClassifier`]: DeBERTa-v2 and v3 sequence classification |
//! | `config.rs` | their config.json, checked |
//! | `text.rs` | texts and pairs of texts to token ids, cut on the right |
//! | `memo.rs` | results that are kept, since samples share diffs |

mod classify;
mod config;
mod embed;
mod memo;
mod sentence;
mod text;

pub use crate::architectures::encoders::EncoderArchitecture;
pub use classify::{Entailment, EntailmentClassifier};
pub use embed::{Embedder, Embedding, Pooling};
pub use memo::Memo;

/// Most tokens of a text or a pair of texts, special ones included; the rest is cut off on the right. BERT, RoBERTa and
/// DeBERTa were trained on no more.
pub const MAX_TOKENS: usize = 512;

use candle_core::{Device, Tensor};
use text::Encoded;

/// Token ids `[B, L]` padded on the right, and a mask `[B, L]` that is 1 at tokens and 0 at padding.
struct Batch {
    ids: Tensor,
    mask: Tensor,
}

impl Batch {
    fn new(texts: &[&Encoded], pad: u32, device: &Device) -> candle_core::Result<Batch> {
        let longest = texts.iter().map(|text| text.ids.len()).max().unwrap_or(0);
        let padded = |of: fn(&Encoded) -> Vec<u32>, fill: u32| -> Vec<u32> {
            let row = |text: &&Encoded| {
                let mut row = of(text);
                row.resize(longest, fill);
                row
            };
            texts.iter().flat_map(row).collect()
        };
        let tensor = |values| Tensor::from_vec(values, (texts.len(), longest), device);
        Ok(Batch {
            ids: tensor(padded(|text| text.ids.clone(), pad))?,
            mask: tensor(padded(|text| vec![1; text.ids.len()], 0))?,
        })
    }
}

/// The indices of `lengths` in batches of at most `size`, like lengths together. Where `exact`, only equal lengths share a
/// batch: a model without a padding mask.
fn batches(lengths: &[usize], size: usize, exact: bool) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&i| lengths[i]);
    let same = |a: &usize, b: &usize| !exact || lengths[*a] == lengths[*b];
    order.chunk_by(same).flat_map(|run| run.chunks(size.max(1)).map(<[usize]>::to_vec)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_like_lengths() {
        assert_eq!(batches(&[5, 1, 5, 2, 5], 2, true), [vec![1], vec![3], vec![0, 2], vec![4]]);
        assert_eq!(batches(&[5, 1, 5, 2, 5], 3, false), [vec![1, 3, 0], vec![2, 4]]);
        assert_eq!(batches(&[3, 3], 0, false), [vec![0], vec![1]]);
    }
}
