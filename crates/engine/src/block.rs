//! One decoder layer as a differentiable block: [`Block::linearize`] runs it and keeps what its gradient needs,
//! [`Linearized::vjp`] takes gradients of many targets through it at once.
//!
//! Llama, Qwen2 and Qwen3 are this one block with or without biases on q, k, v and norms on the heads.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use crate::{
    architectures::config::{Config, Rope, RopeScaling},
    files::stored::StoredWeights,
    ops::{self, Attention, Gate, HeadLayout, KeyGroups, MlpGradient, NormAt, Precision, Weight},
};

/// A weight `[out, in]` and a bias `[out]` where the architecture has one.
#[derive(Debug)]
struct Linear {
    weight: Weight,
    bias: Option<Tensor>,
}

impl Linear {
    /// Several projections of one input stacked into a single product: `parts` are names and their output widths.
    fn stacked(
        vb: &VarBuilder,
        parts: &[(&str, usize)],
        input: usize,
        bias: bool,
        precision: Precision,
        stored: Option<&StoredWeights>,
    ) -> Result<Self> {
        let load = |suffix: &str, shape: fn(usize, usize) -> Vec<usize>| {
            let tensors: Vec<Tensor> = parts
                .iter()
                .map(|&(name, out)| vb.get(shape(out, input), &format!("{name}.{suffix}")))
                .collect::<Result<_>>()?;
            if let [one] = &tensors[..] { Ok(one.clone()) } else { Tensor::cat(&tensors, 0) }
        };
        let named = parts.iter().map(|(name, out)| (format!("{}.{name}.weight", vb.prefix()), *out));
        let weight = match stored.and_then(|stored| stored.matrix(&named.collect::<Vec<_>>(), input)) {
            Some(rows) => Weight::stored(rows, vb.dtype(), precision),
            None => Weight::new(&load("weight", |out, input| vec![out, input])?, precision)?,
        };
        let bias = if bias { Some(load("bias", |out, _| vec![out])?) } else { None };
        Ok(Linear { weight, bias })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.weight.linear(x, self.bias.as_ref())
    }

    /// Added to `residual`.
    fn forward_onto(&self, residual: &Tensor, x: &Tensor) -> Result<Tensor> {
        self.weight.linear_onto(residual, x, self.bias.as_ref())
    }
}

/// Cosines and sines of every position, `[S, head_dim / 2]` each.
#[derive(Debug, Clone)]
pub struct Rotary {
    cos: Tensor,
    sin: Tensor,
}

impl Rotary {
    /// Tables for positions `0..s`. Angles are rounded to f32 at the same places as in the reference implementation,
    /// whatever `like`'s dtype, because at long positions that rounding is visible in the scores.
    pub fn new(config: &Config, s: usize, like: &Tensor) -> Result<Self> {
        Rotary::at(config, 0, s, like)
    }

    /// As [`Rotary::new`] for positions `start..start + n`.
    pub fn at(config: &Config, start: usize, n: usize, like: &Tensor) -> Result<Self> {
        let frequencies = inverse_frequencies(&config.rope, config.head_dim);
        let angles = (start..start + n).flat_map(|p| frequencies.iter().map(move |f| f64::from(p as f32 * f)));
        let (cos, sin): (Vec<f64>, Vec<f64>) = angles.map(|a| (a.cos(), a.sin())).unzip();
        let table = |v| Tensor::from_vec(v, (n, frequencies.len()), like.device())?.to_dtype(like.dtype());
        Ok(Rotary { cos: table(cos)?, sin: table(sin)? })
    }

    /// The tables of some positions after others.
    pub(crate) fn cat(parts: &[Rotary]) -> Result<Self> {
        let all = |of: fn(&Rotary) -> &Tensor| Tensor::cat(&parts.iter().map(of).collect::<Vec<_>>(), 0);
        Ok(Rotary { cos: all(|part| &part.cos)?, sin: all(|part| &part.sin)? })
    }

