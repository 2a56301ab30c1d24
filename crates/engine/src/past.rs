//! A prompt run once for all the texts that may follow it.
//!
//! Prompt and text always go through the blocks apart, even when a prompt has one text only: the prompt's rows are then
//! computed by the same arithmetic whatever follows, and a text's rows whoever else shares the prompt, so that a row of a
//! table does not depend on its neighbours.

use candle_core::{DType, Result, Tensor};

use super::{
    block::{Insides, Passed, Rotary, Run},
    decoder::Decoder,
    ops,
};

/// What is kept of a prompt's run for the texts behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// What the scores of a text need: keys, values, the last output row.
    KeysValues,
    /// Every block's input too, which gradients need.
    LayerInputs,
    /// And what gradients need of the prompt's rows inside the blocks, which is worked out again otherwise.
    Insides,
}

/// P prompt rows that went through the blocks.
#[derive(Debug)]
pub struct Past {
    ids: Vec<u32>,
    /// Of each block: rotated keys and values `[P, 2 n_kv head_dim]`.
    keys_values: Vec<Tensor>,
    /// The last row `[1, H]` of the last block's output, which predicts the text's first token.
    last: Tensor,
    /// Every block's input `[P, H]`.
    inputs: Option<Vec<Tensor>>,
    /// Every block's insides, or none.
    insides: Vec<Insides>,
    notes: Option<Notes>,
}

/// What a reading of attention or of hidden states needs of the prompt's rows beside keys and values: a few rows of each block.
#[derive(Debug)]
pub(crate) struct Notes {
    /// The last row's rotated queries `[1, n_heads head_dim]` in every block.
    pub(crate) queries: Vec<Tensor>,
    /// The last row `[1, H]` of the embeddings and of every block's output.
    pub(crate) last: Vec<Tensor>,
    /// The mean `[H]` over all rows of the same.
    pub(crate) means: Vec<Vec<f64>>,
}

