//! T5's layers as differentiable blocks: each is a residual around an RMS norm and attention or a feed-forward network, linearised
//! at its input and then taken backwards for many targets at once, as [`crate::block`] does.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use super::config::{FeedForwardKind, T5Config};
use crate::ops::{self, Attention, BiasedShape, Gate, KeyGroups, MlpGradient, NormAt, Precision, Weight};

/// `x + o(attention(q(norm(x)), kv(norm(x) or a memory)))`.
#[derive(Debug)]
struct AttentionLayer {
    norm: Tensor,
    q: Weight,
    /// Keys and values stacked.
    kv: Weight,
    output: Weight,
    shape: BiasedShape,
    eps: f64,
    precision: Precision,
}

/// Where keys and values come from.
#[derive(Clone, Copy)]
enum Over<'a> {
    /// The normed rows themselves, with biases by distance `[heads, 2S - 1]`.
    Itself(&'a Tensor),
    /// Rows `[K, 2W]` of [`AttentionLayer::memory`].
    Memory(&'a Tensor),
}

impl AttentionLayer {
    /// `vb` is at the layer, whose attention is called `name`.
    fn new(config: &T5Config, vb: &VarBuilder, name: &str, causal: bool, precision: Precision) -> Result<Self> {
        let (h, w) = (config.d_model, config.heads_width());
        let attention = vb.pp(name);
        let weight = |name: &str, shape: (usize, usize)| attention.get(shape, &format!("{name}.weight"));
        let kv = Tensor::cat(&[weight("k", (w, h))?, weight("v", (w, h))?], 0)?;
        Ok(AttentionLayer {
            norm: vb.get(h, "layer_norm.weight")?,
            q: Weight::new(&weight("q", (w, h))?, precision)?,
            kv: Weight::new(&kv, precision)?,
            output: Weight::new(&weight("o", (h, w))?, precision)?,
            shape: BiasedShape { n_heads: config.num_heads, head_dim: config.d_kv, causal },
            eps: config.layer_norm_epsilon,
            precision,
        })
    }

    /// Keys and values `[K, 2W]` of rows `[K, H]` that this layer looks at.
    fn memory(&self, rows: &Tensor) -> Result<Tensor> {
        self.kv.linear(rows, None)
    }

    /// Queries, keys and values, and attention over them.
    fn attend(&self, x: &Tensor, over: Over<'_>, keep: bool) -> Result<(Tensor, Tensor, Attention)> {
        let normed = ops::rms_norm(x, &self.norm, self.eps)?;
        let q = self.q.linear(&normed, None)?;
        let (kv, bias) = match over {
            Over::Itself(bias) => (self.kv.linear(&normed, None)?, Some(bias)),
            Over::Memory(memory) => (memory.clone(), None),
        };
        let attention = ops::biased_attention(&q, &kv, bias, self.shape, keep, self.precision)?;
        Ok((q, kv, attention))
    }

    fn keep_transposed(&self) {
        [&self.q, &self.kv, &self.output].into_iter().for_each(Weight::keep_transposed);
    }

    fn forward(&self, x: &Tensor, over: Over<'_>) -> Result<Tensor> {
        self.output.linear_onto(x, &self.attend(x, over, false)?.2.out, None)
    }

    /// As [`Self::forward`], and the attention added up over groups of keys, `[heads, S, G]`.
    fn forward_by_group(&self, x: &Tensor, over: Over<'_>, groups: KeyGroups<'_>) -> Result<(Tensor, Vec<f64>)> {
        let (q, kv, attention) = self.attend(x, over, false)?;
        let bias = match over {
            Over::Itself(bias) => Some(bias),
            Over::Memory(_) => None,
        };
        let sums = ops::biased_attention_by_group(&q, &kv, bias, self.shape, groups, self.precision)?;
        Ok((self.output.linear_onto(x, &attention.out, None)?, sums))
    }

    /// What gradients at `x` need, and the layer's output there.
    fn linearize(&self, x: &Tensor, over: Over<'_>) -> Result<(LinearizedAttention<'_>, Tensor)> {
        let (q, kv, attention) = self.attend(x, over, true)?;
        let y = self.output.linear_onto(x, &attention.out, None)?;
        let linearized = LinearizedAttention {
            layer: self,
            norm: NormAt::new(x, &self.norm, self.eps),
            q,
            kv,
            attention,
            q_weight: self.q.transposed(),
            kv_weight: self.kv.transposed(),
            output: self.output.transposed(),
        };
        Ok((linearized, y))
    }
}

struct LinearizedAttention<'a> {
    layer: &'a AttentionLayer,
    norm: NormAt,
    q: Tensor,
    kv: Tensor,
    attention: Attention,
    q_weight: Weight,
    kv_weight: Weight,
    output: Weight,
}

