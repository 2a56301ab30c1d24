//! The over-correction study: a judge is asked whether programs meet their requirements, whose truth execution has found, and its errors are
//! counted. Nothing here runs or reads anything.

pub mod label;
pub mod mutate;
pub mod parse;
pub mod prompt;
pub mod rates;
pub mod table;
pub mod tables;
pub mod task;
