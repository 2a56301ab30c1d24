//! Models as files: where they come from and what is in them.

pub mod cards;
pub mod fetch;
pub mod gguf;
pub mod hub;
pub mod source;
pub mod tokenizer;
pub mod weights;