    /// The tables of positions `start..start + n`.
    pub fn rows(&self, start: usize, n: usize) -> Result<Self> {
        Ok(Rotary { cos: self.cos.narrow(0, start, n)?, sin: self.sin.narrow(0, start, n)? })
    }
}

/// `theta^(-2i/d)` for `i` in `0..d/2`, changed as the checkpoint's scaling says.
pub(crate) fn inverse_frequencies(rope: &Rope, head_dim: usize) -> Vec<f32> {
    (0..head_dim / 2)
        .map(|i| {
            let exponent = (2 * i) as f32 / head_dim as f32;
            let f = 1.0 / (rope.theta as f32).powf(exponent);
            match rope.scaling {
                RopeScaling::None => f,
                RopeScaling::Linear { factor } => f / factor as f32,
                RopeScaling::Llama3 {
                    factor,
                    low_freq_factor,
                    high_freq_factor,
                    original_max_position_embeddings: original,
                } => {
                    let wavelength = 2.0 * std::f64::consts::PI / f64::from(f);
                    if wavelength < original / high_freq_factor {
                        f
                    } else if wavelength > original / low_freq_factor {
                        f / factor as f32
                    } else {
                        let smooth = (original / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
                        ((1.0 - smooth) * f64::from(f) / factor + smooth * f64::from(f)) as f32
                    }
                }
            }
        })
        .collect()
}

/// One layer: attention and a gated feed-forward network, each after an RMS norm and around a residual.
#[derive(Debug)]
pub struct Block {
    attention_norm: Tensor,
    qkv: Linear,
    head_norms: Option<(Tensor, Tensor)>,
    output: Linear,
    mlp_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
    eps: f64,
    heads: HeadLayout,
    precision: Precision,
}

impl Block {
    /// Loads layer weights under their Hugging Face names; `vb` is at `model.layers.I`. Products are worked out in
    /// `precision`.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(config: &Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        Block::with_stored(config, vb, precision, None)
    }

    /// As [`Block::new`], with panels made of what a file holds where it can be read in pieces.
    pub(crate) fn with_stored(
        config: &Config,
        vb: &VarBuilder,
        precision: Precision,
        stored: Option<&StoredWeights>,
    ) -> Result<Self> {
        let (h, f, d) = (config.hidden_size, config.intermediate_size, config.head_dim);
        let heads = HeadLayout {
            n_heads: config.num_attention_heads,
            n_kv_heads: config.num_key_value_heads,
            head_dim: d,
            window: config.sliding_window,
        };
        let (q, kv) = (heads.n_heads * d, heads.n_kv_heads * d);
        let attention = vb.pp("self_attn");
        let mlp = vb.pp("mlp");
        let stacked = |vb: &VarBuilder, parts: &[(&str, usize)], input, bias| {
            Linear::stacked(vb, parts, input, bias, precision, stored)
        };
        Ok(Block {
            attention_norm: vb.get(h, "input_layernorm.weight")?,
            qkv: stacked(&attention, &[("q_proj", q), ("k_proj", kv), ("v_proj", kv)], h, config.qkv_bias)?,
            head_norms: if config.qk_norm {
                Some((attention.get(d, "q_norm.weight")?, attention.get(d, "k_norm.weight")?))
            } else {
                None
            },
            output: stacked(&attention, &[("o_proj", h)], q, config.o_bias)?,
            mlp_norm: vb.get(h, "post_attention_layernorm.weight")?,
            gate: stacked(&mlp, &[("gate_proj", f)], h, config.mlp_bias)?,
            up: stacked(&mlp, &[("up_proj", f)], h, config.mlp_bias)?,
            down: stacked(&mlp, &[("down_proj", h)], f, config.mlp_bias)?,
            eps: config.rms_norm_eps,
            heads,
            precision,
        })
    }

    /// Keeps the transposed weights that gradients need, see [`Weight::keep_transposed`].
    pub fn keep_transposed(&self) {
        let linears = [&self.qkv, &self.output, &self.gate, &self.up, &self.down];
        linears.iter().for_each(|linear| linear.weight.keep_transposed());
    }

    /// `x` `[S, H]` to `[S, H]`, keeping nothing.
    pub fn forward(&self, x: &Tensor, rotary: &Rotary) -> Result<Tensor> {
        Ok(self.pass(x, None, rotary)?.y)
    }

    /// As [`Block::forward`] for rows `x` `[R, H]` that may follow others, of which `past` `[P, 2 n_kv head_dim]` holds
    /// the keys and values; `rotary` has the positions of `x`'s rows.
    pub fn pass(&self, x: &Tensor, past: Option<&Tensor>, rotary: &Rotary) -> Result<Passed<'_>> {
        self.pass_by(x, rotary, |qkv| match past {
            None => Ok(ops::attention(qkv, self.heads, false, self.precision)?.out),
            Some(past) => ops::attention_after(qkv, past, self.heads, self.precision),
        })
    }

    /// As [`Block::pass`] for rows of several runs put together, none of which is empty: products are of all rows at once, and each
    /// run sees `past`, the rows of the first run that it branches off behind, and itself.
    pub(crate) fn pass_runs(&self, x: &Tensor, past: &Tensor, rotary: &Rotary, runs: &[Run]) -> Result<Tensor> {
        let (all, kept) = (self.heads.width(), self.heads.past_width());
        let passed = self.pass_by(x, rotary, |qkv| {
            let trunk = qkv.narrow(1, all - kept, kept)?;
            let mut start = 0;
            let outs = runs.iter().map(|run| {
                let own = qkv.narrow(0, start, run.rows)?;
                start += run.rows;
                let past = match run.behind {
                    0 => past.clone(),
                    behind => Tensor::cat(&[past, &trunk.narrow(0, 0, behind)?], 0)?,
                };
                ops::attention_after(&own, &past, self.heads, self.precision)
            });
            Tensor::cat(&outs.collect::<Result<Vec<_>>>()?, 0)
        })?;
        Ok(passed.y)
    }

    fn pass_by(
        &self,
        x: &Tensor,
        rotary: &Rotary,
        attend: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Passed<'_>> {
        let (qkv, unnormed) = self.rotated(x, rotary)?;
        let middle = self.output.forward_onto(x, &attend(&qkv)?)?;
        let [gate, up] = self.gate_and_up(&middle)?;
        let y = self.down.forward_onto(&middle, &ops::gated(Gate::Silu, &gate, &up)?)?;
        Ok(Passed { y, block: self, qkv, unnormed, middle, gate, up })
    }

    /// Attention of some rows added up over groups of keys, `[n_heads, T, G]`: rows whose rotated queries are `queries`
    /// `[T, n_heads head_dim]` and which are the last of those that `keys_values` `[K, 2 n_kv head_dim]` belong to. See
    /// [`Passed::queries`] and [`Passed::keys_values`].
    ///
    /// # Errors
    /// As [`ops::attention_by_group`].
    pub fn attention_by_group(
        &self,
        queries: &Tensor,
        keys_values: &Tensor,
        groups: KeyGroups<'_>,
    ) -> Result<Vec<f64>> {
        ops::attention_by_group(queries, keys_values, self.heads, groups, self.precision)
    }

    /// What goes into the hidden units, from the sum after the attention.
    fn gate_and_up(&self, middle: &Tensor) -> Result<[Tensor; 2]> {
        let normed = ops::rms_norm(middle, &self.mlp_norm, self.eps)?;
        Ok([self.gate.forward(&normed)?, self.up.forward(&normed)?])
    }

    /// Rotated query, key and value rows `[S, W]`; the rows before [`ops::head_norm`] too where the block has one.
    fn rotated(&self, x: &Tensor, rotary: &Rotary) -> Result<(Tensor, Option<Tensor>)> {
        let qkv = self.qkv.forward(&ops::rms_norm(x, &self.attention_norm, self.eps)?)?;
        match &self.head_norms {
            None => Ok((ops::rope(&qkv, &rotary.cos, &rotary.sin, self.heads)?, None)),
            Some((wq, wk)) => {
                let normed = ops::head_norm(&qkv, wq, wk, self.eps, self.heads)?;
                Ok((ops::rope(&normed, &rotary.cos, &rotary.sin, self.heads)?, Some(qkv)))
            }
        }
    }

    /// Runs the block at `x` `[S, H]` and keeps what gradients at this point need; the block's own output is not
    /// computed, because no gradient uses it.
    pub fn linearize(&self, x: &Tensor, rotary: &Rotary) -> Result<Linearized<'_>> {
        self.linearize_behind(None, x, rotary)
    }

    /// As [`Block::linearize`], where a forward pass through the first rows of `x` has kept its insides: they are not worked out
    /// again. The result is the same to the last bit.
    pub fn linearize_behind(&self, known: Option<&Insides>, x: &Tensor, rotary: &Rotary) -> Result<Linearized<'_>> {
        let s = x.dim(0)?;
        // at least one row is new, so that nothing below is empty
        let n = known.map_or(Ok(0), |known| known.middle.dim(0))?.min(s.saturating_sub(1));
        let known = known.filter(|_| n > 0);
        let behind = |known: Option<&Tensor>, new: Tensor| match known {
            Some(known) => Tensor::cat(&[&known.narrow(0, 0, n)?, &new], 0),
            None => Ok(new),
        };
        let new = |all: &Tensor| all.narrow(0, n, s - n);
        let (qkv, unnormed) = self.rotated(&new(x)?, &rotary.rows(n, s - n)?)?;
        let qkv = behind(known.map(|known| &known.qkv), qkv)?;
        let of_known = known.and_then(|known| known.unnormed.as_ref());
        let unnormed = unnormed.map(|unnormed| behind(of_known, unnormed)).transpose()?;
        let attention = ops::attention(&qkv, self.heads, true, self.precision)?;
        let middle = self.output.forward_onto(&new(x)?, &new(&attention.out)?)?;
        let [gate, up] = self.gate_and_up(&middle)?;
        let middle = behind(known.map(|known| &known.middle), middle)?;
        let (d_gate, d_up) = ops::gated_jacobian(Gate::Silu, &gate, &up)?;
        let [of_gate, of_up] = match known {
            Some(known) => [vec![known.d_gate.narrow(0, 0, n)?, d_gate], vec![known.d_up.narrow(0, 0, n)?, d_up]],
            None => [vec![d_gate], vec![d_up]],
        };
        let branches = vec![(self.gate.weight.transposed(), of_gate), (self.up.weight.transposed(), of_up)];
        let norm = NormAt::new(&middle, &self.mlp_norm, self.eps);
        Ok(Linearized {
            block: self,
            rotary: rotary.clone(),
            norm: NormAt::new(x, &self.attention_norm, self.eps),
            unnormed,
            qkv,
            attention,
            mlp: MlpGradient::new(norm, &self.down.weight, branches),
            output: self.output.weight.transposed(),
            qkv_weight: self.qkv.weight.transposed(),
        })
    }
}