impl LinearizedAttention<'_> {
    /// Gradients by the queries `[B, s, W]` and by the keys and values, `[B, _, 2W]`.
    fn attention_vjp(&self, dy: &Tensor) -> Result<(Tensor, Tensor)> {
        let d_out = self.output.linear(dy, None)?;
        ops::biased_attention_vjp(&self.q, &self.kv, &self.attention, self.layer.shape, &d_out)
    }

    /// Gradient by `x` of attention over itself.
    fn vjp_itself(&self, dy: &Tensor) -> Result<Tensor> {
        let (d_q, d_kv) = self.attention_vjp(dy)?;
        self.norm.vjp(&self.kv_weight.linear_onto(&self.q_weight.linear(&d_q, None)?, &d_kv, None)?, dy)
    }

    /// Gradients by `x` and by the memory's rows of attention over a memory.
    fn vjp_memory(&self, dy: &Tensor) -> Result<(Tensor, Tensor)> {
        let (d_q, d_kv) = self.attention_vjp(dy)?;
        Ok((self.norm.projection_vjp(&self.q_weight, &d_q, dy)?, self.kv_weight.linear(&d_kv, None)?))
    }
}

/// `x + wo(hidden(norm(x)))`.
#[derive(Debug)]
struct FeedForward {
    norm: Tensor,
    hidden: Hidden,
    down: Weight,
    eps: f64,
}

#[derive(Debug)]
enum Hidden {
    Relu(Weight),
    Gated(Gate, [Weight; 2]),
}

impl FeedForward {
    fn new(config: &T5Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        let (h, f) = (config.d_model, config.d_ff);
        let network = vb.pp("DenseReluDense");
        let weight =
            |name: &str, shape: (usize, usize)| Weight::new(&network.get(shape, &format!("{name}.weight"))?, precision);
        let hidden = match config.feed_forward {
            FeedForwardKind::Relu => Hidden::Relu(weight("wi", (f, h))?),
            FeedForwardKind::Gated(act) => Hidden::Gated(act, [weight("wi_0", (f, h))?, weight("wi_1", (f, h))?]),
        };
        Ok(FeedForward {
            norm: vb.get(h, "layer_norm.weight")?,
            hidden,
            down: weight("wo", (h, f))?,
            eps: config.layer_norm_epsilon,
        })
    }

    fn keep_transposed(&self) {
        self.down.keep_transposed();
        match &self.hidden {
            Hidden::Relu(up) => up.keep_transposed(),
            Hidden::Gated(_, [gate, up]) => [gate, up].into_iter().for_each(Weight::keep_transposed),
        }
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let normed = ops::rms_norm(x, &self.norm, self.eps)?;
        let hidden = match &self.hidden {
            Hidden::Relu(up) => up.linear(&normed, None)?.relu()?,
            Hidden::Gated(act, [gate, up]) => {
                ops::gated(*act, &gate.linear(&normed, None)?, &up.linear(&normed, None)?)?
            }
        };
        self.down.linear_onto(x, &hidden, None)
    }

    fn linearize(&self, x: &Tensor) -> Result<MlpGradient> {
        let normed = ops::rms_norm(x, &self.norm, self.eps)?;
        let norm = NormAt::new(x, &self.norm, self.eps);
        match &self.hidden {
            Hidden::Relu(up) => MlpGradient::relu(norm, &self.down, up, &up.linear(&normed, None)?),
            Hidden::Gated(act, [gate, up]) => {
                let (gate_x, up_x) = (gate.linear(&normed, None)?, up.linear(&normed, None)?);
                MlpGradient::gated(*act, norm, &self.down, [gate, up], [&gate_x, &up_x])
            }
        }
    }
}

/// A block of the encoder: every row sees every row.
#[derive(Debug)]
pub struct EncoderBlock {
    attention: AttentionLayer,
    feed_forward: FeedForward,
}

impl EncoderBlock {
    /// Loads a block; `vb` is at `encoder.block.I.layer`.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(config: &T5Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        Ok(EncoderBlock {
            attention: AttentionLayer::new(config, &vb.pp(0), "SelfAttention", false, precision)?,
            feed_forward: FeedForward::new(config, &vb.pp(1), precision)?,
        })
    }

    /// Keeps the transposed weights that gradients need, see [`Weight::keep_transposed`].
    pub fn keep_transposed(&self) {
        self.attention.keep_transposed();
        self.feed_forward.keep_transposed();
    }

    /// `x` `[N, H]` to `[N, H]`, with the stack's biases by distance `[heads, 2N - 1]`.
    pub fn forward(&self, x: &Tensor, bias: &Tensor) -> Result<Tensor> {
        self.feed_forward.forward(&self.attention.forward(x, Over::Itself(bias))?)
    }

    /// Runs the block at `x` and keeps what gradients at this point need.
    pub fn linearize(&self, x: &Tensor, bias: &Tensor) -> Result<LinearizedEncoderBlock<'_>> {
        let (attention, middle) = self.attention.linearize(x, Over::Itself(bias))?;
        Ok(LinearizedEncoderBlock { attention, feed_forward: self.feed_forward.linearize(&middle)? })
    }
}

