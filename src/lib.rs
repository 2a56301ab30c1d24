//! veridiff finds statements in AI-written code reviews and commit messages that are not true of the change they describe.
//!
//! A [`Checker`] compares a text with its change and gives a [`Finding`]: a [`Verdict`], the text statement by statement, and for each
//! statement the diagnostics of the rules with the lines of the change that decide it. Rules need no model:
//!
//! ```
//! use veridiff::{Checker, Verdict};
//!
//! let checker = Checker::builder().build()?;
//! let diff = "--- a/limits.py\n+++ b/limits.py\n@@ -1 +1 @@\n-limit = 10\n+limit = 20\n";
//! let finding = checker.check(diff, "Lowers `limit` from 20 to 10.");
//! assert_eq!(finding.verdict, Some(Verdict::Contradicted));
//! for diagnostic in finding.statements.iter().flat_map(|statement| &statement.facts) {
//!     println!("{} {}", diagnostic.rule, diagnostic.says);
//! }
//! # Ok::<(), veridiff::CheckerError>(())
//! ```
//!
//! # Features
//!
//! Without default features the library has diffs, statements, rules and verdicts, and no model. `model` adds [`Detector`], which
//! gives a probability from what a language model reads of the change and the text, and [`Explanation`], which shows that token by token.
//! `cli` is the command and on by default.
//!
//! ```no_run
//! # #[cfg(feature = "model")]
//! # fn main() -> Result<(), veridiff::CheckerError> {
//! use veridiff::Checker;
//!
//! // the shipped detectors; their model, 270 MB, is fetched the first time
//! let checker = Checker::builder().shipped_detectors().build()?;
//! let diff = "--- a/area.py\n+++ b/area.py\n@@ -1 +1 @@\n-    return width * width\n+    return width * height\n";
//! let finding = checker.check(diff, "`perimeter` should be validated first.");
//! println!("{:?}, {:?}", finding.p_hallucination, finding.verdict);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "model"))]
//! # fn main() {}
//! ```
//!
//! Samples become rows of a [`Table`] by a [`ScoreRun`], and a labelled table becomes a [`Detector`] by
//! [`fit_detector`](veridiff_detector::fit_detector); both are of the feature `model`.

mod checker;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

pub use checker::{Checker, CheckerBuilder, CheckerError};
#[cfg(feature = "model")]
pub use veridiff_core::{
    Error, Result,
    families::catalogue::FeatureSet,
    gate::{Gate, GateOptions},
    run::{models::ModelOptions, score::ScoreRun},
    scorer::Scorer,
    settings::Settings,
};
#[cfg(feature = "model")]
pub use veridiff_detector::Detector;
pub use veridiff_facts::{
    case::Case,
    change::Tree,
    finding::{FactFinding as Diagnostic, Finding, StatementFinding as Statement},
    rules::UnknownRule,
    verdict::Verdict,
};
#[cfg(feature = "model")]
pub use veridiff_report::explain::Explanation;
#[cfg(feature = "model")]
pub use veridiff_table::Table;
pub use veridiff_text::{
    diff::Diff,
    sample::{Sample, Task},
};
