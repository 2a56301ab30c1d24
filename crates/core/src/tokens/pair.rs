//! Source and text as an encoder-decoder takes them: two rows of tokens, each with the tokens that the tokenizer adds around it.

use tokenizers::Tokenizer;

use super::{Boundary, EncodeOptions, Encoding, TokensError, annotate, fit::Joined, raw::RawTokens, shared};
use veridiff_text::{
    diff::Diff,
    prompt::{MESSAGE_MARKER, Prompt, Template},
};

/// Encodes the prompt for `diff` and the `response` apart, each with the special tokens that the tokenizer adds (`<s> … </s>`,
/// `… </s>`); the decoder's start token is the model's business. `max_tokens` bounds each of the two; the diff is cut to it.
///
/// # Errors
/// [`TokensError::TextTooLong`] for a response beyond the bound, [`TokensError::Marker`] if the vocabulary lacks a token of the
/// template, and those of [`super::encode`].
pub fn encode_pair(
    tokenizer: &Tokenizer,
    template: &Template,
    diff: &Diff,
    response: &str,
    options: &EncodeOptions,
) -> Result<Encoding, TokensError> {
    let tokenizer = options.reading(tokenizer);
    let around = Around::of(&tokenizer)?;
    let mut text = RawTokens::encode(&tokenizer, response, false)?;
    if text.ids.is_empty() {
        return Err(TokensError::NoTokens { part: "response" });
    }
    around.put(&mut text, response.len());
    if options.message_prefix {
        // the first of the added ones is what the model was trained to begin with
        let message = marker_id(&tokenizer, template, MESSAGE_MARKER)?;
        match text.added.first() {
            Some(true) => text.ids[0] = message,
            _ => text.insert(0, message, 0),
        }
    }
    let limit = options.max_tokens.unwrap_or(usize::MAX);
    if text.ids.len() > limit {
        return Err(TokensError::TextTooLong { n_response: text.ids.len(), max_tokens: limit });
    }
    let (prompt, mut tokens, n_cut) = fit(&tokenizer, template, diff.text(), room(limit, &around, template))?;
    around.put(&mut tokens, prompt.text.len());
    let n_prompt = tokens.ids.len();
    if n_prompt == 0 {
        return Err(TokensError::NoTokens { part: "prompt" });
    }
    tokens.extend(text, prompt.text.len());
    let joined = Joined { tokens, n_prompt, boundary: Boundary::Clean };
    Ok(annotate(prompt, joined, n_cut, diff, response, options.changed))
}

/// The ids of another prompt for a response that was encoded already, cut as [`encode_pair`] cuts.
///
/// # Errors
/// Those of [`encode_pair`] about the prompt.
pub fn encode_pair_prompt(
    tokenizer: &Tokenizer,
    template: &Template,
    diff: &str,
    options: &EncodeOptions,
) -> Result<Vec<u32>, TokensError> {
    let tokenizer = options.reading(tokenizer);
    let around = Around::of(&tokenizer)?;
    let limit = options.max_tokens.unwrap_or(usize::MAX);
    let (prompt, mut tokens, _) = fit(&tokenizer, template, diff, room(limit, &around, template))?;
    around.put(&mut tokens, prompt.text.len());
    if tokens.ids.is_empty() { Err(TokensError::NoTokens { part: "prompt" }) } else { Ok(tokens.ids) }
}

/// How many tokens of the prompt's own there is room for.
fn room(limit: usize, around: &Around, template: &Template) -> usize {
    limit.saturating_sub(around.len()).min(template.most_tokens().unwrap_or(usize::MAX))
}

/// The ids that the tokenizer puts before and behind a text.
struct Around {
    before: Vec<u32>,
    behind: Vec<u32>,
}

impl Around {
    fn of(tokenizer: &Tokenizer) -> Result<Self, TokensError> {
        let encoding = tokenizer.encode("a", true).map_err(TokensError::Tokenizer)?;
        let (ids, mask) = (encoding.get_ids(), encoding.get_special_tokens_mask());
        let before = mask.iter().take_while(|&&added| added != 0).count();
        let behind = mask[before..].iter().rev().take_while(|&&added| added != 0).count();
        Ok(Around { before: ids[..before].to_vec(), behind: ids[ids.len() - behind..].to_vec() })
    }

