//! The library beside its references: Inseq, transformers, sacrebleu, NLTK, scikit-learn. One program, since each links all of candle.

#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../../../engine/tests/reference/fixture.rs"]
mod fixture;

mod adapter;
mod attribution;
mod focus;
mod inside;
mod real_models;
mod references;
mod t5;
mod text;
mod unseen;
mod verdict;
