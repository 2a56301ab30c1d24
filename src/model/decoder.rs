//! A decoder-only language model made of [`Block`]s.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;

use super::{
    block::{Block, Rotary},
    config::Config,
    ops,
};

/// Embedding table, blocks, final norm and output projection.
#[derive(Debug)]
pub struct Decoder {
    config: Config,
    embeddings: Tensor,
    blocks: Vec<Block>,
    norm: Tensor,
    lm_head: Tensor,
}

impl Decoder {
    /// Loads the weights under their Hugging Face names.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(config: &Config, vb: &VarBuilder) -> Result<Self> {
        let model = vb.pp("model");
        let embeddings = model.get((config.vocab_size, config.hidden_size), "embed_tokens.weight")?;
        let lm_head = if config.tie_word_embeddings {
            embeddings.clone()
        } else {
            vb.get((config.vocab_size, config.hidden_size), "lm_head.weight")?
        };
        let layers = model.pp("layers");
        let blocks =
            (0..config.num_hidden_layers).map(|i| Block::new(config, &layers.pp(i))).collect::<Result<Vec<_>>>()?;
        let norm = model.get(config.hidden_size, "norm.weight")?;
        Ok(Decoder { config: config.clone(), embeddings, blocks, norm, lm_head })
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
        self.embeddings.device()
    }

    /// What the weights are held in.
    pub fn dtype(&self) -> DType {
        self.embeddings.dtype()
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
        Rotary::new(&self.config, s, &self.embeddings)
    }

    /// Rows of the embedding table, `[S, H]`: the rows that enter the first block, and what gradients are taken by.
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor> {
        self.embeddings.index_select(&Tensor::new(ids, self.device())?, 0)
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
        ops::linear(&ops::rms_norm(hidden, &self.norm, self.config.rms_norm_eps)?, &self.lm_head, None)
    }

    /// Gradient with respect to `hidden` `[R, H]` from gradients with respect to its [`Self::logits`] `[R, V]`; each row
    /// is a target of its own.
    pub fn logits_vjp(&self, hidden: &Tensor, d_logits: &Tensor) -> Result<Tensor> {
        let d_normed = ops::linear_vjp(d_logits, &self.lm_head)?;
        let none = d_normed.zeros_like()?;
        ops::rms_norm_vjp(hidden, &self.norm, self.config.rms_norm_eps, &d_normed, &none)
    }
}