impl Past {
    /// Runs the tokens `ids`, at least one, through the blocks.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn new(decoder: &Decoder, ids: &[u32], keep: Keep) -> Result<Self> {
        Self::read(decoder, ids, keep, false)
    }

    /// As [`Past::new`], and notes what readings of attention and of hidden states need of the prompt's rows.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn noting(decoder: &Decoder, ids: &[u32], keep: Keep) -> Result<Self> {
        Self::read(decoder, ids, keep, true)
    }

    fn read(decoder: &Decoder, ids: &[u32], keep: Keep, noting: bool) -> Result<Self> {
        let mut notes = noting.then(|| Notes { queries: Vec::new(), last: Vec::new(), means: Vec::new() });
        let mut keys_values = Vec::with_capacity(decoder.blocks().len());
        let (mut inputs, mut insides) = (Vec::new(), Vec::new());
        let rotary = decoder.rotary(ids.len())?;
        let mut x = decoder.embed(ids)?;
        for block in decoder.blocks() {
            let passed = block.pass(&x, None, &rotary)?;
            keys_values.push(passed.keys_values()?);
            if let Some(notes) = &mut notes {
                notes.queries.push(passed.queries(1)?);
                notes.note_state(&x)?;
            }
            let y = passed.y.clone();
            if keep == Keep::Insides {
                insides.push(passed.into_insides()?);
            }
            if keep >= Keep::LayerInputs {
                inputs.push(x);
            }
            x = y;
        }
        if let Some(notes) = &mut notes {
            notes.note_state(&x)?;
        }
        // `copy` would copy, and keep, the rows before it too
        let last = x.narrow(0, ids.len() - 1, 1)?.force_contiguous()?;
        let inputs = (keep >= Keep::LayerInputs).then_some(inputs);
        Ok(Past { ids: ids.to_vec(), keys_values, last, inputs, insides, notes })
    }

    /// The run of this prompt with the tokens `ids`, at least one, behind it: what texts behind both need. Its bits are those of these
    /// two steps, which a run of all tokens in one need not have.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn extended(&self, decoder: &Decoder, ids: &[u32]) -> Result<Past> {
        let rotary = decoder.rotary_at(self.len(), ids.len())?;
        let mut keys_values = Vec::with_capacity(self.keys_values.len());
        let mut x = decoder.embed(ids)?;
        for (block, past) in decoder.blocks().iter().zip(&self.keys_values) {
            let passed = block.pass(&x, Some(past), &rotary)?;
            keys_values.push(Tensor::cat(&[past, &passed.keys_values()?], 0)?);
            x = passed.y;
        }
        let last = x.narrow(0, ids.len() - 1, 1)?.force_contiguous()?;
        Ok(Past { ids: [&self.ids, ids].concat(), keys_values, last, inputs: None, insides: Vec::new(), notes: None })
    }

    /// Logits `[V]` of the token behind the prompt.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn next_logits(&self, decoder: &Decoder) -> Result<Vec<f64>> {
        decoder.head().logits(&self.last)?.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
    }

    /// Whether the prompt was run with [`Past::noting`].
    pub fn is_noted(&self) -> bool {
        self.notes.is_some()
    }

    /// What was noted.
    ///
    /// # Errors
    /// The prompt was run without noting.
    pub(crate) fn notes(&self) -> Result<&Notes> {
        match &self.notes {
            Some(notes) => Ok(notes),
            None => candle_core::bail!("the prompt was read without noting what attention and hidden states need"),
        }
    }

    /// Rotated keys and values `[P, 2 n_kv head_dim]` of every block.
    pub(crate) fn keys_values(&self) -> &[Tensor] {
        &self.keys_values
    }

    /// Whether this is the past of the prompt `ids` with at least what `keep` says.
    pub fn serves(&self, ids: &[u32], keep: Keep) -> bool {
        let kept = match (&self.inputs, &self.insides[..]) {
            (None, _) => Keep::KeysValues,
            (Some(_), []) => Keep::LayerInputs,
            _ => Keep::Insides,
        };
        self.ids == ids && keep <= kept
    }

    /// P, how many of the prompt's rows were run.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Bytes of its rotated keys and values.
    pub fn n_bytes(&self) -> usize {
        self.keys_values.iter().map(|tensor| tensor.elem_count() * tensor.dtype().size_in_bytes()).sum()
    }

    /// Whether there are none; a [`Past`] always has some.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Runs the text's tokens `targets` `[T]` behind the prompt; `visit` is given the number of every block, its input, rows of
    /// the text only, and what became of them in it. A text of one token has no rows and no visits. Returns the rows `[T, H]` of
    /// the last block's output that predict the targets.
    pub(crate) fn run(
        &self,
        decoder: &Decoder,
        targets: &[u32],
        mut visit: impl FnMut(usize, Tensor, &Passed<'_>) -> Result<()>,
    ) -> Result<Tensor> {
        // the last token predicts nothing that is asked for
        let ids = &targets[..targets.len().saturating_sub(1)];
        if ids.is_empty() {
            return Ok(self.last.clone());
        }
        let rotary = decoder.rotary_at(self.len(), ids.len())?;
        let mut x = decoder.embed(ids)?;
        for (layer, (block, past)) in decoder.blocks().iter().zip(&self.keys_values).enumerate() {
            let passed = block.pass(&x, Some(past), &rotary)?;
            visit(layer, x, &passed)?;
            x = passed.y;
        }
        Tensor::cat(&[&self.last, &x], 0)
    }

    /// Runs the text's tokens `text` `[T]` behind the prompt together with others that leave it: each is how many of the text's tokens
    /// it begins with, fewer than T, and the tokens `[A]`, at least one, that follow. Returns the rows `[T, H]` that predict the
    /// text's tokens, and for each other one those `[A, H]` that predict the tokens that are its own.
    pub(crate) fn run_together(
        &self,
        decoder: &Decoder,
        text: &[u32],
        others: &[(usize, &[u32])],
    ) -> Result<(Tensor, Vec<Tensor>)> {
        // the last token of each predicts nothing that is asked for
        let visible = |ids: &[u32]| ids.len().saturating_sub(1);
        let all = || std::iter::once((0, text)).chain(others.iter().copied());
        let runs: Vec<Run> = all().map(|(behind, ids)| Run { behind, rows: visible(ids) }).collect();
        let ids: Vec<u32> = all().flat_map(|(_, ids)| &ids[..visible(ids)]).copied().collect();
        let end = runs.iter().map(|run| run.behind + run.rows).max().unwrap_or(0);
        // of each run the rows of its own; none has any if there is no row at all
        let mut own = vec![None; runs.len()];
        if !ids.is_empty() {
            let whole = decoder.rotary(self.len() + end)?;
            let has_rows: Vec<Run> = runs.iter().copied().filter(|run| run.rows > 0).collect();
            let tables = has_rows.iter().map(|run| whole.rows(self.len() + run.behind, run.rows));
            let rotary = Rotary::cat(&tables.collect::<Result<Vec<_>>>()?)?;
            let mut x = decoder.embed(&ids)?;
            for (block, past) in decoder.blocks().iter().zip(&self.keys_values) {
                x = block.pass_runs(&x, past, &rotary, &has_rows)?;
            }
            let mut start = 0;
            for (own, run) in own.iter_mut().zip(&runs).filter(|(_, run)| run.rows > 0) {
                *own = Some(x.narrow(0, start, run.rows)?);
                start += run.rows;
            }
        }
        let behind = |first: &Tensor, own: &Option<Tensor>| match own {
            Some(own) => Tensor::cat(&[first, own], 0),
            None => Ok(first.clone()),
        };
        let trunk = behind(&self.last, &own[0])?;
        let branches = runs[1..].iter().zip(&own[1..]).map(|(run, own)| behind(&trunk.narrow(0, run.behind, 1)?, own));
        let branches = branches.collect::<Result<Vec<_>>>()?;
        Ok((trunk, branches))
    }

    /// Rows `[T, H]` of the last block's output that predict the text's tokens `targets` `[T]`.
    ///
    /// # Errors
    /// A tensor operation failed.
    pub fn predicting_rows(&self, decoder: &Decoder, targets: &[u32]) -> Result<Tensor> {
        self.run(decoder, targets, |_, _, _| Ok(()))
    }

    /// As [`Past::predicting_rows`], and what gradients need of all `P + T - 1` visible rows.
    ///
    /// # Errors
    /// A tensor operation failed, or the prompt was run without [`Keep::LayerInputs`].
    pub fn layer_inputs(&self, decoder: &Decoder, targets: &[u32]) -> Result<(Tensor, LayerInputs<'_>)> {
        let mut text = Vec::new();
        let rows = self.run(decoder, targets, |_, x, _| {
            text.push(x);
            Ok(())
        })?;
        Ok((rows, self.layer_inputs_with(text)?))
    }

    /// What gradients need, from every block's input over the rows of a text that [`Past::run`] visited.
    pub(crate) fn layer_inputs_with(&self, text: Vec<Tensor>) -> Result<LayerInputs<'_>> {
        match &self.inputs {
            Some(prompt) => Ok(LayerInputs { prompt, text, insides: &self.insides }),
            None => candle_core::bail!("the prompt was run without keeping what gradients need"),
        }
    }
}

