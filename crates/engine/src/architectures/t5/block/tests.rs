//! Blocks of both stacks against T5's definition in candle's own operations, and their gradients, cross-attention's included,
//! against central differences in f64. No width is a multiple of a vector register, and heads are together wider than the
//! residual stream.

use std::collections::HashMap;

use candle_core::{D, DType, Device};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const KINDS: [FeedForwardKind; 3] =
    [FeedForwardKind::Relu, FeedForwardKind::Gated(Gate::GeluNew), FeedForwardKind::Gated(Gate::Silu)];
/// Source rows, text rows, targets, and how many text rows these see. More than one tile of attention (64) on either side.
const SIZES: [(usize, usize, usize, usize); 4] = [(70, 5, 2, 5), (9, 67, 2, 67), (67, 70, 3, 65), (5, 3, 2, 1)];
const H: usize = 20;

/// Independent values, uniform in -scale..scale.
fn noise(shape: &[usize], seed: u64, scale: f64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let data: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-scale..scale)).collect();
    Tensor::from_vec(data, shape, &Device::Cpu).unwrap()
}

fn config(feed_forward: FeedForwardKind) -> T5Config {
    T5Config {
        vocab_size: 1,
        d_model: H,
        d_kv: 6,
        d_ff: 27,
        num_layers: 1,
        num_decoder_layers: 1,
        num_heads: 5,
        relative_attention_num_buckets: 8,
        relative_attention_max_distance: 20,
        layer_norm_epsilon: 0.05,
        feed_forward,
        tie_word_embeddings: true,
        decoder_start_token_id: 0,
        n_positions: 512,
    }
}

/// Weights of a decoder's layers under their names; an encoder's are among them but for the feed-forward's number.
fn tensors(config: &T5Config, feed_forward_layer: usize) -> HashMap<String, Tensor> {
    let (w, f) = (config.heads_width(), config.d_ff);
    let mut shapes = vec![("wi", [f, H]), ("wi_0", [f, H]), ("wi_1", [f, H]), ("wo", [H, f])]
        .into_iter()
        .map(|(name, shape)| (format!("{feed_forward_layer}.DenseReluDense.{name}.weight"), shape.to_vec()))
        .collect::<Vec<_>>();
    for attention in ["0.SelfAttention", "1.EncDecAttention"] {
        for (name, shape) in [("q", [w, H]), ("k", [w, H]), ("v", [w, H]), ("o", [H, w])] {
            shapes.push((format!("{attention}.{name}.weight"), shape.to_vec()));
        }
    }
    shapes.extend((0..3).map(|i| (format!("{i}.layer_norm.weight"), vec![H])));
    let seeds = 100..;
    shapes.into_iter().zip(seeds).map(|((name, shape), seed)| (name, noise(&shape, seed, 0.5))).collect()
}

/// The layers as the paper and its reference write them: unstacked, heads in front, a full bias and an additive mask.
struct Reference<'a> {
    config: &'a T5Config,
    tensors: &'a HashMap<String, Tensor>,
}

impl Reference<'_> {
    fn linear(&self, name: &str, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.tensors[&format!("{name}.weight")].t()?)
    }

    fn norm(&self, layer: usize, x: &Tensor) -> Result<Tensor> {
        let rms = (x.sqr()?.mean_keepdim(D::Minus1)? + self.config.layer_norm_epsilon)?.sqrt()?;
        x.broadcast_div(&rms)?.broadcast_mul(&self.tensors[&format!("{layer}.layer_norm.weight")])
    }

    fn attention(&self, name: &str, x: &Tensor, rows: &Tensor, bias: Option<&Tensor>, causal: bool) -> Result<Tensor> {
        let (s, n, heads, d) = (x.dim(0)?, rows.dim(0)?, self.config.num_heads, self.config.d_kv);
        let by_head = |part: &str, x: &Tensor| {
            self.linear(&format!("{name}.{part}"), x)?.reshape((x.dim(0)?, heads, d))?.transpose(0, 1)?.contiguous()
        };
        let (q, k, v) = (by_head("q", x)?, by_head("k", rows)?, by_head("v", rows)?);
        let mut scores = q.matmul(&k.t()?.contiguous()?)?;
        if let Some(bias) = bias {
            let bias = bias.to_vec2::<f64>()?;
            let all: Vec<f64> = (0..heads * s * n).map(|e| bias[e / (s * n)][e % n + s - 1 - e / n % s]).collect();
            scores = (scores + Tensor::from_vec(all, (heads, s, n), x.device())?)?;
        }
        if causal {
            let mask: Vec<f64> = (0..s * n).map(|e| if e % n > e / n { -1e9 } else { 0.0 }).collect();
            scores = scores.broadcast_add(&Tensor::from_vec(mask, (s, n), x.device())?)?;
        }
        let e = scores.broadcast_sub(&scores.max_keepdim(2)?)?.exp()?;
        let p = e.broadcast_div(&e.sum_keepdim(2)?)?;
        let out = p.matmul(&v)?.transpose(0, 1)?.contiguous()?.flatten_from(1)?;
        self.linear(&format!("{name}.o"), &out)
    }

    fn feed_forward(&self, layer: usize, x: &Tensor) -> Result<Tensor> {
        let normed = self.norm(layer, x)?;
        let linear = |name: &str, x: &Tensor| self.linear(&format!("{layer}.DenseReluDense.{name}"), x);
        let hidden = match self.config.feed_forward {
            FeedForwardKind::Relu => linear("wi", &normed)?.relu()?,
            FeedForwardKind::Gated(Gate::GeluNew) => (linear("wi_0", &normed)?.gelu()? * linear("wi_1", &normed)?)?,
            FeedForwardKind::Gated(Gate::Silu) => (linear("wi_0", &normed)?.silu()? * linear("wi_1", &normed)?)?,
        };
        x + linear("wo", &hidden)?
    }

    fn encoder(&self, x: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let normed = self.norm(0, x)?;
        let x = (x + self.attention("0.SelfAttention", &normed, &normed, Some(bias), false)?)?;
        self.feed_forward(1, &x)
    }

    fn decoder(&self, x: &Tensor, bias: &Tensor, encoded: &Tensor) -> Result<Tensor> {
        let normed = self.norm(0, x)?;
        let x = (x + self.attention("0.SelfAttention", &normed, &normed, Some(bias), true)?)?;
        let x = (&x + self.attention("1.EncDecAttention", &self.norm(1, &x)?, encoded, None, false)?)?;
        self.feed_forward(2, &x)
    }
}

