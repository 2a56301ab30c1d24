//! The architecture's numbers. Fields keep the spelling of `config.json`.

/// A decoder-only architecture with a differentiable forward pass here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Architecture {
    /// Llama 2, 3, 3.1 and their kin (SmolLM2).
    Llama,
    /// Qwen2 and Qwen2.5: Llama with biases on q, k and v.
    Qwen2,
    /// Qwen3: Llama with an RMS norm on each query and key head.
    Qwen3,
}

/// The numbers that shape a decoder-only model.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Which family of blocks.
    pub architecture: Architecture,
    /// H, the width of the residual stream.
    pub hidden_size: usize,
    /// Width of the gated feed-forward layer.
    pub intermediate_size: usize,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Number of query heads.
    pub num_attention_heads: usize,
    /// Number of key and value heads; divides `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Width of one head; `hidden_size / num_attention_heads` unless the checkpoint says otherwise.
    pub head_dim: usize,
    /// Added to the mean square before the root.
    pub rms_norm_eps: f64,
    /// V, the number of rows of the embedding table.
    pub vocab_size: usize,
    /// Longest sequence the positions were trained for.
    pub max_position_embeddings: usize,
    /// Rotary position embedding.
    pub rope: Rope,
    /// The output projection is the embedding table.
    pub tie_word_embeddings: bool,
    /// q, k and v projections have a bias.
    pub qkv_bias: bool,
    /// The attention's output projection has a bias.
    pub o_bias: bool,
    /// The three feed-forward projections have a bias.
    pub mlp_bias: bool,
    /// Each query and key head is RMS-normalised before rotation (Qwen3).
    pub qk_norm: bool,
}

/// Rotary position embedding: base and how long contexts are reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rope {
    /// Base of the geometric frequencies.
    pub theta: f64,
    /// How the frequencies are changed.
    pub scaling: RopeScaling,
}

/// How the rotary frequencies are changed for contexts beyond the original length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// Every frequency divided by `factor`.
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Llama 3.1: low frequencies divided by `factor`, high ones kept, a linear blend between.
    Llama3 {
        /// The divisor of low frequencies.
        factor: f64,
        /// Wavelengths above `original / low_freq_factor` are divided.
        low_freq_factor: f64,
        /// Wavelengths below `original / high_freq_factor` are kept.
        high_freq_factor: f64,
        /// Context length of the first training.
        original_max_position_embeddings: f64,
    },
}
