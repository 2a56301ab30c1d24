//! Prompt and response joined, and the diff cut until they fit.

use tokenizers::Tokenizer;

use super::{Boundary, TokensError, raw::RawTokens, shared};
use veridiff_text::prompt::{Prompt, Template};

/// Prompt and response as one row of tokens.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    pub tokens: RawTokens,
    pub n_prompt: usize,
    pub boundary: Boundary,
}

/// What fits.
#[derive(Debug)]
pub(super) struct Fitted {
    pub prompt: Prompt,
    pub joined: Joined,
    pub n_cut: usize,
}

/// Joins one response to prompts with more or less of the diff.
pub(super) struct Joiner<'a> {
    tokenizer: &'a Tokenizer,
    template: &'a Template,
    response: &'a str,
    /// The response's tokens, encoded apart.
    alone: RawTokens,
}

impl<'a> Joiner<'a> {
    pub fn new(tokenizer: &'a Tokenizer, template: &'a Template, response: &'a str) -> Result<Self, TokensError> {
        let alone = RawTokens::encode(tokenizer, response, false)?;
        if alone.ids.is_empty() {
            return Err(TokensError::NoTokens { part: "response" });
        }
        Ok(Joiner { tokenizer, template, response, alone })
    }

    /// Prompt and response with as much of the diff as `max_tokens` allows.
    pub fn fit(&self, diff: &str, max_tokens: Option<usize>) -> Result<Fitted, TokensError> {
        let (prompt, joined) = self.join(diff)?;
        match max_tokens {
            Some(limit) if joined.tokens.ids.len() > limit => self.cut(diff, limit, &prompt, &joined),
            _ => Ok(Fitted { prompt, joined, n_cut: 0 }),
        }
    }

    /// Cuts the diff from its end, at a token's first byte. Tokens near a cut may come out otherwise than in the whole,
    /// so the count is taken anew after each cut; each try keeps fewer tokens than the last, which ends the search.
    fn cut(&self, diff: &str, limit: usize, whole: &Prompt, tokens: &Joined) -> Result<Fitted, TokensError> {
        let starts: Vec<usize> = tokens.tokens.spans[..tokens.n_prompt]
            .iter()
            .filter(|span| shared(span, &whole.diff) > 0)
            .map(|span| span.start.saturating_sub(whole.diff.start))
            .collect();
        let n_diff = starts.len();
        let join = |kept: usize| self.join(if kept == 0 { "" } else { &diff[..starts[kept]] });
        let excess = |joined: &Joined| joined.tokens.ids.len().saturating_sub(limit);

        let mut kept = n_diff.saturating_sub(excess(tokens));
        let mut best = join(kept)?;
        while excess(&best.1) > 0 {
            if kept == 0 {
                return Err(self.too_long(&best.1, limit));
            }
            kept = kept.saturating_sub(excess(&best.1));
            best = join(kept)?;
        }
        // The tokens around the cut may have become fewer than counted: take back what still fits.
        while kept + 1 < n_diff && best.1.tokens.ids.len() < limit {
            let next = join(kept + 1)?;
            if excess(&next.1) > 0 {
                break;
            }
            kept += 1;
            best = next;
        }
        let (prompt, joined) = best;
        let spans = &joined.tokens.spans[..joined.n_prompt];
        let n_left = spans.iter().filter(|span| shared(span, &prompt.diff) > 0).count();
        // A cut is never recorded as none, should the rest have come out in more tokens.
        Ok(Fitted { n_cut: n_diff.saturating_sub(n_left).max(1), prompt, joined })
    }

    fn too_long(&self, joined: &Joined, max_tokens: usize) -> TokensError {
        let n_response = joined.tokens.ids.len() - joined.n_prompt;
        TokensError::TooLong { n_response, n_instruction: joined.n_prompt, max_tokens }
    }

    fn join(&self, diff: &str) -> Result<(Prompt, Joined), TokensError> {
        let prompt = self.template.render(diff);
        let alone = RawTokens::encode(self.tokenizer, &prompt.text, true)?;
        let n_prompt = alone.ids.len();
        if n_prompt == 0 {
            return Err(TokensError::NoTokens { part: "prompt" });
        }
        let together = RawTokens::encode(self.tokenizer, &[&prompt.text, self.response].concat(), true)?;
        let is_prefix = together.ids.len() > n_prompt && together.ids.starts_with(&alone.ids);
        let joined = if is_prefix {
            Joined { tokens: together, n_prompt, boundary: Boundary::Clean }
        } else {
            let mut tokens = alone;
            tokens.extend(self.alone.clone(), prompt.text.len());
            Joined { tokens, n_prompt, boundary: Boundary::Merged }
        };
        Ok((prompt, joined))
    }
}
