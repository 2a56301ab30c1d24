//! Input x gradient through two stacks: from the text's tokens back through the decoder to its own rows, and through
//! cross-attention into the encoder to the source's.

use std::ops::Range;

use candle_core::{Result, Tensor};

use super::{AttributedFn, Attribution, Chunk, for_chunks};
use crate::{
    architectures::t5::{T5, source::Source},
    ops,
    plan::Plan,
    reading::scores::{StepScores, step_scores_and_seeds},
};

/// Attributes every token of the text `targets` `[T]` to the tokens of a source that was run with
/// [`Keep::LayerInputs`](crate::past::Keep::LayerInputs), to the decoder's start token and to earlier tokens of the text;
/// `plan` says how many targets go together.
///
/// # Errors
/// A tensor operation failed, or the model's logits are not finite.
pub fn attribute_text(
    model: &T5,
    source: &Source,
    targets: &[u32],
    attributed_fn: AttributedFn,
    plan: &Plan,
) -> Result<Attribution> {
    let text = source.decode(model, targets)?;
    let scored = step_scores_and_seeds(model.head(), &text[text.len() - 1], targets, attributed_fn.seed())?;
    attribute_scored((model, source), text, scored, attributed_fn, plan)
}

/// The second half of [`attribute_text`]: from every decoder block's input `[T, H]`, and from the text's scores and seeds.
pub(in crate::reading) fn attribute_scored(
    (model, source): (&T5, &Source),
    text: Vec<Tensor>,
    (scores, seeds): (StepScores, Tensor),
    attributed_fn: AttributedFn,
    plan: &Plan,
) -> Result<Attribution> {
    let (n_prompt, n_targets) = (source.len(), scores.len());
    if plan.keeps_transposed {
        model.keep_transposed();
    }
    let sample = Sample { model, source, text, seeds };
    let (mut columns, mut start) = (Vec::with_capacity(n_targets), Vec::with_capacity(n_targets));
    let per_sweep = plan.targets_per_sweep.max(1);
    for first in (0..n_targets).step_by(per_sweep) {
        for chunk in sample.pass_back(first..(first + per_sweep).min(n_targets), plan)? {
            for (column, own_start) in chunk.columns(&source.rows()?[0], &sample.text[0])? {
                columns.push(column);
                start.push(own_start);
            }
        }
    }
    Ok(Attribution { n_prompt, attributed_fn, scores, columns, start })
}

/// Consecutive targets whose gradients travel together, first through the decoder, then through the encoder.
struct Pair {
    /// `d_x` is `[B, s, H]`, `s` the decoder's rows that the last of them sees.
    text: Chunk,
    /// By the encoder's rows `[B, N, H]`, once something has reached them.
    d_source: Option<Tensor>,
}

/// Norms and sums of one target: by the rows of source and text, and by the decoder's start.
type Column = (Vec<[f64; 2]>, [f64; 2]);

impl Pair {
    fn d_source(&self) -> Result<&Tensor> {
        self.d_source.as_ref().ok_or_else(|| candle_core::Error::msg("a decoder without blocks reads no source"))
    }

    /// For each target: norm and sum of `x ∘ gradient` for the source's rows and the earlier tokens of the text, and apart from
    /// them for the decoder's start.
    fn columns(&self, source: &Tensor, text: &Tensor) -> Result<Vec<Column>> {
        let n = source.dim(0)?;
        let of_source = ops::input_x_gradient(source, self.d_source()?)?;
        // the decoder's rows are those of a prompt of one token, its start
        let of_text = self.text.columns(text, 1)?;
        let pairs = of_source.chunks_exact(n).zip(of_text);
        Ok(pairs.map(|(source, text)| ([source, &text[1..]].concat(), text[0])).collect())
    }
}

/// What all targets of a sample share.
struct Sample<'a> {
    model: &'a T5,
    source: &'a Source,
    /// Every decoder block's input `[T, H]`.
    text: Vec<Tensor>,
    /// Gradient of each target's scalar with respect to the row that predicts it, `[T, H]`.
    seeds: Tensor,
}

impl Sample<'_> {
    /// Takes the gradients of `targets` from the decoder's last block to the embedded rows of text and source.
    fn pass_back(&self, targets: Range<usize>, plan: &Plan) -> Result<Vec<Pair>> {
        let longest = targets.end;
        let per_chunk = plan.targets_per_chunk.max(1);
        let mut chunks = targets
            .clone()
            .step_by(per_chunk)
            .map(|first| {
                let seeds = self.seeds.narrow(0, first, per_chunk.min(targets.end - first))?;
                Ok(Pair { text: Chunk::new(&seeds, 1, first)?, d_source: None })
            })
            .collect::<Result<Vec<_>>>()?;
        let bias = self.model.decoder_bias(longest)?;
        let blocks = self.model.decoder().iter().zip(self.source.memories()).enumerate();
        for (layer, (block, memory)) in blocks.rev() {
            let linearized = block.linearize(&self.text[layer].narrow(0, 0, longest)?, &bias, memory)?;
            for_chunks(&mut chunks, plan, |pair: &mut Pair| {
                let (d_text, d_source) = linearized.vjp(&pair.text.d_x)?;
                pair.text.d_x = d_text;
                pair.d_source = Some(match pair.d_source.take() {
                    None => d_source,
                    Some(sum) => (sum + d_source)?,
                });
                Ok(())
            })?;
        }
        let (Some((last, inputs)), bias) =
            (self.source.rows()?.split_last(), self.model.encoder_bias(self.source.len())?)
        else {
            candle_core::bail!("a source has the rows of its last block at least");
        };
        for_chunks(&mut chunks, plan, |pair: &mut Pair| {
            pair.d_source = Some(self.model.encoded_vjp(last, pair.d_source()?)?);
            Ok(())
        })?;
        for (block, x) in self.model.encoder().iter().zip(inputs).rev() {
            let linearized = block.linearize(x, &bias)?;
            for_chunks(&mut chunks, plan, |pair: &mut Pair| {
                pair.d_source = Some(linearized.vjp(pair.d_source()?)?);
                Ok(())
            })?;
        }
        Ok(chunks)
    }
}
