//! What is wanted from inside a model beside the scores of a text.

use super::Scorer;
use crate::{
    families::{attention, family::Needs, hidden},
    tokens::Encoding,
};
use veridiff_engine::{language::ModelConfig, reading::Want};
use veridiff_text::diff::Diff;

impl Scorer {
    /// What features need of the one run over the text of `encoding`; gradients have a plan, and are added with it.
    pub(super) fn want(&self, needs: &Needs, encoding: &Encoding, diff: &Diff) -> Want<'static> {
        let (n_layers, n_states, is_pair) = match self.model.config() {
            ModelConfig::DecoderOnly(config) => (config.num_hidden_layers, config.num_hidden_layers, false),
            ModelConfig::EncoderDecoder(config) => {
                (config.num_decoder_layers, config.num_decoder_layers.min(config.num_layers), true)
            }
        };
        let attention = needs.attention.then(|| attention::want(encoding, diff, n_layers, is_pair));
        let hidden = if needs.hidden { hidden::layers(n_states) } else { Vec::new() };
        Want { ranks: needs.ranks, gradients: None, attention, hidden }
    }
}