/// One of several runs of rows that share a past.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// How many rows of the first run come before it.
    pub(crate) behind: usize,
    /// How many rows it has.
    pub(crate) rows: usize,
}

/// Rows that went through a block.
#[derive(Debug)]
pub struct Passed<'a> {
    /// The block's output `[R, H]`.
    pub y: Tensor,
    block: &'a Block,
    unnormed: Option<Tensor>,
    qkv: Tensor,
    middle: Tensor,
    gate: Tensor,
    up: Tensor,
}

impl Passed<'_> {
    /// The rows' rotated keys and values `[R, 2 n_kv head_dim]`.
    pub fn keys_values(&self) -> Result<Tensor> {
        let (all, wanted) = (self.block.heads.width(), self.block.heads.past_width());
        self.qkv.narrow(1, all - wanted, wanted)?.contiguous()
    }

    /// The rotated queries `[n, n_heads head_dim]` of the last `n` rows.
    pub fn queries(&self, n: usize) -> Result<Tensor> {
        let (rows, width) = (self.qkv.dim(0)?, self.block.heads.width() - self.block.heads.past_width());
        // not `contiguous`, by which one row would share, and keep alive, all of them
        self.qkv.narrow(0, rows - n, n)?.narrow(1, 0, width)?.force_contiguous()
    }

    /// What a later [`Block::linearize_behind`] needs of these rows.
    pub fn into_insides(self) -> Result<Insides> {
        let (d_gate, d_up) = ops::gated_jacobian(Gate::Silu, &self.gate, &self.up)?;
        Ok(Insides { unnormed: self.unnormed, qkv: self.qkv, middle: self.middle, d_gate, d_up })
    }
}

