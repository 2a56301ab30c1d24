//! The detector: logistic regression or trees over features, and the statistics that judge it.
//!
//! | file | owns |
//! |---|---|
//! | `rows.rs` | a feature table -> labelled rows: which rows, which features, which groups |
//! | `mismatched.rs` | texts beside another change, to train on only |
//! | `folds.rs` | groups, and cross-validation folds that never split one |
//! | `roc.rs` | ROC-AUC, its bootstrap interval, thresholds |
//! | `delong.rs` | the AUC's standard error, the test of two AUCs on the same rows |
//! | `curves.rs` | the ROC curve, average precision |
//! | `calibration.rs` | Brier score, calibration error, reliability bins |
//! | `correlation.rs` | point-biserial and Pearson's correlation, whether rates differ |
//! | `proportion.rs` | the interval of a share |
//! | `logistic.rs` | scaling and penalised logistic regression, for predicting |
//! | `boosted.rs`, `forest.rs` | trees: gradient-boosted ones, extremely randomised ones |
//! | `trees.rs` | what both are kept as |
//! | `learner.rs` | the one face of the three |
//! | `maximum_likelihood.rs` | logistic regression without a penalty, with standard errors, for explaining |
//! | `stepwise.rs` | choice of features by Akaike's criterion |
//! | `distributions.rs`, `cholesky.rs` | what these stand on |
//! | `predictions.rs` | scores of rows that were not trained on, and every figure of them |
//! | `out_of_fold.rs` | folds and those scores as data |
//! | `compare.rs` | sets of features on the same folds; what a stepwise choice is worth |
//! | `complementarity.rs` | whether features flag the same rows |
//! | `repeated.rs` | folds drawn many times; what each family of features adds |
//! | `transfer.rs` | trained on one value of a column, tested on another |
//! | `evaluate.rs` | out-of-fold figures, per generator and leaving one out |
//! | `recalibration.rs` | a learner's scores as calibrated probabilities |
//! | `decision.rs` | calibrated probabilities as verdicts, with a band that abstains |
//! | `contributions.rs` | what each feature adds to a verdict |
//! | `quantiles.rs` | where a value falls among the training rows |
//! | `domain.rs` | what training rows were like, and in what a text is unlike them |
//! | `artefact.rs` | the fitted detector as a file |
//! | `shipped.rs` | the detectors that ship with the program |
//! | `provenance.rs` | whether a table's features are those that a detector knows |
//!
//! A label of 1 (hallucinated) is the positive class everywhere.

mod artefact;
mod boosted;
mod calibration;
mod cholesky;
mod compare;
mod complementarity;
mod contributions;
mod correlation;
mod curves;
mod decision;
mod delong;
mod distributions;
mod domain;
mod evaluate;
mod folds;
mod forest;
mod learner;
mod logistic;
mod maximum_likelihood;
mod mismatched;
mod out_of_fold;
mod predictions;
mod proportion;
mod provenance;
mod quantiles;
mod recalibration;
mod repeated;
mod roc;
mod rows;
pub mod shipped;
mod stepwise;
mod transfer;
mod trees;

use std::path::PathBuf;

