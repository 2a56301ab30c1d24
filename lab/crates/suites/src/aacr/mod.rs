//! AACR-Bench: comments on pull requests, beside those that experts accepted and those that they rejected.
//!
//! | file | owns |
//! |---|---|
//! | `dataset.rs` | references of any origin: the benchmark's two files, a run's folder, a user's own lines |
//! | `raw.rs` | the two files as they are written |
//! | `counts.rs` | what a dataset holds, beside what it is known to hold |
//! | `changes.rs` | the change of a pull request, and where in it each comment stands |
//! | `prepare.rs` | a dataset with its repositories: hunks, places, labelled samples |
//! | `postings.rs` | BM25 over identifiers |
//! | `retrieve.rs` | pieces of other code that a hunk may need |
//! | `review.rs`, `prompts.toml` | a review of a hunk: asked for, taken apart, put in its place |
//! | `predictions.rs` | what generators wrote, in three forms |
//! | `location.rs` | which comments lie near each other |
//! | `decide.rs` | whether two comments say the same: by letters, by a judge |
//! | `entailed.rs` | the same by an encoder and a classifier; how right a decider is on labelled pairs |
//! | `classify.rs` | what kind a comment is of, by a judge |
//! | `assign.rs` | the best pairing, one to one |
//! | `matching.rs` | candidates, decisions, pairings, and what became of each prediction |
//! | `figures.rs` | floor and ceiling of precision, recall, false ones, by strata, with intervals |
//! | `groups.rs` | counts by pull request, and the intervals of all figures |
//! | `compat.rs` | the published evaluators, faults included |
//! | `paper.rs`, `paper.toml` | the published rows, and what they contradict |
//! | `tables.rs` | all of it as a page |

pub mod assign;
pub mod changes;
pub mod classify;
pub mod compat;
pub mod counts;
pub mod dataset;
pub mod decide;
pub mod entailed;
pub mod figures;
mod groups;
pub mod location;
pub mod matching;
pub mod paper;
pub mod postings;
pub mod predictions;
pub mod prepare;
mod raw;
pub mod retrieve;
pub mod review;
pub mod tables;
