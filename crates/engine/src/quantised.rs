//! One token of each text at a time by the numbers as a GGUF file holds them: what writing wants, where time goes by the bytes that are read.
//!
//! Prompts are read by the [`Decoder`](crate::decoder::Decoder), whose products are exact; a [`Writing`] goes on from its keys and values.
//! Rounding vectors to 8 bits moves log-probabilities by some hundredths of a nat, so nothing that is scored comes from here.
//!
//! Texts that are written at the same time take their steps together: weights are read once for all of them, and each text gets the bits
//! that it would get alone.

mod rounded;
mod rows;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use rayon::prelude::*;

use crate::{
    ModelError,
    architectures::config::Config,
    block::inverse_frequencies,
    files::{gguf::Gguf, weights},
    ops::{Real as _, vectorised},
    past::Past,
};
use rounded::{BLOCK, Rounded};
use rows::Rows;

/// A decoder-only model as its GGUF file holds it.
#[derive(Debug)]
pub struct Quantised {
    config: Config,
    embeddings: Rows,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// None where the output projection is the table.
    lm_head: Option<Rows>,
    frequencies: Vec<f32>,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Vec<f32>,
    /// Of queries, keys and values, above each other.
    qkv: Linear,
    head_norms: Option<[Vec<f32>; 2]>,
    output: Linear,
    mlp_norm: Vec<f32>,
    /// Of gate and up, above each other.
    gate_up: Linear,
    down: Linear,
}

#[derive(Debug)]
struct Linear {
    rows: Rows,
    bias: Option<Vec<f32>>,
}

impl Linear {
    /// The products with the vector of each text.
    fn forward(&self, texts: impl Iterator<Item = Vec<f32>>) -> Vec<Vec<f32>> {
        let mut all = self.rows.times(&rounded(texts));
        if let Some(bias) = &self.bias {
            all.iter_mut().for_each(|y| add(y, bias));
        }
        all
    }
}

/// A text in the making: keys and values of all that came before.
#[derive(Debug)]
pub struct Writing {
    /// Of each layer and each of its heads of keys.
    memories: Vec<Vec<Memory>>,
    n: usize,
}

/// Tokens of an answer for which there is room from the first: more than most have, so that keys and values are hardly ever moved.
const ROOM: usize = 512;

