//! Models: where they come from, what is in them, and how they run.
//!
//! | file | owns |
//! |---|---|
//! | `config.rs` | the architecture's numbers, from config.json or GGUF metadata |
//! | `cards.rs` | built-in model cards (`models/*.toml`) |
//! | `source.rs` | what the user named -> files on disk, fetching if needed |
//! | `fetch.rs`, `hub.rs` | fetching: a card's package from the Python index; a repository from the Hugging Face hub |
//! | `weights.rs` | files on disk -> tensors under Hugging Face names |
//! | `gguf.rs` | one GGUF file: its metadata, and its tensors dequantised |
//! | `tokenizer.rs` | tokenizer.json or GGUF metadata -> a tokenizer |
//! | `encoder.rs`, `encoder/` | encoders that need no gradient: embeddings of texts, classification of pairs |
//! | `ops/`, `block.rs`, `decoder.rs`, `head.rs` | the differentiable forward pass of decoder-only models |
//! | `t5/` | that of encoder-decoders |
//! | `language.rs` | both families behind one face |
//! | `past.rs` | a prompt run once for all texts that follow it |

pub mod block;
pub mod cards;
pub mod config;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod fetch;
pub mod gguf;
pub mod head;
pub mod hub;
pub mod language;
pub mod ops;
pub mod past;
pub mod source;
pub mod t5;
pub mod tokenizer;
pub mod weights;

pub use error::ModelError;
