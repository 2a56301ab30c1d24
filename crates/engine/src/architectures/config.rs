//! The architecture's numbers. Fields keep the spelling of `config.json`.

mod gguf;
mod json;

use std::path::Path;

pub use super::Architecture;
use crate::ModelError;

/// The numbers that shape a decoder-only model.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The architecture, which says of what its blocks consist.
    pub architecture: Architecture,
    /// H, the width of the residual stream.
    pub hidden_size: usize,
    /// F, the width of the gated feed-forward layer.
    pub intermediate_size: usize,
    /// How many blocks stand above each other.
    pub num_hidden_layers: usize,
    /// How many query heads a block has.
    pub num_attention_heads: usize,
    /// Number of key and value heads; divides `num_attention_heads`.
    pub num_key_value_heads: usize,
    /// Width of one head; `hidden_size / num_attention_heads` unless the checkpoint says otherwise.
    pub head_dim: usize,
    /// What RMS norms add to the mean square before the root.
    pub rms_norm_eps: f64,
    /// V, the number of rows of the embedding table.
    pub vocab_size: usize,
    /// Longest sequence that gives the model's own numbers: what the positions were trained for, or the sliding
    /// window where a checkpoint uses a shorter one (within it, a window changes nothing).
    pub max_position_embeddings: usize,
    /// Base and scaling of the rotary position embedding.
    pub rope: Rope,
    /// Whether the output projection is the embedding table.
    pub tie_word_embeddings: bool,
    /// Whether the query, key and value projections have a bias.
    pub qkv_bias: bool,
    /// Whether the attention's output projection has a bias.
    pub o_bias: bool,
    /// Whether the three feed-forward projections have a bias.
    pub mlp_bias: bool,
    /// Whether each query and key head is RMS-normalised before rotation (Qwen3).
    pub qk_norm: bool,
    /// Keys that a query sees in every block, its own among them: those at `0 <= q - k < sliding_window`. All up to its own where
    /// absent.
    pub sliding_window: Option<usize>,
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
    /// The frequencies are used as they are.
    None,
    /// Every frequency is divided by `factor`.
    Linear {
        /// What every frequency is divided by.
        factor: f64,
    },
    /// Llama 3.1: low frequencies divided by `factor`, high ones kept, a linear blend between.
    Llama3 {
        /// What low frequencies are divided by.
        factor: f64,
        /// Wavelengths above `original / low_freq_factor` are divided.
        low_freq_factor: f64,
        /// Wavelengths below `original / high_freq_factor` are kept.
        high_freq_factor: f64,
        /// The context length of the first training, in tokens.
        original_max_position_embeddings: f64,
    },
}

// Far above any model there is, and low enough that no product of two overflows.
const MAX_WIDTH: usize = 1 << 20;
const MAX_LAYERS: usize = 1 << 12;
const MAX_ROWS: usize = 1 << 27;

impl Config {
    /// Number of parameters in the blocks: what one position of a forward pass multiplies by.
    pub fn n_block_parameters(&self) -> usize {
        let (heads, kv) = (self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim);
        self.num_hidden_layers * self.hidden_size * (2 * heads + 2 * kv + 3 * self.intermediate_size)
    }

    /// Number of parameters that are multiplied by, norms and biases left out; a tied table counts once.
    pub fn n_parameters(&self) -> usize {
        let table = self.vocab_size * self.hidden_size;
        self.n_block_parameters() + if self.tie_word_embeddings { table } else { 2 * table }
    }

    /// Checks that the numbers can belong together; `path` is the file they come from.
    ///
    /// # Errors
    /// [`ModelError::Field`] names the first that cannot.
    fn validate(self, path: &Path) -> Result<Self, ModelError> {
        let field = |name: &str, problem: String| Err(ModelError::field(path, name, problem));
        for (name, value, limit) in [
            ("hidden_size", self.hidden_size, MAX_WIDTH),
            ("intermediate_size", self.intermediate_size, MAX_WIDTH),
            ("num_hidden_layers", self.num_hidden_layers, MAX_LAYERS),
            ("num_attention_heads", self.num_attention_heads, MAX_WIDTH),
            ("num_key_value_heads", self.num_key_value_heads, MAX_WIDTH),
            ("head_dim", self.head_dim, MAX_WIDTH),
            ("vocab_size", self.vocab_size, MAX_ROWS),
            ("max_position_embeddings", self.max_position_embeddings, MAX_ROWS),
        ] {
            if value == 0 || value > limit {
                return field(name, format!("is {value}, expected 1 to {limit}"));
            }
        }
        if let Some(window) = self.sliding_window.filter(|window| !(1..=MAX_ROWS).contains(window)) {
            return field("sliding_window", format!("is {window}, expected 1 to {MAX_ROWS}, or null for none"));
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            let (q, kv) = (self.num_attention_heads, self.num_key_value_heads);
            return field("num_key_value_heads", format!("is {kv}, which does not divide the {q} query heads"));
        }
        if !self.head_dim.is_multiple_of(2) {
            return field(
                "head_dim",
                format!("is {}, but rotation needs pairs: expected an even number", self.head_dim),
            );
        }
        let positive = |name: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(ModelError::field(path, name, format!("is {value}, expected a positive number"))),
        };
        positive("rms_norm_eps", self.rms_norm_eps)?;
        positive("rope_theta", self.rope.theta)?;
        match self.rope.scaling {
            RopeScaling::None => {}
            RopeScaling::Linear { factor } => positive("factor of the rotary scaling", factor)?,
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                positive("factor of the rotary scaling", factor)?;
                positive("low_freq_factor", low_freq_factor)?;
                positive("original_max_position_embeddings", original_max_position_embeddings)?;
                if !(high_freq_factor.is_finite() && high_freq_factor > low_freq_factor) {
                    let problem =
                        format!("is {high_freq_factor}, expected more than low_freq_factor {low_freq_factor}");
                    return field("high_freq_factor", problem);
                }
            }
        }
        Ok(self)
    }
}
