//! Token ids with byte spans, segments and line kinds.
//!
//! ids are the tokens of prompt and response encoded together, as the model would read them; for an encoder-decoder, which has a
//! stack for each, encoded apart ([`encode_pair`]). Every token knows its
//! bytes in that text, and with them its segment and whether it is part of a changed line.

mod error;
mod fit;
mod pair;
mod raw;

pub use error::TokensError;
pub use pair::{encode_pair, encode_pair_prompt};

use std::{borrow::Cow, ops::Range};

use tokenizers::Tokenizer;

use veridiff_text::{
    diff::{ChangedBytes, Diff},
    prompt::{Prompt, Template},
};

/// Which part of the scored text a token is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Not in the text but put there: BOS, an end that was asked for; for an encoder-decoder what is around its two texts.
    Special,
    /// The prompt around the diff.
    Instruction,
    /// Shares at least one byte with the diff.
    Diff,
    /// A token of the text that is judged.
    Response,
}

/// How the prompt's last token meets the response's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// The prompt's own tokens are a prefix of the whole's.
    Clean,
    /// They are not, a token would straddle the two: they were encoded apart.
    Merged,
}

impl Boundary {
    /// The name in tables: `clean` or `merged`.
    pub fn name(self) -> &'static str {
        match self {
            Boundary::Clean => "clean",
            Boundary::Merged => "merged",
        }
    }
}

/// When a token is part of a changed region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Overlap {
    /// They share at least one byte.
    #[default]
    Any,
    /// The token's first byte is in the region.
    Start,
    /// The whole token is in one region.
    Inside,
}

/// Which tokens count as changed. The default is the definition: a shared byte with a `+` or `-` line, marker included,
/// line feed excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ChangedRule {
    /// Which bytes of a changed line count as changed.
    pub bytes: ChangedBytes,
    /// How a token has to meet them.
    pub overlap: Overlap,
}

/// How a prompt and a text become tokens, where there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EncodeOptions {
    /// Most tokens that prompt and response may have together; the diff is cut to it.
    pub max_tokens: Option<usize>,
    /// Read special-token text (`<|im_end|>`) in the input as control tokens, as the reference does. The input is
    /// hostile, so by default it is ordinary text.
    pub parse_special: bool,
    /// Which tokens count as changed.
    pub changed: ChangedRule,
    /// For an encoder-decoder: the text begins with `<msg>`, as CCT5 was trained, in place of what its tokenizer puts there.
    pub message_prefix: bool,
    /// For a decoder-only model: a token behind the text that is a target too.
    pub append_eos: Option<u32>,
}

impl EncodeOptions {
    /// The tokenizer, reading special-token text as asked.
    fn reading<'a>(&self, tokenizer: &'a Tokenizer) -> Cow<'a, Tokenizer> {
        let mut tokenizer = Cow::Borrowed(tokenizer);
        if tokenizer.get_encode_special_tokens() == self.parse_special {
            tokenizer.to_mut().set_encode_special_tokens(!self.parse_special);
        }
        tokenizer
    }
}

/// A prompt and a response as tokens. The vectors have one entry for each of the S = N + T tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoding {
    /// Prompt and response as scored.
    pub text: String,
    /// The diff's bytes in `text`; shorter than the diff that was given if it was cut.
    pub diff: Range<usize>,
    /// The N + T ids of prompt and text, special tokens included.
    pub ids: Vec<u32>,
    /// Each token's bytes in `text`, on character boundaries. Empty for [`Segment::Special`]; tokens that split one
    /// character each have all of it; blanks that the tokenizer trims from a span are given back.
    pub spans: Vec<Range<usize>>,
    /// The segment that each of the N + T tokens is in.
    pub segments: Vec<Segment>,
    /// Whether the token is in a changed line, by the rule asked for; false for the response.
    pub changed: Vec<bool>,
    /// Index in [`Diff::lines`] of the line a diff token is from. Of several lines a changed one goes first for a
    /// changed token, then the one with most of its bytes.
    pub diff_lines: Vec<Option<usize>>,
    /// N: how many of the tokens are the prompt's. At least 1, and less than S.
    pub n_prompt: usize,
    /// How prompt and response meet.
    pub boundary: Boundary,
    /// How many diff tokens were dropped to fit.
    pub n_cut: usize,
    /// The text brought a BOS of its own and one of the two was taken away.
    pub doubled_bos: bool,
    /// Bytes of `text` that the vocabulary cannot spell, so that the model does not see them.
    pub n_lost_bytes: usize,
}

impl Encoding {
    /// T: how many of the tokens are the response's.
    pub fn n_response(&self) -> usize {
        self.ids.len() - self.n_prompt
    }

    /// How many tokens share a byte with the diff.
    pub fn n_diff(&self) -> usize {
        self.segments.iter().filter(|&&segment| segment == Segment::Diff).count()
    }

    /// The text of token `index`; empty past the end.
    pub fn token_text(&self, index: usize) -> &str {
        self.spans.get(index).map_or("", |span| &self.text[span.clone()])
    }
}

