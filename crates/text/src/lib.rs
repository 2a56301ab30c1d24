//! What a change and a text are: a diff's lines with byte spans, one input record, the prompt around a diff, and which words of a
//! text stand where in a change.
//!
//! Nothing here knows a model, a table or a terminal.

pub mod chain;
pub mod choice;
pub mod diff;
pub mod grounding;
pub mod hint;
pub mod language;
pub mod message;
pub mod printable;
pub mod prompt;
pub mod sample;
pub mod statements;
