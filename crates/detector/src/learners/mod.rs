//! What turns features into a probability: logistic regression, or trees.
//!
//! | file | owns |
//! |---|---|
//! | `logistic.rs` | scaling and penalised logistic regression, for predicting |
//! | `boosted.rs`, `forest.rs` | trees: gradient-boosted ones, extremely randomised ones |
//! | `trees.rs` | what both are kept as |
//! | `maximum_likelihood.rs` | logistic regression without a penalty, with standard errors, for explaining |
//! | `cholesky.rs` | what these stand on |

pub(crate) mod boosted;
pub(crate) mod cholesky;
pub(crate) mod forest;
pub(crate) mod logistic;
pub(crate) mod maximum_likelihood;
pub(crate) mod trees;

use ndarray::ArrayView2;
use serde::Serialize;

use crate::{DetectorError, Logistic, Trees, fit_logistic};
use veridiff_text::named;

/// A way to learn from labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Learner {
    /// Penalised logistic regression on standardised features: every feature's weight can be read off.
    #[default]
    Logistic,
    /// Gradient-boosted trees: thresholds and interactions, at the price of a plain explanation.
    Boosted,
    /// Extremely randomised trees: many deep ones on splits drawn at random, and their mean.
    Forest,
}

named!(Learner, "learner", "logistic" => Logistic, "boosted" => Boosted, "forest" => Forest);

/// What was learnt.
#[derive(Debug, Clone, PartialEq)]
pub enum Fitted {
    /// Weights.
    Logistic(Logistic),
    /// Trees.
    Trees(Trees),
}

impl Learner {
    /// Learns from rows `[n, F]` and their labels (true = positive). `l2` is the penalty of logistic regression, `seed` draws what
    /// trees may split on; scaling is learnt from these rows too.
    ///
    /// # Errors
    /// [`DetectorError::OneClass`] and those of [`fit_logistic`]; [`DetectorError::Trees`].
    pub fn fit(self, features: ArrayView2<f64>, labels: &[bool], l2: f64, seed: u64) -> Result<Fitted, DetectorError> {
        let n_positive = labels.iter().filter(|label| **label).count();
        if n_positive == 0 || n_positive == labels.len() {
            return Err(DetectorError::OneClass { label: u8::from(n_positive > 0), n_rows: labels.len() });
        }
        Ok(match self.grow(features, labels, seed)? {
            Some(trees) => Fitted::Trees(trees),
            None => Fitted::Logistic(fit_logistic(features, labels, l2)?),
        })
    }

    /// Grows trees on rows of both labels, if that is how it learns.
    pub(crate) fn grow(
        self,
        features: ArrayView2<f64>,
        labels: &[bool],
        seed: u64,
    ) -> Result<Option<Trees>, DetectorError> {
        match self {
            Learner::Logistic => Ok(None),
            Learner::Boosted => boosted::grow(features, labels, seed).map(Some),
            Learner::Forest => forest::grow(features, labels, seed).map(Some),
        }
    }
}

impl Fitted {
    /// The probability, 0 to 1, that a row with these feature values is positive; NaN if one of them is NaN.
    pub fn predict(&self, row: &[f64]) -> f64 {
        match self {
            Fitted::Logistic(logistic) => logistic.predict(row),
            Fitted::Trees(trees) => trees.predict(row),
        }
    }
}
