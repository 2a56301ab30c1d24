//! A text and its log-probabilities by a resident model, in the form of OpenAI's completions. Of what follows at most one token is
//! written, the likeliest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use veridiff_core::scorer::Scorer;

use crate::{refusal::Refusal, resident::Resident, work::Output};

/// Most tokens that stand beside the one that was read.
pub(crate) const MOST_BESIDE: usize = 20;

/// What is asked of one text.
#[derive(Debug, Clone)]
pub(crate) struct Completion {
    pub model: Option<String>,
    pub prompt: Prompt,
    /// Whether the answer repeats the text.
    pub echo: bool,
    /// How many tokens stand beside each, of an answer with log-probabilities.
    pub logprobs: Option<usize>,
    /// Whether the likeliest token behind the text is wanted.
    pub wants_next: bool,
    /// Its place in the answer.
    pub index: usize,
}

/// A text that is read.
#[derive(Debug, Clone)]
pub(crate) enum Prompt {
    Text(String),
    Ids(Vec<u32>),
}

/// One text of the answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Choice {
    /// Which prompt it is of.
    index: usize,
    /// The prompt, if it is repeated, and what follows it, if that is asked for.
    text: String,
    /// Of the tokens of `text`.
    logprobs: Option<LogProbs>,
    /// Always `length`.
    finish_reason: &'static str,
}

/// The tokens of a text with what the model gave them.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LogProbs {
    /// The tokens as text; one that is a piece of a character shows as U+FFFD.
    tokens: Vec<String>,
    /// ln p of each, nats; null for the first, which nothing stands before.
    token_logprobs: Vec<Option<f64>>,
    /// The likeliest tokens of each place, and the one that stands there; null for the first, and where none were asked for.
    top_logprobs: Vec<Option<BTreeMap<String, f64>>>,
    /// Where each begins, in characters of the tokens together.
    text_offset: Vec<usize>,
}

impl Completion {
    /// One choice of the answer, as JSON.
    pub fn of(&self, resident: &Resident) -> Result<Output, Refusal> {
        let scorer = resident.model(self.model.as_deref())?;
        let ids = match &self.prompt {
            Prompt::Text(text) => scorer.ids_of(text)?,
            Prompt::Ids(ids) => ids.clone(),
        };
        let beside = self.logprobs.unwrap_or(0);
        let tops = scorer.likelihoods(&ids, beside.max(1), resident.settings.max_memory)?;
        let next = tops.likeliest.last().and_then(|likeliest| likeliest.first()).filter(|_| self.wants_next);
        let mut shown: Vec<u32> = if self.echo { ids.clone() } else { Vec::new() };
        shown.extend(next.map(|(id, _)| id));
        let logprobs = self.logprobs.map(|_| -> Result<LogProbs, Refusal> {
            let mut told = LogProbs::default();
            let mut offset = 0;
            // nothing stands before the first token: what the model would expect there is unknown
            let first = if self.echo { 0 } else { ids.len() };
            for (place, &id) in (first..).zip(&shown) {
                let at = place.checked_sub(1).map(|before| &tops.likeliest[before]);
                let logprob = match (place.checked_sub(1), next) {
                    (Some(before), _) if before < tops.logprob.len() => Some(tops.logprob[before]),
                    (Some(_), Some((_, logprob))) => Some(*logprob),
                    _ => None,
                };
                let token = scorer.text_of(&[id])?;
                let top = at.filter(|_| beside > 0).map(|at| top(scorer, &at[..beside.min(at.len())], id, logprob));
                told.top_logprobs.push(top.transpose()?);
                told.text_offset.push(offset);
                told.token_logprobs.push(logprob);
                offset += token.chars().count();
                told.tokens.push(token);
            }
            Ok(told)
        });
        let choice = Choice {
            index: self.index,
            text: scorer.text_of(&shown)?,
            logprobs: logprobs.transpose()?,
            finish_reason: "length",
        };
        let text = serde_json::to_string(&choice).map_err(|_| Refusal::Fault)?;
        Ok(Output { text, n_tokens: ids.len(), finding: None })
    }
}

/// The likeliest tokens of a place, and the one that stands there.
fn top(
    scorer: &Scorer,
    likeliest: &[(u32, f64)],
    id: u32,
    logprob: Option<f64>,
) -> Result<BTreeMap<String, f64>, Refusal> {
    let mut top = BTreeMap::new();
    let own = logprob.map(|logprob| (id, logprob)).filter(|_| likeliest.iter().all(|(other, _)| *other != id));
    for (id, logprob) in likeliest.iter().copied().chain(own) {
        // pieces of characters look alike: the likeliest of them is told
        top.entry(scorer.text_of(&[id])?).or_insert(logprob);
    }
    Ok(top)
}
