//! Running over many samples: from samples and models to rows, a table, or findings.
//!
//! | file | owns |
//! |---|---|
//! | `choice.rs` | which samples of an input: by value, at random, the first, a shard |
//! | `models.rs` | the models that are named, found, fetched, and ready to be loaded |
//! | `references.rs` | which features of which models; the sources beside the scorers |
//! | `source.rs` | [`source::ColumnSource`], where one part of every row comes from |
//! | `sources.rs` | the sources there are: one `impl` each |
//! | `batch.rs` | many samples of one scorer: which run together, which share a prompt |
//! | `parts.rs` | the rows of a table, part by part, and the lines of its journal |
//! | `score.rs` | the run that fills a table or streams rows |
//! | `forecast.rs` | what a scorer will take, by what its readings cost and a moment's measurement |
//! | `estimate.rs` | what a run will take: forecasts, and a few rows of sources that have none |
//!
//! A run tells what it does by [`score::Progress`] and by what it returns.

pub mod batch;
pub mod choice;
pub mod estimate;
pub mod forecast;
pub mod models;
pub mod parts;
pub mod references;
pub mod score;
pub mod source;
pub mod sources;
