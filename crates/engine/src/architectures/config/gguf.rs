//! GGUF metadata -> [`Config`].

use super::{Architecture, Config, Rope, RopeScaling};
use crate::{ModelError, files::gguf::Gguf};

impl Config {
    /// Reads the numbers from a GGUF file's metadata, and from which tensors it has (tied head, biases).
    ///
    /// # Errors
    /// [`ModelError::Architecture`], [`ModelError::RopeScaling`], and [`ModelError::Field`] for a key that is missing,
    /// impossible or asks for what is not supported here.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, ModelError> {
        let path = gguf.path();
        let name = gguf.string("general.architecture").unwrap_or("(none named)");
        let architecture = Architecture::from_model_type(name)
            .ok_or_else(|| ModelError::Architecture { path: path.into(), got: name.into() })?;
        let key = |suffix: &str| format!("{name}.{suffix}");
        let required = |suffix: &str| {
            let key = key(suffix);
            gguf.unsigned(&key)?.ok_or_else(|| ModelError::field(path, key, "is missing, expected a whole number"))
        };
        if let Some(experts) = gguf.unsigned(&key("expert_count"))?.filter(|experts| *experts > 0) {
            let problem = format!("is {experts}, mixtures of experts are not supported");
            return Err(ModelError::field(path, key("expert_count"), problem));
        }

        let hidden_size = required("embedding_length")?;
        let num_attention_heads = required("attention.head_count")?;
        let num_key_value_heads = gguf.unsigned(&key("attention.head_count_kv"))?.unwrap_or(num_attention_heads);
        let head_dim = match gguf.unsigned(&key("attention.key_length"))? {
            Some(length) => length,
            None if num_attention_heads > 0 && hidden_size.is_multiple_of(num_attention_heads) => {
                hidden_size / num_attention_heads
            }
            None => {
                let problem = format!("is {num_attention_heads}, which does not divide the width {hidden_size}");
                return Err(ModelError::field(path, key("attention.head_count"), problem));
            }
        };
        for suffix in ["attention.value_length", "rope.dimension_count"] {
            if let Some(other) = gguf.unsigned(&key(suffix))?.filter(|other| *other != head_dim) {
                let problem = format!("is {other}, only the width of a head ({head_dim}) is implemented");
                return Err(ModelError::field(path, key(suffix), problem));
            }
        }
        let vocab_size = match gguf.shape("token_embd.weight") {
            Some([rows, _]) => *rows,
            _ => return Err(ModelError::MissingTensor { name: "token_embd.weight".into(), path: path.into() }),
        };
        let window = gguf.unsigned(&key("attention.sliding_window"))?.filter(|window| *window > 0);
        let eps = key("attention.layer_norm_rms_epsilon");
        Config {
            architecture,
            hidden_size,
            intermediate_size: required("feed_forward_length")?,
            num_hidden_layers: required("block_count")?,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
            rms_norm_eps: gguf.float(&eps).ok_or_else(|| ModelError::field(path, &eps, "is missing"))?,
            vocab_size,
            max_position_embeddings: required("context_length")?.min(window.unwrap_or(usize::MAX)),
            rope: Rope {
                theta: gguf.float(&key("rope.freq_base")).unwrap_or(10_000.0),
                scaling: scaling(gguf, name, head_dim)?,
            },
            tie_word_embeddings: gguf.shape("output.weight").is_none(),
            qkv_bias: architecture == Architecture::Qwen2 || gguf.shape("blk.0.attn_q.bias").is_some(),
            o_bias: gguf.shape("blk.0.attn_output.bias").is_some(),
            mlp_bias: gguf.shape("blk.0.ffn_gate.bias").is_some(),
            qk_norm: architecture == Architecture::Qwen3,
            sliding_window: None,
        }
        .validate(path)
    }
}

fn scaling(gguf: &Gguf, name: &str, head_dim: usize) -> Result<RopeScaling, ModelError> {
    let path = gguf.path();
    if gguf.shape("rope_freqs.weight").is_some() {
        return llama3_from_factors(gguf, name, head_dim);
    }
    let kind = gguf.string(&format!("{name}.rope.scaling.type"));
    // The old key had no type beside it.
    let factor = ["rope.scaling.factor", "rope.scale_linear"]
        .into_iter()
        .find_map(|suffix| gguf.float(&format!("{name}.{suffix}")));
    match (kind, factor) {
        (Some("none"), _) | (None, None) => Ok(RopeScaling::None),
        (Some("linear") | None, Some(factor)) => Ok(RopeScaling::Linear { factor }),
        (Some("linear"), None) => {
            Err(ModelError::field(path, format!("{name}.rope.scaling.factor"), "is missing beside type `linear`"))
        }
        (Some(other), _) => Err(ModelError::RopeScaling { path: path.into(), got: other.into() }),
    }
}

/// A GGUF of Llama 3.1 and later keeps no rotary settings but the divisor of each frequency. The blend has one published
/// shape (1, 4, 8192 and a factor), so the settings are taken from the largest divisor and then have to reproduce all.
fn llama3_from_factors(gguf: &Gguf, name: &str, head_dim: usize) -> Result<RopeScaling, ModelError> {
    let tensor = "rope_freqs.weight";
    let path = gguf.path();
    let divisors: Vec<f32> = gguf.tensor(tensor)?.flatten_all()?.to_vec1()?;
    if divisors.len() != head_dim / 2 {
        let (got, want) = (vec![divisors.len()], vec![head_dim / 2]);
        return Err(ModelError::TensorShape { name: tensor.into(), path: path.into(), got, want });
    }
    let theta = gguf.float(&format!("{name}.rope.freq_base")).unwrap_or(10_000.0);
    let factor = f64::from(divisors.iter().copied().fold(1.0, f32::max));
    let (low, high, original) = (1.0, 4.0, 8192.0);
    for (i, got) in divisors.iter().copied().enumerate() {
        let wavelength = std::f64::consts::TAU * theta.powf(2.0 * i as f64 / head_dim as f64);
        let kept = ((original / wavelength - low) / (high - low)).clamp(0.0, 1.0);
        let want = 1.0 / ((1.0 - kept) / factor + kept);
        // The divisors are stored in f32 and were computed in f32.
        if (f64::from(got) - want).abs() > 1e-4 * want {
            let problem = format!("divisor {i} is {got}, Llama 3.1's rule with factor {factor} gives {want:.6}");
            return Err(ModelError::field(path, tensor, problem));
        }
    }
    Ok(RopeScaling::Llama3 {
        factor,
        low_freq_factor: low,
        high_freq_factor: high,
        original_max_position_embeddings: original,
    })
}