fn vb(tensors: &HashMap<String, Tensor>) -> VarBuilder<'static> {
    VarBuilder::from_tensors(tensors.clone(), DType::F64, &Device::Cpu)
}

fn bias(n: usize) -> Tensor {
    noise(&[5, 2 * n - 1], 3, 1.0)
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    (a * b).unwrap().sum_all().unwrap().to_scalar().unwrap()
}

fn assert_near(what: &str, got: &Tensor, want: &Tensor) {
    let worst = (got - want).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f64>().unwrap();
    let largest = want.abs().unwrap().max_all().unwrap().to_scalar::<f64>().unwrap();
    // f64 sums in another order, through three layers
    assert!(worst <= 1e-12 * largest, "{what}: off by {worst:e} of {largest}");
}

/// `d_x` `[B, _, H]` is the gradient of `<forward(x)[..s], dy>`; the bound is that of the operations' tests. A ReLU's kink lies
/// between the two sides of a difference of 1e-5 too seldom to matter: with these seeds, never.
fn check(what: &str, forward: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, dy: &Tensor, d_x: &Tensor) {
    let (h, seen) = (1e-5, dy.dim(1).unwrap());
    for direction in 0..3 {
        let v = noise(x.dims(), 1000 + direction, 1.0);
        let at = |h: f64| forward(&(x + (&v * h).unwrap()).unwrap()).unwrap();
        let slope = ((at(h) - at(-h)).unwrap() / (2.0 * h)).unwrap().narrow(0, 0, seen).unwrap();
        let v = v.narrow(0, 0, d_x.dim(1).unwrap()).unwrap();
        for b in 0..dy.dim(0).unwrap() {
            let dy = dy.get(b).unwrap();
            let (got, want) = (dot(&v, &d_x.get(b).unwrap()), dot(&slope, &dy));
            let error = (got - want).abs() / (dot(&slope, &slope).sqrt() * dot(&dy, &dy).sqrt());
            assert!(error < 1e-8, "{what}, target {b}, direction {direction}: got {got}, want {want} ({error:e})");
        }
    }
}

#[test]
fn encoder_blocks() {
    for kind in KINDS {
        for (n, _, b, _) in SIZES {
            let config = config(kind);
            let tensors = tensors(&config, 1);
            let block = EncoderBlock::new(&config, &vb(&tensors), Precision::Full).unwrap();
            let (x, bias, dy) = (noise(&[n, H], 1, 1.0), bias(n), noise(&[b, n, H], 2, 1.0));
            let what = format!("encoder {kind:?} {n}");
            let want = Reference { config: &config, tensors: &tensors }.encoder(&x, &bias).unwrap();
            assert_near(&what, &block.forward(&x, &bias).unwrap(), &want);
            let dx = block.linearize(&x, &bias).unwrap().vjp(&dy).unwrap();
            check(&what, |x| block.forward(x, &bias), &x, &dy, &dx);
        }
    }
}

#[test]
fn decoder_blocks_by_their_rows_and_by_the_encoders() {
    for kind in KINDS {
        for (n, s, b, seen) in SIZES {
            let config = config(kind);
            let tensors = tensors(&config, 2);
            let block = DecoderBlock::new(&config, &vb(&tensors), Precision::Full).unwrap();
            let (x, bias, encoded) = (noise(&[s, H], 1, 1.0), bias(s), noise(&[n, H], 4, 1.0));
            let dy = noise(&[b, seen, H], 2, 1.0);
            let what = format!("decoder {kind:?} {n} {s} {seen}");
            let forward = |x: &Tensor, encoded: &Tensor| block.forward(x, &bias, &block.memory(encoded)?);
            let want = Reference { config: &config, tensors: &tensors }.decoder(&x, &bias, &encoded).unwrap();
            assert_near(&what, &forward(&x, &encoded).unwrap(), &want);
            let linearized = block.linearize(&x, &bias, &block.memory(&encoded).unwrap()).unwrap();
            let (dx, d_encoded) = linearized.vjp(&dy).unwrap();
            assert_eq!((dx.dims(), d_encoded.dims()), (&[b, seen, H][..], &[b, n, H][..]));
            check(&what, |x| forward(x, &encoded), &x, &dy, &dx);
            check(&format!("{what} by the encoder"), |e| forward(&x, e), &encoded, &dy, &d_encoded);
        }
    }
}
