//! T5: an encoder that reads the source and a decoder that writes the text (Raffel et al. 2020, arXiv:1910.10683). CodeT5, CodeT5+
//! 220M and 770M and CCT5 are T5s.
//!
//! | file | owns |
//! |---|---|
//! | `config.rs` | config.json, checked |
//! | `bias.rs` | attention's bias by distance |
//! | `block.rs` | the blocks of both stacks, with their gradients |
//! | `source.rs` | a source run through the encoder once, for all texts about it |

pub mod bias;
pub mod block;
pub mod config;
pub mod source;

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use self::{
    bias::RelativeBias,
    block::{DecoderBlock, EncoderBlock},
    config::T5Config,
};
use crate::{
    head::Head,
    ops::{self, Precision, Weight},
};

/// An encoder-decoder language model.
#[derive(Debug)]
pub struct T5 {
    config: T5Config,
    head: Head,
    encoder: Vec<EncoderBlock>,
    encoder_bias: RelativeBias,
    encoder_norm: Tensor,
    decoder: Vec<DecoderBlock>,
    decoder_bias: RelativeBias,
    precision: Precision,
}

/// The names that the shared embedding table goes by. Checkpoints keep it once, under any of them; the last is its name only
/// where the output projection is tied to it.
const TABLES: [&str; 4] =
    ["shared.weight", "decoder.embed_tokens.weight", "encoder.embed_tokens.weight", "lm_head.weight"];

/// The name under which a checkpoint keeps the embedding table of both stacks; the first that it goes by if there is none.
pub(crate) fn table_name(vb: &VarBuilder, is_tied: bool) -> &'static str {
    let names = &TABLES[..if is_tied { 4 } else { 3 }];
    names.iter().copied().find(|name| vb.contains_tensor(name)).unwrap_or(TABLES[0])
}

impl T5 {
    /// Loads the weights under their Hugging Face names.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(config: &T5Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        let (h, table) = (config.d_model, (config.vocab_size, config.d_model));
        let shared = table_name(vb, config.tie_word_embeddings);
        let mut norm = vb.get(h, "decoder.final_layer_norm.weight")?;
        let (embeddings, lm_head) = if config.tie_word_embeddings {
            // the scaling of a tied head's inputs, put into the norm before it
            norm = (norm * (h as f64).powf(-0.5))?;
            (None, vb.get(table, shared)?)
        } else {
            (Some(vb.get(table, shared)?), vb.get(table, "lm_head.weight")?)
        };
        let head = Head::new(embeddings, norm, Weight::new(&lm_head, precision)?, config.layer_norm_epsilon);
        let bias = |stack: &str, bidirectional: bool| {
            let shape = (config.relative_attention_num_buckets, config.num_heads);
            let name = format!("{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
            let table = vb.get(shape, &name)?;
            Ok::<_, candle_core::Error>(RelativeBias::new(table, config.relative_attention_max_distance, bidirectional))
        };
        let blocks = |stack: &str| vb.pp(stack).pp("block");
        Ok(T5 {
            head,
            encoder: (0..config.num_layers)
                .map(|i| EncoderBlock::new(config, &blocks("encoder").pp(i).pp("layer"), precision))
                .collect::<Result<_>>()?,
            encoder_bias: bias("encoder", true)?,
            encoder_norm: vb.get(h, "encoder.final_layer_norm.weight")?,
            decoder: (0..config.num_decoder_layers)
                .map(|i| DecoderBlock::new(config, &blocks("decoder").pp(i).pp("layer"), precision))
                .collect::<Result<_>>()?,
            decoder_bias: bias("decoder", false)?,
            config: config.clone(),
            precision,
        })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &T5Config {
        &self.config
    }

    /// Embedding table, the decoder's final norm and output projection.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Keeps the blocks' transposed weights, which gradients need: twice the memory, less time for each sample.
    pub fn keep_transposed(&self) {
        self.encoder.iter().for_each(EncoderBlock::keep_transposed);
        self.decoder.iter().for_each(DecoderBlock::keep_transposed);
    }

    /// The encoder's blocks, first to last.
    pub fn encoder(&self) -> &[EncoderBlock] {
        &self.encoder
    }

    /// The decoder's blocks, first to last.
    pub fn decoder(&self) -> &[DecoderBlock] {
        &self.decoder
    }

    /// What matrix products are worked out in.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Biases by distance among `n` rows of the encoder, `[heads, 2n - 1]`.
    pub fn encoder_bias(&self, n: usize) -> Result<Tensor> {
        self.encoder_bias.among(n)
    }

    /// Biases by distance among `s` rows of the decoder, `[heads, 2s - 1]`.
    pub fn decoder_bias(&self, s: usize) -> Result<Tensor> {
        self.decoder_bias.among(s)
    }

    /// The encoder's output `[N, H]` from its last block's.
    pub fn encoded(&self, last: &Tensor) -> Result<Tensor> {
        ops::rms_norm(last, &self.encoder_norm, self.config.layer_norm_epsilon)
    }

    /// Gradient with respect to the last block's output `[N, H]` from gradients with respect to its [`Self::encoded`],
    /// `[B, N, H]`.
    pub fn encoded_vjp(&self, last: &Tensor, d_encoded: &Tensor) -> Result<Tensor> {
        let none = d_encoded.zeros_like()?;
        ops::rms_norm_vjp(last, &self.encoder_norm, self.config.layer_norm_epsilon, d_encoded, &none)
    }

    /// What the decoder reads to predict the tokens `text` `[T]`: the start token and all of them but the last.
    pub fn decoder_ids(&self, text: &[u32]) -> Vec<u32> {
        let start = std::iter::once(self.config.decoder_start_token_id);
        start.chain(text[..text.len().saturating_sub(1)].iter().copied()).collect()
    }

    /// Runs both stacks over embedded rows: of the source `[N, H]`, and of [`Self::decoder_ids`] `[T, H]`. Returns the rows
    /// `[T, H]` of the last block's output that predict the text.
    pub fn forward(&self, source: &Tensor, text: &Tensor) -> Result<Tensor> {
        let bias = self.encoder_bias(source.dim(0)?)?;
        let last = self.encoder.iter().try_fold(source.clone(), |x, block| block.forward(&x, &bias))?;
        let encoded = self.encoded(&last)?;
        let bias = self.decoder_bias(text.dim(0)?)?;
        self.decoder.iter().try_fold(text.clone(), |x, block| block.forward(&x, &bias, &block.memory(&encoded)?))
    }
}
