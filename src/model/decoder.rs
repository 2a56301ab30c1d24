//! A decoder-only language model made of [`Block`]s.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;

use super::{
    block::{Block, Rotary},
    config::Config,
    ops::{self, Precision, Weight},
};

/// Embedding table, blocks, final norm and output projection.
#[derive(Debug)]
pub struct Decoder {
    config: Config,
    /// The table where it is not the head as well.
    embeddings: Option<Tensor>,
    blocks: Vec<Block>,
    norm: Tensor,
    lm_head: Weight,
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
        let model = vb.pp("model");
        let table = (config.vocab_size, config.hidden_size);
        let embeddings = || model.get(table, "embed_tokens.weight");
        let (embeddings, lm_head) = if config.tie_word_embeddings {
            (None, embeddings()?)
        } else {
            (Some(embeddings()?), vb.get(table, "lm_head.weight")?)
        };
        let lm_head = Weight::new(&lm_head, precision)?;
        let layers = model.pp("layers");
        let blocks = (0..config.num_hidden_layers)
            .map(|i| Block::new(config, &layers.pp(i), precision))
            .collect::<Result<Vec<_>>>()?;
        let norm = model.get(config.hidden_size, "norm.weight")?;
        Ok(Decoder { config: config.clone(), embeddings, blocks, norm, lm_head, precision })
    }

    /// The architecture's numbers.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The blocks, first to last.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Where the weights are.
    pub fn device(&self) -> &Device {
        self.norm.device()
    }

    /// What tensors between products are held in.
    pub fn dtype(&self) -> DType {
        self.norm.dtype()
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
        Rotary::new(&self.config, s, &self.norm)
    }

    /// Rows of the embedding table, `[S, H]`: the rows that enter the first block, and what gradients are taken by.
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor> {
        match &self.embeddings {
            Some(table) => table.index_select(&Tensor::new(ids, self.device())?, 0),
            None => self.lm_head.table_rows(ids),
        }
    }

    /// Runs the blocks over embedded rows `[S, H]`; returns the last block's output `[S, H]`, before the final norm.
    pub fn forward(&self, x: &Tensor, rotary: &Rotary) -> Result<Tensor> {
        self.blocks.iter().try_fold(x.clone(), |x, block| block.forward(&x, rotary))
    }

    /// Runs the blocks and returns every block's input and the last one's output: `L + 1` tensors `[S, H]`.
    pub fn layer_inputs(&self, x: &Tensor, rotary: &Rotary) -> Result<Vec<Tensor>> {
        let mut inputs = vec![x.clone()];
        for block in &self.blocks {
            inputs.push(block.forward(&inputs[inputs.len() - 1], rotary)?);
        }
        Ok(inputs)
    }

    /// Logits `[R, V]` of some rows `[R, H]` of the last block's output.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        self.lm_head.linear(&ops::rms_norm(hidden, &self.norm, self.config.rms_norm_eps)?, None)
    }

    /// Gradient with respect to `hidden` `[R, H]` from gradients with respect to its [`Self::logits`] `[R, V]`; each row
    /// is a target of its own.
    pub fn logits_vjp(&self, hidden: &Tensor, d_logits: &Tensor) -> Result<Tensor> {
        let d_normed = self.lm_head.linear_vjp(d_logits)?;
        let none = d_normed.zeros_like()?;
        ops::rms_norm_vjp(hidden, &self.norm, self.config.rms_norm_eps, &d_normed, &none)
    }
}
