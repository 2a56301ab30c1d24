//! In what decoder-only architectures made of the same block differ from each other.

/// A decoder-only architecture: how checkpoints call it, what an absent key of config.json means, and which parts its blocks
/// have.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The entry of `architectures` in config.json.
    pub class_name: &'static str,
    /// `model_type` in config.json.
    pub model_type: &'static str,
    /// `general.architecture` in GGUF metadata, where keys start with it. Of architectures that share one, the first in the
    /// list reads the file.
    pub gguf_name: &'static str,
    /// What the transformers library assumes where config.json is silent.
    pub defaults: Defaults,
    /// Which biases the attention's projections have.
    pub attention_bias: AttentionBias,
    /// Whether `mlp_bias` in config.json can give the feed-forward projections biases.
    pub has_mlp_bias: bool,
    /// Whether each query and key head is RMS-normalised before rotation.
    pub qk_norm: bool,
    /// What `sliding_window` in config.json means.
    pub window: Window,
    /// The order in which a GGUF file stores the rows of the query and key projections.
    pub gguf_rows: RowOrder,
}

/// What an absent key of config.json means. Keys that mean the same for all are not among them.
#[derive(Debug, Clone, PartialEq)]
pub struct Defaults {
    /// `num_key_value_heads`; as many as query heads where absent.
    pub num_key_value_heads: Option<usize>,
    /// `head_dim`; the width divided by the query heads where absent.
    pub head_dim: Option<usize>,
    /// `max_position_embeddings`.
    pub max_position_embeddings: usize,
    /// `rope_theta`, the base of the rotary frequencies.
    pub rope_theta: f64,
}

/// Biases of the attention's four projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionBias {
    /// There are none, whatever config.json says.
    None,
    /// All four have one where `attention_bias` is true.
    AsConfigured,
    /// Queries, keys and values have one and the output has none, whatever config.json says.
    QueriesKeysValues,
}

/// Which blocks see only the latest keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// No block does.
    None,
    /// Blocks from number `max_window_layers` on do, where `use_sliding_window` is true. Such a model is read up to the window's
    /// length only, within which the window changes nothing.
    LaterBlocks,
    /// Every block does, where `sliding_window` is a number and not null; an absent key means `default`.
    EveryBlock {
        /// Keys that a query sees, its own among them.
        default: usize,
    },
}

/// Orders of the rows of a query or key projection within a head `d` rows high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// 0, 1, 2, …: for a rotation that pairs row `i` with row `i + d / 2`, as in safetensors.
    Halves,
    /// 0, d / 2, 1, d / 2 + 1, …: for a rotation that pairs neighbours.
    Interleaved,
}
