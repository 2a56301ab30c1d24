//! Input x gradient for every response token: one forward pass, then all targets' vector-Jacobian products together.
//!
//! For target `t` (Shrikumar et al. 2016, arXiv:1605.01713; the scalar and the folds as Inseq 0.7.1 defines them):
//! `G_i = x_i ∘ ∂y_t/∂x_i`, where `x_i` is the embedding row of position `i` and `y_t` the target's probability, log-probability
//! or logit. A large value says that the scalar is sensitive to that row; it does not say that the row caused the token.
//!
//! How it is computed: the blocks run once and their inputs are kept. Then, from the last block to the first, each block is run
//! again at its input ([`Block::linearize`](crate::block::Block::linearize)) and the gradients of all targets pass through
//! it, a chunk of targets at a time. Where there is room, what the prompt's rows became inside the blocks is kept too, and only
//! the text's rows are run again. Rows a target cannot see are never computed.

mod encoder_decoder;

pub(super) use encoder_decoder::attribute_scored as attribute_scored_text;
pub use encoder_decoder::attribute_text;

use candle_core::{Result, Tensor};
use rayon::prelude::*;
use veridiff_text::named;

use crate::{
    block::{Block, Rotary},
    decoder::Decoder,
    language::ReadPrompt,
    past::{Keep, LayerInputs, Past},
    plan::{Footprint, Lengths, Limits, Plan},
    reading::scores::{Seed, StepScores, step_scores_and_seeds},
};

/// The scalar that is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttributedFn {
    /// The target's probability; Inseq's default and the core paper's.
    #[default]
    Probability,
    /// The target's raw logit.
    Logit,
    /// The target's log-probability.
    LogProb,
}

/// How the vector `G_i` becomes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// The Euclidean norm, ‖G_i‖₂.
    #[default]
    L2,
    /// The signed sum of `G_i`.
    Dot,
    /// The absolute value of the signed sum.
    AbsDot,
}

/// What a normalised column of an encoder-decoder is divided by (specification, section 6, question 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Denominator {
    /// The sum over the prompt, the decoder's start and earlier tokens of the text.
    #[default]
    Joint,
    /// The sum over the prompt. Earlier tokens of the text then have no attribution.
    Source,
}

named!(AttributedFn, "attributed function", "probability" => Probability, "logit" => Logit, "log-prob" => LogProb);
named!(Fold, "fold", "l2" => L2, "dot" => Dot, "abs_dot" => AbsDot);
named!(Denominator, "denominator", "joint" => Joint, "source" => Source);

impl Matrix {
    /// The columns of some targets only, positions as they were; `counted` says of each whether it stays.
    pub fn of_targets(&self, counted: &[bool]) -> Matrix {
        let columns = self.columns.iter().zip(counted).filter(|(_, keep)| **keep).map(|(column, _)| column.clone());
        let start = self.start.iter().zip(counted).filter(|(_, keep)| **keep).map(|(&v, _)| v);
        Matrix { n_prompt: self.n_prompt, columns: columns.collect(), start: start.collect() }
    }
}

impl AttributedFn {
    /// What is differentiated.
    pub(crate) fn seed(self) -> Seed {
        match self {
            AttributedFn::Logit => Seed::Logit,
            AttributedFn::Probability | AttributedFn::LogProb => Seed::LogProb,
        }
    }
}

/// The raw result for one sample: two numbers for every visible position of every target.
#[derive(Debug, Clone)]
pub struct Attribution {
    /// N, the number of prompt tokens.
    pub n_prompt: usize,
    /// The scalar that was explained.
    pub attributed_fn: AttributedFn,
    /// The targets' scores, from the same pass.
    pub scores: StepScores,
    /// `‖G_i‖₂` and `Σ G_i` of the scalar that was differentiated (log-probability for [`AttributedFn::Probability`]); column
    /// `t` has `N + t` rows.
    columns: Vec<Vec<[f64; 2]>>,
    /// The same for the decoder's start token of an encoder-decoder, one pair a target; no start, no pairs.
    start: Vec<[f64; 2]>,
}

/// A folded attribution matrix: column `t` holds positions `0..N+t`, the rest is not yet visible to target `t`.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// N, the number of prompt tokens: rows below it are source, rows from it on are earlier response tokens.
    pub n_prompt: usize,
    /// T columns, one a target; each has a value for every token before its target.
    pub columns: Vec<Vec<f64>>,
    /// The row of an encoder-decoder's start token, which is neither prompt nor text: T entries, none without such a token.
    /// It has a share of a normalised column.
    pub start: Vec<f64>,
}

