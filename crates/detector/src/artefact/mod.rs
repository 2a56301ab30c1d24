//! The fitted detector.
//!
//! | file | owns |
//! |---|---|
//! | `file.rs` | the detector, how it is fitted, and its file |
//! | `recalibration.rs` | a learner's scores as calibrated probabilities |
//! | `decision.rs` | calibrated probabilities as verdicts, with a band that abstains |
//! | `contributions.rs` | what each feature adds to a verdict |
//! | `domain.rs` | what training rows were like, and in what a text is unlike them |
//! | `provenance.rs` | whether a table's features are those that a detector knows |
//! | `shipped.rs` | the detectors that ship with the program |

pub(crate) mod contributions;
pub(crate) mod decision;
pub(crate) mod domain;
pub(crate) mod file;
pub(crate) mod provenance;
pub(crate) mod recalibration;
pub mod shipped;
