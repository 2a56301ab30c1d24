//! What turns features into a probability. To add a learner: a file with an [`Learn`] and what it makes, which can [`Predict`],
//! and a line in the list below; the command line, the file and every table have it then.
//!
//! | file | owns |
//! |---|---|
//! | `logistic.rs` | scaling and penalised logistic regression, for predicting |
//! | `boosted.rs`, `forest.rs`, `mixed.rs` | trees: gradient-boosted ones, extremely randomised ones, the mean of both |
//! | `stack.rs` | families, each by a learner of its own, and a regression over what they say |
//! | `trees.rs` | what all trees are kept as, and what each feature adds to their sum |
//! | `maximum_likelihood.rs` | logistic regression without a penalty, with standard errors, for explaining |
//! | `newton.rs`, `cholesky.rs` | what these stand on |

pub(crate) mod boosted;
pub(crate) mod cholesky;
pub(crate) mod forest;
pub(crate) mod logistic;
pub(crate) mod maximum_likelihood;
pub(crate) mod mixed;
pub(crate) mod newton;
pub(crate) mod stack;
pub(crate) mod trees;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};
use veridiff_text::named;

use crate::{DetectorError, Stack, Trees, rows::require_both_classes, sigmoid};

/// What a learner is told beside the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnSettings {
    /// The L2 penalty of a logistic regression, at least 0; see [`fit_logistic`](crate::fit_logistic). Trees ignore it.
    pub l2: f64,
    /// What is drawn at random is drawn from this.
    pub seed: u64,
}

/// What a learner may know of a column beside its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnKind {
    /// The family of features that it is of, and the model.
    pub family: String,
    /// Whether it is an element of a list, of which there are hundreds.
    pub is_element: bool,
}

/// Rows to learn from.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingRows {
    /// `[n, F]`, all finite; for a stack NaN in the families that a row lacks.
    pub features: Array2<f64>,
    /// True = positive.
    pub labels: Vec<bool>,
    /// The groups of each row's text and of its change: the same number twice, but for a text beside another change, which only trains.
    pub groups: Vec<[usize; 2]>,
    /// One a feature.
    pub kinds: Vec<ColumnKind>,
}

impl TrainingRows {
    /// Rows of which nothing but features of one family and labels is known: each is a group of its own.
    pub fn plain(features: Array2<f64>, labels: &[bool]) -> Self {
        let kind = ColumnKind { family: String::new(), is_element: false };
        let kinds = vec![kind; features.ncols()];
        TrainingRows { features, labels: labels.to_vec(), groups: (0..labels.len()).map(|i| [i, i]).collect(), kinds }
    }

    /// Some columns of some rows.
    pub(crate) fn select(&self, columns: &[usize], rows: &[usize]) -> Self {
        TrainingRows {
            features: self.features.select(Axis(0), rows).select(Axis(1), columns),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
            groups: rows.iter().map(|&row| self.groups[row]).collect(),
            kinds: columns.iter().map(|&column| self.kinds[column].clone()).collect(),
        }
    }
}

/// A way to learn from labelled rows.
pub trait Learn {
    /// What is learnt: a model that gives rows a probability.
    type Model: Predict;

    /// What tables and captions call it: a plural or a mass noun, such as `boosted trees`.
    const TITLE: &'static str;

    /// Learns from rows of both labels.
    ///
    /// # Errors
    /// What the learner needs and the rows lack; [`DetectorError::Solver`] or [`DetectorError::Trees`] when it fails.
    fn fit(rows: &TrainingRows, settings: LearnSettings) -> Result<Self::Model, DetectorError>;
}

/// What was learnt. In a file it stands beside its `kind`, as it serialises.
pub trait Predict {
    /// The log-odds, before calibration, that a row with these F feature values is positive.
    fn log_odds(&self, row: &[f64]) -> f64;

    /// What each feature adds to the log-odds of a row, against a row with the baseline's values: they sum to the difference of
    /// the two rows' log-odds.
    fn contributions(&self, row: &[f64], baseline: &[f64]) -> Vec<f64>;

