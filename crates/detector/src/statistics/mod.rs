//! Figures of scores and labels.
//!
//! | file | owns |
//! |---|---|
//! | `roc.rs` | ROC-AUC, its bootstrap interval, thresholds |
//! | `delong.rs` | the AUC's standard error, the test of two AUCs on the same rows |
//! | `curves.rs` | the ROC curve, average precision |
//! | `calibration.rs` | Brier score, calibration error, reliability bins |
//! | `correlation.rs` | point-biserial and Pearson's correlation, whether rates differ |
//! | `proportion.rs` | the interval of a share |
//! | `kappa.rs` | Cohen's kappa of two raters |
//! | `quantiles.rs` | where a value falls among the training rows |
//! | `distributions.rs` | tail probabilities, Holm's correction |

pub(crate) mod calibration;
pub(crate) mod correlation;
pub(crate) mod curves;
pub(crate) mod delong;
pub(crate) mod distributions;
pub(crate) mod kappa;
pub(crate) mod proportion;
pub(crate) mod quantiles;
pub(crate) mod roc;
