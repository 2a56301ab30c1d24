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
//! | `quantised.rs`, `quantised/` | one token at a time by the numbers as a GGUF file holds them: for writing, never for scores |
//! | `language.rs` | both families of language models behind one face |
//! | `encoder/` | encoders that need no gradient: embeddings of texts, classification of pairs |
//! | `plan.rs` | memory, and how many targets go together |
//! | `reading/` | what is read off a model: scores of tokens, attribution |
//!
//! The engine knows ids, not diffs, and prints nothing. Where its caller's parts matter, they are numbers, one a token.
//!
//! # What holds everywhere
//!
//! - **Gradients are blocks, not tapes.** `Block::linearize(x)` runs a layer and keeps what its gradient needs; `Linearized::vjp`
//!   takes the gradients of many targets through it. Only gradients with respect to inputs exist. A tape would not do: candle's fused
//!   operations drop theirs silently.
//! - **One forward, all targets.** The blocks' inputs are kept, and where memory has no bound what a prompt's rows became inside
//!   them; the rest is run again once per backward sweep, to the same bits. Rows that a target cannot see are never computed, and
//!   logits are reduced a few rows at a time.
//! - **A block never knows its device, nor its precision.** `ops/` chooses: kernels of our own on the CPU, all on the one matrix
//!   product of `ops/kernel.rs` (f32; bf16 pairs accumulated in f32; f64, so that central differences test the code that runs); candle
//!   operations elsewhere (`composed`), with kernels between them on CUDA devices (`fused`), each compared with what it stands for
//!   before its first use.
//! - **Two stacks, one pipeline.** An encoder-decoder's gradients go down the decoder, gather at the encoder's output, and go on down
//!   the encoder. Its readers see positions 0 to N + T and do not know which kind of model it was; only the row of the decoder's start
//!   is kept apart.
//! - **Memory is planned, not probed.** `plan.rs` computes it from the model's numbers and the lengths, and from a bound the number of
//!   targets that go together; what is free at the moment plays no part.
//! - **Weights are dequantised.** Quantised products would round activations too, and miss the reference by more than its tolerance.
//!   Matrices of a GGUF file stay in the mapped file while they are used seldom, and panels are made of them for one product at a
//!   time, to the same bits; see `ops/stored.rs`.
//! - **What the hub's client stored is not believed.** It stores whatever answers a request, so every file from the hub is checked
//!   against the hash in its entity tag.

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
pub mod quantised;
pub mod reading;

pub use device::DeviceError;
pub use error::ModelError;
