//! Models of known shapes with random weights, and how many operations attribution over them takes.

#![allow(dead_code, reason = "each bench uses its part")]

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};
use veridiff_engine::{
    architectures::config::{Architecture, Config, Rope, RopeScaling},
    decoder::Decoder,
    ops::Precision,
};

pub mod products;

/// A Llama without biases, with an untied head.
fn llama(hidden_size: usize, intermediate_size: usize, heads: (usize, usize), head_dim: usize) -> Config {
    Config {
        architecture: Architecture::Llama,
        hidden_size,
        intermediate_size,
        num_hidden_layers: 1,
        num_attention_heads: heads.0,
        num_key_value_heads: heads.1,
        head_dim,
        rms_norm_eps: 1e-5,
        vocab_size: 4096,
        max_position_embeddings: 8192,
        rope: Rope { theta: 1e5, scaling: RopeScaling::None },
        tie_word_embeddings: false,
        qkv_bias: false,
        o_bias: false,
        mlp_bias: false,
        qk_norm: false,
        sliding_window: None,
    }
}

/// The layers of SmolLM2-135M, which has 30 of them and 49,152 words.
pub fn smollm2_135m(num_hidden_layers: usize, vocab_size: usize) -> Config {
    Config { num_hidden_layers, vocab_size, tie_word_embeddings: true, ..llama(576, 1536, (9, 3), 64) }
}

/// The layers of Qwen2.5-0.5B, which has 24 of them and 151,936 words.
pub fn qwen2_5_0_5b(num_hidden_layers: usize, vocab_size: usize) -> Config {
    Config {
        architecture: Architecture::Qwen2,
        num_hidden_layers,
        vocab_size,
        tie_word_embeddings: true,
        qkv_bias: true,
        ..llama(896, 4864, (14, 2), 64)
    }
}

/// The layers of Llama-3.1-8B, which has 32 of them and 128,256 words.
pub fn llama_8b(num_hidden_layers: usize, vocab_size: usize) -> Config {
    Config { num_hidden_layers, vocab_size, ..llama(4096, 14336, (32, 8), 128) }
}

/// Draws every tensor when it is asked for, on the device, so that loading holds the model once: norms are ones, a matrix's
/// entries have the variance that keeps its product's that of its input.
pub struct RandomWeights;

impl SimpleBackend for RandomWeights {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        if name.ends_with("norm.weight") {
            return Tensor::ones(shape, dtype, device);
        }
        let inputs = shape.dims().last().copied().unwrap_or(1).max(1) as f32;
        Tensor::randn(0f32, inputs.sqrt().recip(), shape, device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("the shape of `{name}` is not known")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// A model of random weights; [`Precision::of`] says how `dtype` is carried out on `device`.
pub fn random_decoder(config: &Config, dtype: DType, device: &Device) -> Result<Decoder> {
    let (tensors, precision) = Precision::of(dtype, device);
    let weights = VarBuilder::from_backend(Box::new(RandomWeights), tensors, device.clone());
    Decoder::with_precision(config, &weights, precision)
}

/// Some ids of `n` prompt and `t` response tokens.
pub fn some_ids(n: usize, t: usize, vocab_size: usize) -> Vec<u32> {
    (0..n + t).map(|i| (i * 7919 % vocab_size) as u32).collect()
}

/// Floating-point operations of one attribution with N prompt and T response tokens.
pub struct Operations {
    /// Products with the blocks' weights in the gradients: `T (N + T/2) 2P`.
    pub linear: f64,
    /// Attention's four products in the gradients, each over the half below the diagonal.
    pub attention: f64,
    /// One forward pass, and the output projection of T rows there and back.
    pub forward: f64,
}

impl Operations {
    /// For a model of `config`'s shape with `block_parameters` in its blocks.
    pub fn new(config: &Config, block_parameters: usize, n: usize, t: usize) -> Self {
        let (p, n, t) = (block_parameters as f64, n as f64, t as f64);
        let s = n + t / 2.0;
        let width = (config.num_hidden_layers * config.num_attention_heads * config.head_dim) as f64;
        let head = 2.0 * (config.vocab_size * config.hidden_size) as f64;
        Operations {
            linear: t * s * 2.0 * p,
            attention: t * 4.0 * s * s * width,
            forward: (n + t) * 2.0 * p + 2.0 * (n + t) * (n + t) * width + 2.0 * t * head,
        }
    }

    /// All of them.
    pub fn total(&self) -> f64 {
        self.linear + self.attention + self.forward
    }
}
