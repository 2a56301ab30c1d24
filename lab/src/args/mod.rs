//! Options that several research tools share.

pub mod backend;
pub mod book;
pub mod resamples;
