//! A source run through the encoder once, for all the texts about it.
//!
//! The decoder's rows never change the encoder's, so that what a text's row of a table says does not depend on who else shares the
//! source, as with [`crate::past`].

use candle_core::{Result, Tensor};

use super::{T5, block::DecoderBlock};
use crate::{ops, past::Keep};

/// N source rows that went through the encoder.
#[derive(Debug)]
pub struct Source {
    ids: Vec<u32>,
    /// Of each block of the decoder: keys and values `[N, 2W]` of its cross-attention.
    memories: Vec<Tensor>,
    /// Every encoder block's input `[N, H]`, and the last one's output.
    rows: Option<Vec<Tensor>>,
    /// The mean `[H]` over the rows of the embeddings and of every encoder block's output, if it was noted.
    means: Option<Vec<Vec<f64>>>,
}

impl Source {
    /// Runs the tokens `ids`, at least one, through the encoder.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn new(model: &T5, ids: &[u32], keep: Keep) -> Result<Self> {
        Self::read(model, ids, keep, false)
    }

    /// As [`Source::new`], and notes what readings of hidden states need of the source's rows.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn noting(model: &T5, ids: &[u32], keep: Keep) -> Result<Self> {
        Self::read(model, ids, keep, true)
    }

    fn read(model: &T5, ids: &[u32], keep: Keep, noting: bool) -> Result<Self> {
        let mut means = noting.then(Vec::new);
        let bias = model.encoder_bias(ids.len())?;
        let mut rows = Vec::new();
        let mut x = model.head().embed(ids)?;
        for block in model.encoder() {
            let y = block.forward(&x, &bias)?;
            if let Some(means) = &mut means {
                means.push(ops::mean_of_rows(&x)?);
            }
            if keep >= Keep::LayerInputs {
                rows.push(x);
            }
            x = y;
        }
        if let Some(means) = &mut means {
            means.push(ops::mean_of_rows(&x)?);
        }
        let encoded = model.encoded(&x)?;
        let memories = model.decoder().iter().map(|block| block.memory(&encoded)).collect::<Result<_>>()?;
        rows.push(x);
        Ok(Source { ids: ids.to_vec(), memories, rows: (keep >= Keep::LayerInputs).then_some(rows), means })
    }

    /// Whether the source was run with [`Source::noting`].
    pub fn is_noted(&self) -> bool {
        self.means.is_some()
    }

    /// The means that were noted, `L + 1` of them.
    ///
    /// # Errors
    /// The source was run without noting.
    pub(crate) fn means(&self) -> Result<&[Vec<f64>]> {
        match &self.means {
            Some(means) => Ok(means),
            None => candle_core::bail!("the source was read without noting what hidden states need"),
        }
    }

    /// Whether this is the run of the source `ids` with at least what `keep` says.
    pub fn serves(&self, ids: &[u32], keep: Keep) -> bool {
        self.ids == ids && (keep == Keep::KeysValues || self.rows.is_some())
    }

    /// N, the number of rows.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none; a [`Source`] always has some.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Keys and values `[N, 2W]` for each block of the decoder.
    pub fn memories(&self) -> &[Tensor] {
        &self.memories
    }

    /// Every encoder block's input `[N, H]` and the last one's output: `L + 1` tensors.
    ///
    /// # Errors
    /// The source was run without [`Keep::LayerInputs`].
    pub fn rows(&self) -> Result<&[Tensor]> {
        match &self.rows {
            Some(rows) => Ok(rows),
            None => candle_core::bail!("the source was run without keeping what gradients need"),
        }
    }

    /// Runs the decoder over the text's tokens `targets` `[T]`, at least one: every block's input `[T, H]`, and last the rows
    /// that predict the targets.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn decode(&self, model: &T5, targets: &[u32]) -> Result<Vec<Tensor>> {
        self.decode_by(model, targets, |_, block, [x, bias, memory]| block.forward(x, bias, memory))
    }

    /// As [`Source::decode`], with every block's output from `forward`, which is given the block's number, the block, its input,
    /// the biases and its memory.
    pub(crate) fn decode_by(
        &self,
        model: &T5,
        targets: &[u32],
        mut forward: impl FnMut(usize, &DecoderBlock, [&Tensor; 3]) -> Result<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let bias = model.decoder_bias(targets.len())?;
        let mut rows = vec![model.head().embed(&model.decoder_ids(targets))?];
        for (layer, (block, memory)) in model.decoder().iter().zip(&self.memories).enumerate() {
            rows.push(forward(layer, block, [&rows[layer], &bias, memory])?);
        }
        Ok(rows)
    }

    /// Rows `[T, H]` of the last block's output that predict the text's tokens `targets` `[T]`.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn predicting_rows(&self, model: &T5, targets: &[u32]) -> Result<Tensor> {
        let bias = model.decoder_bias(targets.len())?;
        let x = model.head().embed(&model.decoder_ids(targets))?;
        let mut blocks = model.decoder().iter().zip(&self.memories);
        blocks.try_fold(x, |x, (block, memory)| block.forward(&x, &bias, memory))
    }
}
