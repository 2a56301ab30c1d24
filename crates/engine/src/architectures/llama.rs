//! Llama 2, 3, 3.1 and their kin (SmolLM2): the plain block.

use super::family::{AttentionBias, Defaults, Family, RowOrder, Window};

pub(super) const FAMILY: Family = Family {
    class_name: "LlamaForCausalLM",
    model_type: "llama",
    gguf_name: "llama",
    defaults: Defaults {
        num_key_value_heads: None,
        head_dim: None,
        max_position_embeddings: 2048,
        rope_theta: 10_000.0,
    },
    attention_bias: AttentionBias::AsConfigured,
    has_mlp_bias: true,
    qk_norm: false,
    window: Window::None,
    gguf_rows: RowOrder::Interleaved,
};
