//! The detector: logistic regression or trees over features, and the statistics that judge it.
//!
//! | part | owns |
//! |---|---|
//! | `rows.rs` | a feature table -> labelled rows: which rows, which features, which groups |
//! | `learners/` | rows -> a model: logistic regression, trees; what they stand on |
//! | `statistics/` | figures of scores and labels: ROC-AUC, calibration, correlation, their intervals and tests |
//! | `evaluation/` | folds, scores of rows that were not trained on, and every figure and comparison of them |
//! | `artefact/` | the fitted detector: its file, calibration, verdicts, explanations; those that ship |
//! | `error.rs` | what can go wrong, and how to mend it |
//!
//! A label of 1 (hallucinated) is the positive class everywhere.

mod artefact;
mod error;
mod evaluation;
mod learners;
mod rows;
mod statistics;
#[cfg(test)]
mod toy;

pub use artefact::decision::{Decision, DecisionRule, Leaning, Operation};
pub use artefact::domain::Domain;
pub use artefact::file::{Detector, DetectorFeature, SCHEMA_VERSION, Training};
pub use artefact::fit::{Fit, FitSettings, fit_detector};
pub use artefact::provenance::{SettingDifference, SettingKeys, differences};
pub use artefact::recalibration::{Calibration, CalibrationMethod};
pub use artefact::shipped;
pub use error::DetectorError;
pub use evaluation::analyses::Analyses;
pub use evaluation::compare::{
    Chosen, Comparison, NamedSet, PairTest, SetEvaluation, StepwiseEvaluation, coefficients, compare_sets,
    evaluate_stepwise, standard_sets,
};
pub use evaluation::complementarity::{
    DiagonalSide, JointDistribution, Overlap, OverlapMetric, Region, best_features, best_pair, joint_distribution,
    top_overlap,
};
pub use evaluation::evaluate::{
    ColumnFigures, Curves, EvalSettings, Evaluation, LeaveOneOut, PredictorEvaluation, PredictorKind, Ranking,
    ValueFigure, apply_detector, evaluate, rank_as_it_stands,
};
pub use evaluation::folds::Groups;
pub(crate) use evaluation::folds::grouped_folds;
pub use evaluation::mismatched::{MISMATCH_COLUMN, Mismatched};
pub use evaluation::mistakes::{Mistake, Mistakes};
pub use evaluation::out_of_fold::{FoldScores, SetScores, fold_scores};
pub use evaluation::predictions::{Direction, Figure, GeneratorFigure, InSample, MeanFigure};
pub use evaluation::repeated::{RepeatedFigure, RepeatedSet, Repeats, ablation_sets, repeat_folds};
pub use evaluation::stepwise::{Step, StepAction, StepDirection, Stepwise, stepwise};
pub use evaluation::transfer::{Transfer, TransferFigure, transfer};
pub(crate) use learners::logistic::sigmoid;
pub use learners::logistic::{DEFAULT_L2, Logistic, Regression, Scaling, fit_logistic};
pub use learners::maximum_likelihood::{
    Estimate, FitStatus, LeftOut, LikelihoodFit, Term, WaldTest, fit_maximum_likelihood,
};
pub use learners::stack::{Member, Stack};
pub use learners::trees::{Tree, Trees};
pub use learners::{ColumnKind, Learn, LearnSettings, Learner, Model, Predict, TrainingRows};
pub use rows::{
    Gaps, LabelledRows, WhereClause, choose_features, feature_columns, feature_values, filter_table, labelled_rows,
};
pub use statistics::calibration::{Binning, CalibrationBin, CalibrationFigure, calibration, calibration_bins};
pub use statistics::correlation::{Correlation, Homogeneity, homogeneity, pearson, point_biserial};
pub use statistics::curves::{RocPoint, average_precision, roc_curve};
pub use statistics::delong::{Delong, PairedDelong, delong, paired_delong};
pub use statistics::distributions::Z_95;
pub use statistics::distributions::holm;
pub use statistics::kappa::{Kappa, cohen_kappa};
pub use statistics::proportion::proportion_interval;
pub use statistics::quantiles::{percentile, quantiles};
pub use statistics::roc::{Bootstrap, Interval, Scored, quantile, roc_auc};
pub(crate) use statistics::roc::{auc_difference_interval, auc_interval, best_threshold};
