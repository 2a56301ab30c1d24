//! The two families of language models behind one face: what a scorer does with a model, whichever it is.

use std::sync::Arc;

use candle_core::{DType, Device, Result};

use crate::{
    architectures::{
        config::Config,
        t5::{T5, config::T5Config, source::Source},
    },
    decoder::Decoder,
    head::Head,
    ops::Precision,
    past::{Keep, Past},
};

/// A language model's numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelConfig {
    /// The numbers of a decoder-only model.
    DecoderOnly(Config),
    /// The numbers of an encoder-decoder.
    EncoderDecoder(T5Config),
}

impl ModelConfig {
    /// `model_type` in config.json.
    pub fn model_type(&self) -> &'static str {
        match self {
            ModelConfig::DecoderOnly(config) => config.architecture.model_type(),
            ModelConfig::EncoderDecoder(_) => "t5",
        }
    }

    /// Blocks, of both stacks where there are two.
    pub fn n_layers(&self) -> usize {
        match self {
            ModelConfig::DecoderOnly(config) => config.num_hidden_layers,
            ModelConfig::EncoderDecoder(config) => config.num_layers + config.num_decoder_layers,
        }
    }

    /// H, the width of the residual stream.
    pub fn hidden_size(&self) -> usize {
        match self {
            ModelConfig::DecoderOnly(config) => config.hidden_size,
            ModelConfig::EncoderDecoder(config) => config.d_model,
        }
    }

    /// V, the number of rows of the embedding table.
    pub fn vocab_size(&self) -> usize {
        match self {
            ModelConfig::DecoderOnly(config) => config.vocab_size,
            ModelConfig::EncoderDecoder(config) => config.vocab_size,
        }
    }

    /// Most tokens that the model takes: of prompt and text together, or in either stack of an encoder-decoder.
    pub fn max_tokens(&self) -> usize {
        match self {
            ModelConfig::DecoderOnly(config) => config.max_position_embeddings,
            ModelConfig::EncoderDecoder(config) => config.n_positions,
        }
    }

    /// Number of parameters in the blocks.
    pub fn n_block_parameters(&self) -> usize {
        match self {
            ModelConfig::DecoderOnly(config) => config.n_block_parameters(),
            ModelConfig::EncoderDecoder(config) => {
                let (encoder, decoder) = config.n_block_parameters();
                config.num_layers * encoder + config.num_decoder_layers * decoder
            }
        }
    }

    /// Whether the output projection is the embedding table.
    pub fn is_tied(&self) -> bool {
        match self {
            ModelConfig::DecoderOnly(config) => config.tie_word_embeddings,
            ModelConfig::EncoderDecoder(config) => config.tie_word_embeddings,
        }
    }

    /// Number of parameters that are multiplied by, norms and biases left out; a tied table counts once.
    pub fn n_parameters(&self) -> usize {
        let table = self.vocab_size() * self.hidden_size();
        self.n_block_parameters() + if self.is_tied() { table } else { 2 * table }
    }
}

/// A language model whose gradients can be taken. The weights are shared: a clone, or a [`ReadPrompt`], is another handle on them.
#[derive(Debug, Clone)]
pub enum LanguageModel {
    /// One stack: the text follows the prompt.
    DecoderOnly(Arc<Decoder>),
    /// Two stacks: the encoder reads the prompt, the decoder writes the text.
    EncoderDecoder(Arc<T5>),
}

impl LanguageModel {
    /// The architecture's numbers.
    pub fn config(&self) -> ModelConfig {
        match self {
            LanguageModel::DecoderOnly(model) => ModelConfig::DecoderOnly(model.config().clone()),
            LanguageModel::EncoderDecoder(model) => ModelConfig::EncoderDecoder(model.config().clone()),
        }
    }

    /// Keeps the blocks' transposed weights, which gradients need.
    pub fn keep_transposed(&self) {
        match self {
            LanguageModel::DecoderOnly(model) => model.keep_transposed(),
            LanguageModel::EncoderDecoder(model) => model.keep_transposed(),
        }
    }

    /// Embedding table, final norm and output projection.
    pub fn head(&self) -> &Head {
        match self {
            LanguageModel::DecoderOnly(model) => model.head(),
            LanguageModel::EncoderDecoder(model) => model.head(),
        }
    }

    /// The device that the weights are on.
    pub fn device(&self) -> &Device {
        self.head().device()
    }

    /// What tensors between products are held in.
    pub fn dtype(&self) -> DType {
        self.head().dtype()
    }

    /// What matrix products are worked out in.
    pub fn precision(&self) -> Precision {
        match self {
            LanguageModel::DecoderOnly(model) => model.precision(),
            LanguageModel::EncoderDecoder(model) => model.precision(),
        }
    }

    /// Runs the prompt's tokens `ids`, at least one, for all the texts about it.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn read(&self, ids: &[u32], keep: Keep) -> Result<ReadPrompt> {
        Ok(match self {
            LanguageModel::DecoderOnly(model) => ReadPrompt::Past(Arc::clone(model), Past::new(model, ids, keep)?),
            LanguageModel::EncoderDecoder(model) => {
                ReadPrompt::Source(Arc::clone(model), Source::new(model, ids, keep)?)
            }
        })
    }

    /// As [`LanguageModel::read`], and notes what readings of attention and of hidden states need of the prompt
    /// ([`Want::needs_notes`](crate::reading::Want::needs_notes)).
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn read_noting(&self, ids: &[u32], keep: Keep) -> Result<ReadPrompt> {
        Ok(match self {
            LanguageModel::DecoderOnly(model) => ReadPrompt::Past(Arc::clone(model), Past::noting(model, ids, keep)?),
            LanguageModel::EncoderDecoder(model) => {
                ReadPrompt::Source(Arc::clone(model), Source::noting(model, ids, keep)?)
            }
        })
    }
}

/// A prompt that a model has read. It holds on to the model, so that whoever keeps the prompt need not.
#[derive(Debug)]
pub enum ReadPrompt {
    /// What a decoder-only model keeps of its prompt: keys and values of every layer.
    Past(Arc<Decoder>, Past),
    /// What an encoder-decoder keeps of its prompt: the encoder's output.
    Source(Arc<T5>, Source),
}

impl ReadPrompt {
    /// N, the number of the prompt's tokens.
    pub fn len(&self) -> usize {
        match self {
            ReadPrompt::Past(_, past) => past.len(),
            ReadPrompt::Source(_, source) => source.len(),
        }
    }

    /// Whether there are none; a prompt always has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it was read with [`LanguageModel::read_noting`].
    pub fn is_noted(&self) -> bool {
        match self {
            ReadPrompt::Past(_, past) => past.is_noted(),
            ReadPrompt::Source(_, source) => source.is_noted(),
        }
    }

    /// Whether this is the run of the prompt `ids` with at least what `keep` says.
    pub fn serves(&self, ids: &[u32], keep: Keep) -> bool {
        match self {
            ReadPrompt::Past(_, past) => past.serves(ids, keep),
            ReadPrompt::Source(_, source) => source.serves(ids, keep),
        }
    }
}
