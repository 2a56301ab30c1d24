//! Metrics that compare a text with what a human wrote for the same diff.
//!
//! | file | owns |
//! |---|---|
//! | `bleu.rs` | BLEU-4 of one sentence, in the variants that papers report |
//! | `entailment.rs` | the probability that the reference entails the text, by a natural-language-inference classifier |

pub mod bleu;
pub mod entailment;
