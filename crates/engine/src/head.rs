//! Both ends of a language model: the embedding table, and the final norm with the output projection, which may be the same
//! table.

use candle_core::{DType, Device, Result, Tensor};

use super::ops::{self, Weight};

/// Embedding table, final norm and output projection.
#[derive(Debug)]
pub struct Head {
    /// The table where it is not the output projection as well.
    embeddings: Option<Tensor>,
    norm: Tensor,
    lm_head: Weight,
    eps: f64,
}

impl Head {
    /// `embeddings` `[V, H]` is none where `lm_head` `[V, H]` is the table too; `norm` `[H]` is applied before it.
    pub fn new(embeddings: Option<Tensor>, norm: Tensor, lm_head: Weight, eps: f64) -> Self {
        Head { embeddings, norm, lm_head, eps }
    }

    /// The final norm's weight `[H]`.
    pub fn norm(&self) -> &Tensor {
        &self.norm
    }

    /// The device that the weights are on.
    pub fn device(&self) -> &Device {
        self.norm.device()
    }

    /// What tensors between products are held in.
    pub fn dtype(&self) -> DType {
        self.norm.dtype()
    }

    /// Rows of the embedding table, `[S, H]`: the rows that enter the first block, and what gradients are taken by.
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor> {
        match &self.embeddings {
            Some(table) => table.index_select(&Tensor::new(ids, self.device())?, 0),
            None => self.lm_head.table_rows(ids),
        }
    }

    /// Some rows `[R, H]` of the last block's output behind the final norm.
    pub fn normed(&self, hidden: &Tensor) -> Result<Tensor> {
        ops::rms_norm(hidden, &self.norm, self.eps)
    }

    /// Logits `[R, V]` of some rows `[R, H]` of the last block's output.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        self.lm_head.linear(&self.normed(hidden)?, None)
    }

    /// Gradient with respect to `hidden` `[R, H]` from gradients with respect to its [`Self::logits`] `[R, V]`; each row
    /// is a target of its own.
    pub fn logits_vjp(&self, hidden: &Tensor, d_logits: &Tensor) -> Result<Tensor> {
        let d_normed = self.lm_head.linear_vjp(d_logits)?;
        let none = d_normed.zeros_like()?;
        ops::rms_norm_vjp(hidden, &self.norm, self.eps, &d_normed, &none)
    }
}