/// An [`EncoderBlock`] at one input.
pub struct LinearizedEncoderBlock<'a> {
    attention: LinearizedAttention<'a>,
    feed_forward: MlpGradient,
}

impl LinearizedEncoderBlock<'_> {
    /// Vector-Jacobian product: `dy` `[B, N, H]`, one slice per target, to the gradient with respect to `x`.
    pub fn vjp(&self, dy: &Tensor) -> Result<Tensor> {
        self.attention.vjp_itself(&self.feed_forward.vjp(dy, 0)?)
    }
}

/// A block of the decoder: rows see the rows up to their own, and all of the encoder's output.
#[derive(Debug)]
pub struct DecoderBlock {
    attention: AttentionLayer,
    cross: AttentionLayer,
    feed_forward: FeedForward,
}

impl DecoderBlock {
    /// Loads a block; `vb` is at `decoder.block.I.layer`.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(config: &T5Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        Ok(DecoderBlock {
            attention: AttentionLayer::new(config, &vb.pp(0), "SelfAttention", true, precision)?,
            cross: AttentionLayer::new(config, &vb.pp(1), "EncDecAttention", false, precision)?,
            feed_forward: FeedForward::new(config, &vb.pp(2), precision)?,
        })
    }

    /// Keeps the transposed weights that gradients need, see [`Weight::keep_transposed`].
    pub fn keep_transposed(&self) {
        self.attention.keep_transposed();
        self.cross.keep_transposed();
        self.feed_forward.keep_transposed();
    }

    /// Keys and values `[N, 2W]` of the encoder's output `[N, H]`; every text about one source shares them.
    pub fn memory(&self, encoded: &Tensor) -> Result<Tensor> {
        self.cross.memory(encoded)
    }

    /// `x` `[S, H]` to `[S, H]`, with the stack's biases by distance `[heads, 2S - 1]` and this block's [`Self::memory`].
    pub fn forward(&self, x: &Tensor, bias: &Tensor, memory: &Tensor) -> Result<Tensor> {
        let x = self.attention.forward(x, Over::Itself(bias))?;
        self.feed_forward.forward(&self.cross.forward(&x, Over::Memory(memory))?)
    }

    /// As [`Self::forward`], and its attention added up over groups of keys: `[heads, S, G]` over the decoder's own rows, whose
    /// groups are `own`, and over the encoder's, whose groups are `source`.
    ///
    /// # Errors
    /// As [`ops::biased_attention_by_group`].
    pub fn forward_by_group(
        &self,
        x: &Tensor,
        bias: &Tensor,
        memory: &Tensor,
        [own, source]: [KeyGroups<'_>; 2],
    ) -> Result<(Tensor, [Vec<f64>; 2])> {
        let (x, of_own) = self.attention.forward_by_group(x, Over::Itself(bias), own)?;
        let (x, of_source) = self.cross.forward_by_group(&x, Over::Memory(memory), source)?;
        Ok((self.feed_forward.forward(&x)?, [of_own, of_source]))
    }

    /// Runs the block at `x` and keeps what gradients at this point need.
    pub fn linearize(&self, x: &Tensor, bias: &Tensor, memory: &Tensor) -> Result<LinearizedDecoderBlock<'_>> {
        let (attention, x) = self.attention.linearize(x, Over::Itself(bias))?;
        let (cross, x) = self.cross.linearize(&x, Over::Memory(memory))?;
        Ok(LinearizedDecoderBlock { attention, cross, feed_forward: self.feed_forward.linearize(&x)? })
    }
}

/// A [`DecoderBlock`] at one input.
pub struct LinearizedDecoderBlock<'a> {
    attention: LinearizedAttention<'a>,
    cross: LinearizedAttention<'a>,
    feed_forward: MlpGradient,
}

impl LinearizedDecoderBlock<'_> {
    /// Vector-Jacobian product: `dy` `[B, s, H]`, one slice per target, to the gradients with respect to `x`, of the same
    /// shape, and to the encoder's output, `[B, N, H]`. `s` may be less than the sequence (causality).
    pub fn vjp(&self, dy: &Tensor) -> Result<(Tensor, Tensor)> {
        let (dy, d_encoded) = self.cross.vjp_memory(&self.feed_forward.vjp(dy, 0)?)?;
        Ok((self.attention.vjp_itself(&dy)?, d_encoded))
    }
}

#[cfg(test)]
mod tests;
