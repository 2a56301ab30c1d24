//! Mistral: Llama without biases, every block of which sees only the latest keys where config.json gives a window. The first
//! release has one of 4096 keys; later ones say `null`.
//!
//! GGUF files of a Mistral call themselves `llama`, store rows in Llama's order and say nothing of a window: they are read as
//! a Llama, which is the same within the window.

use super::family::{AttentionBias, Defaults, Family, RowOrder, Window};

pub(super) const FAMILY: Family = Family {
    class_name: "MistralForCausalLM",
    model_type: "mistral",
    gguf_name: "llama",
    defaults: Defaults {
        num_key_value_heads: Some(8),
        head_dim: None,
        max_position_embeddings: 131_072,
        rope_theta: 10_000.0,
    },
    attention_bias: AttentionBias::None,
    has_mlp_bias: false,
    qk_norm: false,
    window: Window::EveryBlock { default: 4096 },
    gguf_rows: RowOrder::Interleaved,
};
