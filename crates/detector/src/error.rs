//! What can go wrong when a detector is fitted, judged, read or written, and how to mend it.

use std::{collections::BTreeSet, path::PathBuf};

use veridiff_table::catalogue::{feature_of, model_of};
use veridiff_text::{choice::did_you_mean, hint::Hint};

use crate::{SCHEMA_VERSION, SettingDifference};

/// The most names an error lists.
const MAX_LISTED: usize = 30;

/// What can go wrong when a detector is fitted, judged, read or written.
///
/// Fields are named as in the messages, and described where the message leaves a question: `path` is the detector's file, `row` counts
/// from 1 after `--where`, `value` and `rule` are what was found there or given, `source` is the error of the system or of a parser.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum DetectorError {
    /// The table has no `label` column, or no row has one.
    #[error("none of {n_rows} rows has a label")]
    NoLabels {
        /// How many rows the table has after `--where`.
        n_rows: usize,
        /// A column that would be `label` but for its capitals.
        near: Option<String>,
    },
    /// A text beside another change that is labelled as supported.
    #[error(
        "row {row}, column `label`: got 0, expected 1, because `mismatch_of` says that its text is about another change"
    )]
    MismatchLabel {
        /// The row's number, from 1, after `--where`.
        row: usize,
    },
    /// A label that is not 0, 1 or null.
    #[error("row {row}, column `label`: got {value}, expected 0, 1 or null")]
    BadLabel {
        /// The row's number, from 1, after `--where`.
        row: usize,
        value: f64,
    },
    /// All labels are equal, so that there is nothing to tell apart.
    #[error("all {n_rows} usable rows have label {label}; both 0 and 1 are needed")]
    OneClass {
        /// The one label that all rows have, 0 or 1.
        label: u8,
        /// How many usable rows there are.
        n_rows: usize,
    },
    /// There are fewer rows than features, so that no fit is determined.
    #[error("{n_rows} usable rows cannot fit {n_features} features")]
    TooFewRows {
        /// How many labelled rows have all chosen features.
        n_rows: usize,
        /// How many features were chosen.
        n_features: usize,
    },
    /// Every labelled row lacks some chosen feature.
    #[error("none of {n_labelled} labelled rows has a value for every chosen feature")]
    NoCompleteRows {
        /// How many rows have a label.
        n_labelled: usize,
        /// The chosen features, each with the number of labelled rows that lack it; the worst comes first.
        missing: Vec<(String, usize)>,
    },
    /// Rows of a stack lack families, and none has all, so that their weights cannot be learnt.
    #[error("no labelled row has every family of features: {}", families.join(", "))]
    NoCommonRows {
        /// The families, each with its model.
        families: Vec<String>,
    },
    /// The table has no feature columns with values.
    #[error("the table has no feature column with values")]
    NoFeatures {
        /// The names of all columns that the table has.
        columns: Vec<String>,
    },
    /// `--features` names nothing in the table.
    #[error("no feature matches `{pattern}`")]
    UnknownFeature {
        /// The name or pattern that was asked for.
        pattern: String,
        /// The features that the table has.
        known: Vec<String>,
    },
    /// The table lacks features, for example those that the detector was fitted on.
    #[error("the table lacks what is needed as a feature: {}", list(missing))]
    MissingFeatures {
        /// The names of the features' columns.
        missing: Vec<String>,
        /// Those of them that the catalogue knows.
        computed: Vec<String>,
        /// The features that the table has.
        known: Vec<String>,
    },
    /// A `--where` clause that cannot be read.
    #[error("cannot read the clause `{clause}`")]
    WhereSyntax {
        /// The clause as it was given.
        clause: String,
    },
    /// A `--where` clause on a column that is not there.
    #[error("`--where {clause}`: the table has no column `{column}`")]
    WhereColumn {
        /// The clause as it was given.
        clause: String,
        /// The name of the column that was asked for.
        column: String,
        /// The columns that the table has.
        known: Vec<String>,
    },
    /// A `--where` clause with a value that the column does not hold.
    #[error("`--where {clause}`: column `{column}` never has the value `{value}`")]
    WhereValue {
        /// The clause as it was given.
        clause: String,
        /// The name of the column that was asked for.
        column: String,
        /// The value that was asked for.
        value: String,
        /// The values that the column has.
        known: Vec<String>,
    },
    /// A column to give figures by that is not there.
    #[error("the table has no column `{column}` to give figures by")]
    ByColumn {
        /// The name of the column that was asked for.
        column: String,
        /// The columns that the table has.
        known: Vec<String>,
    },
    /// A column to give figures by with too many values.
    #[error("column `{column}` has {n_values} values, expected at most {most} to give figures by")]
    ByTooManyValues {
        /// The name of the column that was asked for.
        column: String,
        /// How many distinct values the column has.
        n_values: usize,
        /// How many values there may be at most.
        most: usize,
    },
    /// No row passes the `--where` clauses.
    #[error("no row passes `{}`", clauses.join("` and `"))]
    NoRows {
        /// The clauses as they were given.
        clauses: Vec<String>,
    },
    /// There are fewer groups than folds, and a group is never split.
    #[error("{n_groups} groups cannot be spread over {n_folds} folds without splitting one")]
    TooFewGroups {
        /// How many distinct groups the usable rows have.
        n_groups: usize,
        /// How many folds were asked for; at least 2 are needed.
        n_folds: usize,
    },
    /// A penalty that is negative or not finite.
    #[error("the L2 penalty is {l2}, expected a number of at least 0")]
    Penalty {
        /// The penalty that was asked for.
        l2: f64,
    },
    /// A feature whose mean or spread is beyond the range of f64.
    #[error("feature {} has values too large to standardise", column + 1)]
    Overflow {
        /// The position among the chosen features, from 0.
        column: usize,
    },
    /// Features that were computed in another way than those a detector was trained on.
    #[error(
        "the features are not those that the detector was trained on: {}",
        refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    OtherSettings {
        /// The settings that differ.
        refused: Vec<SettingDifference>,
    },
    /// A detector that needs what `check` does not compute.
    #[error("the detector's feature `{feature}` {why}")]
    NotForChecking {
        /// The name of the feature's column.
        feature: String,
        /// What is in the way.
        why: &'static str,
    },
    /// A rule for verdicts that cannot be read.
    #[error(
        "cannot read the rule `{rule}`, expected `accuracy`, `precision=…` or `false-alarms=…` with shares between 0 and 1, or `cost=…` \
         with numbers above 0"
    )]
    DecisionRule { rule: String },
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
    Read { path: PathBuf, source: std::io::Error },
    /// A detector file could not be written.
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: std::io::Error },
    /// A detector file is not the JSON that it should be.
    #[error("`{path}` is not a detector file")]
    Syntax {
        path: PathBuf,
        /// What is not as it should be, and where.
        source: serde_json::Error,
    },
    /// A detector file of another schema.
    #[error("`{path}` has schema version {got}, expected {SCHEMA_VERSION}")]
    Version {
        path: PathBuf,
        /// The version that the file says it has.
        got: u64,
    },
    /// A detector file whose content contradicts itself.
    #[error("`{path}`: {what}")]
    Content {
        path: PathBuf,
        /// What is wrong, with what was expected in its place.
        what: String,
    },
}

