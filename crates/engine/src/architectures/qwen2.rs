//! Qwen2 and Qwen2.5: Llama with biases on queries, keys and values.

use super::family::{AttentionBias, Defaults, Family, RowOrder, Window};

pub(super) const FAMILY: Family = Family {
    class_name: "Qwen2ForCausalLM",
    model_type: "qwen2",
    gguf_name: "qwen2",
    defaults: Defaults {
        num_key_value_heads: Some(32),
        head_dim: None,
        max_position_embeddings: 32_768,
        rope_theta: 10_000.0,
    },
    attention_bias: AttentionBias::QueriesKeysValues,
    has_mlp_bias: false,
    qk_norm: false,
    window: Window::LaterBlocks,
    gguf_rows: RowOrder::Halves,
};
