//! The residual stream behind chosen blocks, where a text is predicted and on average over its prompt.

use candle_core::{DType, Device, Result, Tensor};

/// States behind one block, before any final norm.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerStates {
    /// The block, counted from 1; 0 is the embeddings.
    pub layer: usize,
    /// Of each of the T tokens of the text: the row `[H]` that predicts it; of an encoder-decoder a row of the decoder.
    pub rows: Vec<Vec<f64>>,
    /// The mean `[H]` over the prompt's N rows, added up in f64; of an encoder-decoder over the encoder's.
    pub prompt_mean: Vec<f64>,
}

impl LayerStates {
    /// From rows `[T, H]` on any device.
    pub(super) fn new(layer: usize, rows: &Tensor, prompt_mean: &[f64]) -> Result<Self> {
        let rows = rows.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_vec2()?;
        Ok(LayerStates { layer, rows, prompt_mean: prompt_mean.to_vec() })
    }
}

/// Checks that there are such layers.
pub(super) fn check(layers: &[usize], n_layers: usize) -> Result<()> {
    match layers.iter().find(|&&layer| layer > n_layers) {
        None => Ok(()),
        Some(layer) => candle_core::bail!("states of layer {layer} are wanted, expected 0 to {n_layers}"),
    }
}
