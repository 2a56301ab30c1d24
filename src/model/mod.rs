//! Models: where they come from, what is in them, and how they run.
//!
//! | file | owns |
//! |---|---|
//! | `config.rs` | the architecture's numbers, from config.json or GGUF metadata |
//! | `cards.rs` | built-in model cards (`models/*.toml`) |
//! | `source.rs` | what the user named -> files on disk, fetching if needed |
//! | `weights.rs` | files on disk -> tensors under Hugging Face names |
//! | `tokenizer.rs` | tokenizer.json or GGUF metadata -> a tokenizer |
//! | `ops/`, `block.rs`, `decoder.rs` | the differentiable forward pass |

pub mod config;
pub mod tokenizer;

use std::path::PathBuf;

/// What can go wrong when a model is found, fetched or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The tokenizer cannot be made, or does not fit the weights.
    #[error(transparent)]
    Tokenizer(#[from] tokenizer::TokenizerError),
}

impl ModelError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            ModelError::Read { .. } => None,
            ModelError::Tokenizer(e) => e.hint(),
        }
    }
}
