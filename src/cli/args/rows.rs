//! The arguments that `fit` and `eval` share: which table, which rows, which features, how figures are made.

use std::path::PathBuf;

use anyhow::Context;

use super::choice;
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{
    Bootstrap, DEFAULT_L2, EvalSettings, Gaps, LabelledRows, Learner, WhereClause, choose_features, filter_table,
    labelled_rows,
};
use veridiff_table::Table;

/// Which rows and features of which table.
#[derive(Debug, clap::Args)]
pub struct RowArgs {
    /// Feature table with labels (.parquet, .csv or .jsonl), as `score` writes it
    #[arg(long, value_name = "FILE")]
    pub input: PathBuf,
    /// Features to use: names, names before the `@`, `*` for any run of characters [default: every feature column]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Use only rows with one of these values, or with none of them (`key!=value`); all clauses must hold
    #[arg(long = "where", value_name = "KEY=VALUE,…")]
    pub clauses: Vec<String>,
}

/// The heading of options about how figures are made.
const FIGURES: &str = "How figures are made";

/// How figures are made.
#[derive(Debug, clap::Args)]
pub struct FigureArgs {
    /// What is made of the features together: logistic (regression), boosted (trees), forest (extremely randomised trees),
    /// trees (the mean of both kinds) or stack (families, each by a learner of its own)
    #[arg(long, value_name = "LEARNER", value_parser = choice::<Learner>(Learner::NAMES), default_value_t,
          help_heading = FIGURES)]
    pub learner: Learner,
    /// L2 penalty: half of it times the squared coefficients (standardised features) is added to the summed log-loss
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_L2, allow_negative_numbers = true,
          help_heading = FIGURES, hide_short_help = true)]
    pub l2: f64,
    /// Cross-validation folds; a group (diff) is never split
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = FIGURES, hide_short_help = true)]
    pub folds: usize,
    /// Resamples of the bootstrap intervals; 0 makes none
    #[arg(long, value_name = "N", default_value_t = 2000, help_heading = FIGURES, hide_short_help = true)]
    pub bootstrap: usize,
    /// Seed of the folds and the bootstrap
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = FIGURES, hide_short_help = true)]
    pub seed: u64,
}

impl FigureArgs {
    /// As the library takes them.
    pub fn settings(&self) -> EvalSettings {
        let bootstrap = Bootstrap { n_resamples: self.bootstrap, seed: self.seed };
        EvalSettings { n_folds: self.folds, l2: self.l2, learner: self.learner, bootstrap }
    }
}

impl RowArgs {
    /// Reads the table and keeps the rows that pass every clause.
    pub fn table(&self) -> anyhow::Result<Table> {
        let clauses = self.clauses.iter().map(|clause| clause.parse::<WhereClause>()).collect::<Result<Vec<_>, _>>()?;
        let table = Table::read(&self.input)?;
        filter_table(table, &clauses).with_context(|| self.place())
    }

    /// The labelled rows of the table with the chosen features, and the columns to give figures by; what becomes of rows that lack a
    /// value, `gaps` says.
    pub fn labelled(&self, table: &Table, by: &[String], gaps: Gaps) -> anyhow::Result<LabelledRows> {
        let features = choose_features(table, &CATALOGUE, &self.features).with_context(|| self.place())?;
        labelled_rows(table, &CATALOGUE, &features, by, gaps).with_context(|| self.place())
    }

    /// Where an error about rows happened.
    pub fn place(&self) -> String {
        format!("cannot use the table `{}`", self.input.display())
    }
}