/// Attributes every token of `ids[n_prompt..]` to all positions before it, without a bound on memory.
///
/// Costs about `T * (N + T/2) * 2P` operations, `P` the parameters in the blocks, plus the attention products.
///
/// # Errors
/// A tensor operation failed, or the model's logits are not finite. `ids` must hold at least one prompt token and one
/// target, else the result has no columns.
pub fn attribute(decoder: &Decoder, ids: &[u32], n_prompt: usize, attributed_fn: AttributedFn) -> Result<Attribution> {
    let n_response = ids.len().saturating_sub(n_prompt);
    if n_response == 0 || n_prompt == 0 {
        return Ok(Attribution {
            n_prompt,
            attributed_fn,
            scores: StepScores::default(),
            columns: Vec::new(),
            start: Vec::new(),
        });
    }
    let past = Past::new(decoder, &ids[..n_prompt], Keep::LayerInputs)?;
    let plan = Footprint::of_decoder(decoder).plan(Lengths { n_prompt, n_response }, true, Limits::default());
    let plan = plan.map_err(candle_core::Error::wrap)?;
    attribute_after(decoder, &past, &ids[n_prompt..], attributed_fn, &plan)
}

/// As [`attribute`], for the text `targets` `[T]` about a prompt that a model of either family has read with
/// [`Keep::LayerInputs`].
///
/// # Errors
/// As [`attribute`].
pub fn attribute_about(
    prompt: &ReadPrompt,
    targets: &[u32],
    attributed_fn: AttributedFn,
    plan: &Plan,
) -> Result<Attribution> {
    match prompt {
        ReadPrompt::Past(decoder, past) => attribute_after(decoder, past, targets, attributed_fn, plan),
        ReadPrompt::Source(model, source) => attribute_text(model, source, targets, attributed_fn, plan),
    }
}

/// As [`attribute`], for the text `targets` `[T]` behind a prompt that was run with [`Keep::LayerInputs`]; `plan` says how
/// many targets go together.
///
/// # Errors
/// As [`attribute`].
pub fn attribute_after(
    decoder: &Decoder,
    past: &Past,
    targets: &[u32],
    attributed_fn: AttributedFn,
    plan: &Plan,
) -> Result<Attribution> {
    let (hidden, inputs) = past.layer_inputs(decoder, targets)?;
    let scored = step_scores_and_seeds(decoder.head(), &hidden, targets, attributed_fn.seed())?;
    attribute_scored(decoder, (past.len(), inputs), scored, attributed_fn, plan)
}

/// The second half of [`attribute_after`]: from the inputs of the blocks behind a prompt of so many tokens, and from the text's
/// scores and seeds.
pub(super) fn attribute_scored(
    decoder: &Decoder,
    (n_prompt, inputs): (usize, LayerInputs<'_>),
    (scores, seeds): (StepScores, Tensor),
    attributed_fn: AttributedFn,
    plan: &Plan,
) -> Result<Attribution> {
    let n_targets = scores.len();
    if plan.keeps_transposed {
        decoder.keep_transposed();
    }
    let rotary = decoder.rotary(n_prompt + n_targets - 1)?;
    let sample = Sample { decoder, inputs, rotary, seeds, n_prompt };
    let mut columns = Vec::with_capacity(n_targets);
    let per_sweep = plan.targets_per_sweep.max(1);
    for first in (0..n_targets).step_by(per_sweep) {
        let last = (first + per_sweep).min(n_targets);
        let chunks = sample.pass_back(first..last, plan)?;
        let x = sample.inputs.rows(0, n_prompt + last - 1)?;
        for chunk in chunks {
            columns.extend(chunk.columns(&x, n_prompt)?);
        }
    }
    Ok(Attribution { n_prompt, attributed_fn, scores, columns, start: Vec::new() })
}

/// Consecutive targets whose gradients travel together: `d_x` is `[B, s, H]`, `s` what the last of them sees.
struct Chunk {
    first: usize,
    n_targets: usize,
    d_x: Tensor,
}

impl Chunk {
    /// Targets from number `first` on, each with its row of `seeds` `[B, H]` where it is predicted and zeros elsewhere.
    fn new(seeds: &Tensor, n_prompt: usize, first: usize) -> Result<Self> {
        let (n_targets, h) = seeds.dims2()?;
        let s = n_prompt + first + n_targets - 1;
        let rows = (0..n_targets)
            .map(|b| {
                let row = seeds.narrow(0, b, 1)?;
                let before = n_prompt + first + b - 1;
                let zeros = |n: usize| Tensor::zeros((n, h), seeds.dtype(), seeds.device());
                Tensor::cat(&[zeros(before)?, row, zeros(s - before - 1)?], 0)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Chunk { first, n_targets, d_x: Tensor::stack(&rows, 0)? })
    }

    /// Norm and sum of `x ∘ gradient` for every position that each target sees.
    fn columns(&self, x: &Tensor, n_prompt: usize) -> Result<Vec<Vec<[f64; 2]>>> {
        let s = self.d_x.dim(1)?;
        let pairs = crate::ops::input_x_gradient(&x.narrow(0, 0, s)?, &self.d_x)?;
        Ok((0..self.n_targets).map(|b| pairs[b * s..][..n_prompt + self.first + b].to_vec()).collect())
    }
}

/// What all targets of a sample share.
struct Sample<'a> {
    decoder: &'a Decoder,
    inputs: LayerInputs<'a>,
    rotary: Rotary,
    /// Gradient of each target's scalar with respect to the row that predicts it, `[T, H]`.
    seeds: Tensor,
    n_prompt: usize,
}

impl<'a> Sample<'a> {
    /// Takes the gradients of `targets` from the last block's output to the embedded rows.
    fn pass_back(&self, targets: std::ops::Range<usize>, plan: &Plan) -> Result<Vec<Chunk>> {
        let longest = self.n_prompt + targets.end - 1;
        let rotary = self.rotary.rows(0, longest)?;
        let Some((last, others)) = self.decoder.blocks().split_last() else {
            candle_core::bail!("a model without blocks");
        };
        let linearize = |layer: usize, block: &'a Block| {
            block.linearize_behind(self.inputs.insides(layer), &self.inputs.rows(layer, longest)?, &rotary)
        };
        let linearized = linearize(others.len(), last)?;
        // behind the last block's attention, a gradient is zero but in the row that predicts its target
        let seeds = self.seeds.narrow(0, targets.start, targets.len())?;
        let seeds = linearized.feed_forward_vjp(&seeds, self.n_prompt + targets.start - 1)?;
        let per_chunk = plan.targets_per_chunk.max(1);
        let mut chunks = (0..targets.len())
            .step_by(per_chunk)
            .map(|first| {
                let seeds = seeds.narrow(0, first, per_chunk.min(targets.len() - first))?;
                Chunk::new(&seeds, self.n_prompt, targets.start + first)
            })
            .collect::<Result<Vec<_>>>()?;
        for_chunks(&mut chunks, plan, |chunk: &mut Chunk| {
            chunk.d_x = linearized.attention_vjp(&chunk.d_x)?;
            Ok(())
        })?;
        drop(linearized);
        for (layer, block) in others.iter().enumerate().rev() {
            let linearized = linearize(layer, block)?;
            for_chunks(&mut chunks, plan, |chunk: &mut Chunk| {
                chunk.d_x = linearized.vjp(&chunk.d_x)?;
                Ok(())
            })?;
        }
        Ok(chunks)
    }
}

