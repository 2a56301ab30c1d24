//! Why a text cannot become tokens.

/// Why a text cannot become tokens.
///
/// Fields are named as in the messages: `n_…` and `max_tokens` count tokens, `template` is a template's name, `token` a special token
/// as it is written, `part` is `prompt` or `response`.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum TokensError {
    /// Too long even with all of the diff cut.
    #[error(
        "the response has {n_response} tokens and the prompt around the diff {n_instruction}, \
         together more than the limit of {max_tokens}"
    )]
    TooLong {
        n_response: usize,
        /// Tokens of the prompt without its diff.
        n_instruction: usize,
        max_tokens: usize,
    },
    /// Longer than a decoder that reads the text alone takes.
    #[error("the text has {n_response} tokens, more than the limit of {max_tokens} of the model's decoder")]
    TextTooLong {
        /// Tokens of the text, special ones included.
        n_response: usize,
        max_tokens: usize,
    },
    /// A template with tokens of its own, which this vocabulary lacks.
    #[error("the template `{template}` needs the token `{token}`, which this model's vocabulary does not have")]
    Marker { template: String, token: &'static str },
    /// A template with tokens of its own for a model of one stack.
    #[error("the template `{template}` is the input of an encoder-decoder; this model is decoder-only")]
    TwoStacks { template: String },
    /// An end was asked for of a model that does not say what its is.
    #[error("neither the tokenizer nor the configuration of this model names the token that ends a text")]
    NoEos,
    /// Nothing to score, or nothing to score it with.
    #[error("the {part} has no tokens in this vocabulary")]
    NoTokens { part: &'static str },
    /// An id that no token of the model has.
    #[error("token {place} is the id {id}, and the model has {vocab_size}")]
    UnknownId {
        id: u32,
        /// Where it stands, from 0.
        place: usize,
        /// One more than the largest id.
        vocab_size: usize,
    },
    /// A text is to be read token by token by a model that reads a prompt whole.
    #[error("this model is an encoder-decoder, which does not continue a text")]
    NotContinued,
    /// The tokenizer failed on a text that it should take.
    #[error("the tokenizer failed")]
    Tokenizer(#[source] tokenizers::Error),
}

impl TokensError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            TokensError::TooLong { .. } => {
                Some(
                    "the text is never cut: give it in parts, or ask the change alone, which reads texts of any length \
                     (`check --detector none`, `score --features grounding,form,facts`); a --max-tokens below the model's \
                     context can be raised to that"
                        .into(),
                )
            }
            TokensError::TextTooLong { .. } => Some(
                "the text is never cut; the model's positions are relative, so a larger --max-tokens lets it read more"
                    .into(),
            ),
            TokensError::Marker { .. } => Some("--prompt raw gives the diff as it is".into()),
            TokensError::TwoStacks { .. } => Some("leave --prompt out: each model then has its own".into()),
            TokensError::NoTokens { part: "prompt" } => {
                Some("the first token needs one before it: put some text before `{diff}` in the template".into())
            }
            TokensError::NoTokens { .. } => {
                Some("check that the text is what the model's tokenizer was made for".into())
            }
            TokensError::UnknownId { .. } => Some("take the ids from the tokenizer of this very model".into()),
            TokensError::NotContinued => Some("name a decoder-only model".into()),
            TokensError::NoEos => Some("leave --targets append-eos out".into()),
            TokensError::Tokenizer(_) => None,
        }
    }
}