pub use artefact::{Detector, Feature, Fit, FitSettings, SCHEMA_VERSION, Training, fit_detector};
pub use calibration::{Binning, CalibrationBin, CalibrationFigure, calibration, calibration_bins};
pub use compare::{
    Chosen, Comparison, NamedSet, PairTest, SetEvaluation, StepwiseEvaluation, coefficients, compare_sets,
    evaluate_stepwise, standard_sets,
};
pub use complementarity::{
    JointDistribution, Overlap, OverlapMetric, Region, Side, best_features, best_pair, joint_distribution, top_overlap,
};
pub use correlation::{Correlation, Homogeneity, homogeneity, pearson, point_biserial};
pub use curves::{RocPoint, average_precision, roc_curve};
pub use decision::{Decision, DecisionRule, Operation, Verdict};
pub use delong::{Delong, PairedDelong, delong, paired_delong};
pub use distributions::Z_95;
pub use distributions::holm;
pub use domain::Domain;
pub use evaluate::{
    ColumnFigures, Curves, EvalSettings, Evaluation, LeaveOneOut, PredictorEvaluation, PredictorKind, ValueFigure,
    apply_detector, evaluate,
};
pub use folds::{Groups, grouped_folds};
pub use learner::{Fitted, Learner};
use logistic::logit;
pub use logistic::{DEFAULT_L2, Logistic, Scaling, fit_logistic, sigmoid};
pub use maximum_likelihood::{Estimate, FitStatus, LeftOut, LikelihoodFit, Term, WaldTest, fit_maximum_likelihood};
pub use mismatched::{MISMATCH_COLUMN, Mismatched};
pub use out_of_fold::{FoldScores, SetScores, fold_scores};
pub use predictions::{Direction, Figure, GeneratorFigure, InSample, MeanFigure};
pub use proportion::proportion_interval;
pub use provenance::{Difference, SettingKeys, differences};
pub use quantiles::{N_QUANTILES, percentile, quantiles};
pub use recalibration::{Calibration, CalibrationMethod};
pub use repeated::{RepeatedFigure, RepeatedSet, Repeats, ablation_sets, repeat_folds};
pub use roc::{Bootstrap, Interval, Scored, Threshold, auc_difference_interval, auc_interval, best_threshold, roc_auc};
pub use rows::{LabelledRows, WhereClause, choose_features, feature_columns, filter_table, labelled_rows};
pub use stepwise::{Step, StepAction, StepDirection, Stepwise, stepwise};
pub use transfer::{Transfer, TransferFigure, transfer};
pub use trees::{Tree, Trees};

/// The most names an error lists.
const LISTED: usize = 30;

