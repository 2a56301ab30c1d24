//! config.json -> [`Config`].

use std::path::Path;

use serde::Deserialize;

use super::{Architecture, Config, Rope, RopeScaling};
use crate::ModelError;

/// The fields that matter here. All are optional, because which default applies depends on the architecture.
#[derive(Deserialize)]
struct Raw {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    hidden_size: Option<usize>,
    intermediate_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<usize>,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    rms_norm_eps: Option<f64>,
    vocab_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    hidden_act: Option<String>,
    tie_word_embeddings: Option<bool>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    use_sliding_window: Option<bool>,
    sliding_window: Option<usize>,
    max_window_layers: Option<usize>,
    rope_theta: Option<f64>,
    rope_scaling: Option<RawRope>,
    rope_parameters: Option<RawRope>,
    quantization_config: Option<serde_json::Value>,
}

/// `rope_scaling` (transformers 4) or `rope_parameters` (transformers 5, which puts the base in it as well).
#[derive(Deserialize)]
struct RawRope {
    rope_theta: Option<f64>,
    rope_type: Option<String>,
    #[serde(rename = "type")]
    old_type: Option<String>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

impl Config {
    /// Reads a config.json.
    ///
    /// # Errors
    /// As [`Config::from_json_str`], and [`ModelError::Read`].
    pub fn from_json(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(ModelError::read(path))?;
        Self::from_json_str(&text, path)
    }

    /// Reads the text of a config.json; `path` is what errors call it.
    ///
    /// A field that is absent has the default of the architecture's class in transformers; the sizes have none.
    /// A sliding window that some layer uses caps `max_position_embeddings`.
    ///
    /// # Errors
    /// [`ModelError::Json`] with line and column, [`ModelError::Architecture`], [`ModelError::RopeScaling`], and
    /// [`ModelError::Field`] for a field that is missing, impossible or asks for what is not supported here.
    pub fn from_json_str(text: &str, path: &Path) -> Result<Self, ModelError> {
        let raw: Raw = serde_json::from_str(text).map_err(|source| ModelError::Json { path: path.into(), source })?;
        let architecture = architecture(&raw, path)?;
        let llama = architecture == Architecture::Llama;
        let required = |name: &str, value: Option<usize>| {
            value.ok_or_else(|| ModelError::field(path, name, "is missing, expected a whole number"))
        };
        if let Some(act) = raw.hidden_act.as_deref().filter(|act| *act != "silu") {
            return Err(ModelError::field(path, "hidden_act", format!("is `{act}`, only `silu` is implemented")));
        }
        if let Some(quantization) = &raw.quantization_config {
            let method = quantization.get("quant_method").and_then(|m| m.as_str()).unwrap_or("unknown");
            let problem = format!("method `{method}` is not supported: use the checkpoint before it, or a GGUF");
            return Err(ModelError::field(path, "quantization_config", problem));
        }

        let hidden_size = required("hidden_size", raw.hidden_size)?;
        let num_hidden_layers = required("num_hidden_layers", raw.num_hidden_layers)?;
        let num_attention_heads = required("num_attention_heads", raw.num_attention_heads)?;
        let num_key_value_heads = raw.num_key_value_heads.unwrap_or(if llama { num_attention_heads } else { 32 });
        let head_dim = match (raw.head_dim, architecture) {
            (Some(head_dim), _) => head_dim,
            (None, Architecture::Qwen3) => 128,
            (None, _) if num_attention_heads > 0 && hidden_size.is_multiple_of(num_attention_heads) => {
                hidden_size / num_attention_heads
            }
            (None, _) => {
                let problem = format!("is {num_attention_heads}, which does not divide hidden_size {hidden_size}");
                return Err(ModelError::field(path, "num_attention_heads", problem));
            }
        };
        let mut max_position_embeddings = raw.max_position_embeddings.unwrap_or(if llama { 2048 } else { 32768 });
        if let (false, Some(true), Some(window)) = (llama, raw.use_sliding_window, raw.sliding_window)
            && raw.max_window_layers.unwrap_or(28) < num_hidden_layers
        {
            max_position_embeddings = max_position_embeddings.min(window);
        }
        let attention_bias = raw.attention_bias.unwrap_or(false);
        Config {
            architecture,
            hidden_size,
            intermediate_size: required("intermediate_size", raw.intermediate_size)?,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
            rms_norm_eps: raw.rms_norm_eps.unwrap_or(1e-6),
            vocab_size: required("vocab_size", raw.vocab_size)?,
            max_position_embeddings,
            rope: rope(&raw, path)?,
            tie_word_embeddings: raw.tie_word_embeddings.unwrap_or(false),
            // Qwen2 has these three biases and no fourth, whatever `attention_bias` says.
            qkv_bias: architecture == Architecture::Qwen2 || attention_bias,
            o_bias: architecture != Architecture::Qwen2 && attention_bias,
            mlp_bias: llama && raw.mlp_bias.unwrap_or(false),
            qk_norm: architecture == Architecture::Qwen3,
            sliding_window: None,
        }
        .validate(path)
    }
}

/// The class that `architectures` names; only where it names none does `model_type` decide, because a classifier or a
/// reward model shares its `model_type` with the language model.
fn architecture(raw: &Raw, path: &Path) -> Result<Architecture, ModelError> {
    let classes = raw.architectures.as_deref().unwrap_or_default();
    let found = match classes {
        [] => raw.model_type.as_deref().and_then(Architecture::from_model_type),
        _ => Architecture::ALL.into_iter().find(|known| classes.iter().any(|class| class == known.class_name())),
    };
    found.ok_or_else(|| {
        let got = match classes {
            [] => raw.model_type.clone().unwrap_or_else(|| "(none named)".into()),
            _ => classes.join(", "),
        };
        ModelError::Architecture { path: path.into(), got }
    })
}

fn rope(raw: &Raw, path: &Path) -> Result<Rope, ModelError> {
    let settings = raw.rope_parameters.as_ref().or(raw.rope_scaling.as_ref());
    let theta = settings.and_then(|s| s.rope_theta).or(raw.rope_theta).unwrap_or(10_000.0);
    let Some(settings) = settings else {
        return Ok(Rope { theta, scaling: RopeScaling::None });
    };
    if let Some(share) = settings.partial_rotary_factor.filter(|share| *share != 1.0) {
        let problem = format!("is {share}, only rotation of the whole head (1.0) is implemented");
        return Err(ModelError::field(path, "partial_rotary_factor", problem));
    }
    let number = |name: &str, value: Option<f64>| {
        value.ok_or_else(|| ModelError::field(path, name, "is missing from the rotary settings"))
    };
    let scaling = match settings.rope_type.as_deref().or(settings.old_type.as_deref()).unwrap_or("default") {
        "default" => RopeScaling::None,
        "linear" => RopeScaling::Linear { factor: number("factor", settings.factor)? },
        "llama3" => RopeScaling::Llama3 {
            factor: number("factor", settings.factor)?,
            low_freq_factor: number("low_freq_factor", settings.low_freq_factor)?,
            high_freq_factor: number("high_freq_factor", settings.high_freq_factor)?,
            original_max_position_embeddings: number(
                "original_max_position_embeddings",
                settings.original_max_position_embeddings,
            )?,
        },
        other => return Err(ModelError::RopeScaling { path: path.into(), got: other.into() }),
    };
    Ok(Rope { theta, scaling })
}
