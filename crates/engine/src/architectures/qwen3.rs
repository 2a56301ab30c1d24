//! Qwen3: Llama with an RMS norm on each query and key head.

use super::family::{AttentionBias, Defaults, Family, RowOrder, Window};

pub(super) const FAMILY: Family = Family {
    class_name: "Qwen3ForCausalLM",
    model_type: "qwen3",
    gguf_name: "qwen3",
    defaults: Defaults {
        num_key_value_heads: Some(32),
        head_dim: Some(128),
        max_position_embeddings: 32_768,
        rope_theta: 10_000.0,
    },
    attention_bias: AttentionBias::AsConfigured,
    has_mlp_bias: false,
    qk_norm: true,
    window: Window::LaterBlocks,
    gguf_rows: RowOrder::Halves,
};