impl Notes {
    /// Notes the embeddings, or a block's output, `x` `[P, H]`.
    fn note_state(&mut self, x: &Tensor) -> Result<()> {
        self.last.push(x.narrow(0, x.dim(0)? - 1, 1)?.force_contiguous()?);
        self.means.push(ops::mean_of_rows(x)?);
        Ok(())
    }
}

/// Every block's input over prompt and text, held in two parts because texts share the first.
#[derive(Debug)]
pub struct LayerInputs<'a> {
    prompt: &'a [Tensor],
    /// Empty for a text of one token, which no row of it predicts.
    text: Vec<Tensor>,
    insides: &'a [Insides],
}

impl LayerInputs<'_> {
    /// The prompt's insides of block `layer`, if they are kept.
    pub fn insides(&self, layer: usize) -> Option<&Insides> {
        self.insides.get(layer)
    }

    /// The first `s` rows of block `layer`'s input, `[s, H]`; layer 0 is the embedded rows.
    ///
    /// # Errors
    /// There are fewer rows.
    pub fn rows(&self, layer: usize, s: usize) -> Result<Tensor> {
        let prompt = &self.prompt[layer];
        let p = prompt.dim(0)?;
        if s <= p {
            return prompt.narrow(0, 0, s);
        }
        match self.text.get(layer) {
            Some(text) => Tensor::cat(&[prompt, &text.narrow(0, 0, s - p)?], 0),
            None => candle_core::bail!("{s} rows are wanted and there are {p}"),
        }
    }
}
