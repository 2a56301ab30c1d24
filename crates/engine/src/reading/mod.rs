//! What is read off a model that runs over a prompt and a text.
//!
//! A [`Want`] says what, and [`read_about`] answers it with a [`Reading`] from one pass over the text: scores of its tokens always;
//! their ranks, their attribution, attention by groups of keys and hidden states where they are wanted. What is not wanted costs
//! nothing.

pub mod answer;
pub mod attention;
pub mod attribution;
pub mod hidden;
pub mod margins;
pub mod scores;
pub mod tops;

use std::collections::BTreeMap;

use candle_core::{Result, Tensor};

use self::{
    attention::{AttentionWant, LayerAttention},
    attribution::{AttributedFn, Attribution, attribute_scored, attribute_scored_text},
    hidden::LayerStates,
    scores::{StepRanks, StepScores, score},
};
use crate::{
    architectures::t5::{T5, source::Source},
    block::Passed,
    decoder::Decoder,
    head::Head,
    language::ReadPrompt,
    past::Past,
    plan::Plan,
};

/// What is wanted of a text beside the scores of its tokens.
#[derive(Debug, Clone, Default)]
pub struct Want<'a> {
    /// How every token stands among the others that might have come.
    pub ranks: bool,
    /// The attribution of every token. The prompt must have been read with what the plan keeps.
    pub gradients: Option<Gradients<'a>>,
    /// Attention by groups of keys.
    pub attention: Option<AttentionWant>,
    /// The blocks whose output is wanted, counted from 1; 0 is the embeddings.
    pub hidden: Vec<usize>,
}

/// Which attribution is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Gradients<'a> {
    /// The scalar that is explained.
    pub attributed_fn: AttributedFn,
    /// How many targets go together.
    pub plan: &'a Plan,
}

/// What a model said of one text behind a prompt: what was wanted, and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The scores of each of the text's T tokens.
    pub scores: StepScores,
    /// How they stand, if it was wanted.
    pub ranks: Option<StepRanks>,
    /// Their attribution, if it was wanted.
    pub attribution: Option<Attribution>,
    /// Attention of the layers that were wanted, in their order.
    pub attention: Vec<LayerAttention>,
    /// States of the layers that were wanted, in their order.
    pub hidden: Vec<LayerStates>,
}

impl Want<'_> {
    /// Whether the prompt must be read with [`read_noting`](crate::language::LanguageModel::read_noting).
    pub fn needs_notes(&self) -> bool {
        self.attention.is_some() || !self.hidden.is_empty()
    }

    /// Scores the text's tokens `targets` `[T]` predicted by `rows` `[T, H]`, and the seeds of what is explained.
    fn score(&self, head: &Head, rows: &Tensor, targets: &[u32]) -> Result<Scored> {
        let mut ranks = self.ranks.then(StepRanks::default);
        let seed = self.gradients.map(|gradients| gradients.attributed_fn.seed());
        let (scores, seeds) = score(head, rows, targets, seed, ranks.as_mut())?;
        Ok(Scored { scores, ranks, seeds })
    }
}

struct Scored {
    scores: StepScores,
    ranks: Option<StepRanks>,
    seeds: Vec<Tensor>,
}

/// Reads what is wanted of the text `targets` `[T]`, at least one token, about a prompt of either family. The numbers are, to the
/// bit, those that [`scores::scores_about`], [`scores::scores_and_ranks_about`] and [`attribution::attribute_about`] give.
///
/// # Errors
/// There is no such layer, a key has no group, the prompt was not read with what is wanted of it, the model's logits are not
/// finite, or a tensor operation failed.
pub fn read_about(prompt: &ReadPrompt, targets: &[u32], want: &Want<'_>) -> Result<Reading> {
    if targets.is_empty() {
        candle_core::bail!("a text without tokens: there is nothing to read");
    }
    match prompt {
        ReadPrompt::Past(decoder, past) => read_behind(decoder, past, targets, want),
        ReadPrompt::Source(model, source) => read_from(model, source, targets, want),
    }
}

