//! Running over many samples.

pub mod batch;
