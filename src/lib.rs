//! veridiff finds what a generated code review comment or commit message says that the change does not support.
//!
//! This package is the command, and the library's face: the names to begin with, from the crates under `crates/`, where everything
//! else is to be found. A [`Gate`] judges samples, each a change and the text about it:
//!
//! ```no_run
//! use veridiff::{Gate, Sample};
//!
//! // the shipped detectors; their model, 270 MB, is fetched the first time
//! let gate = Gate::open(Default::default())?;
//! let diff = "--- a/area.py\n+++ b/area.py\n@@ -1 +1 @@\n-    return width * width\n+    return width * height\n";
//! let sample = Sample::new("1", diff, "`perimeter` should be validated first.");
//! for finding in gate.check(&[sample]) {
//!     println!("{}: {:?}, {:?}", finding.id, finding.p_hallucination, finding.verdict);
//!     for fact in finding.statements.iter().flat_map(|statement| &statement.facts) {
//!         println!("  {} {}", fact.rule, fact.says);
//!     }
//! }
//! # Ok::<(), veridiff::Error>(())
//! ```
//!
//! What a text has in common with its change needs no model:
//!
//! ```
//! use veridiff::{Case, FeatureSet, Task};
//!
//! let diff = "@@ -1 +1 @@\n-    return width * width\n+    return width * height\n";
//! let features = FeatureSet::parse(&["ground_names"]).expect("a feature of the registry");
//! let share_of_names = |text: &str| {
//!     let case = Case::new(diff, text, Task::Review)?;
//!     Ok::<f64, veridiff::Error>(features.plain_values(&case)[0].1)
//! };
//!
//! let (grounded, invented) = (share_of_names("`width` times `height` now.")?, share_of_names("`perimeter_of` needs a test.")?);
//! assert!(grounded > invented);
//! # Ok::<(), veridiff::Error>(())
//! ```
//!
//! Samples become rows of a [`Table`] by a [`ScoreRun`] over sources of columns
//! ([`ColumnSource`](veridiff_core::run::source::ColumnSource)); a labelled table becomes a [`Detector`] by
//! [`veridiff_detector::fit_detector`].

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

pub use veridiff_core::{
    Error, Result,
    case::Case,
    families::catalogue::FeatureSet,
    finding::Finding,
    gate::{Gate, GateOptions},
    run::score::ScoreRun,
    scorer::Scorer,
    settings::Settings,
};
pub use veridiff_detector::Detector;
pub use veridiff_table::Table;
pub use veridiff_text::{
    diff::Diff,
    sample::{Sample, Task},
};
