//! Which samples of an input a run is over, and how its table begins: what `score` and `judge` share.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::change::{changes_of, samples_of};
use crate::cli::terminal::{UsageError, note, print};
use veridiff_core::run::{
    choice::{SampleChoice, Shard},
    score::{Begin, Summary},
};
use veridiff_detector::WhereClause;
use veridiff_table::Row;
use veridiff_text::{
    chain::one_line,
    sample::{Renamed, Sample, Samples},
};

/// The heading of options that choose samples.
const SAMPLES: &str = "Which samples";

/// Which samples of an input.
#[derive(Debug, clap::Args)]
pub struct ChoiceArgs {
    /// Take only samples with one of these values, or with none of them (`key!=value`); all clauses must hold
    #[arg(long = "where", value_name = "KEY=VALUE,…", help_heading = SAMPLES, hide_short_help = true)]
    clauses: Vec<String>,
    /// Take a random sample of N of them, drawn with --seed, in the order of the input
    #[arg(long, value_name = "N", help_heading = SAMPLES, hide_short_help = true)]
    sample: Option<usize>,
    /// Seed of --sample, and of a judge's answers where they have any chance
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = SAMPLES, hide_short_help = true)]
    pub seed: u64,
    /// Take only the first N
    #[arg(long, value_name = "N", help_heading = SAMPLES)]
    limit: Option<usize>,
    /// Take the I-th of N parts; `veridiff merge` joins the tables
    #[arg(long, value_name = "I/N", help_heading = SAMPLES, hide_short_help = true)]
    pub shard: Option<Shard>,
}

/// How a table begins where an earlier run has left something.
#[derive(Debug, clap::Args)]
pub struct BeginArgs {
    /// Go on where an earlier run stopped: keeps what is finished, tries failed rows again, and adds the columns of models and
    /// metrics that are named now and were not then
    #[arg(long, requires = "output")]
    resume: bool,
    /// Start anew, replacing the journal of an earlier run
    #[arg(long, requires = "output", conflicts_with = "resume")]
    overwrite: bool,
}

impl BeginArgs {
    /// As the library takes it.
    pub fn begin(&self) -> Begin {
        match (self.resume, self.overwrite) {
            (true, _) => Begin::Resume,
            (false, true) => Begin::Overwrite,
            (false, false) => Begin::New,
        }
    }
}

impl ChoiceArgs {
    /// The samples chosen of an input, with their places in it, and how many lines were none; what is wrong with those is told.
    pub fn samples(&self, path: &Path) -> anyhow::Result<(Vec<(usize, Sample)>, usize)> {
        self.chosen(samples_of(path)?, path)
    }

    /// As [`ChoiceArgs::samples`] of changes that need have no text.
    pub fn changes(&self, path: &Path) -> anyhow::Result<(Vec<(usize, Sample)>, usize)> {
        self.chosen(changes_of(path)?, path)
    }

    fn chosen(&self, read: Samples, path: &Path) -> anyhow::Result<(Vec<(usize, Sample)>, usize)> {
        let input = path.display();
        for error in &read.unreadable {
            let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
            note(&format!("{input}: {}{hint}", one_line(error)));
        }
        if let Some(Renamed { n, first }) = &read.renamed {
            note(&format!("{n} samples have the id of an earlier one and are called `{first}` and so on"));
        }
        let (n_read, n_unreadable) = (read.samples.len(), read.unreadable.len());
        if n_read == 0 {
            let problem = match n_unreadable {
                0 => format!("`{input}` holds no samples"),
                n => format!("`{input}` holds no samples: all {n} lines have faults"),
            };
            return Err(UsageError::error(problem, "one JSON object a line, with `id`, `diff` and `text`"));
        }
        let clauses = self.clauses.iter().map(|clause| clause.parse::<WhereClause>());
        let choice = SampleChoice {
            clauses: clauses.collect::<Result<_, _>>()?,
            n_random: self.sample,
            seed: self.seed,
            limit: self.limit,
            shard: self.shard,
        };
        let samples = choice.choose(read.samples).with_context(|| format!("cannot choose rows of `{input}`"))?;
        if samples.is_empty() {
            let problem = format!("none of the {n_read} samples of `{input}` is chosen");
            return Err(UsageError::error(problem, "raise --limit or --sample, or make fewer shards than samples"));
        }
        Ok((samples, n_unreadable))
    }
}

/// Prints what became of the rows as one JSON object, with what a verb has to say beside that.
pub fn print_summary(summary: &Summary, n_unreadable: usize, output: Option<&Path>, beside: Row) -> anyhow::Result<()> {
    let common = json!({
        "rows": summary.n_rows,
        "resumed": summary.n_resumed,
        "failed": summary.n_failed,
        "unreadable": n_unreadable,
        "seconds": summary.seconds,
        "output": output,
    });
    let all: Row = common.as_object().cloned().into_iter().flatten().chain(beside).collect();
    print(&format!("{}\n", Value::Object(all)))
}

/// Tells why rows failed: the first of them.
pub fn tell_failures(summary: &Summary) {
    summary.failures.iter().for_each(|failure| note(failure));
    if summary.n_failed > summary.failures.len() {
        let n = summary.n_failed - summary.failures.len();
        note(&format!("… and {n} more; the `error@` columns have them"));
    }
}
