//! What features and learners are worth on rows that were not trained on.
//!
//! | file | owns |
//! |---|---|
//! | `folds.rs` | groups, and cross-validation folds that never split one |
//! | `mistakes.rs` | the rows that a predictor has most wrong |
//! | `mismatched.rs` | texts beside another change, to train on only |
//! | `predictions.rs` | scores of rows that were not trained on, and every figure of them |
//! | `evaluate.rs` | out-of-fold figures, per generator and leaving one out |
//! | `analyses.rs` | the list of what was analysed beside those figures |
//! | `out_of_fold.rs` | folds and those scores as data |
//! | `compare.rs` | sets of features on the same folds; what a stepwise choice is worth |
//! | `stepwise.rs` | choice of features by Akaike's criterion |
//! | `complementarity.rs` | whether features flag the same rows |
//! | `repeated.rs` | folds drawn many times; what each family of features adds |
//! | `transfer.rs` | trained on one value of a column, tested on another |

pub(crate) mod analyses;
pub(crate) mod compare;
pub(crate) mod complementarity;
pub(crate) mod evaluate;
pub(crate) mod folds;
pub(crate) mod mismatched;
pub(crate) mod mistakes;
pub(crate) mod out_of_fold;
pub(crate) mod predictions;
pub(crate) mod repeated;
pub(crate) mod stepwise;
pub(crate) mod transfer;
