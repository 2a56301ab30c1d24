//! tokenizer.json or GGUF metadata to a tokenizer.
//!
//! Both ways give one that pads and truncates nothing, draws nothing at random, and reads special-token text in its
//! input as ordinary text.

mod bytes;
mod gguf;

pub use bytes::token_bytes;
pub use gguf::{eos_of_gguf, from_gguf};

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokenizers::{ModelWrapper, Tokenizer, models::unigram::Unigram};
use veridiff_text::hint::Hint;

/// Reads a `tokenizer.json`.
///
/// # Errors
/// [`TokenizerError::Read`] or [`TokenizerError::Json`].
pub fn from_json(path: &Path) -> Result<Tokenizer, TokenizerError> {
    let bytes = std::fs::read(path).map_err(|source| TokenizerError::Read { path: path.into(), source })?;
    let tokenizer =
        Tokenizer::from_bytes(&bytes).map_err(|source| TokenizerError::Json { path: path.into(), source })?;
    settle(tokenizer).map_err(|source| TokenizerError::Json { path: path.into(), source })
}

/// The token that ends a text, of a Hugging Face folder: the `eos_token` of its `tokenizer_config.json`, else the (first)
/// `eos_token_id` of its `config.json`; `None` if neither names one that the tokenizer has.
pub fn eos_of_folder(folder: &Path, tokenizer: &Tokenizer) -> Option<u32> {
    let read = |file: &str| serde_json::from_slice::<Value>(&std::fs::read(folder.join(file)).ok()?).ok();
    let by_name = || {
        let token = read("tokenizer_config.json")?.get("eos_token")?.clone();
        tokenizer.token_to_id(token.as_str().or_else(|| token.get("content")?.as_str())?)
    };
    let by_id = || {
        let id = read("config.json")?.get("eos_token_id")?.clone();
        let id = u32::try_from(id.as_u64().or_else(|| id.get(0)?.as_u64())?).ok()?;
        tokenizer.id_to_token(id).map(|_| id)
    };
    by_name().or_else(by_id)
}

/// Turns off what training left on: padding, truncation and merge dropout.
fn settle(mut tokenizer: Tokenizer) -> Result<Tokenizer, tokenizers::Error> {
    tokenizer.with_padding(None).with_truncation(None)?;
    tokenizer.set_encode_special_tokens(true);
    if let ModelWrapper::BPE(model) = tokenizer.get_model()
        && model.dropout.is_some()
    {
        let mut model = model.clone();
        model.dropout = None;
        tokenizer.with_model(model);
    }
    if let Some(model) = without_special_pieces(&tokenizer)? {
        tokenizer.with_model(model);
    }
    Ok(tokenizer)
}

/// A Unigram vocabulary has its special tokens as pieces too, and would spell a text's own `</s>` with the control token. They
/// are renamed to something with a blank, which no word between blanks contains; the special tokens keep their ids.
fn without_special_pieces(tokenizer: &Tokenizer) -> Result<Option<Unigram>, tokenizers::Error> {
    let ModelWrapper::Unigram(model) = tokenizer.get_model() else { return Ok(None) };
    let mut json = serde_json::to_value(model)?;
    let special = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    for (id, _) in special.iter().filter(|(_, token)| token.special) {
        if let Some(piece) = json.pointer_mut(&format!("/vocab/{id}/0")) {
            *piece = format!("\u{ffff} {id}").into();
        }
    }
    // from text: a value cannot lend its strings, which the model's reader borrows
    Ok(Some(serde_json::from_str(&json.to_string())?))
}

/// Checks that every id of the tokenizer has a row in an embedding table of `vocab_size` rows. A table with rows to
/// spare is usual: they are padding.
///
/// # Errors
/// [`TokenizerError::Id`] names the largest id.
pub fn check_fits(tokenizer: &Tokenizer, vocab_size: usize) -> Result<(), TokenizerError> {
    let largest = tokenizer.get_vocab(true).into_iter().max_by_key(|(_, id)| *id);
    match largest {
        Some((token, id)) if id as usize >= vocab_size => Err(TokenizerError::Id { token, id, vocab_size }),
        _ => Ok(()),
    }
}

/// Why there is no tokenizer. Fields are named as in the messages: `path` is the file at fault, `key` a key of the GGUF
/// metadata, `source` the error of the system or of the tokenizers library.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file cannot be read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: std::io::Error },
    /// The file is not a tokenizer.
    #[error("`{path}` is not a tokenizer")]
    Json { path: PathBuf, source: tokenizers::Error },
    /// A key of the GGUF metadata is not there or holds another kind of value.
    #[error("GGUF metadata `{key}` is {found}, expected {expected}")]
    Metadata {
        key: &'static str,
        /// What the key holds, or `missing`.
        found: String,
        expected: &'static str,
    },
    /// The kind of tokenizer cannot be read.
    #[error("GGUF metadata `{key}` is `{}`, supported are {supported}", found.escape_debug())]
    Unsupported {
        key: &'static str,
        found: String,
        /// The kinds that can be read.
        supported: String,
    },
    /// Tokens and merges do not make a tokenizer.
    #[error("the GGUF's tokenizer cannot be built")]
    Build(#[source] tokenizers::Error),
    /// The model has no embedding for a token.
    #[error("token `{}` has id {id}, but the model embeds {vocab_size} ids only", token.escape_debug())]
    Id {
        token: String,
        id: u32,
        /// V, the number of rows of the embedding table.
        vocab_size: usize,
    },
}

impl Hint for TokenizerError {
    fn hint(&self) -> Option<String> {
        TokenizerError::hint(self)
    }
}

impl TokenizerError {
    /// How to mend it; see [`Hint`].
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            TokenizerError::Read { .. } => "a model's folder holds its tokenizer.json beside the weights",
            TokenizerError::Json { .. } => "download tokenizer.json again, from the same revision as the weights",
            TokenizerError::Metadata { .. } | TokenizerError::Build(_) => {
                "download the GGUF file again; it may be cut short"
            }
            TokenizerError::Unsupported { .. } => {
                "use the model's Hugging Face folder, whose tokenizer.json says all there is to say"
            }
            TokenizerError::Id { .. } => "take tokenizer and weights from one revision of one model",
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests;