/// Takes all chunks through a block. They do not depend on each other: one core takes one chunk through without waiting for
/// the others.
fn for_chunks<C: Send>(chunks: &mut [C], plan: &Plan, step: impl Fn(&mut C) -> Result<()> + Send + Sync) -> Result<()> {
    match plan.chunks_in_flight {
        0 | 1 => chunks.iter_mut().try_for_each(step),
        n if n >= rayon::current_num_threads() => chunks.par_iter_mut().try_for_each(step),
        n => chunks.chunks_mut(n).try_for_each(|some| some.par_iter_mut().try_for_each(&step)),
    }
}

impl Attribution {
    /// The matrix under a fold; `normalize` divides each column by its L1 sum (specification, section 3).
    ///
    /// For [`AttributedFn::Probability`] raw values are those of the log-probability times the probability, since
    /// `∂p = p ∂ln p`; a normalised column needs no factor and always sums to one, however small the probability. A column
    /// of zeros stays zero.
    pub fn matrix(&self, fold: Fold, normalize: bool) -> Matrix {
        let value = |&[l2, dot]: &[f64; 2]| match fold {
            Fold::L2 => l2,
            Fold::Dot => dot,
            Fold::AbsDot => dot.abs(),
        };
        let mut start: Vec<f64> = self.start.iter().map(value).collect();
        let columns = self.columns.iter().zip(&self.scores.probability).enumerate().map(|(t, (column, &p))| {
            let factor = if self.attributed_fn == AttributedFn::Probability && !normalize { p } else { 1.0 };
            let mut column: Vec<f64> = column.iter().map(value).collect();
            let total: f64 = column.iter().chain(start.get(t)).map(|v| v.abs()).sum();
            let divisor = if normalize && total > 0.0 { total } else { 1.0 };
            column.iter_mut().chain(start.get_mut(t)).for_each(|v| *v = factor * *v / divisor);
            column
        });
        let columns = columns.collect();
        Matrix { n_prompt: self.n_prompt, columns, start }
    }

    /// Without the rows of the text and of the decoder's start: normalised columns are then shares among the prompt's tokens, as
    /// Inseq gives them with `attribute_target=False` (specification, section 6). The text's own attribution is gone.
    pub fn prompt_only(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.truncate(self.n_prompt));
        self.start.clear();
        self
    }
}
