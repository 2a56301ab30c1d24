//! A decoder-only language model made of [`Block`]s.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;

use crate::{
    architectures::config::Config,
    block::{Block, Rotary},
    files::stored::StoredWeights,
    head::Head,
    ops::{Precision, Weight},
};

/// Blocks between the two ends of a [`Head`].
#[derive(Debug)]
pub struct Decoder {
    config: Config,
    blocks: Vec<Block>,
    head: Head,
    precision: Precision,
}

impl Decoder {
    /// Loads the weights under their Hugging Face names.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(config: &Config, vb: &VarBuilder) -> Result<Self> {
        Self::with_precision(config, vb, Precision::Full)
    }

    /// As [`Decoder::new`], with matrix products in `precision` where the kernels of the CPU work them out.
    ///
    /// # Errors
    /// As [`Decoder::new`].
    pub fn with_precision(config: &Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        Self::with_stored(config, vb, precision, None)
    }

    /// As [`Decoder::with_precision`], with matrices that stay as the file holds them until they are used often; see
    /// [`Weight::stored`]. The numbers are the same to the last bit.
    ///
    /// # Errors
    /// As [`Decoder::new`].
    pub fn with_stored(
        config: &Config,
        vb: &VarBuilder,
        precision: Precision,
        stored: Option<&StoredWeights>,
    ) -> Result<Self> {
        // panels are for the kernels, which take no other tensors
        let stored = stored.filter(|_| vb.device().is_cpu() && matches!(vb.dtype(), DType::F32 | DType::F64));
        let model = vb.pp("model");
        let table = (config.vocab_size, config.hidden_size);
        let name = if config.tie_word_embeddings { "model.embed_tokens.weight" } else { "lm_head.weight" };
        let of_file = stored.and_then(|stored| stored.matrix(&[(name.into(), table.0)], table.1));
        let lm_head = match of_file {
            Some(rows) => Weight::stored(rows, vb.dtype(), precision),
            None => Weight::new(&vb.get(table, name)?, precision)?,
        };
        let embeddings = if config.tie_word_embeddings { None } else { Some(model.get(table, "embed_tokens.weight")?) };
        let norm = model.get(config.hidden_size, "norm.weight")?;
        let head = Head::new(embeddings, norm, lm_head, config.rms_norm_eps);
        let layers = model.pp("layers");
        let blocks = (0..config.num_hidden_layers)
            .map(|i| Block::with_stored(config, &layers.pp(i), precision, stored))
            .collect::<Result<Vec<_>>>()?;
        Ok(Decoder { config: config.clone(), blocks, head, precision })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The blocks, first to last.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Keeps the blocks' transposed weights, which gradients need: twice the memory, less time for each sample.
    pub fn keep_transposed(&self) {
        self.blocks.iter().for_each(Block::keep_transposed);
    }

    /// Embedding table, final norm and output projection.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The device that the weights are on.
    pub fn device(&self) -> &Device {
        self.head.device()
    }

    /// What tensors between products are held in.
    pub fn dtype(&self) -> DType {
        self.head.dtype()
    }

    /// What matrix products are worked out in.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Number of parameters in the blocks: what one position of a forward pass multiplies by.
    pub fn n_block_parameters(&self) -> usize {
        self.config.n_block_parameters()
    }

    /// Number of parameters that are multiplied by, norms and biases left out; a tied table counts once.
    pub fn n_parameters(&self) -> usize {
        self.config.n_parameters()
    }

    /// Positional tables for a sequence of `s` tokens.
    pub fn rotary(&self, s: usize) -> Result<Rotary> {
        self.rotary_at(0, s)
    }

    /// Positional tables for `n` tokens behind `start` others.
    pub fn rotary_at(&self, start: usize, n: usize) -> Result<Rotary> {
        Rotary::at(&self.config, start, n, self.head.norm())
    }

    /// Rows of the embedding table, `[S, H]`: the rows that enter the first block, and what gradients are taken by.
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor> {
        self.head.embed(ids)
    }

    /// Runs the blocks over embedded rows `[S, H]`; returns the last block's output `[S, H]`, before the final norm.
    pub fn forward(&self, x: &Tensor, rotary: &Rotary) -> Result<Tensor> {
        self.blocks.iter().try_fold(x.clone(), |x, block| block.forward(&x, rotary))
    }
}