/// What gradients need of rows inside a block, as far as it does not depend on later rows.
#[derive(Debug)]
pub struct Insides {
    /// Rows before the heads' norms, where the block has these, `[R, W]`.
    unnormed: Option<Tensor>,
    /// Rotated queries, keys and values `[R, W]`.
    qkv: Tensor,
    /// The sum after the attention `[R, H]`.
    middle: Tensor,
    /// The hidden units' derivatives `[R, F]`.
    d_gate: Tensor,
    d_up: Tensor,
}

/// A block at one input: everything that the gradients of all targets share.
pub struct Linearized<'a> {
    block: &'a Block,
    rotary: Rotary,
    norm: NormAt,
    unnormed: Option<Tensor>,
    qkv: Tensor,
    attention: Attention,
    mlp: MlpGradient,
    output: Weight,
    qkv_weight: Weight,
}

impl Linearized<'_> {
    /// Vector-Jacobian product: `dy` `[B, s, H]`, one slice per target, to the gradient with respect to `x`, of the same
    /// shape. `s` may be less than the sequence: rows a target cannot see carry no gradient (causality).
    pub fn vjp(&self, dy: &Tensor) -> Result<Tensor> {
        self.attention_vjp(&self.mlp.vjp(dy, 0)?)
    }

    /// The second half of [`Linearized::vjp`] backwards: from the block's output to the sum after its attention, for rows
    /// `first..first + n` of one gradient `dy` `[n, H]`. Rows do not mix here.
    pub fn feed_forward_vjp(&self, dy: &Tensor, first: usize) -> Result<Tensor> {
        self.mlp.vjp(&dy.unsqueeze(0)?, first)?.squeeze(0)
    }

    /// The first half of [`Linearized::vjp`]: from the sum after the attention to `x`.
    pub fn attention_vjp(&self, dy: &Tensor) -> Result<Tensor> {
        let block = self.block;
        let s = dy.dim(1)?;
        let d_out = self.output.linear(dy, None)?;
        let rotary = self.rotary.rows(0, s)?;
        let angles = Some([&rotary.cos, &rotary.sin]);
        let mut d_qkv = ops::attention_vjp(&self.qkv, &self.attention, block.heads, &d_out, angles)?;
        if let (Some((wq, wk)), Some(unnormed)) = (&block.head_norms, &self.unnormed) {
            d_qkv = ops::head_norm_vjp(&unnormed.narrow(0, 0, s)?, wq, wk, block.eps, block.heads, &d_qkv)?;
        }
        self.norm.projection_vjp(&self.qkv_weight, &d_qkv, dy)
    }
}

#[cfg(test)]
mod tests;
