//! Where the rows that predict a text look, by groups of keys.
//!
//! A group is an anonymous number: that one of them is the diff is the caller's to know. The shares of a row over the groups of
//! one sequence add up to 1, as the probabilities do that they are sums of; what they say of the model's reasons is another
//! matter (Jain and Wallace 2019, arXiv:1902.10186).

use std::collections::BTreeMap;

use candle_core::Result;

use crate::ops::KeyGroups;

/// Which attention is wanted, and the group of every key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttentionWant {
    /// The blocks whose attention is wanted, counted from 1; of an encoder-decoder those of the decoder.
    pub layers: Vec<usize>,
    /// G, how many groups the keys are in.
    pub n_groups: usize,
    /// The group, below G, of every row that the model's own attention sees: of a decoder-only model the `N` tokens of the prompt
    /// and the text's but the last, `N + T - 1`; of an encoder-decoder the decoder's start and the text's but the last, `T`.
    pub keys: Vec<u8>,
    /// The group of each of the `N` tokens of an encoder-decoder's prompt, for its cross-attention; empty otherwise.
    pub source_keys: Vec<u8>,
}

/// Attention of one block, for every head and every token of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerAttention {
    /// The block, counted from 1.
    pub layer: usize,
    /// Over the rows of the stack that writes the text.
    pub own: Shares,
    /// Over an encoder-decoder's source.
    pub source: Option<Shares>,
}

/// Sums of probabilities `[heads, T, G]`, each 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    n_targets: usize,
    n_groups: usize,
    values: Vec<f64>,
}

impl Shares {
    /// How many query heads the layer has.
    pub fn n_heads(&self) -> usize {
        self.values.len() / (self.n_targets * self.n_groups).max(1)
    }

    /// T, the number of tokens of the text.
    pub fn n_targets(&self) -> usize {
        self.n_targets
    }

    /// The share of each group in what `head` sees where token `target` of the text is predicted, G numbers.
    ///
    /// # Panics
    /// There is no such head or token.
    pub fn of(&self, head: usize, target: usize) -> &[f64] {
        assert!(target < self.n_targets, "token {target} of {}", self.n_targets);
        &self.values[(head * self.n_targets + target) * self.n_groups..][..self.n_groups]
    }
}

impl AttentionWant {
    /// Checks the layers and the groups against a model of `n_layers` blocks that sees `n_keys` rows of its own and, where it has
    /// two stacks, `n_source` of the source.
    pub(super) fn check(&self, n_layers: usize, n_keys: usize, n_source: Option<usize>) -> Result<()> {
        if let Some(layer) = self.layers.iter().find(|&&layer| layer == 0 || layer > n_layers) {
            candle_core::bail!("attention of layer {layer} is wanted, expected 1 to {n_layers}");
        }
        if self.n_groups == 0 {
            candle_core::bail!("attention is wanted by no group of keys");
        }
        if self.keys.len() != n_keys {
            candle_core::bail!("{} keys have a group, expected {n_keys}", self.keys.len());
        }
        let expected = n_source.unwrap_or(0);
        if self.source_keys.len() != expected {
            candle_core::bail!("{} keys of the source have a group, expected {expected}", self.source_keys.len());
        }
        Ok(())
    }

    /// The groups of the model's own rows.
    pub(super) fn own(&self) -> KeyGroups<'_> {
        KeyGroups { of_key: &self.keys, n_groups: self.n_groups }
    }

    /// The groups of the source's rows.
    pub(super) fn source(&self) -> KeyGroups<'_> {
        KeyGroups { of_key: &self.source_keys, n_groups: self.n_groups }
    }

    /// The layers in their order, from sums `[heads, T, G]` over own rows and over the source's.
    pub(super) fn collect(
        &self,
        n_targets: usize,
        by_layer: &BTreeMap<usize, [Option<Vec<f64>>; 2]>,
    ) -> Vec<LayerAttention> {
        let shares = |values: &Vec<f64>| Shares { n_targets, n_groups: self.n_groups, values: values.clone() };
        let of_layer = |&layer: &usize| {
            let [own, source] = by_layer.get(&layer)?;
            Some(LayerAttention { layer, own: shares(own.as_ref()?), source: source.as_ref().map(shares) })
        };
        self.layers.iter().filter_map(of_layer).collect()
    }
}
