//! The engine beside PyTorch, transformers and central differences, on fixtures. One program, since each links all of candle.

mod encoders;
mod fixture;
mod models;
mod quantised;
mod reading;
