//! Whether execution supports what a text says of a program: cases, suites, runs, and the conclusion from what was observed.

mod all;
pub mod case;
pub mod drivers;
mod inputs;
mod plan;
mod report;
pub mod rule;
pub mod session;
mod talk;
mod verified;

pub use all::{Cache, Finished, settings, verify_all};
pub use plan::{Options, Verifier};
pub use verified::{RunRecord, Shown, Transitions, Verified, Where, Witness};
