//! A model reads token ids: scores of every token and the attribution that flows to it, for decoder-only models and
//! encoder-decoders, and embeddings and classifications by encoders.
//!
//! | where | owns |
//! |---|---|
//! | `device.rs` | which processor runs a model; the one place where devices are opened |
//! | `files/` | what the user named -> files on disk, fetching if needed -> tensors under Hugging Face names, and a tokenizer |
//! | `architectures/` | the architecture's numbers, from config.json or GGUF metadata; encoder-decoders |
//! | `block.rs`, `decoder.rs`, `head.rs`, `past.rs` | the differentiable forward pass of decoder-only models; a prompt run once |
//! | `ops/` | the operations under a block, each forward beside its vector-Jacobian product |
//! | `language.rs` | both families of language models behind one face |
//! | `encoder/` | encoders that need no gradient: embeddings of texts, classification of pairs |
//! | `plan.rs` | memory, and how many targets go together |
//! | `reading/` | what is read off a model: scores of tokens, attribution |
//!
//! The engine knows ids, not diffs, and prints nothing.

pub mod architectures;
pub mod block;
pub mod decoder;
pub mod device;
pub mod encoder;
pub mod error;
pub mod files;
pub mod head;
pub mod language;
pub mod ops;
pub mod past;
pub mod plan;
pub mod reading;

pub use device::DeviceError;
pub use error::ModelError;
