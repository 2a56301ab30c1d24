//! What is read off a model that runs over a prompt and a text.

pub mod attribution;
pub mod scores;