/// Encodes the prompt for `diff` and the `response` together.
///
/// Reading special-token text or not is a setting of the tokenizer; one that is set the other way is copied for the
/// call (milliseconds), so set it once: the loaders of [`veridiff_engine::files::tokenizer`] set it to the default here.
///
/// # Errors
/// [`TokensError::TooLong`] if prompt and response exceed `max_tokens` even without the diff, [`TokensError::NoTokens`]
/// if the prompt or the response has no tokens, [`TokensError::Tokenizer`] if the tokenizer fails.
pub fn encode(
    tokenizer: &Tokenizer,
    template: &Template,
    diff: &Diff,
    response: &str,
    options: &EncodeOptions,
) -> Result<Encoding, TokensError> {
    if template.has_markers() {
        return Err(TokensError::TwoStacks { template: template.name().to_owned() });
    }
    let tokenizer = options.reading(tokenizer);
    let joiner = fit::Joiner::new(&tokenizer, template, response)?;
    let room = options.max_tokens.map(|n| n.saturating_sub(usize::from(options.append_eos.is_some())));
    let fit::Fitted { prompt, mut joined, n_cut } = joiner.fit(diff.text(), room)?;
    if let Some(id) = options.append_eos {
        joined.tokens.insert(joined.tokens.ids.len(), id, prompt.text.len() + response.len());
    }
    Ok(annotate(prompt, joined, n_cut, diff, response, options.changed))
}

/// The ids of another prompt for a response that was encoded already: of `diff` in the template, uncut.
///
/// # Errors
/// [`TokensError::NoTokens`] if there are none, [`TokensError::Tokenizer`] if the tokenizer fails.
pub fn encode_prompt(
    tokenizer: &Tokenizer,
    template: &Template,
    diff: &str,
    options: &EncodeOptions,
) -> Result<Vec<u32>, TokensError> {
    let tokenizer = options.reading(tokenizer);
    let ids = raw::RawTokens::encode(&tokenizer, &template.render(diff).text, true)?.ids;
    if ids.is_empty() { Err(TokensError::NoTokens { part: "prompt" }) } else { Ok(ids) }
}

/// The ids of a text by itself, as it has them behind a prompt whose last token it does not touch ([`Boundary`]).
///
/// # Errors
/// [`TokensError::NoTokens`] if there are none, [`TokensError::Tokenizer`] if the tokenizer fails.
pub fn encode_text(tokenizer: &Tokenizer, text: &str, options: &EncodeOptions) -> Result<Vec<u32>, TokensError> {
    let ids = raw::RawTokens::encode(&options.reading(tokenizer), text, false)?.ids;
    if ids.is_empty() { Err(TokensError::NoTokens { part: "response" }) } else { Ok(ids) }
}

/// Segments, changed marks and lines from the spans.
fn annotate(
    prompt: Prompt,
    joined: fit::Joined,
    n_cut: usize,
    diff: &Diff,
    response: &str,
    rule: ChangedRule,
) -> Encoding {
    let fit::Joined { tokens, n_prompt, boundary } = joined;
    let regions = changed_regions(diff, &prompt, rule.bytes);
    let segment_of = |index: usize, span: &Range<usize>| match () {
        () if tokens.added[index] => Segment::Special,
        () if index >= n_prompt => Segment::Response,
        () if shared(span, &prompt.diff) > 0 => Segment::Diff,
        () => Segment::Instruction,
    };
    let segments: Vec<Segment> = tokens.spans.iter().enumerate().map(|(index, span)| segment_of(index, span)).collect();
    let in_prompt = tokens.spans.iter().enumerate().map(|(index, span)| (index < n_prompt, span));
    let changed: Vec<bool> = in_prompt.map(|(inside, span)| inside && meets(span, &regions, rule.overlap)).collect();
    let diff_lines = tokens.spans.iter().zip(&segments).zip(&changed).map(|((span, segment), &changed)| {
        let line = || match prompt.piece_at(span.start) {
            Some(piece) => Some(piece.line),
            None => line_of(span, &prompt.diff, diff, changed),
        };
        (*segment == Segment::Diff).then(line).flatten()
    });
    Encoding {
        diff_lines: diff_lines.collect(),
        text: prompt.text + response,
        diff: prompt.diff,
        segments,
        changed,
        n_prompt,
        boundary,
        n_cut,
        doubled_bos: tokens.doubled_bos,
        n_lost_bytes: tokens.n_lost_bytes,
        ids: tokens.ids,
        spans: tokens.spans,
    }
}

/// The changed bytes of the diff as bytes of the prompt: in order, disjoint, none empty, none in what was cut.
fn changed_regions(diff: &Diff, prompt: &Prompt, bytes: ChangedBytes) -> Vec<Range<usize>> {
    if !prompt.pieces.is_empty() {
        return prompt.pieces.iter().filter(|piece| piece.changed).map(|piece| piece.span.clone()).collect();
    }
    let Range { start, end } = prompt.diff;
    let spans = diff.changed_spans_by(bytes).into_iter();
    spans.map(|span| span.start + start..(span.end + start).min(end)).filter(|region| !region.is_empty()).collect()
}

/// How many bytes two spans share.
fn shared(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

fn meets(span: &Range<usize>, regions: &[Range<usize>], overlap: Overlap) -> bool {
    // The first region that ends behind the token's start: no earlier one can hold any of it.
    let Some(region) = regions.get(regions.partition_point(|region| region.end <= span.start)) else { return false };
    let starts = region.start <= span.start && !span.is_empty();
    match overlap {
        Overlap::Any => shared(span, region) > 0,
        Overlap::Start => starts,
        Overlap::Inside => starts && span.end <= region.end,
    }
}

/// The line of a token that shares bytes with the diff; a line feed belongs to the line it ends.
fn line_of(span: &Range<usize>, in_prompt: &Range<usize>, diff: &Diff, changed: bool) -> Option<usize> {
    let start = span.start.saturating_sub(in_prompt.start);
    let end = span.end.min(in_prompt.end) - in_prompt.start;
    let (first, last) = (diff.line_at(start)?, diff.line_at(end.checked_sub(1)?)?);
    (first..=last).max_by_key(|&index| {
        let line = &diff.lines()[index];
        let bytes = shared(&(start..end), &(line.span.start..line.span.end + 1));
        (changed && line.kind.is_changed(), bytes, std::cmp::Reverse(index))
    })
}

#[cfg(test)]
mod tests;