/// Keys and values `[n, head_dim]` of one head, of every token so far: each in one piece, since they are read from one end to the other.
#[derive(Debug)]
struct Memory {
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// Puts the keys and values of tokens, `[2 n_kv head_dim]` each, behind those that are there.
fn remember(memories: &mut [Memory], tokens: &[f32], d: usize) {
    let n_kv = memories.len();
    for token in tokens.chunks_exact(2 * n_kv * d) {
        let (keys, values) = token.split_at(n_kv * d);
        for ((memory, key), value) in memories.iter_mut().zip(keys.chunks_exact(d)).zip(values.chunks_exact(d)) {
            memory.keys.extend_from_slice(key);
            memory.values.extend_from_slice(value);
        }
    }
}

impl Quantised {
    /// The model of a GGUF file on the CPU; `None` where its widths are no whole blocks.
    ///
    /// # Errors
    /// A tensor is missing or cannot be read.
    pub fn open(gguf: &Arc<Gguf>, config: &Config) -> std::result::Result<Option<Quantised>, ModelError> {
        let queries = config.num_attention_heads * config.head_dim;
        if [config.hidden_size, config.intermediate_size, queries].iter().any(|width| width % BLOCK != 0) {
            return Ok(None);
        }
        let plain = weights::open_gguf(gguf.clone(), config, DType::F32, &Device::Cpu);
        let vector = |name: &str, n: usize| plain.get(n, name)?.to_vec1::<f32>();
        let push = |rows: &mut Rows, name: &str| -> std::result::Result<(), ModelError> {
            let (stored, heads) = weights::stored_matrix(gguf, config, name)?;
            let n_rows = stored.shape().dims2().map_or(0, |(n, _)| n);
            rows.push(&stored, |row| heads.map_or(row, |heads| weights::stored_row(row, n_rows / heads)))?;
            Ok(())
        };
        let linear = |names: &[(&str, usize)], has_bias: bool| -> std::result::Result<Linear, ModelError> {
            let (mut rows, mut bias) = (Rows::default(), Vec::new());
            for (name, n) in names {
                push(&mut rows, &format!("{name}.weight"))?;
                if has_bias {
                    bias.extend(vector(&format!("{name}.bias"), *n)?);
                }
            }
            Ok(Linear { rows, bias: has_bias.then_some(bias) })
        };
        let (h, f, d) = (config.hidden_size, config.intermediate_size, config.head_dim);
        let kv = config.num_key_value_heads * d;
        let layer = |i: usize| -> std::result::Result<Layer, ModelError> {
            let at = |name: &str| format!("model.layers.{i}.{name}");
            let [q, k, v] = ["q", "k", "v"].map(|of| at(&format!("self_attn.{of}_proj")));
            let head_norm = |of: &str| vector(&at(&format!("self_attn.{of}_norm.weight")), d);
            Ok(Layer {
                attention_norm: vector(&at("input_layernorm.weight"), h)?,
                qkv: linear(&[(&*q, queries), (&*k, kv), (&*v, kv)], config.qkv_bias)?,
                head_norms: if config.qk_norm { Some([head_norm("q")?, head_norm("k")?]) } else { None },
                output: linear(&[(&*at("self_attn.o_proj"), h)], config.o_bias)?,
                mlp_norm: vector(&at("post_attention_layernorm.weight"), h)?,
                gate_up: linear(&[(&*at("mlp.gate_proj"), f), (&*at("mlp.up_proj"), f)], config.mlp_bias)?,
                down: linear(&[(&*at("mlp.down_proj"), h)], config.mlp_bias)?,
            })
        };
        let table = |name: &str| -> std::result::Result<Rows, ModelError> {
            let mut rows = Rows::default();
            push(&mut rows, name)?;
            Ok(rows)
        };
        Ok(Some(Quantised {
            embeddings: table("model.embed_tokens.weight")?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<std::result::Result<_, _>>()?,
            norm: vector("model.norm.weight", h)?,
            lm_head: if config.tie_word_embeddings { None } else { Some(table("lm_head.weight")?) },
            frequencies: inverse_frequencies(&config.rope, d),
            config: config.clone(),
        }))
    }
}

impl Writing {
    /// Goes on behind a prompt that the [`Decoder`](crate::decoder::Decoder) of the same model has read.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn behind(model: &Quantised, past: &Past) -> Result<Writing> {
        let (d, n_kv) = (model.config.head_dim, model.config.num_key_value_heads);
        let of_layer = |tensor: &Tensor| {
            let tokens: Vec<f32> = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
            let empty = || Vec::with_capacity((past.len() + ROOM) * d);
            let mut memories: Vec<Memory> = (0..n_kv).map(|_| Memory { keys: empty(), values: empty() }).collect();
            remember(&mut memories, &tokens, d);
            Ok(memories)
        };
        let memories = past.keys_values().iter().map(of_layer).collect::<Result<_>>()?;
        Ok(Writing { memories, n: past.len() })
    }
}

impl Quantised {
    /// Takes a token behind each of some texts that this model writes; returns the logits `[V]` of what comes next in each. They are those
    /// of the text alone, to the bit, whichever others there are.
    pub fn push(&self, texts: &mut [(&mut Writing, u32)]) -> Vec<Vec<f64>> {
        // among the threads at once, and not for each of five products a layer
        rayon::scope(|_| self.pushed(texts))
    }

    fn pushed(&self, texts: &mut [(&mut Writing, u32)]) -> Vec<Vec<f64>> {
        let Config { num_attention_heads: q, num_key_value_heads: k, head_dim: d, rms_norm_eps: eps, .. } = self.config;
        let angles: Vec<_> = texts.iter().map(|(text, _)| self.angles(text.n)).collect();
        let mut all: Vec<Vec<f32>> = texts.iter().map(|(_, id)| self.embeddings.numbers(*id as usize)).collect();
        for (place, layer) in self.layers.iter().enumerate() {
            let mut qkv = layer.qkv.forward(all.iter().map(|x| normed(x, &layer.attention_norm, eps)));
            for ((qkv, angles), (text, _)) in qkv.iter_mut().zip(&angles).zip(&mut *texts) {
                for (place, head) in qkv.chunks_exact_mut(d).take(q + k).enumerate() {
                    if let Some([of_q, of_k]) = &layer.head_norms {
                        head.copy_from_slice(&normed(head, if place < q { of_q } else { of_k }, eps));
                    }
                    rotate(head, angles);
                }
                remember(&mut text.memories[place], &qkv[q * d..], d);
            }
            let memories: Vec<&[Memory]> = texts.iter().map(|(text, _)| &*text.memories[place]).collect();
            let seen = attention(&self.config, &qkv, &memories);
            add_each(&mut all, &layer.output.forward(seen.into_iter()));
            let gate_up = layer.gate_up.forward(all.iter().map(|x| normed(x, &layer.mlp_norm, eps)));
            let hidden = gate_up.iter().map(|both| both.split_at(self.config.intermediate_size));
            add_each(&mut all, &layer.down.forward(hidden.map(|(gate, up)| gated(gate, up))));
        }
        texts.iter_mut().for_each(|(text, _)| text.n += 1);
        let head = self.lm_head.as_ref().unwrap_or(&self.embeddings);
        let logits = head.times(&rounded(all.iter().map(|x| normed(x, &self.norm, eps))));
        logits.into_iter().map(|logits| logits.into_iter().map(f64::from).collect()).collect()
    }

