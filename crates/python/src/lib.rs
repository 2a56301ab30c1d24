//! The library as a Python module.
//!
//! ```text
//!  pandas, polars, pyarrow ──► veridiff/_tables.py ──► stream of Arrow ──► table.rs ──► samples or a table
//!                                                                                            │
//!  what Python shows ◄── veridiff/*.py ◄── JSON, one batch of Arrow ◄── score.rs, gate.rs, … ┘
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `table.rs` | tables of Arrow as tables and samples of the library, and back |
//! | `options.rs` | where models run and how they read, from the words of a caller |
//! | `work.rs` | work on a thread of its own, while the caller's answers to Ctrl-C and shows how far it is |
//! | `log.rs` | events of the library as records of `logging` |
//! | `error.rs` | errors with their hints as exceptions |
//! | `scorer.rs`, `score.rs`, `gate.rs`, `detector.rs`, `explain.rs`, `ground.rs` | one thing each that Python can ask for |
//!
//! What a user reads (names, documentation, types) is the package in `python/veridiff`; nothing here is called by anything else.

mod detector;
mod error;
mod explain;
mod gate;
mod ground;
mod log;
mod options;
mod score;
mod scorer;
mod table;
mod work;

use pyo3::prelude::*;

/// What the package `veridiff` is made of.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    log::start();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scorer::Scorer>()?;
    module.add_class::<gate::Gate>()?;
    module.add_class::<detector::Detector>()?;
    module.add_function(wrap_pyfunction!(score::score, module)?)?;
    module.add_function(wrap_pyfunction!(detector::fit, module)?)?;
    module.add_function(wrap_pyfunction!(detector::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(ground::ground, module)?)?;
    module.add_function(wrap_pyfunction!(ground::features, module)?)?;
    Ok(())
}
