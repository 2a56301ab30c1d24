//! config.json of a T5 -> [`T5Config`].

use std::path::Path;

use serde::Deserialize;

use crate::{ModelError, architectures::unsupported, ops::Gate};

/// The feed-forward network of every block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedForwardKind {
    /// `wo(relu(wi(x)))`: T5 1.0, CodeT5, CCT5.
    Relu,
    /// `wo(act(wi_0(x)) ∘ wi_1(x))`: T5 1.1.
    Gated(Gate),
}

/// The numbers that shape a T5. Fields keep the spelling of `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct T5Config {
    /// V, the number of rows of the embedding table.
    pub vocab_size: usize,
    /// H, the width of the residual streams.
    pub d_model: usize,
    /// Width of one attention head.
    pub d_kv: usize,
    /// Width of the feed-forward network.
    pub d_ff: usize,
    /// Number of blocks of the encoder.
    pub num_layers: usize,
    /// Number of blocks of the decoder; as many as the encoder's unless the checkpoint says otherwise.
    pub num_decoder_layers: usize,
    /// Number of heads of every attention.
    pub num_heads: usize,
    /// Number of buckets of distances that share a bias.
    pub relative_attention_num_buckets: usize,
    /// The distance from which on all share one bucket.
    pub relative_attention_max_distance: usize,
    /// What RMS norms add to the mean square before the root.
    pub layer_norm_epsilon: f64,
    /// The feed-forward network of every block.
    pub feed_forward: FeedForwardKind,
    /// The output projection is the embedding table, and its inputs are scaled by `d_model^-0.5`.
    pub tie_word_embeddings: bool,
    /// What the decoder reads before the first token of the text.
    pub decoder_start_token_id: u32,
    /// Longest sequence that the model was trained for, in the encoder and in the decoder.
    pub n_positions: usize,
}

/// The fields of config.json that matter here.
#[derive(Deserialize)]
struct Raw {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    is_encoder_decoder: Option<bool>,
    vocab_size: Option<usize>,
    d_model: Option<usize>,
    d_kv: Option<usize>,
    d_ff: Option<usize>,
    num_layers: Option<usize>,
    num_decoder_layers: Option<usize>,
    num_heads: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    relative_attention_max_distance: Option<usize>,
    layer_norm_epsilon: Option<f64>,
    feed_forward_proj: Option<String>,
    tie_word_embeddings: Option<bool>,
    decoder_start_token_id: Option<u32>,
    pad_token_id: Option<u32>,
    n_positions: Option<usize>,
}

// Far above any T5 there is, and low enough that no product of two overflows.
const MAX_WIDTH: usize = 1 << 20;
const MAX_LAYERS: usize = 1 << 12;
const MAX_ROWS: usize = 1 << 27;

/// The class with both halves; the heads of other classes are no language models.
const CLASSES: [&str; 2] = ["T5ForConditionalGeneration", "T5WithLMHeadModel"];

impl T5Config {
    /// Whether a config.json is of a T5 with both halves, or claims no class but the `model_type`.
    pub fn is_in(text: &str) -> bool {
        serde_json::from_str::<Raw>(text).is_ok_and(|raw| raw.is_t5())
    }