    /// Cosines and sines by which the heads of the token at a place are rotated.
    fn angles(&self, place: usize) -> Vec<(f32, f32)> {
        let angles = self.frequencies.iter().map(|f| f64::from(place as f32 * f));
        angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).collect()
    }
}

fn rounded(texts: impl Iterator<Item = Vec<f32>>) -> Vec<Rounded> {
    texts.map(|x| Rounded::of(&x)).collect()
}

fn add_each(all: &mut [Vec<f32>], more: &[Vec<f32>]) {
    all.iter_mut().zip(more).for_each(|(x, y)| add(x, y));
}

fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

/// `x` over the root of its mean square, times `weight`.
fn normed(x: &[f32], weight: &[f32], eps: f64) -> Vec<f32> {
    let squares: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
    let scale = (1.0 / (squares / x.len() as f64 + eps).sqrt()) as f32;
    x.iter().zip(weight).map(|(x, w)| x * scale * w).collect()
}

/// The SiLU of one, times the other.
fn gated(gate: &[f32], up: &[f32]) -> Vec<f32> {
    let mut hidden = vec![0.0; gate.len()];
    vectorised(
        #[inline(always)]
        || {
            for ((h, g), u) in hidden.iter_mut().zip(gate).zip(up) {
                *h = g / (1.0 + (-g).exp_fast()) * u;
            }
        },
    );
    hidden
}