    /// Whether it can say anything of a row, where a feature without a value is NaN.
    fn judges(&self, row: &[f64]) -> bool {
        !row.iter().any(|value| value.is_nan())
    }

    /// What is wrong with one that was read from a file for this many features, if anything: one without fault predicts for
    /// every row.
    fn fault(&self, n_features: usize) -> Option<String>;

    /// The trees that it consists of, if it does.
    fn trees(&self) -> Option<&Trees> {
        None
    }
}

macro_rules! learners {
    ($($(#[$doc:meta])+ $name:literal => $variant:ident($learner:ty);)+) => {
        /// A way to learn from labelled rows, by its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum Learner {
            $($(#[$doc])+ #[serde(rename = $name)] $variant,)+
        }

        named!(Learner, "learner", $($name => $variant),+);

        impl Learner {
            /// What tables and captions call it, such as `boosted trees`.
            pub fn title(self) -> &'static str {
                match self {
                    $(Learner::$variant => <$learner as Learn>::TITLE,)+
                }
            }

            /// Learns from rows.
            ///
            /// # Errors
            /// [`DetectorError::OneClass`], and those of the learner's [`Learn::fit`].
            pub fn fit(self, rows: &TrainingRows, settings: LearnSettings) -> Result<Model, DetectorError> {
                require_both_classes(&rows.labels)?;
                Ok(match self {
                    $(Learner::$variant => Model::$variant(<$learner as Learn>::fit(rows, settings)?),)+
                })
            }
        }

        /// What was learnt, whoever learnt it. In a file an object whose `kind` is the learner's name.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Model {
            $($(#[$doc])+ #[serde(rename = $name)] $variant(<$learner as Learn>::Model),)+
        }

        impl Model {
            /// The learner that made the model.
            pub fn learner(&self) -> Learner {
                match self {
                    $(Model::$variant(_) => Learner::$variant,)+
                }
            }

            fn predictor(&self) -> &dyn Predict {
                match self {
                    $(Model::$variant(model) => model,)+
                }
            }
        }
    };
}

learners! {
    /// Penalised logistic regression on standardised features: every feature's weight can be read off.
    "logistic" => Logistic(logistic::LogisticRegression);
    /// Gradient-boosted trees: thresholds and interactions, at the price of a plain explanation.
    "boosted" => Boosted(boosted::BoostedTrees);
    /// Extremely randomised trees: many deep ones on splits drawn at random, and their mean.
    "forest" => Forest(forest::RandomisedTrees);
    /// Boosted and extremely randomised trees, and the mean of their log-odds.
    "trees" => Mixed(mixed::MixedTrees);
    /// Families of features, each by a learner of its own, under a regression over what they say: for lists beside single numbers.
    "stack" => Stack(stack::Stacking);
}

#[expect(
    clippy::derivable_impls,
    reason = "the list of learners makes the enum, and one line of it is no place for a default"
)]
impl Default for Learner {
    fn default() -> Self {
        Learner::Logistic
    }
}

impl Model {
    /// The probability, 0 to 1, that a row with these feature values is positive, before calibration; NaN if one of them is NaN, in a
    /// stack if every member lacks one.
    ///
    /// # Panics
    /// If the number of values is not the number of features.
    pub fn predict(&self, row: &[f64]) -> f64 {
        if self.judges(row) { sigmoid(self.log_odds(row)) } else { f64::NAN }
    }

    /// The families that it stacks, if it does.
    pub fn stack(&self) -> Option<&Stack> {
        match self {
            Model::Stack(stack) => Some(stack),
            _ => None,
        }
    }
}

impl Predict for Model {
    fn log_odds(&self, row: &[f64]) -> f64 {
        self.predictor().log_odds(row)
    }

    fn contributions(&self, row: &[f64], baseline: &[f64]) -> Vec<f64> {
        self.predictor().contributions(row, baseline)
    }

    fn judges(&self, row: &[f64]) -> bool {
        self.predictor().judges(row)
    }

    fn fault(&self, n_features: usize) -> Option<String> {
        self.predictor().fault(n_features)
    }

    fn trees(&self) -> Option<&Trees> {
        self.predictor().trees()
    }
}