/// What can go wrong when a detector is fitted, judged, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DetectorError {
    /// The table has no `label` column, or no row has one.
    #[error("none of {n_rows} rows has a label")]
    NoLabels {
        /// Rows in the table after `--where`.
        n_rows: usize,
    },
    /// A text beside another change that is labelled as supported.
    #[error(
        "row {row}, column `label`: got 0, expected 1, because `mismatch_of` says that its text is about another change"
    )]
    MismatchLabel {
        /// 1-based row of the table after `--where`.
        row: usize,
    },
    /// A label that is not 0, 1 or null.
    #[error("row {row}, column `label`: got {value}, expected 0, 1 or null")]
    BadLabel {
        /// 1-based row of the table after `--where`.
        row: usize,
        /// What was there.
        value: f64,
    },
    /// All labels are equal.
    #[error("all {n_rows} usable rows have label {label}; both 0 and 1 are needed")]
    OneClass {
        /// The only label.
        label: u8,
        /// Rows with it.
        n_rows: usize,
    },
    /// Fewer rows than features.
    #[error("{n_rows} usable rows cannot fit {n_features} features")]
    TooFewRows {
        /// Labelled rows with all chosen features.
        n_rows: usize,
        /// Chosen features.
        n_features: usize,
    },
    /// Every labelled row lacks some chosen feature.
    #[error("none of {n_labelled} labelled rows has a value for every chosen feature")]
    NoCompleteRows {
        /// Labelled rows.
        n_labelled: usize,
        /// Chosen features, each with the number of labelled rows that lack it, worst first.
        missing: Vec<(String, usize)>,
    },
    /// The table has no feature columns with values.
    #[error("the table has no feature column with values")]
    NoFeatures {
        /// Its columns.
        columns: Vec<String>,
    },
    /// `--features` names nothing in the table.
    #[error("no feature matches `{pattern}`")]
    UnknownFeature {
        /// What was asked for.
        pattern: String,
        /// The table's features.
        known: Vec<String>,
    },
    /// The table lacks a feature, for example one that the detector was fitted on.
    #[error("the table has no column `{feature}`, which is needed as a feature")]
    MissingFeature {
        /// The feature's column.
        feature: String,
        /// The table's features.
        known: Vec<String>,
    },
    /// A `--where` clause that cannot be read.
    #[error("cannot read the clause `{clause}`")]
    WhereSyntax {
        /// As it was given.
        clause: String,
    },
    /// A `--where` clause on a column that is not there.
    #[error("`--where {clause}`: the table has no column `{column}`")]
    WhereColumn {
        /// As it was given.
        clause: String,
        /// The column it names.
        column: String,
        /// The table's columns.
        known: Vec<String>,
    },
    /// A `--where` clause with a value that the column does not hold.
    #[error("`--where {clause}`: column `{column}` never has the value `{value}`")]
    WhereValue {
        /// As it was given.
        clause: String,
        /// The column it names.
        column: String,
        /// The value it names.
        value: String,
        /// The column's values.
        known: Vec<String>,
    },
    /// A column to give figures by that is not there.
    #[error("the table has no column `{column}` to give figures by")]
    ByColumn {
        /// What was asked for.
        column: String,
        /// The table's columns.
        known: Vec<String>,
    },
    /// A column to give figures by with too many values.
    #[error("column `{column}` has {n_values} values, expected at most {most} to give figures by")]
    ByTooManyValues {
        /// What was asked for.
        column: String,
        /// Its distinct values.
        n_values: usize,
        /// The most there may be.
        most: usize,
    },
    /// No row passes the `--where` clauses.
    #[error("no row passes `{}`", clauses.join("` and `"))]
    NoRows {
        /// The clauses.
        clauses: Vec<String>,
    },
    /// Fewer groups than folds.
    #[error("{n_groups} groups cannot be spread over {n_folds} folds without splitting one")]
    TooFewGroups {
        /// Distinct groups among the usable rows.
        n_groups: usize,
        /// Folds asked for; at least 2.
        n_folds: usize,
    },
    /// A penalty that is negative or not finite.
    #[error("the L2 penalty is {l2}, expected a number of at least 0")]
    Penalty {
        /// What was asked for.
        l2: f64,
    },
    /// A feature whose mean or spread is beyond the range of f64.
    #[error("feature {} has values too large to standardise", column + 1)]
    Overflow {
        /// 0-based position among the chosen features.
        column: usize,
    },
    /// Features that were computed in another way than those a detector was trained on.
    #[error(
        "the features are not those that the detector was trained on: {}",
        refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    OtherSettings {
        /// What differs.
        refused: Vec<Difference>,
    },
    /// A detector that needs what `check` does not compute.
    #[error("the detector's feature `{feature}` {why}")]
    NotForChecking {
        /// The feature's column.
        feature: String,
        /// What is in the way.
        why: &'static str,
    },
    /// A rule for verdicts that cannot be read.
    #[error("cannot read the rule `{rule}`")]
    DecisionRule {
        /// As it was given.
        rule: String,
    },
    /// The table could not give a column.
    #[error(transparent)]
    Table(#[from] veridiff_table::TableError),
    /// The optimiser gave up.
    #[error("the logistic regression could not be fitted")]
    Solver(#[source] linfa_logistic::error::Error),
    /// No trees could be grown.
    #[error("the trees could not be grown: {0}")]
    Trees(String),
    /// A detector file could not be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A detector file could not be written.
    #[error("cannot write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A detector file is not the JSON that it should be.
    #[error("`{path}` is not a detector file")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: serde_json::Error,
    },
    /// A detector file of another schema.
    #[error("`{path}` has schema version {got}, expected {SCHEMA_VERSION}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        got: u64,
    },
    /// A detector file whose content contradicts itself.
    #[error("`{path}`: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, got beside expected.
        what: String,
    },
}

