//! Models as files: where they come from and what is in them.

pub mod adapter;
pub mod cards;
pub mod gguf;
mod hash;
pub mod hub;
pub mod options;
pub mod pip;
pub mod source;
pub mod stored;
pub mod tokenizer;
pub mod weights;