    /// Reads the text of a config.json; `path` is what errors call it. Absent fields have the defaults of transformers; the
    /// widths and depths of an encoder have none.
    ///
    /// # Errors
    /// [`ModelError::Json`] with line and column; [`ModelError::Architecture`]; [`ModelError::Field`] for a field that is
    /// missing, impossible or asks for what is not supported here.
    pub fn from_json_str(text: &str, path: &Path) -> Result<Self, ModelError> {
        let raw: Raw = serde_json::from_str(text).map_err(|source| ModelError::Json { path: path.into(), source })?;
        if !raw.is_t5() {
            let got = raw.architectures.unwrap_or_default().into_iter().chain(raw.model_type);
            return Err(unsupported(path, &got.collect::<Vec<_>>().join(", ")));
        }
        if raw.is_encoder_decoder == Some(false) {
            let problem = "is false: an encoder alone predicts no text, it can be named with --encoder";
            return Err(ModelError::field(path, "is_encoder_decoder", problem));
        }
        let size = |name: &str, value: Option<usize>, limit: usize| match value {
            None => Err(ModelError::field(path, name, "is missing, expected a whole number")),
            Some(value) if value == 0 || value > limit => {
                Err(ModelError::field(path, name, format!("is {value}, expected 1 to {limit}")))
            }
            Some(value) => Ok(value),
        };
        let feed_forward = match raw.feed_forward_proj.as_deref().unwrap_or("relu") {
            "relu" => FeedForwardKind::Relu,
            "gated-gelu" => FeedForwardKind::Gated(Gate::GeluNew),
            "gated-silu" => FeedForwardKind::Gated(Gate::Silu),
            other => {
                let problem = format!("is `{}`, expected `relu`, `gated-gelu` or `gated-silu`", other.escape_debug());
                return Err(ModelError::field(path, "feed_forward_proj", problem));
            }
        };
        let num_layers = size("num_layers", raw.num_layers, MAX_LAYERS)?;
        let config = T5Config {
            vocab_size: size("vocab_size", raw.vocab_size, MAX_ROWS)?,
            d_model: size("d_model", raw.d_model, MAX_WIDTH)?,
            d_kv: size("d_kv", raw.d_kv, MAX_WIDTH)?,
            d_ff: size("d_ff", raw.d_ff, MAX_WIDTH)?,
            num_layers,
            num_decoder_layers: size("num_decoder_layers", raw.num_decoder_layers.or(Some(num_layers)), MAX_LAYERS)?,
            num_heads: size("num_heads", raw.num_heads, MAX_WIDTH)?,
            relative_attention_num_buckets: size(
                "relative_attention_num_buckets",
                raw.relative_attention_num_buckets.or(Some(32)),
                MAX_WIDTH,
            )?,
            relative_attention_max_distance: size(
                "relative_attention_max_distance",
                raw.relative_attention_max_distance.or(Some(128)),
                MAX_ROWS,
            )?,
            layer_norm_epsilon: raw.layer_norm_epsilon.unwrap_or(1e-6),
            feed_forward,
            tie_word_embeddings: raw.tie_word_embeddings.unwrap_or(true),
            decoder_start_token_id: raw.decoder_start_token_id.or(raw.pad_token_id).unwrap_or(0),
            n_positions: size("n_positions", raw.n_positions.or(Some(512)), MAX_ROWS)?,
        };
        config.validate(path)
    }

    fn validate(self, path: &Path) -> Result<Self, ModelError> {
        let field = |name: &str, problem: String| Err(ModelError::field(path, name, problem));
        if !(self.layer_norm_epsilon.is_finite() && self.layer_norm_epsilon > 0.0) {
            return field("layer_norm_epsilon", format!("is {}, expected a positive number", self.layer_norm_epsilon));
        }
        let (buckets, distance) = (self.relative_attention_num_buckets, self.relative_attention_max_distance);
        // half are for each direction, and half of these for single distances
        if buckets < 4 || !buckets.is_multiple_of(2) {
            return field("relative_attention_num_buckets", format!("is {buckets}, expected an even number from 4 on"));
        }
        if distance <= buckets / 2 {
            let problem = format!("is {distance}, expected more than half of the {buckets} buckets");
            return field("relative_attention_max_distance", problem);
        }
        if self.decoder_start_token_id as usize >= self.vocab_size {
            let problem = format!("is {}, but there are {} words", self.decoder_start_token_id, self.vocab_size);
            return field("decoder_start_token_id", problem);
        }
        Ok(self)
    }

    /// The width of all heads together.
    pub fn heads_width(&self) -> usize {
        self.num_heads * self.d_kv
    }

    /// Parameters of a block of the encoder, and of one of the decoder, norms left out.
    pub fn n_block_parameters(&self) -> (usize, usize) {
        let attention = 4 * self.d_model * self.heads_width();
        let matrices = if self.feed_forward == FeedForwardKind::Relu { 2 } else { 3 };
        let feed_forward = matrices * self.d_model * self.d_ff;
        (attention + feed_forward, 2 * attention + feed_forward)
    }
}

impl Raw {
    fn is_t5(&self) -> bool {
        match self.architectures.as_deref().unwrap_or_default() {
            [] => self.model_type.as_deref() == Some("t5"),
            classes => classes.iter().any(|class| CLASSES.contains(&class.as_str())),
        }
    }
}