impl DetectorError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        use DetectorError::*;
        match self {
            DetectorError::Table(error) => error.hint(),
            NoLabels { .. } => {
                Some("give the samples `\"label\": 1` (hallucinated) or `0`, score them again, then fit".into())
            }
            OneClass { .. } => Some("label some samples of the other class, or widen `--where`".into()),
            TooFewRows { .. } => Some("choose fewer features with `--features`, or label more samples".into()),
            NoCompleteRows { missing, .. } => {
                let (feature, count) = missing.first()?;
                Some(format!("`{feature}` is missing in {count} of them: leave it out with `--features`"))
            }
            NoFeatures { columns } => Some(format!(
                "feature columns are named `<feature>@<scorer>`; `veridiff score` makes them; columns: {}",
                list(columns)
            )),
            UnknownFeature { known, .. } | MissingFeature { known, .. } => {
                Some(format!("the table's features: {}", list(known)))
            }
            WhereSyntax { .. } => Some("write `key=value`, `key=one,other` or `key!=value`".into()),
            WhereColumn { known, .. } | ByColumn { known, .. } => Some(format!("columns: {}", list(known))),
            WhereValue { column, known, .. } => Some(format!("values of `{column}`: {}", list(known))),
            ByTooManyValues { .. } => Some("choose a column that sorts the rows, such as `language`".into()),
            NoRows { .. } => Some("all clauses must hold at once; loosen one".into()),
            TooFewGroups { n_folds: 0 | 1, .. } => Some("ask for at least two folds".into()),
            TooFewGroups { .. } => Some("lower `--folds`, or label samples of more diffs".into()),
            OtherSettings { .. } => {
                Some("score the samples with the settings of the detector's training rows, or fit a detector on these".into())
            }
            NotForChecking { .. } => Some(
                "fit a detector on features of one scorer and of the texts (`--features`); `score` and `eval --detector` take any"
                    .into(),
            ),
            DecisionRule { .. } => Some(
                "write `accuracy`, `precision=0.8` (of the texts called unsupported, and `,0.9` of those called supported), \
                 `false-alarms=0.02,0.9` (of the supported texts, and the precision of those called supported), or \
                 `cost=3:1:0.5` (of a false alarm, of a miss, and of saying nothing)"
                    .into(),
            ),
            Overflow { .. } => Some("rescale it, or leave it out with `--features`".into()),
            Trees(_) => Some("try `--learner logistic`, or other features".into()),
            Solver(_) => Some("raise `--l2`, or choose fewer features".into()),
            Version { .. } => Some("fit it again with this version of veridiff".into()),
            Syntax { .. } | Content { .. } => Some("the file was changed or cut short: fit the detector again".into()),
            MismatchLabel { .. } => Some("label it 1, or empty its `mismatch_of` if the text is about this change".into()),
            BadLabel { .. } | Penalty { .. } | Read { .. } | Write { .. } => None,
        }
    }
}

/// Names one after another, the first [`LISTED`] of them.
fn list(names: &[String]) -> String {
    let mut text = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        text.push_str(&format!(" and {} more", names.len() - LISTED));
    }
    text
}

/// A few features to test with: the catalogue is whoever's computes them.
#[cfg(test)]
fn toy_catalogue() -> veridiff_table::catalogue::Catalogue {
    use veridiff_table::catalogue::{Catalogue, Entry, FamilyEntry};
    let entry = |name, has_model, hangs_on| Entry { name, unit: "", meaning: "", has_model, hangs_on };
    let family = |name, needs_reference, entries| FamilyEntry { name, needs_reference, entries };
    let of_model = |name| entry(name, true, &["weights@", "template_sha256"]);
    Catalogue::new(vec![
        family("uncertainty", false, ["logprob", "entropy", "logit"].map(of_model).to_vec()),
        family("attribution", false, vec![of_model("attr_source")]),
        family("reference", true, vec![entry("bleu4", false, &["bleu4"]), entry("nli_entailment", true, &["score@"])]),
        family("grounding", false, vec![entry("ground_words", false, &["grounding"])]),
    ])
}
