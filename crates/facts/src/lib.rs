//! What a change says by itself of each statement about it, without a model.
//!
//! ```text
//!  diff ──► sides (old, new of every file) ──► syntax (items with roles) ──► facts (added, removed, kept, …) ─┐
//!                                                                                                       ├─► rules ──► findings
//!  text ──► statements ──► claims (verb, direction, names, values, conditions) ─────────────────────────┘
//! ```
//!
//! A fact is what the lines of the change show, a claim is what a statement says of them, and a rule compares the two: the claim
//! holds, is contradicted (with the line), or stays open. What a diff shows is a part of the file, so most claims stay open.

/// The version of what rules find: columns and corpora that were made with different ones do not mix. Whoever changes what a rule
/// finds raises it, unless it is a false accusation that is mended and hardly a row of the samples that were fitted on has it: one in
/// 3,080 messages at the last such mend. `CONTRIBUTING.md` says how that is counted.
pub const VERSION: u32 = 3;

pub mod bindings;
pub mod blocks;
pub mod bodies;
pub mod case;
pub mod change;
pub mod changes;
pub mod checker;
pub mod clause;
pub mod code;
pub mod edits;
pub mod execution;
pub mod finding;
pub mod judge;
pub mod judge_finding;
mod known;
pub mod language;
pub mod lexicon;
pub mod mention;
pub mod occurrences;
pub mod rules;
pub mod side;
pub mod spots;
pub mod syntax;
pub mod topic;
pub mod turning;
pub mod verdict;
