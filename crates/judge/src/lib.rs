//! Asks a language model how well a change supports a text, on a scale from 0 (every claim is) to 4 (none is), and makes columns of
//! the answers.
//!
//! ```text
//!  sample ─► prompt ──► recorder ──► backend           columns of the table
//!            (set,       │    │       (endpoint,             ▲
//!            strategy,   │    │        file, …)              │
//!            fence)      │    └─ reply, journalled ─► verdict ─► judgement ─► panel
//!                        │         first                (text, digits)
//!                        └─ a reply that is journalled is not asked for again
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `backend.rs` | [`Backend`](backend::Backend), the one trait for all that answers; requests, replies, usage |
//! | `backend/scripted.rs` | replies written down in a file |
//! | `backend/spec.rs` | how a backend is named: `local:MODEL`, `openai:URL#MODEL`, `scripted:FILE`, `replay:FILE`, a `.toml` |
//! | `failure.rs` | why a reply is none, by kind; what is wrong with settings, and how to mend it |
//! | `recorder.rs`, `store.rs` | every reply in a file before it is used; a finished study without a socket |
//! | `batch.rs` | requests and answers as the files of providers' batches |
//! | `cost.rs` | what replies cost, exactly, and the bounds on it and on their number |
//! | `plan.rs` | what a run would ask, without asking |
//! | `local/` | a model on this machine: conversations, answers held to a schema, probabilities behind a forced prefix |
//! | `endpoint/` | servers: transport, retries, limits, what a server really does, the bodies sent and read |
//! | `prompts/` | prompt sets as data, strategies, the form of an answer and its schema, the fence around data |
//! | `parse.rs` | a reply becomes a verdict or a failure, never a guess |
//! | `levels.rs` | the score by the probabilities of the five digits |
//! | `judge.rs` | one sample by one strategy: attempts and repeats |
//! | `panel.rs` | several strategies together |
//! | `source.rs` | all of that as a source of columns |
//! | `remote.rs` | a server's log-probabilities of the samples' own texts, as the columns of a scorer |
//! | `finding.rs` | a judge's score and reasons beside what `check` found |
//! | `generate.rs` | texts about changes, written by a backend, as samples |
//! | `parallel.rs` | many samples at once |
//! | `figures.rs`, `evaluation.rs` | what verdicts are worth, beside labels and reactions; all judges of a table |
//!
//! Nothing here prints, and nothing knows a command line.

pub mod backend;
pub mod batch;
pub mod cost;
#[cfg(feature = "endpoint")]
pub mod endpoint;
pub mod evaluation;
pub mod failure;
pub mod figures;
pub mod finding;
pub mod generate;
pub mod judge;
pub mod levels;
#[cfg(feature = "local")]
pub mod local;
pub mod panel;
pub mod parallel;
pub mod parse;
pub mod plan;
pub mod prompts;
pub mod recorder;
pub mod remote;
pub mod source;
pub mod store;