/// Rotates a head by halves.
fn rotate(head: &mut [f32], angles: &[(f32, f32)]) {
    let (first, last) = head.split_at_mut(angles.len());
    for ((a, b), (cos, sin)) in first.iter_mut().zip(last).zip(angles) {
        (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
    }
}

/// What the heads of the last token of each text see: `[n_heads head_dim]` each.
fn attention(config: &Config, queries: &[Vec<f32>], memories: &[&[Memory]]) -> Vec<Vec<f32>> {
    let (d, width) = (config.head_dim, config.num_attention_heads / config.num_key_value_heads * config.head_dim);
    let mut all = vec![vec![0.0; config.num_attention_heads * d]; queries.len()];
    let texts = all.iter_mut().zip(queries).zip(memories);
    let groups: Vec<_> = texts
        .flat_map(|((seen, queries), memories)| seen.chunks_mut(width).zip(queries.chunks(width)).zip(memories.iter()))
        .collect();
    groups.into_par_iter().for_each(|((seen, queries), memory)| {
        let n = memory.keys.len() / d;
        let first = d * config.sliding_window.map_or(0, |window| n.saturating_sub(window));
        vectorised(
            #[inline(always)]
            || look(queries, &memory.keys[first..], &memory.values[first..], d, seen),
        );
    });
    all
}

/// Keys that a query is multiplied with at once, and lanes in which each product is summed.
const LANES: usize = 8;

/// Tokens whose values stay in the processor's nearest memory while heads that share them see them.
const NEAR: usize = 128;

/// Numbers of a value that a head sums up at once.
const WIDE: usize = 64;

/// What the heads see that share keys and values: values by the softmax of keys.
#[inline(always)]
fn look(queries: &[f32], keys: &[f32], values: &[f32], d: usize, seen: &mut [f32]) {
    let (scale, n) = (1.0 / (d as f32).sqrt(), keys.len() / d);
    let mut weights = vec![0.0; queries.len() / d * n];
    for (block, keys) in keys.chunks(LANES * d).enumerate() {
        for (query, weights) in queries.chunks_exact(d).zip(weights.chunks_exact_mut(n)) {
            for (weight, product) in weights[block * LANES..].iter_mut().zip(products(query, keys, d)) {
                *weight = scale * product;
            }
        }
    }
    for weights in weights.chunks_exact_mut(n) {
        let most = largest(weights);
        // apart from the sum, whose order is of its own, so that a vector of them is worked out at once
        for weight in weights.iter_mut() {
            *weight = (*weight - most).exp_fast();
        }
        let mut total = 0.0;
        for weight in weights.iter() {
            total += *weight;
        }
        for weight in weights.iter_mut() {
            *weight /= total;
        }
    }
    for (block, values) in values.chunks(NEAR * d).enumerate() {
        for (seen, weights) in seen.chunks_exact_mut(d).zip(weights.chunks_exact(n)) {
            see(values, &weights[block * NEAR..], d, seen);
        }
    }
}

#[inline(always)]
fn largest(numbers: &[f32]) -> f32 {
    const MANY: usize = 32;
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let (whole, rest) = numbers.as_chunks::<MANY>();
    let mut largest = [f32::NEG_INFINITY; MANY];
    for numbers in whole {
        for (largest, number) in largest.iter_mut().zip(numbers) {
            *largest = larger(*largest, *number);
        }
    }
    largest.iter().chain(rest).copied().fold(f32::NEG_INFINITY, larger)
}

/// The products of a query with up to [`LANES`] keys, the last one's again where there are fewer.
#[inline(always)]
fn products(query: &[f32], keys: &[f32], d: usize) -> [f32; LANES] {
    let last = keys.len() / d - 1;
    let keys: [&[f32]; LANES] = std::array::from_fn(|key| &keys[key.min(last) * d..][..d]);
    let parts = keys.map(|key| key.as_chunks::<LANES>());
    let (whole, rest) = query.as_chunks::<LANES>();
    let mut lanes = [[0.0_f32; LANES]; LANES];
    for (at, query) in whole.iter().enumerate() {
        for ((key, _), lanes) in parts.iter().zip(&mut lanes) {
            for ((lane, a), b) in lanes.iter_mut().zip(query).zip(&key[at]) {
                *lane += a * b;
            }
        }
    }
    let mut products = [0.0; LANES];
    for lane in 0..LANES {
        for (product, lanes) in products.iter_mut().zip(&lanes) {
            *product += lanes[lane];
        }
    }
    for ((_, key), product) in parts.iter().zip(&mut products) {
        *product += rest.iter().zip(*key).map(|(a, b)| a * b).sum::<f32>();
    }
    products
}

/// Adds values by their weights to what a head has seen.
#[inline(always)]
fn see(values: &[f32], weights: &[f32], d: usize, seen: &mut [f32]) {
    let (wide, rest) = seen.as_chunks_mut::<WIDE>();
    let n_wide = wide.len();
    for (at, seen) in wide.iter_mut().enumerate() {
        // held in registers from the first value to the last
        let mut sums = *seen;
        for (value, weight) in values.chunks_exact(d).zip(weights) {
            for (sum, value) in sums.iter_mut().zip(&value[at * WIDE..][..WIDE]) {
                *sum += weight * value;
            }
        }
        *seen = sums;
    }
    for (value, weight) in values.chunks_exact(d).zip(weights) {
        for (seen, value) in rest.iter_mut().zip(&value[n_wide * WIDE..]) {
            *seen += weight * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;

    /// Heads narrower and wider than what is worked on at once, and as many tokens as fill no block.
    #[test]
    fn heads_see_values_by_the_softmax_of_keys() {
        let mut random = StdRng::seed_from_u64(1);
        for (d, n, n_heads) in [(16, 5, 2), (64, 300, 3), (80, 129, 1), (100, 8, 4), (128, 1, 2)] {
            let mut numbers = |n: usize| -> Vec<f32> { (0..n).map(|_| random.random_range(-1.0..1.0)).collect() };
            let (queries, keys, values) = (numbers(n_heads * d), numbers(n * d), numbers(n * d));
            let mut seen = vec![0.0; n_heads * d];
            look(&queries, &keys, &values, d, &mut seen);
            for (query, seen) in queries.chunks_exact(d).zip(seen.chunks_exact(d)) {
                let product =
                    |key: &[f32]| -> f64 { query.iter().zip(key).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
                let weights: Vec<f64> =
                    keys.chunks_exact(d).map(|key| (product(key) / (d as f64).sqrt()).exp()).collect();
                let total: f64 = weights.iter().sum();
                for (at, got) in seen.iter().enumerate() {
                    let want: f64 =
                        values.chunks_exact(d).zip(&weights).map(|(value, w)| w / total * f64::from(value[at])).sum();
                    assert!((f64::from(*got) - want).abs() < 1e-5, "{d} {n}: {got} {want}");
                }
            }
        }
    }
}
