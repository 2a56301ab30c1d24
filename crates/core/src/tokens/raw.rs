//! What the tokenizer says, with the spans put right.

use std::ops::Range;

use tokenizers::{ModelWrapper, NormalizedString, Normalizer, PreTokenizerWrapper, Tokenizer};

use super::TokensError;

/// Tokens of one text.
#[derive(Debug, Clone, Default)]
pub(super) struct RawTokens {
    pub ids: Vec<u32>,
    /// Bytes in the text.
    pub spans: Vec<Range<usize>>,
    /// Put there by the tokenizer, not in the text.
    pub added: Vec<bool>,
    pub doubled_bos: bool,
    pub n_lost_bytes: usize,
}

impl RawTokens {
    /// Encodes `text`, with the BOS that the tokenizer adds or without. What it would put at the end is left out: a
    /// response ends where its text ends.
    pub fn encode(tokenizer: &Tokenizer, text: &str, with_bos: bool) -> Result<RawTokens, TokensError> {
        let encoding = tokenizer.encode(text, with_bos).map_err(TokensError::Tokenizer)?;
        let added: Vec<bool> = encoding.get_special_tokens_mask().iter().map(|&mask| mask != 0).collect();
        // Without any token of the text the added ones are all in front.
        let len = added.iter().rposition(|&added| !added).map_or(added.len(), |last| last + 1);
        let mut tokens =
            RawTokens { ids: encoding.get_ids()[..len].to_vec(), added: added[..len].to_vec(), ..RawTokens::default() };
        tokens.n_lost_bytes = tokens.place(text, &encoding.get_offsets()[..len]);
        if let Some(spelled) = spelled_bytes(tokenizer, &encoding.get_tokens()[..len], &tokens) {
            tokens.n_lost_bytes = normalized_len(tokenizer, text)?.saturating_sub(spelled);
        }
        tokens.drop_doubled_bos();
        Ok(tokens)
    }

    /// Turns offsets into spans, so that blanks trimmed before a token are its own; the bytes before tokens that are
    /// not blank, which no token has.
    fn place(&mut self, text: &str, offsets: &[(usize, usize)]) -> usize {
        let (mut previous, mut n_lost) = (0, 0);
        for (&(start, end), &added) in offsets.iter().zip(&self.added) {
            if added {
                self.spans.push(previous..previous);
                continue;
            }
            let start = text.floor_char_boundary(start);
            let end = text.ceil_char_boundary(end).max(start);
            n_lost += text.get(previous..start).map_or(0, |gap| gap.trim().len());
            self.spans.push(start.min(previous)..end.max(previous.min(start)));
            previous = end.max(previous);
        }
        // What is left is blanks cut away, or a mark that the normalizer drew into the letter before it.
        if let (Some(last), Some(false)) = (self.spans.last_mut(), self.added.last()) {
            last.end = text.len();
        }
        n_lost + text[previous..].trim().len()
    }

    /// A text that starts with the BOS that the tokenizer puts there too: the reference keeps one of the two, and so do
    /// we, the one that has bytes in the text.
    fn drop_doubled_bos(&mut self) {
        if let ([true, false, ..], [first, second, ..]) = (&self.added[..], &self.ids[..])
            && first == second
        {
            self.ids.remove(0);
            self.spans.remove(0);
            self.added.remove(0);
            self.doubled_bos = true;
        }
    }

    /// Puts in a token that is not in the text, at byte `at` of it.
    pub fn insert(&mut self, index: usize, id: u32, at: usize) {
        self.ids.insert(index, id);
        self.spans.insert(index, at..at);
        self.added.insert(index, true);
    }

    /// Keeps the first `len` tokens.
    pub fn truncate(&mut self, len: usize) {
        self.ids.truncate(len);
        self.spans.truncate(len);
        self.added.truncate(len);
    }

    /// Appends the tokens of a text that follows `offset` bytes of this one's.
    pub fn extend(&mut self, other: RawTokens, offset: usize) {
        self.ids.extend(other.ids);
        self.spans.extend(other.spans.into_iter().map(|span| span.start + offset..span.end + offset));
        self.added.extend(other.added);
        self.n_lost_bytes += other.n_lost_bytes;
    }
}

/// How many bytes of the text the tokens spell, where that can be told: a byte-level vocabulary writes each byte as one
/// character. Spans do not tell it, since each byte of a character has the whole character's.
fn spelled_bytes(tokenizer: &Tokenizer, texts: &[String], tokens: &RawTokens) -> Option<usize> {
    if !tokenizer.get_pre_tokenizer().is_some_and(is_byte_level) {
        return None;
    }
    let ModelWrapper::BPE(model) = tokenizer.get_model() else { return None };
    let unknown = model.unk_token.as_deref();
    let vocabulary = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    let spelled = texts.iter().zip(&tokens.ids).zip(&tokens.spans).zip(&tokens.added).map(
        |(((text, id), span), &added)| match () {
            () if added || Some(text.as_str()) == unknown => 0,
            () if vocabulary.contains_key(id) => span.len(),
            () => text.chars().count(),
        },
    );
    Some(spelled.sum())
}

fn is_byte_level(pre_tokenizer: &PreTokenizerWrapper) -> bool {
    match pre_tokenizer {
        PreTokenizerWrapper::ByteLevel(_) => true,
        PreTokenizerWrapper::Sequence(sequence) => sequence.as_ref().iter().any(is_byte_level),
        _ => false,
    }
}

fn normalized_len(tokenizer: &Tokenizer, text: &str) -> Result<usize, TokensError> {
    let Some(normalizer) = tokenizer.get_normalizer() else { return Ok(text.len()) };
    let mut normalized = NormalizedString::from(text);
    normalizer.normalize(&mut normalized).map_err(TokensError::Tokenizer)?;
    Ok(normalized.len())
}