/// [`read_about`] by a decoder-only model.
fn read_behind(decoder: &Decoder, past: &Past, targets: &[u32], want: &Want<'_>) -> Result<Reading> {
    let n_layers = decoder.blocks().len();
    hidden::check(&want.hidden, n_layers)?;
    if let Some(attention) = &want.attention {
        attention.check(n_layers, past.len() + targets.len() - 1, None)?;
    }
    let mut by_layer = BTreeMap::new();
    let mut attend = |layer: usize, text: Option<&Passed<'_>>| -> Result<()> {
        let Some(wanted) = want.attention.as_ref().filter(|wanted| wanted.layers.contains(&(layer + 1))) else {
            return Ok(());
        };
        let (mut queries, mut keys) =
            (vec![past.notes()?.queries[layer].clone()], vec![past.keys_values()[layer].clone()]);
        if let Some(text) = text {
            queries.push(text.queries(targets.len() - 1)?);
            keys.push(text.keys_values()?);
        }
        let (queries, keys) = (Tensor::cat(&queries, 0)?, Tensor::cat(&keys, 0)?);
        by_layer.insert(
            layer + 1,
            [Some(decoder.blocks()[layer].attention_by_group(&queries, &keys, wanted.own())?), None],
        );
        Ok(())
    };
    // what goes into block l is the state behind l blocks
    let (mut inputs, mut states) = (Vec::new(), BTreeMap::new());
    let rows = past.run(decoder, targets, |layer, x, passed| {
        attend(layer, Some(passed))?;
        if want.hidden.contains(&layer) {
            states.insert(layer, x.clone());
        }
        if want.gradients.is_some() {
            inputs.push(x);
        }
        Ok(())
    })?;
    if targets.len() == 1 {
        (0..n_layers).try_for_each(|layer| attend(layer, None))?;
    }
    let hidden = want.hidden.iter().map(|&layer| {
        let notes = past.notes()?;
        let rows = match states.get(&layer) {
            _ if layer == n_layers => rows.clone(),
            Some(text) => Tensor::cat(&[&notes.last[layer], text], 0)?,
            None => notes.last[layer].clone(),
        };
        LayerStates::new(layer, &rows, &notes.means[layer])
    });
    let hidden = hidden.collect::<Result<_>>()?;
    let Scored { scores, ranks, seeds } = want.score(decoder.head(), &rows, targets)?;
    let attribution = match want.gradients {
        None => None,
        Some(Gradients { attributed_fn, plan }) => {
            let inputs = (past.len(), past.layer_inputs_with(inputs)?);
            let scored = (scores.clone(), Tensor::cat(&seeds, 0)?);
            Some(attribute_scored(decoder, inputs, scored, attributed_fn, plan)?)
        }
    };
    let attention = want.attention.iter().flat_map(|wanted| wanted.collect(targets.len(), &by_layer)).collect();
    Ok(Reading { scores, ranks, attribution, attention, hidden })
}

/// [`read_about`] by an encoder-decoder.
fn read_from(model: &T5, source: &Source, targets: &[u32], want: &Want<'_>) -> Result<Reading> {
    let n_layers = model.decoder().len();
    hidden::check(&want.hidden, n_layers.min(model.encoder().len()))?;
    if let Some(attention) = &want.attention {
        attention.check(n_layers, targets.len(), Some(source.len()))?;
    }
    let mut by_layer = BTreeMap::new();
    let rows = source.decode_by(model, targets, |layer, block, [x, bias, memory]| {
        match want.attention.as_ref().filter(|wanted| wanted.layers.contains(&(layer + 1))) {
            None => block.forward(x, bias, memory),
            Some(wanted) => {
                let (y, sums) = block.forward_by_group(x, bias, memory, [wanted.own(), wanted.source()])?;
                by_layer.insert(layer + 1, sums.map(Some));
                Ok(y)
            }
        }
    })?;
    let hidden = want.hidden.iter().map(|&layer| LayerStates::new(layer, &rows[layer], &source.means()?[layer]));
    let hidden = hidden.collect::<Result<_>>()?;
    let Scored { scores, ranks, seeds } = want.score(model.head(), &rows[n_layers], targets)?;
    let attribution = match want.gradients {
        None => None,
        Some(Gradients { attributed_fn, plan }) => {
            let scored = (scores.clone(), Tensor::cat(&seeds, 0)?);
            Some(attribute_scored_text((model, source), rows, scored, attributed_fn, plan)?)
        }
    };
    let attention = want.attention.iter().flat_map(|wanted| wanted.collect(targets.len(), &by_layer)).collect();
    Ok(Reading { scores, ranks, attribution, attention, hidden })
}