    fn len(&self) -> usize {
        self.before.len() + self.behind.len()
    }

    /// Puts them around the tokens of a text of `len` bytes.
    fn put(&self, tokens: &mut RawTokens, len: usize) {
        for &id in self.before.iter().rev() {
            tokens.insert(0, id, 0);
        }
        for &id in &self.behind {
            tokens.insert(tokens.ids.len(), id, len);
        }
    }
}

/// The prompt with as much of the diff as `room` tokens hold, its tokens, and how many of the diff's were cut.
fn fit(
    tokenizer: &Tokenizer,
    template: &Template,
    diff: &str,
    room: usize,
) -> Result<(Prompt, RawTokens, usize), TokensError> {
    let mut prompt = template.render(diff);
    let mut tokens = of_prompt(tokenizer, template, &prompt)?;
    let in_diff = |prompt: &Prompt, tokens: &RawTokens| -> Vec<usize> {
        let starts = tokens.spans.iter().filter(|span| shared(span, &prompt.diff) > 0);
        starts.map(|span| span.start.saturating_sub(prompt.diff.start)).collect()
    };
    let n_diff = in_diff(&prompt, &tokens).len();
    if tokens.ids.len() > room && prompt.diff.end == prompt.text.len() {
        // nothing follows the diff: the first tokens are kept as they are
        if room < tokens.ids.len() - n_diff {
            return Err(TokensError::TooLong {
                n_response: 0,
                n_instruction: tokens.ids.len() - n_diff,
                max_tokens: room,
            });
        }
        let n_cut = tokens.ids.len() - room;
        tokens.truncate(room);
        let end = tokens.spans.last().map_or(0, |span| span.end).max(prompt.diff.start);
        prompt.text.truncate(end);
        prompt.diff.end = end;
        return Ok((prompt, tokens, n_cut));
    }
    // Tokens near a cut may come out otherwise than in the whole: count anew after each, until the prompt fits.
    while tokens.ids.len() > room {
        let (starts, excess) = (in_diff(&prompt, &tokens), tokens.ids.len() - room);
        if starts.is_empty() {
            return Err(TokensError::TooLong { n_response: 0, n_instruction: tokens.ids.len(), max_tokens: room });
        }
        let kept = starts.len().checked_sub(excess).map_or(0, |kept| starts[kept]);
        prompt = template.render(&diff[..kept]);
        tokens = of_prompt(tokenizer, template, &prompt)?;
    }
    let n_cut = n_diff - in_diff(&prompt, &tokens).len().min(n_diff);
    Ok((prompt, tokens, n_cut))
}

/// The prompt's tokens without any that are added; its markers are control tokens, whatever else is read as such.
fn of_prompt(tokenizer: &Tokenizer, template: &Template, prompt: &Prompt) -> Result<RawTokens, TokensError> {
    if prompt.pieces.is_empty() {
        return RawTokens::encode(tokenizer, &prompt.text, false);
    }
    let mut tokens = RawTokens::default();
    for piece in &prompt.pieces {
        let content = piece.span.start + piece.marker.len();
        tokens.insert(tokens.ids.len(), marker_id(tokenizer, template, piece.marker)?, piece.span.start);
        // a marker has bytes in the prompt's text, unlike what a tokenizer adds
        if let (Some(span), Some(added)) = (tokens.spans.last_mut(), tokens.added.last_mut()) {
            (span.end, *added) = (content, false);
        }
        let body = RawTokens::encode(tokenizer, &prompt.text[content..piece.span.end], false)?;
        tokens.extend(body, content);
    }
    Ok(tokens)
}

fn marker_id(tokenizer: &Tokenizer, template: &Template, token: &'static str) -> Result<u32, TokensError> {
    let missing = || TokensError::Marker { template: template.name().to_owned(), token };
    tokenizer.token_to_id(token).ok_or_else(missing)
}