impl Hint for DetectorError {
    fn hint(&self) -> Option<String> {
        DetectorError::hint(self)
    }
}

impl DetectorError {
    /// How to mend it, if we know; see [`Hint`].
    pub fn hint(&self) -> Option<String> {
        use DetectorError::*;
        match self {
            DetectorError::Table(error) => error.hint(),
            NoLabels { near: Some(near), .. } => Some(format!("rename the column `{near}` to `label`")),
            NoLabels { .. } => {
                Some("give the samples `\"label\": 1` (hallucinated) or `0`, score them again, then fit".into())
            }
            OneClass { .. } => Some("label some samples of the other class, or widen `--where`".into()),
            TooFewRows { .. } => Some("choose fewer features with `--features`, or label more samples".into()),
            NoCompleteRows { missing, .. } => {
                let (feature, count) = missing.first()?;
                Some(format!("`{feature}` is missing in {count} of them: leave it out with `--features`"))
            }
            NoCommonRows { .. } => {
                Some("score some labelled rows with all of them, or leave one out with `--features`".into())
            }
            NoFeatures { columns } => Some(format!(
                "feature columns are named `<feature>@<scorer>`; `veridiff score` makes them; columns: {}",
                list(columns)
            )),
            UnknownFeature { pattern, known } => Some(guess_or(pattern, known, "the table's features")),
            MissingFeatures { computed, known, .. } => Some(match computed.is_empty() {
                true => format!("this version computes none of them; the table's: {}", list(known)),
                false => format!("`{}` computes what this version can; the table's: {}", score_of(computed), list(known)),
            }),
            WhereSyntax { .. } => Some("write `key=value`, `key=one,other` or `key!=value`".into()),
            WhereColumn { column, known, .. } | ByColumn { column, known, .. } => Some(guess_or(column, known, "columns")),
            WhereValue { column, value, known, .. } => Some(guess_or(value, known, &format!("values of `{column}`"))),
            ByTooManyValues { .. } => Some("choose a column that sorts the rows, such as `language`".into()),
            NoRows { .. } => Some("all clauses must hold at once; loosen one".into()),
            TooFewGroups { n_folds: 0 | 1, .. } => Some("ask for at least two folds".into()),
            TooFewGroups { .. } => Some("lower `--folds`, or label samples of more diffs".into()),
            OtherSettings { .. } => {
                Some("score the samples with the settings of the detector's training rows, or fit a detector on these".into())
            }
            NotForChecking { .. } => Some(
                "fit a detector on features of scorers and of the texts (`--features`); `score` and `eval --detector` take any"
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
            Syntax { .. } | Content { .. } => Some("give a file that `fit` wrote; one that was changed or cut short has to be fitted again".into()),
            MismatchLabel { .. } => Some("label it 1, or empty its `mismatch_of` if the text is about this change".into()),
            BadLabel { .. } | Penalty { .. } | Read { .. } | Write { .. } => None,
        }
    }
}

/// The command that computes columns.
fn score_of(columns: &[String]) -> String {
    let models: BTreeSet<&str> = columns.iter().filter_map(|column| model_of(column)).collect();
    let features: BTreeSet<&str> = columns.iter().map(|column| feature_of(column)).collect();
    let models: String = models.into_iter().map(|model| format!(" --model {model}")).collect();
    format!("score{models} --features {}", features.into_iter().collect::<Vec<_>>().join(","))
}

/// Names one after another, the first [`MAX_LISTED`] of them.
fn list(names: &[String]) -> String {
    let mut text = names.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED {
        text.push_str(&format!(" and {} more", names.len() - MAX_LISTED));
    }
    text
}

/// The one of `known` that `name` was probably meant to be, else all of them as `what`. Features are also called by what stands before
/// their `@`.
fn guess_or(name: &str, known: &[String], what: &str) -> String {
    let names = known.iter().flat_map(|known| [known.as_str(), known.split('@').next().unwrap_or(known)]);
    did_you_mean(name, names).unwrap_or_else(|| format!("{what}: {}", list(known)))
}
