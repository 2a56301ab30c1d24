//! Architectures: their numbers, and what is not shared by all.

pub mod config;
pub mod t5;
