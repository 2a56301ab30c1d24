//! What each feature adds to a verdict, against a row with the training means.

use crate::{Detector, Model, Predict};

impl Detector {
    /// Log-odds, before calibration, of a row with the training mean of every feature.
    pub fn log_odds_at_means(&self) -> f64 {
        self.model().log_odds(&self.means())
    }

    /// What each feature adds to the log-odds of a row, in the detector's order; with [`Detector::log_odds_at_means`] they sum to
    /// the row's log-odds before calibration. A regression's are coefficient · (value − mean) / scale. Those of trees are Shapley
    /// values against the row of training means (Sundararajan and Najmi 2020, "baseline Shapley"), computed exactly.
    ///
    /// # Panics
    /// If there is not one value per feature.
    pub fn contributions(&self, values: &[f64]) -> Vec<f64> {
        assert_eq!(values.len(), self.features.len(), "one value per feature");
        self.model().contributions(values, &self.means())
    }

    /// What one feature's value adds to the log-odds whatever the other features are, as it does in a logistic regression; `None`
    /// where it hangs on the others.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn contribution_alone(&self, feature: usize, value: f64) -> Option<f64> {
        match self.model() {
            Model::Logistic(regression) => Some(regression.contribution(feature, value)),
            _ => None,
        }
    }

    fn means(&self) -> Vec<f64> {
        self.features.iter().map(|feature| feature.mean).collect()
    }
}
